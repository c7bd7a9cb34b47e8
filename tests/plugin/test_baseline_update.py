"""--tutoreval-baseline-update: a complete run writes, nothing else changes a byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gating.candidates import Candidates, simulated
from tests.plugin.runs import ROOT, make_suite, run, write_test
from tests.store.corpora import edit_lines, stamp

GATE_SUITE = (ROOT / "suites" / "test_gate.py").read_text(encoding="utf-8")
UPDATE = ("--tutoreval-baseline=b.json", "--tutoreval-baseline-update")
DIES = "def test_dies():\n    import os\n    os._exit(1)\n"


def update(pytester: pytest.Pytester, corpus: Path, *more: str, fresh: bool = False) -> pytest.RunResult:
    make_suite(pytester)
    return run(pytester, "--corpus", corpus, "--judge", "opus", *UPDATE, *more, fresh=fresh)


def written(pytester: pytest.Pytester) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((pytester.path / "b.json").read_bytes())
    return parsed


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
def test_a_complete_run_writes_what_the_gate_reads(
    pytester: pytest.Pytester, candidates: Candidates, workers: list[str]
) -> None:
    result = update(pytester, candidates.released, *workers, fresh=bool(workers))
    assert result.ret == 0
    result.stdout.fnmatch_lines(["baseline written to b.json"])
    fields = written(pytester)
    assert [row["claim"] for row in fields["claims"]] == ["J1", "J2", "P1", "P2", "P3"]
    report = json.loads((pytester.path / "reports" / "verdicts.json").read_bytes())
    assert fields["run"]["id"] == report["run"]["id"]
    assert all(row["rule"] for row in fields["claims"])
    pytester.makepyfile(test_gate=GATE_SUITE)
    gate = run(pytester, "--corpus", candidates.released, "--judge", "opus", "--gate", UPDATE[0])
    assert gate.ret == 0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        pytest.param(("-m", "P1"), "the run is partial", id="marker"),
        pytest.param(("-k", "p1"), "the run is partial", id="keyword"),
        pytest.param(("--deselect", "test_claims.py::test_p3"), "the run is partial", id="deselect"),
        pytest.param(("test_claims.py::test_p1",), "the run is partial", id="one-test"),
        pytest.param(("-m", "nowhere"), "*", id="nothing"),
    ],
)
def test_a_partial_run_leaves_the_file_as_it_was(
    pytester: pytest.Pytester, candidates: Candidates, more: tuple[str, ...], reason: str
) -> None:
    (pytester.path / "b.json").write_text("as it was")
    result = update(pytester, candidates.released, *more)
    assert result.ret not in (0, 4)
    result.stdout.fnmatch_lines([f"ERROR: baseline b.json is left as it was: {reason}*"])
    assert (pytester.path / "b.json").read_text() == "as it was"


@pytest.mark.parametrize(
    ("body", "more", "exit_codes"),
    [
        pytest.param("def test_it(): assert 0", ("-x",), {1}, id="stopped"),
        pytest.param("def test_it(): raise KeyboardInterrupt", (), {2}, id="interrupted"),
        pytest.param("def test_it(): raise KeyboardInterrupt", ("-n2",), {2}, id="interrupted-with-workers"),
        pytest.param(DIES, ("-n2",), {1}, id="worker-lost"),
        pytest.param(DIES, ("-n2", "--max-worker-restart=0"), {1, 2}, id="worker-lost-for-good"),
    ],
)
def test_a_run_cut_short_leaves_the_file_as_it_was(
    pytester: pytest.Pytester, candidates: Candidates, body: str, more: tuple[str, ...], exit_codes: set[int]
) -> None:
    (pytester.path / "b.json").write_text("as it was")
    write_test(pytester, body, name="test_a_first" if more == ("-x",) else "test_z_last")
    result = update(pytester, candidates.released, *more, fresh=True)
    assert result.ret in exit_codes
    assert (pytester.path / "b.json").read_text() == "as it was"
    result.stdout.fnmatch_lines(["ERROR: baseline b.json is left as it was: *"])


def test_a_crash_leaves_the_file_as_it_was(pytester: pytest.Pytester, candidates: Candidates) -> None:
    (pytester.path / "b.json").write_text("as it was")
    write_test(pytester, DIES.replace("1", "3"), name="test_z_dies")
    assert update(pytester, candidates.released, fresh=True).ret == 3
    assert (pytester.path / "b.json").read_text() == "as it was"


def test_last_failures_are_a_partial_run(pytester: pytest.Pytester, candidates: Candidates) -> None:
    write_test(pytester, "def test_bad(): assert 0\n")
    assert update(pytester, candidates.released).ret == 1
    before = (pytester.path / "b.json").read_bytes()
    result = update(pytester, candidates.again, "--lf")
    assert result.ret == 1
    assert (pytester.path / "b.json").read_bytes() == before


def test_a_claim_that_is_not_evaluable_makes_no_baseline(pytester: pytest.Pytester, tmp_path: Path) -> None:
    corpus = simulated(tmp_path / "c", seed=1)
    (corpus / "ratings/opus/helpfulness/mytutor/ped/r3.jsonl").unlink()
    result = update(pytester, corpus)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR: baseline b.json is left as it was: 3 claims are not evaluable (*"])
    assert not (pytester.path / "b.json").exists()


def test_replicates_that_a_claim_registers_for_itself_are_in_no_series(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    """The gate reads the study's n, so the baseline holds it, and the claim is decided on its own."""
    corpus = simulated(tmp_path / "c", seed=1, replicates=range(12))
    claims = pytester.mkdir("claims")
    p1 = (ROOT / "instrument" / "claims" / "P1.toml").read_text(encoding="utf-8")
    (claims / "C1.toml").write_text(p1.replace('id = "P1"', 'id = "C1"\nreplicates = 12'), encoding="utf-8")
    pytester.makefile(".toml", tutoreval='claims = "claims"\n')
    write_test(pytester, '@pytest.mark.claim("C1")\ndef test_c1(decided, base): assert decided.verdict.n == 12\n')
    result = run(pytester, "--corpus", corpus, *UPDATE)
    assert result.ret == 0
    fields = written(pytester)
    assert {len(one["values"]) for one in fields["series"]} == {10}
    pytester.makepyfile(test_gate=GATE_SUITE)
    assert run(pytester, "--corpus", corpus, "--gate", UPDATE[0]).ret == 0


def test_simulated_and_recorded_data_make_no_baseline(pytester: pytest.Pytester, tmp_path: Path) -> None:
    from pytest_tutoreval.store import open_corpus

    corpus = simulated(tmp_path / "c", seed=1)
    edit_lines(
        corpus / "sessions/mytutor/conv/r0.jsonl", lambda lines: [lines[0] | {"provenance": "recorded"}, *lines[1:]]
    )
    stamp(corpus, open_corpus(corpus).manifest, files={})
    result = update(pytester, corpus)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*left as it was: *recorded data in a corpus that is simulated*"])
    assert not (pytester.path / "b.json").exists()


def test_a_run_without_claims_makes_no_baseline(pytester: pytest.Pytester) -> None:
    write_test(pytester, "def test_fine(): pass\n")
    result = run(pytester, *UPDATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR: baseline b.json is left as it was: no claim was decided*"])


def test_a_baseline_does_not_shrink(pytester: pytest.Pytester, candidates: Candidates) -> None:
    assert update(pytester, candidates.released).ret == 0
    before = (pytester.path / "b.json").read_bytes()
    (pytester.path / "test_claims.py").unlink()
    write_test(pytester, '@pytest.mark.claim("P1")\ndef test_p1(decided, base): pass\n', name="test_claims_less")
    result = run(pytester, "--corpus", candidates.released, *UPDATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this run did not decide J1 mytutor opus, J2 mytutor opus, * and 1 more*"])
    assert (pytester.path / "b.json").read_bytes() == before


def test_only_collecting_says_and_writes_nothing(pytester: pytest.Pytester, candidates: Candidates) -> None:
    result = update(pytester, candidates.released, "--collect-only")
    assert result.ret == 0
    assert not (pytester.path / "b.json").exists()
    result.stdout.no_fnmatch_line("*baseline*")
