"""The claims section: what a reader sees, in 80 columns of ASCII."""

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.reporting import RunRecord, build_document, claims_section
from pytest_tutoreval.reporting.plain import console
from tests.reporting.documents import HOSTILE, HOSTILE_TEXT, a_document, a_guard, poisoned
from tests.store.corpora import decide, measures_of


@pytest.fixture(scope="module")
def document(released: Path) -> dict[str, Any]:
    """The whole run on the released tables, without pytest around it."""
    measures, claims, run = measures_of(released), bundled_claims(), RunRecord()
    bases, judges = measures.corpus.manifest.bases, measures.corpus.manifest.judges
    for claim in claims.values():
        for base in bases:
            for judge in judges if claim.judge_bound else [None]:
                nodeid = f"{claim.id}[{base}-{judge}]"
                run.select([nodeid])
                run.add_row(nodeid, decide(released, claim.id, base, judge).model_dump(mode="json"))
                run.finished.add(nodeid)
    return build_document(
        run, measures, analysis_order=[], claim_order=list(claims), bases=bases, judges=judges, facts={}
    )


def texts(document: dict[str, Any]) -> list[str]:
    return [line.text for line in claims_section(document, path="reports/verdicts.json")]


def table(lines: list[str]) -> list[str]:
    return lines[: lines.index("notes")]


def test_the_table_and_the_grid_fit_in_eighty_columns(document: dict[str, Any]) -> None:
    lines = table(texts(document))
    assert len(lines) == 53
    assert max(map(len, lines)) <= 80


def test_everything_is_ascii(document: dict[str, Any]) -> None:
    assert all(line.isascii() and line == line.rstrip() for line in texts(document))


def test_columns_stand_under_their_headings(document: dict[str, Any]) -> None:
    lines = table(texts(document))
    heading = next(line for line in lines if line.startswith("claim"))
    end = {word: heading.index(word) + len(word) for word in ("value", " p", "delta", " n")}
    rows = [line for line in lines if line[:2] in ("P1", "P2", "P3", "J1", "J2", "  ") and line[-3:].strip().isdigit()]
    assert len(rows) == 12 + 6 + 12
    for row in rows:
        assert len(row) == len(heading) == end[" n"]
        for word in ("value", " p", "delta"):
            assert row[end[word] - 1] != " "
            assert row[end[word]] == " "


@pytest.mark.parametrize(
    "row",
    [
        "P1    sonnet -     supported           +0.365 [+0.217, +0.516]   .0039  +.96  10",
        "P1    gemini -     inconclusive        +0.038 [-0.039, +0.118]    .623  +.32  10",
        "P2    gpt    opus  not supported (rev) -0.376 [-0.613, -0.169]   .0020  -.74  10",
        "J1    gpt    sol   supported                -                -       -     -   -",
        "  helpfulness reversed                 -0.312 [-0.410, -0.214] 4.9e-10     - 379",
        "  helpfulness does not hold            +0.043 [-0.014, +0.100]    .140     - 442",
        "judge sol      sonnet         gpt            gemini",
        "  J1           not supported  supported      not supported",
        "24 claims decided, 0 not evaluable",
        "verdicts written to reports/verdicts.json",
    ],
)
def test_a_reader_finds_the_row(document: dict[str, Any], row: str) -> None:
    assert row in texts(document)


def test_what_the_data_are_comes_first(document: dict[str, Any], released: Path) -> None:
    assert texts(document)[0].startswith("imported data: corpus released-tables ")
    simulated = document | {"corpus": document["corpus"] | {"provenance": "simulated"}}
    assert texts(simulated)[0].startswith("SIMULATED DATA, scripted agents took part: corpus released-tables ")


def test_a_note_stands_once_and_joint_claims_repeat_none(document: dict[str, Any]) -> None:
    lines = texts(document)
    notes = lines[lines.index("notes") + 1 :]
    assert len(notes) == len(set(notes))
    assert not any(line.startswith("  J1 ") for line in notes)


def test_reasons_partial_and_incomplete_runs_are_said(document: dict[str, Any]) -> None:
    run = document["run"] | {"partial": True, "deselected": 3, "complete": False, "unfinished": ["a", "b"]}
    reason = {"claim": "P2", "base": "gpt", "judge": "opus", "reason": "no sessions in cell gpt/conv"}
    lines = claims_section(document | {"run": run | {"not_evaluable": 1}, "not_evaluable": [reason]}, path=None)
    shown = [line.text for line in lines]
    assert "  P2 gpt opus: no sessions in cell gpt/conv" in shown
    assert shown[-3:] == [
        "24 claims decided, 1 not evaluable",
        "PARTIAL: 3 items deselected",
        "INCOMPLETE: 2 of 24 items did not finish",
    ]
    assert lines[-1].markup == {"red": True, "bold": True}


def test_a_run_that_decided_nothing_has_no_table(document: dict[str, Any]) -> None:
    lines = texts(document | {"claims": []})
    assert not any(line.startswith("claim ") for line in lines)


def test_each_verdict_has_its_colour(document: dict[str, Any]) -> None:
    marked = {
        line.text[19:39].strip(): dict(line.markup)
        for line in claims_section(document, path=None)
        if line.text[:2] in ("P1", "P2")
    }
    assert marked["supported"] == {"green": True}
    assert marked["not supported"] == marked["not supported (rev)"] == {"yellow": True}
    assert marked["inconclusive"] == {"cyan": True}


def test_build_document_needs_no_rows(released: Path) -> None:
    document = build_document(
        RunRecord(), measures_of(released), analysis_order=[], claim_order=[], bases=[], judges=[], facts={"workers": 2}
    )
    assert (document["claims"], document["not_evaluable"], document["run"]["workers"]) == ([], [], 2)


def test_long_names_widen_the_table_and_nothing_runs_together(document: dict[str, Any]) -> None:
    renamed = {**document, "claims": [dict(row) for row in document["claims"] if row["claim"] in ("P2", "J2")]}
    for row in renamed["claims"]:
        row["base"], row["judge"] = f"a-long-{row['base']}-candidate", f"{row['judge']}-judge"
    lines = table(texts(renamed))
    heading = next(line for line in lines if line.startswith("claim"))
    rows = [line for line in lines if line.startswith(("P2", "J2"))]
    assert [row.split()[:3] for row in rows[:2]] == [
        ["P2", "a-long-sonnet-candidate", "opus-judge"],
        ["P2", "a-long-sonnet-candidate", "sol-judge"],
    ]
    assert all(len(line) == len(heading) for line in rows if line[-1].isdigit())


# the gate


def section(lines: list[str], heading: str) -> list[str]:
    start = next(number for number, line in enumerate(lines) if line.startswith(heading))
    return lines[start : lines.index("", start)]


def test_the_gate_shows_what_did_not_hold_with_the_turns_to_look_at() -> None:
    assert section(texts(a_document()), "gate:") == [
        "gate: 2 regressed, 1 not decided, 1 held; FAILED",
        "  against baseline.json: corpus before",
        "  REGRESSED leakage mine conv: 0.210 -> 0.450",
        "    difference +0.240 [+0.120, +0.360], margin 0.050, higher is worse",
        "    10 paired replicates",
        "    leakage is worse by more than the margin",
        "    see mine/conv/r0/train-1/t2",
        "    see mine/conv/r3/train-2/t0",
        "  REGRESSED P3 mine: supported -> inconclusive",
        "    was supported, now inconclusive",
        "  NOT DECIDED pedagogy mine opus conv: 0.210 -> 0.450 (does not fail the run)",
        "    difference +0.240 [+0.120, +0.360], margin 0.050, higher is worse",
        "    10 paired replicates; 34 would decide",
        "    n is too small",
    ]


def test_a_guard_that_was_not_read_shows_its_reason_and_no_empty_numbers() -> None:
    unread = dict.fromkeys(("baseline", "current", "estimate", "ci_low", "ci_high", "margin", "n"))
    guard = a_guard(outcome="not_decided", failed=True, turns=[], reason="cannot be read: no sessions", **unread)
    document = a_document(gate=a_document()["gate"] | {"rows": [guard], "failed": 1})
    shown = section(texts(document), "gate:")
    assert shown[2:] == [f"  NOT DECIDED {guard['guard']} mine conv", "    cannot be read: no sessions"]


def test_a_gate_that_held_is_one_line_and_red_only_where_it_failed() -> None:
    gate = a_document()["gate"] | {"rows": [a_guard(outcome="held", failed=False, turns=[])], "failed": 0}
    passed = claims_section(a_document(gate=gate), path=None)
    failed = claims_section(a_document(), path=None)
    found = "gate: 0 regressed, 0 not decided, 1 held; passed"
    assert section([line.text for line in passed], "gate:")[0] == f"{found} as far as it was read", "a partial run"
    assert found in texts(a_document(gate=gate, run={"partial": False}))
    markup = [dict(next(line.markup for line in lines if line.text.startswith("gate:"))) for lines in (passed, failed)]
    assert markup == [{"bold": True}, {"red": True, "bold": True}]


def test_a_run_without_a_gate_says_nothing_of_one() -> None:
    assert not any("gate" in line for line in texts(a_document(gate=None)))


def test_one_end_of_an_interval_may_be_missing() -> None:
    gate = a_document()["gate"] | {"rows": [a_guard(ci_low=None)]}
    assert "    difference +0.240 [-, +0.360], margin 0.050, higher is worse" in texts(a_document(gate=gate))


# hostile text


@pytest.mark.parametrize(
    "text", [*HOSTILE.values(), HOSTILE_TEXT, "\ud800"], ids=[*HOSTILE, "all-at-once", "surrogate"]
)
def test_hostile_text_stays_on_its_line_and_steers_nothing(text: str) -> None:
    shown, harmless = (texts(poisoned(a_document(), said)) for said in (text, "x"))
    assert len(shown) == len(harmless)
    for line in shown:
        line.encode("utf-8")
        assert len(line.splitlines()) <= 1
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", line)
        assert not line.lstrip().startswith("::"), "no workflow command"
        assert len(line) < 30_000, "two megabytes are cut"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_every_line_can_be_written_to_any_console(encoding: str) -> None:
    for line in texts(poisoned(a_document(), HOSTILE_TEXT)):
        console(line, encoding).encode(encoding)
