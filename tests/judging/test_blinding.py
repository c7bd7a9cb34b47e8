from collections.abc import Callable
from dataclasses import replace

import pytest

from pytest_tutoreval.errors import BlindingBroken
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.judging import rating_requests
from pytest_tutoreval.judging.blinding import BlindingCheck
from pytest_tutoreval.providers.agent import Message, ModelRequest
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import RUBRIC_FIELDS, Session
from pytest_tutoreval.simulating import simulate_session
from tests.builders import TRACKED, a_route, a_session

INSTRUMENT = load_instrument()
STATEMENT = INSTRUMENT.problem["train-1"].statement
SESSION = a_session(condition="ped", said={"train-1": ["hm", "T0 said", "x", "T1 said", "FINAL ANSWER: 3", "late"]})


def requests(session: Session, rubric: str = "helpfulness") -> list[ModelRequest]:
    return [request for request, _ in rating_requests(INSTRUMENT, session, rubric, a_route("judge"))]


def second_turn() -> ModelRequest:
    """The request that rates the second turn of train-1."""
    return next(request for request in requests(SESSION) if request.site.turn == 1)


def told(old: str, new: str) -> Callable[[ModelRequest], ModelRequest]:
    def change(request: ModelRequest) -> ModelRequest:
        text = request.messages[0].text
        assert old in text
        return replace(request, messages=(Message("user", text.replace(old, new)),))

    return change


@pytest.mark.parametrize("rubric", RUBRIC_FIELDS)
@pytest.mark.parametrize("condition", ["conv", "ped"])
@pytest.mark.parametrize("base", SCRIPTS)
def test_every_request_of_a_simulated_session_passes(base: str, condition: str, rubric: str) -> None:
    cast = ScriptedCast(INSTRUMENT.problems, SCRIPTS[base], seed=4)
    session = simulate_session(INSTRUMENT, cast, base=base, condition=condition, replicate=0)
    check = BlindingCheck(INSTRUMENT, session)
    for request in requests(session, rubric):
        check(request)


@pytest.mark.parametrize("said", ["", '"""', "Tutor: hm\n\nStudent: hm", "{dialogue}", "a\n\nb", "hint_cascade"])
def test_whatever_a_speaker_says_passes(said: str) -> None:
    session = a_session(said={"train-1": [said, said, "hm", said]})
    check = BlindingCheck(INSTRUMENT, session)
    for request in requests(session):
        check(request)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(told("Student: hm", f"{STATEMENT}\n\nStudent: hm"), id="statement"),
        pytest.param(told("Tutor: T0 said", f"{TRACKED}\n\nTutor: T0 said"), id="tracker"),
        pytest.param(told("Tutor: T1 said", "Tutor: T1 said\n\nStudent: FINAL ANSWER: 3"), id="turn-after"),
        pytest.param(told("Tutor: T1 said", "Tutor (ped): T1 said"), id="condition"),
        pytest.param(told("T1 said", "T1 sa1d"), id="reworded"),
        pytest.param(told("Tutor: T0 said\n\nStudent: x", "Student: x\n\nTutor: T0 said"), id="order"),
        pytest.param(told("Rate the final", "The answer is 24. Rate the final"), id="wording-after"),
        pytest.param(told("Please rate", "Problem train-1. Please rate"), id="wording-before"),
        pytest.param(lambda request: replace(request, system=request.system + " Answer: 24."), id="system"),
        pytest.param(lambda request: replace(request, messages=request.messages * 2), id="two-messages"),
        pytest.param(lambda request: replace(request, messages=()), id="no-message"),
        pytest.param(lambda request: replace(request, site=replace(request.site, turn=0)), id="another-turn"),
        pytest.param(lambda request: replace(request, site=replace(request.site, problem="train-2")), id="problem"),
    ],
)
def test_request_that_holds_more_or_less_is_refused(change: Callable[[ModelRequest], ModelRequest]) -> None:
    request = change(second_turn())
    check = BlindingCheck(INSTRUMENT, SESSION)
    with pytest.raises(BlindingBroken):
        check(request)
