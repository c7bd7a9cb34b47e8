"""Rating a turn: the same blinded request, once a repetition."""

from collections.abc import Callable, Iterator

from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.judging.parsing import parse_rating
from pytest_tutoreval.providers.agent import CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.records.rating import RUBRIC_FIELDS, Rating
from pytest_tutoreval.records.session import Route, Session
from pytest_tutoreval.transcript import answer_window, dialogue_digest, rated_dialogue, read_transcript

__all__ = ["rate_session", "rating_requests", "record_rating"]


def rating_requests(
    instrument: Instrument, session: Session, rubric: str, route: Route
) -> Iterator[tuple[ModelRequest, str]]:
    """Yield every request that rates a session's in-window tutor turns, with the digest of its dialogue.

    The judge gets the rubric as system prompt and the dialogue as user message: no answer, form, node, condition,
    statement or tracker text. Repetitions differ in their seed alone, and only where the route takes one.
    """
    for problem, exchange in read_transcript(session).exchanges.items():
        window = answer_window(exchange)
        for turn in window.tutor:
            dialogue = rated_dialogue(window, turn)
            digest = dialogue_digest(dialogue)
            text = instrument.wording["judge_request"].format(
                dialogue=dialogue, fields=", ".join(RUBRIC_FIELDS[rubric])
            )
            for repetition in range(instrument.study.protocol.repetitions):
                yield (
                    ModelRequest(
                        role="judge",
                        site=CallSite(
                            base=session.header.base,
                            condition=session.header.condition,
                            replicate=session.header.replicate,
                            problem=problem,
                            purpose="rating",
                            turn=turn.turn,
                            rubric=rubric,
                            repetition=repetition,
                        ),
                        system=instrument.rubrics[rubric],
                        messages=(Message("user", text),),
                        route=route,
                        seed=_seed(instrument, route, repetition),
                    ),
                    digest,
                )


def record_rating(request: ModelRequest, dialogue: str, reply: ModelReply) -> Rating:
    """Return the line a repetition leaves; an unusable reply is kept raw, never imputed."""
    site = request.site
    parsed = parse_rating(reply.text, site.rubric or "")
    return Rating(
        problem=site.problem,
        turn=site.turn or 0,
        repetition=site.repetition or 0,
        dialogue=dialogue,
        request=request.digest(),
        raw=reply.text,
        overall=parsed.overall,
        components=parsed.components,
        **reply.facts(request.route),
    )


def rate_session(
    instrument: Instrument, session: Session, rubric: str, route: Route, answer: Callable[[ModelRequest], ModelReply]
) -> Iterator[Rating]:
    """Yield a session's ratings under one rubric, each as soon as it was given."""
    for request, dialogue in rating_requests(instrument, session, rubric, route):
        yield record_rating(request, dialogue, answer(request))


def _seed(instrument: Instrument, route: Route, repetition: int) -> int | None:
    takes_seed = route.takes_seed_of("repetition")
    return instrument.study.protocol.base_seed + repetition if takes_seed else None
