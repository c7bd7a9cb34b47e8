"""The opt-in check of independence labels: what it sends, how it is read, and that it overrides nothing."""

import asyncio
from pathlib import Path

import pytest

from pytest_tutoreval.detectors import attempts_step
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.judging.verification import read_opinion, verification_requests, verify_session
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import Session
from pytest_tutoreval.simulating import simulate_session
from pytest_tutoreval.transcript import answer_window, read_transcript
from tests.builders import a_route


@pytest.fixture(scope="module")
def session() -> Session:
    instrument = load_instrument()
    cast = ScriptedCast(instrument.problems, SCRIPTS["sonnet"], seed=5)
    return simulate_session(instrument, cast, base="sonnet", condition="conv", replicate=0)


def no_sync(_: int) -> None:
    pass


def windowed_turns(session: Session) -> list[str]:
    exchanges = read_transcript(session).exchanges.values()
    return [turn.text for exchange in exchanges for turn in answer_window(exchange).student]


@pytest.mark.parametrize(
    ("reply", "opinion"),
    [
        pytest.param('{"attempted": true, "reason": "an equation"}', True, id="field-true"),
        pytest.param('{"attempted": false, "reason": "yes, it asks"}', False, id="field-wins-over-bare-word"),
        pytest.param('Sure: {"attempted": true} hope it helps', True, id="wrapped-in-prose"),
        pytest.param('{"attempted": "true"}', True, id="field-no-boolean-bare-word"),
        pytest.param("Yes, it does.", True, id="bare-yes"),
        pytest.param("No attempt at all; true only of the tutor", False, id="first-bare-word"),
        pytest.param("Nothing to see", None, id="no-word"),
        pytest.param("", None, id="empty"),
        pytest.param("untrue yesterday", None, id="inside-words"),
    ],
)
def test_an_opinion_is_the_field_else_a_bare_word_else_none(reply: str, opinion: bool | None) -> None:
    assert read_opinion(reply) is opinion


def test_a_request_carries_the_turn_and_the_schema_alone(session: Session) -> None:
    instrument = load_instrument()
    requests = list(verification_requests(instrument, session, a_route()))
    assert [turn.text for _, turn in requests] == windowed_turns(session)
    for request, turn in requests:
        assert request.system == instrument.rubrics["independence_verification"]
        (message,) = request.messages
        assert f'"""\n{turn.text}\n"""' in message.text
        assert instrument.rubrics["independence_verification_schema"] in message.text
        others = [said for said in windowed_turns(session) if said not in turn.text and turn.text not in said]
        assert not any(said in message.text for said in others)
        assert instrument.problem[request.site.problem].statement not in message.text


def test_disagreements_are_logged_and_the_rule_stands(session: Session, tmp_path: Path) -> None:
    async def always_yes(request: ModelRequest) -> ModelReply:
        return ModelReply('{"attempted": true, "reason": "-"}', input_tokens=10, output_tokens=3)

    verified = asyncio.run(
        verify_session(load_instrument(), session, tmp_path, "opus", a_route(), always_yes, sync=no_sync)
    )
    labels = [attempts_step(text) for text in windowed_turns(session)]
    assert verified.given == len(labels)
    assert len(verified.disagreements) == labels.count(False) > 0
    assert all("rule False, model True" in line for line in verified.disagreements)
    assert not verified.failures


def test_what_was_said_is_not_asked_again(session: Session, tmp_path: Path) -> None:
    asked: list[str] = []

    async def unreadable(request: ModelRequest) -> ModelReply:
        asked.append(request.digest())
        return ModelReply("I cannot say")

    def verify() -> tuple[int, int, int]:
        verified = asyncio.run(
            verify_session(load_instrument(), session, tmp_path, "opus", a_route(), unreadable, sync=no_sync)
        )
        return verified.given, verified.found, verified.unreadable

    n_turns = len(windowed_turns(session))
    assert verify() == (n_turns, 0, n_turns)
    assert verify() == (0, n_turns, n_turns)
    assert len(asked) == n_turns
