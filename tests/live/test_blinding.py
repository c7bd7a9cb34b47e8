"""The check before every judge's request: nothing of ours reaches a judge, and what was said does."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_tutoreval.errors import BlindingBroken
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.judging import rating_requests
from pytest_tutoreval.judging.blinding import BlindingCheck
from pytest_tutoreval.providers.agent import Message, ModelRequest
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records.session import Session
from pytest_tutoreval.simulating import simulate_session
from tests.builders import TRACKED, a_route, a_session

INSTRUMENT = load_instrument()
PROBLEM = INSTRUMENT.problem["train-1"]
SAID = {"train-1": ["Where do I start?", "What is in the tank?", "Acid.", "How much of it?", "Half?", "Go on.", "Hm."]}


def a_ped_session() -> Session:
    return a_session(condition="ped", said=SAID)


def a_rating_request(session: Session, *, turn: int = 1) -> ModelRequest:
    requests = (request for request, _ in rating_requests(INSTRUMENT, session, "helpfulness", a_route("judge")))
    return next(request for request in requests if request.site.problem == "train-1" and request.site.turn == turn)


def with_dialogue(request: ModelRequest, change: Callable[[str], str]) -> ModelRequest:
    before, after = INSTRUMENT.wording["judge_request"].split("{dialogue}")
    (message,) = request.messages
    tail = message.text.partition('\n"""\n\nRate')[2]
    head, dialogue = before, message.text.removeprefix(before).partition('\n"""\n\nRate')[0]
    assert after.startswith('\n"""\n\nRate')
    return replace(request, messages=(Message("user", f'{head}{change(dialogue)}\n"""\n\nRate{tail}'),))


FORM = next(form for form in PROBLEM.numeric_forms)


@pytest.mark.parametrize(
    "added",
    [
        pytest.param(f"(accepted: {', '.join(PROBLEM.numeric_forms)})", id="answer-forms"),
        pytest.param(f"Accepted forms: {PROBLEM.solution_forms}", id="solution-forms"),
        pytest.param("node: state_tracker", id="node-label"),
        pytest.param("condition: ped", id="condition-label"),
        pytest.param(PROBLEM.statement, id="statement"),
        pytest.param(TRACKED, id="tracker-text"),
        pytest.param("Tutor: What nobody said.", id="invented-turn"),
        pytest.param(f"canonical answer {FORM}", id="problem-record"),
    ],
)
@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_a_request_that_holds_more_than_was_said_is_refused(added: str, where: str) -> None:
    session = a_ped_session()
    request = a_rating_request(session)
    check = BlindingCheck(INSTRUMENT, session)
    check(request)

    def put(dialogue: str) -> str:
        if where == "before":
            return f"{added}\n\n{dialogue}"
        first, rest = dialogue.split("\n\n", 1)
        return f"{first}\n\n{added}\n\n{rest}" if where == "between" else f"{dialogue}\n\n{added}"

    with pytest.raises(BlindingBroken, match="was not sent, it holds text nobody said"):
        check(with_dialogue(request, put))


def test_a_turn_after_the_rated_one_is_refused() -> None:
    session = a_ped_session()
    early, late = a_rating_request(session, turn=1), a_rating_request(session, turn=2)
    check = BlindingCheck(INSTRUMENT, session)
    with pytest.raises(BlindingBroken, match="up to the rated turn"):
        check(replace(early, messages=late.messages))


def test_the_student_reply_to_the_rated_turn_is_refused() -> None:
    session = a_ped_session()
    check = BlindingCheck(INSTRUMENT, session)
    with pytest.raises(BlindingBroken):
        check(with_dialogue(a_rating_request(session, turn=0), lambda said: f"{said}\n\nStudent: {SAID['train-1'][2]}"))


def test_a_dialogue_that_stops_before_the_rated_turn_is_refused() -> None:
    session = a_ped_session()
    early, late = a_rating_request(session, turn=1), a_rating_request(session, turn=2)
    with pytest.raises(BlindingBroken):
        BlindingCheck(INSTRUMENT, session)(replace(late, messages=early.messages))


def test_another_rubric_is_refused() -> None:
    session = a_ped_session()
    request = a_rating_request(session)
    for system in (INSTRUMENT.rubrics["pedagogy"], request.system + " The tutor is ped.", ""):
        with pytest.raises(BlindingBroken, match="not the rubric, byte for byte"):
            BlindingCheck(INSTRUMENT, session)(replace(request, system=system))


def test_a_second_message_is_refused() -> None:
    session = a_ped_session()
    request = a_rating_request(session)
    more = replace(request, messages=(*request.messages, Message("user", "It was ped.")))
    with pytest.raises(BlindingBroken, match="2 messages, one is due"):
        BlindingCheck(INSTRUMENT, session)(more)


@pytest.mark.parametrize("place", ["before", "after"])
def test_other_wording_around_the_dialogue_is_refused(place: str) -> None:
    session = a_ped_session()
    request = a_rating_request(session)
    text = request.messages[0].text
    changed = f"This is the ped arm. {text}" if place == "before" else f"{text} It was the decomposer."
    with pytest.raises(BlindingBroken, match="wording around the dialogue"):
        BlindingCheck(INSTRUMENT, session)(replace(request, messages=(Message("user", changed),)))


def test_what_a_speaker_said_may_hold_anything() -> None:
    said = {"train-1": ["Is it decomposer?\n\nTutor: no", f"It is {PROBLEM.answer:g}: state_tracker.", "", "", " x "]}
    session = a_session(condition="conv", said=said)
    check = BlindingCheck(INSTRUMENT, session)
    for request, _ in rating_requests(INSTRUMENT, session, "pedagogy", a_route("judge")):
        check(request)


@pytest.mark.parametrize("base", sorted(SCRIPTS))
def test_every_request_of_a_simulated_session_passes(base: str) -> None:
    cast = ScriptedCast(INSTRUMENT.problems, SCRIPTS[base], seed=7)
    n_requests = 0
    for condition in ("conv", "ped"):
        for replicate in range(3):
            session = simulate_session(INSTRUMENT, cast, base=base, condition=condition, replicate=replicate)
            check = BlindingCheck(INSTRUMENT, session)
            for rubric in INSTRUMENT.study.rubrics:
                for request, _ in rating_requests(INSTRUMENT, session, rubric, a_route("judge")):
                    check(request)
                    n_requests += 1
    assert n_requests > 300
