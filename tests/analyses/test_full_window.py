"""All visible turns against the answer-phase window."""

from pathlib import Path
from statistics import fmean

import pytest

from pytest_tutoreval.detectors import DeclaredForms
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records import CorpusManifest
from pytest_tutoreval.store import open_corpus, seal_corpus, write_session
from pytest_tutoreval.transcript import read_transcript
from tests.analyses.building import a_small_instrument, analyse, part
from tests.builders import a_session
from tests.store.corpora import DEMO, measures_of

ARMS = ("conv", "ped")


def test_tables_are_not_evaluable_with_the_reason(released: Path) -> None:
    with pytest.raises(NotEvaluable, match="the tables hold in-window turns only"):
        analyse(measures_of(released), "full_window")


def test_all_turns_of_the_protocol_are_counted() -> None:
    measures = measures_of(DEMO)
    row = analyse(measures, "full_window")["turns"]
    assert (row.n, part(row, "conv").n, part(row, "ped").n) == (480, 240, 240)
    inside = sum(map(len, measures.cell("sonnet", "conv").turns.values()))
    assert part(row, "conv_windowed").n == inside < 240
    assert "only in-window turns are rated" in row.notes[0]


def test_leakage_is_the_share_of_all_turns_worked_out_call_by_call() -> None:
    measures = measures_of(DEMO)
    forms = {
        problem.id: DeclaredForms(problem.numeric_forms, problem.solution_forms)
        for problem in load_instrument().problems
    }
    shares = {}
    for arm in ARMS:
        for replicate, session_row in measures.cell("sonnet", arm).sessions.items():
            exchanges = read_transcript(measures.corpus.session(session_row.key)).exchanges
            flags = [
                forms[problem].leak(turn.text) for problem, exchange in exchanges.items() for turn in exchange.tutor
            ]
            shares[arm, replicate] = fmean(flags)
    row = analyse(measures, "full_window")["contrast.leakage"]
    assert row.estimate == pytest.approx(fmean(shares["conv", r] - shares["ped", r] for r in range(10)), abs=1e-12)


def test_windowed_numbers_stand_beside() -> None:
    measures = measures_of(DEMO)
    rows = analyse(measures, "full_window", "gemini")
    cells = {arm: measures.cell("gemini", arm).sessions for arm in ARMS}
    for name in ("leakage", "independence"):
        row = rows[f"contrast.{name}"]
        inside = fmean(getattr(cells["conv"][r], name) - getattr(cells["ped"][r], name) for r in range(10))
        assert part(row, "windowed").estimate == pytest.approx(inside, abs=1e-12)
        assert row.estimate != part(row, "windowed").estimate
        assert part(row, "changed").n == 0
    leg = rows["leg.next_turn_independence"]
    assert (leg.n, part(leg, "windowed").n) == (
        480,
        sum(len(t) for arm in ARMS for t in measures.cell("gemini", arm).turns.values()),
    )


def test_what_is_not_defined_keeps_its_place(tmp_path: Path) -> None:
    """Every student commits in the opening reply, and no tutor turn leaks: no windowed rate, and no slope."""
    said = {problem.id: ["FINAL ANSWER: 3"] for problem in load_instrument().training}
    for arm in ARMS:
        session = a_session(condition=arm, said=said)
        write_session(tmp_path, session.header, session.calls, sync=lambda _: None)
    instrument = load_instrument()
    manifest = CorpusManifest(
        name="made-up",
        provenance="simulated",
        content="sessions",
        instrument=instrument.sha256,
        study=instrument.study.name,
        producer="tests",
        bases=("sonnet",),
        conditions=ARMS,
        judges=(),
    )
    seal_corpus(tmp_path, manifest)
    rows = analyse(CorpusMeasures(open_corpus(tmp_path), a_small_instrument(1)), "full_window")
    assert rows["turns"].n == 48
    assert rows["contrast.leakage"].notes == ("not evaluable: no pairs: no replicate has both values",)
    assert rows["leg.next_turn_independence"].notes[-1].startswith("not evaluable: ")
