"""A real small model over real HTTP as tutor, student and judge, through three wire formats.

It cannot tutor; what is asserted are shapes and invariants, never content.
"""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tutoreval.frozen import Instrument, extend_instrument, load_instrument
from pytest_tutoreval.live import LiveRun, Needs, run_live
from pytest_tutoreval.measures import SessionMeasurer
from pytest_tutoreval.records import Session, SessionKey
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.transcript import protocol_breach
from tests.local_model.serve import ALIAS

pytestmark = pytest.mark.local_model

CONDITIONS = ("conv", "ped")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of the model's server."""
    command = [sys.executable, "-m", "tests.local_model.serve"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdin is not None
    line = next((line for line in server.stdout if line.startswith("http")), "")
    assert line, f"the model server did not start (exit {server.poll()})"
    try:
        yield line.strip()
    finally:
        server.stdin.close()
        server.stdout.close()
        server.kill()
        server.wait()


def study_file(address: str) -> StudyFile:
    """Tutor by Anthropic Messages, student by an OpenAI-compatible endpoint, judge by OpenAI Chat Completions."""
    return StudyFile.parse(
        {
            "bases": [
                {
                    "id": "small",
                    "label": "SmolLM2",
                    "model": ALIAS,
                    "provider": "anthropic",
                    "sampling": {"temperature": 0.4, "max_tokens": 48},
                }
            ],
            "judges": [
                {
                    "id": "small-judge",
                    "label": "SmolLM2",
                    "model": ALIAS,
                    "provider": "openai",
                    "status": "a model that cannot judge",
                    "sampling": {"max_tokens": 64, "seed": "repetition"},
                }
            ],
            "student": {
                "label": "SmolLM2",
                "model": ALIAS,
                "provider": "compatible",
                "sampling": {"temperature": 0.8, "max_tokens": 48, "seed": "replicate"},
                "date": "2026-11-30",
                "reason": "no registered host is reachable from a test",
            },
            "routes": {
                "anthropic": {"base_url": address, "concurrency": 1, "timeout": 600},
                "openai": {"base_url": f"{address}/v1", "concurrency": 1, "timeout": 600},
                "compatible": {"base_url": f"{address}/v1", "concurrency": 1, "timeout": 600},
            },
        }
    )


@pytest.fixture(scope="module")
def instrument(address: str) -> Instrument:
    """Two training problems and one repetition of the frozen instrument, with the local routes."""
    extended = extend_instrument(load_instrument(), study_file(address))
    protocol = extended.study.protocol.model_copy(update={"repetitions": 1})
    study = extended.study.model_copy(update={"protocol": protocol})
    return replace(extended, problems=extended.problems[:2], study=study)


@pytest.fixture(scope="module")
def run(address: str, instrument: Instrument, tmp_path_factory: pytest.TempPathFactory) -> LiveRun:
    """A finished run: one replicate of both policies, rated for helpfulness."""
    live = LiveRun(
        instrument=instrument,
        folder=tmp_path_factory.mktemp("local") / "corpus",
        needs=Needs.crossed(bases=["small"], conditions=CONDITIONS, judges=["small-judge"], rubrics=["helpfulness"]),
        study_file=study_file(address),
        replicates=(0,),
        environ={"ANTHROPIC_API_KEY": "none-is-checked", "OPENAI_API_KEY": "none-is-checked"},
    )
    outcome = run_live(live)
    assert outcome.complete, outcome.lines()
    return live


def session_of(run: LiveRun, condition: str) -> Session:
    """The collected session of a condition."""
    return open_corpus(run.folder, instrument=run.instrument.sha256).session(SessionKey("small", condition, 0))


@pytest.mark.parametrize(("condition", "calls"), [("conv", 2 * (5 + 4)), ("ped", 2 * (5 + 8))])
def test_a_session_keeps_the_protocol(run: LiveRun, instrument: Instrument, condition: str, calls: int) -> None:
    session = session_of(run, condition)
    assert len(session.calls) == calls
    assert protocol_breach(session, instrument.problems, instrument.study.protocol.tutor_turns) is None


def test_every_call_keeps_what_the_wire_said(run: LiveRun) -> None:
    calls = [call for condition in CONDITIONS for call in session_of(run, condition).calls]
    assert {call.served_model for call in calls} == {None}, "absent: the model that was asked for"
    assert {call.finish for call in calls} <= {"stop", "length"}
    assert all(call.input_tokens > 0 and 0 < call.output_tokens <= 48 for call in calls)
    assert all(call.request and call.seconds and call.started for call in calls)


def test_the_amended_student_is_on_the_record(run: LiveRun) -> None:
    amendments = session_of(run, "conv").header.amendments
    assert len(amendments) == 1
    assert "no registered host is reachable" in amendments[0]


def test_measures_and_ratings_agree_on_the_turns(run: LiveRun, instrument: Instrument) -> None:
    corpus = open_corpus(run.folder, instrument=instrument.sha256)
    for condition in CONDITIONS:
        session = session_of(run, condition)
        measured = SessionMeasurer(instrument).measure(session)
        ratings = corpus.ratings("small-judge", "helpfulness", session.key)
        assert ratings is not None
        assert {(rating.problem, rating.turn) for rating in ratings} == {
            (turn.id.problem, turn.id.turn) for turn in measured.turns
        }
        assert all(
            rating.raw is not None and (rating.overall is None or 1 <= rating.overall <= 5) for rating in ratings
        )


def test_a_second_run_asks_nothing(run: LiveRun) -> None:
    outcome = run_live(run)
    assert outcome.complete
    assert not outcome.spending
    assert Path(run.folder, "corpus.toml").is_file()
