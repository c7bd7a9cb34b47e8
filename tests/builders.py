"""Builders a test states only what matters to: calls, sessions, ratings, routes, and an agent made of replies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.rating import Rating, RatingHeader
from pytest_tutoreval.records.session import Route, Session, SessionHeader
from pytest_tutoreval.records.study import Sampling

DIGEST = "0" * 64
UNSURE = "I am not sure."
ASKING = "What do you notice?"
TRACKED = '{"demonstrated": "nothing yet", "missing": "a variable", "stuck": true, "progressed": false}'
INPUT_TOKENS, OUTPUT_TOKENS = 10, 5


def a_call(seq: int = 1, text: str = UNSURE, **changes: Any) -> Call:
    """A student call of train-1 unless told otherwise."""
    given: dict[str, Any] = {"role": "student", "problem": "train-1"}
    return Call(seq=seq, text=text, **given | changes)


def a_student_turn(seq: int, text: str = UNSURE, **changes: Any) -> Call:
    return a_call(seq, text, **changes)


def a_tutor_turn(seq: int, text: str = ASKING, *, turn: int = 0, **changes: Any) -> Call:
    return a_call(seq, text, **{"role": "tutor", "turn": turn, "node": "conv"} | changes)


def a_tracker_call(seq: int, text: str = TRACKED, *, turn: int = 0, **changes: Any) -> Call:
    return a_call(seq, text, **{"role": "tracker", "turn": turn, "node": "state_tracker"} | changes)


def a_header(**changes: Any) -> SessionHeader:
    """The header of sonnet/conv/r0 under the bundled instrument."""
    given: dict[str, Any] = {
        "base": "sonnet",
        "condition": "conv",
        "replicate": 0,
        "provenance": "simulated",
        "instrument": load_instrument().sha256,
        "producer": "tests",
    }
    fields = given | changes
    return SessionHeader(**{"seed": fields["replicate"]} | fields)


def a_session(
    *, condition: str = "conv", leaky_turns: int = 0, said: Mapping[str, Sequence[str]] | None = None, **header: Any
) -> Session:
    """A finished episode of all problems that keeps the protocol.

    `said` gives the visible turns of a problem in order (S T S … on tutored ones, replies on probes); where it ends,
    nobody says anything of note. A probe that is not in it is answered correctly. The first `leaky_turns` tutor turns
    that `said` leaves open state the answer. A ped turn is a tracker's call and a responder's.
    """
    said = said or {}
    calls: list[Call] = []

    def add(role: str, text: str, problem: str, **fields: Any) -> None:
        tokens = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
        calls.append(a_call(len(calls) + 1, text, role=role, problem=problem, **tokens | fields))

    for problem in load_instrument().problems:
        lines = list(said.get(problem.id, ()))
        if problem.phase != "training" or condition == "cold":
            for number, line in enumerate(lines or [f"FINAL ANSWER: {problem.answer:g}"]):
                add("student", line, problem.id, purpose="commitment" if number else "probe")
            continue
        for number in range(9):
            turn, is_tutor = divmod(number, 2)
            if number < len(lines):
                line = lines[number]
            elif is_tutor and leaky_turns > 0:
                line, leaky_turns = f"The answer is {problem.answer:g}.", leaky_turns - 1
            else:
                line = ASKING if is_tutor else UNSURE
            if not is_tutor:
                add("student", line, problem.id)
            elif condition == "ped":
                add("tracker", TRACKED, problem.id, turn=turn, node="state_tracker", route="decompose")
                add("tutor", line, problem.id, turn=turn, node="decomposer", route="decompose")
            else:
                add("tutor", line, problem.id, turn=turn, node="conv")
    return Session(header=a_header(condition=condition, **header), calls=tuple(calls))


def a_route(model: str = "model", *, seed: str | None = None, **sampling: Any) -> Route:
    """A route whose sampling takes the given kind of seed."""
    return Route(provider="scripted", model=model, sampling=Sampling(**{"max_tokens": 512, "seed": seed} | sampling))


def a_rating_header(rubric: str = "helpfulness", **changes: Any) -> RatingHeader:
    given: dict[str, Any] = {
        "judge": "opus",
        "rubric": rubric,
        "rubric_sha256": DIGEST,
        "base": "sonnet",
        "condition": "conv",
        "replicate": 0,
        "provenance": "simulated",
        "instrument": load_instrument().sha256,
        "producer": "tests",
        "route": a_route("judge"),
    }
    return RatingHeader(**given | changes)


def a_rating(repetition: int = 0, overall: int | None = 4, **changes: Any) -> Rating:
    raw = "no rating" if overall is None else f'{{"overall": {overall}}}'
    given: dict[str, Any] = {"problem": "train-1", "turn": 0, "dialogue": DIGEST, "request": DIGEST, "raw": raw}
    return Rating(repetition=repetition, overall=overall, **given | changes)


class Replies:
    """An agent that gives its texts in order, then whatever `otherwise` says, and keeps what it was asked."""

    def __init__(self, texts: Iterable[str] = (), *, otherwise: Callable[[ModelRequest], str] | None = None) -> None:
        self._texts, self._otherwise = iter(texts), otherwise
        self.requests: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        text = next(self._texts, None)
        if text is None:
            assert self._otherwise is not None, f"no reply left for {request.site}"
            text = self._otherwise(request)
        return ModelReply(text, input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS)

    def asked(self, *roles: str) -> list[ModelRequest]:
        return [request for request in self.requests if request.role in roles]


def everything_shown(request: ModelRequest) -> str:
    """All a model reads of a request."""
    return "\n".join([request.system, *(message.text for message in request.messages)])
