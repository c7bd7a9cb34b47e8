"""Sessions of a study of one's own: played and measured under its problems, kept apart by policy text."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.collecting import collect_calls
from pytest_tutoreval.collecting.engine import collect_session
from pytest_tutoreval.errors import CorpusError, ForeignInstrument
from pytest_tutoreval.frozen import Instrument, extend_instrument, load_instrument
from pytest_tutoreval.live.jobs import session_jobs
from pytest_tutoreval.measures import Cell, CorpusMeasures
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.store import open_corpus, seal_corpus, write_session
from tests.builders import Replies

CORE = load_instrument()
PROBLEMS: list[dict[str, Any]] = [
    {"id": "own-1", "phase": "training", "statement": "Add 13 and 4.", "answer": 17.0, "numeric_forms": ["17"]},
    {"id": "own-2", "phase": "training", "statement": "Add 13 and 5.", "answer": 18.0, "numeric_forms": ["18"]},
    {"id": "own-3", "phase": "delayed", "statement": "Add 6 and 13.", "answer": 19.0, "training_parent": "own-1"},
]
BASE = {"id": "ours", "label": "Ours", "model": "our-tutor", "provider": "compatible", "sampling": {"max_tokens": 64}}


def a_study(folder: Path, *, prompt: str = "Ask back.", **tables: Any) -> Instrument:
    folder.mkdir(exist_ok=True)
    (folder / "own.txt").write_text(prompt, encoding="utf-8")
    given = {"bases": [BASE], "policies": [{"id": "own", "prompt": "own.txt"}], "problems": PROBLEMS} | tables
    return extend_instrument(CORE, StudyFile.parse(given), folder=folder)


def said(request: ModelRequest) -> str:
    """The tutor gives 17 away and nothing else; the student adds up on a probe, and else says nothing of note."""
    if request.role == "tutor":
        return "It is 17." if request.site.problem == "own-1" and request.site.turn == 0 else "And then?"
    return "I do not know." if request.site.purpose == "exchange" else "FINAL ANSWER: 19"


def collect(folder: Path, instrument: Instrument, *conditions: str, replicates: int = 1) -> Path:
    keys = [SessionKey("ours", condition, number) for condition in conditions for number in range(replicates)]
    for job in session_jobs(instrument, keys):
        write_session(folder, job.header, collect_calls(job.plan, Replies(otherwise=said)), sync=lambda _: None)
    manifest = CorpusManifest(
        name="own",
        provenance="recorded",
        content="sessions",
        instrument=instrument.sha256,
        study=instrument.study.name,
        producer="tests",
        bases=("ours",),
        conditions=conditions,
        judges=(),
    )
    seal_corpus(folder, manifest)
    return folder


def cell(folder: Path, instrument: Instrument, condition: str) -> Cell:
    return CorpusMeasures(open_corpus(folder, instrument=instrument.sha256), instrument).cell("ours", condition)


def test_own_problems_and_turns_are_played_and_measured(tmp_path: Path) -> None:
    study = a_study(tmp_path / "study", protocol={"tutor_turns": 2})
    row = cell(collect(tmp_path / "corpus", study, "own"), study, "own").sessions[0]
    # two problems of two tutor turns, one of which gives 17 away; the one delayed probe is right, others there are none
    assert (row.n_tutor_turns, row.leakage) == (4, 0.25)
    assert (row.accuracy_delayed, row.accuracy_immediate, row.accuracy_transfer) == (1.0, None, None)


def test_a_session_carries_the_digest_of_its_own_policy_and_no_other(tmp_path: Path) -> None:
    study = a_study(tmp_path / "study")
    corpus = open_corpus(collect(tmp_path / "corpus", study, "own", "conv", "cold"))
    stamps = {name: corpus.session(SessionKey("ours", name, 0)).header.policy for name in ("own", "conv", "cold")}
    assert stamps == {"own": study.policy_sha256("own"), "conv": None, "cold": None}


def test_an_edited_prompt_makes_its_own_sessions_foreign_and_no_others(tmp_path: Path) -> None:
    before = a_study(tmp_path / "study")
    corpus = collect(tmp_path / "corpus", before, "own", "conv")
    after = a_study(tmp_path / "study", prompt="Tell them.")
    assert after.sha256 == before.sha256
    assert cell(corpus, after, "conv").broken == {}
    assert cell(corpus, after, "own").sessions == {}
    assert (
        cell(corpus, after, "own")
        .broken[0]
        .startswith(
            "session ours/own/r0: collected under another text of policy own "
            f"({str(before.policy_sha256('own'))[:12]}, the study file's is {str(after.policy_sha256('own'))[:12]}); "
        )
    )


def test_without_the_study_file_its_sessions_can_still_be_read(tmp_path: Path) -> None:
    study = a_study(tmp_path / "study", problems=[])
    corpus = collect(tmp_path / "corpus", study, "own")
    assert cell(corpus, CORE, "own").broken == {}


def test_more_replicates_leave_collected_ones_as_they_are(tmp_path: Path) -> None:
    before = a_study(tmp_path / "study")
    corpus = collect(tmp_path / "corpus", before, "own", replicates=2)
    after = a_study(tmp_path / "study", protocol={"replicates": 20})
    assert sorted(cell(corpus, after, "own").sessions) == [0, 1]
    (job,) = session_jobs(after, [SessionKey("ours", "own", 1)])
    assert job.header == open_corpus(corpus).session(job.key).header


def test_a_run_does_not_go_on_with_a_session_of_another_policy_text(tmp_path: Path) -> None:
    corpus = collect(tmp_path / "corpus", a_study(tmp_path / "study"), "own")
    edited = a_study(tmp_path / "study", prompt="Tell them.")
    (job,) = session_jobs(edited, [SessionKey("ours", "own", 0)])

    async def never(_: ModelRequest) -> ModelReply:
        raise AssertionError("asked")

    with pytest.raises(CorpusError, match=r"was begun with other settings \(policy\)"):
        asyncio.run(collect_session(job, corpus, never))


@pytest.mark.parametrize(
    "tables", [{"problems": PROBLEMS[:2]}, {"protocol": {"tutor_turns": 3}}, {"protocol": {"repetitions": 2}}]
)
def test_data_of_another_meaning_are_refused(tmp_path: Path, tables: dict[str, Any]) -> None:
    corpus = collect(tmp_path / "corpus", a_study(tmp_path / "study"), "own")
    other = a_study(tmp_path / "study", **tables)
    with pytest.raises(ForeignInstrument, match=f"made under instrument .*, this one is {other.sha256[:12]}"):
        open_corpus(corpus, instrument=other.sha256)
