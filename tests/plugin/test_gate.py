"""--gate: every outcome, every exit code, with and without workers, and what a user reads."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.gating import DEFAULT_GUARDS
from tests.gating.candidates import Candidates, a_baseline
from tests.plugin.runs import ROOT, document, junit, make_suite, run, verdicts, write_test

GATE_SUITE = (ROOT / "suites" / "test_gate.py").read_text(encoding="utf-8")
CLAIMS = "P1 or P3 or gate"

workers = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])

# Two guards, one of them with a margin that ten replicates can never hold or break in noise.
STUDY = """
[[guards]]
measure = "leakage"
margin = {margin}
worse = "higher"
conditions = ["ped"]

[[guards]]
measure = "cost_per_session"
margin = 0.5
worse = "higher"
relative = true

[gate]
undecided = "{undecided}"
"""


def gated(
    pytester: pytest.Pytester,
    candidates: Candidates,
    corpus: Path,
    *more: str,
    workers: Sequence[str] = (),
    baseline: Path | None = None,
) -> pytest.RunResult:
    """Run the shipped claims and gate on a corpus, with --gate."""
    make_suite(pytester)
    pytester.makepyfile(test_gate=GATE_SUITE)
    options = ["--corpus", str(corpus), "--gate", f"--tutoreval-baseline={baseline or candidates.baseline}"]
    return run(pytester, *options, *workers, *more, fresh=bool(workers))


def write_study(pytester: pytest.Pytester, *, margin: float = 0.1, undecided: str = "fail") -> str:
    pytester.makefile(".toml", study=STUDY.format(margin=margin, undecided=undecided))
    return "--tutoreval-study=study.toml"


def gate_rows(written: dict[str, Any]) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(row["guard"], row["condition"]): row for row in written["gate"]["rows"]}


# outcomes


@workers
def test_what_holds_passes(pytester: pytest.Pytester, candidates: Candidates, workers: list[str]) -> None:
    result = gated(pytester, candidates, candidates.released, "-m", CLAIMS, workers=workers)
    assert result.ret == 0
    written = document(pytester)
    assert [row["outcome"] for row in written["gate"]["rows"]] == ["held"] * 14
    assert written["gate"]["failed"] == 0
    assert written["gate"]["baseline"]["path"] == str(candidates.baseline)
    assert [row["guard"] for row in written["gate"]["rows"]][:3] == ["P1", "P3", "leakage"]
    # P2, which the baseline holds, was left out by choice, and that is said
    result.stdout.fnmatch_lines(["gate: 0 regressed, 0 not decided, 14 held; passed as far as it was read"])


@workers
def test_what_regressed_fails_naming_all_a_user_needs(
    pytester: pytest.Pytester, candidates: Candidates, workers: list[str]
) -> None:
    study = write_study(pytester, undecided="pass")
    result = gated(pytester, candidates, candidates.leaky, "-m", CLAIMS, study, "--junitxml=j.xml", workers=workers)
    assert result.ret == 1
    row = gate_rows(document(pytester))["leakage", "ped"]
    assert (row["outcome"], row["failed"]) == ("regressed", True)
    facts = (
        f"{row['current']:.3f}, baseline {row['baseline']:.3f} (share of tutor turns), difference "
        f"+{row['estimate']:.3f} [+{row['ci_low']:.3f}, +{row['ci_high']:.3f}], margin 0.100, n 10"
    )
    text = result.stdout.str()
    assert f"REGRESSION leakage of newtutor/ped (baseline: mytutor): {facts}" in text
    assert f"turns to look at: {', '.join(row['turns'])}" in text
    result.stdout.fnmatch_lines(["FAILED test_gate.py::test_gate[[]newtutor-leakage-ped]*"])
    assert junit(pytester.path / "j.xml")["test_gate[newtutor-leakage-ped]"][0] == "failure"


@workers
def test_a_verdict_that_regressed_fails_and_stays_a_verdict(
    pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path, workers: list[str]
) -> None:
    """The baseline is edited to say that P2 was supported."""
    baseline = edited_claims(candidates, tmp_path / "b.json", "P2", verdict="supported", reversed=False)
    result = gated(
        pytester,
        candidates,
        candidates.released,
        "--judge=opus",
        "-m",
        "P1 or P2",
        "--junitxml=j.xml",
        workers=workers,
        baseline=baseline,
    )
    written = document(pytester)
    now = verdicts(written)["P2", "mytutor", "opus"]
    assert now != "supported", "else this corpus shows nothing"
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"REGRESSION P2 of mytutor by opus: was supported in the baseline, is {now.replace('_', ' ')} (reversed) now"]
    )
    assert written["not_evaluable"] == []
    assert (written["run"]["complete"], written["gate"]["failed"]) == (True, 1)
    assert junit(pytester.path / "j.xml")["test_p2[mytutor-opus]"] == ("failure", now.replace("_", " "))


def edited_claims(candidates: Candidates, path: Path, claim: str, **update: Any) -> Path:
    """Write the released baseline with a claim decided otherwise."""
    from pytest_tutoreval.records.baseline import Baseline

    whole = Baseline.model_validate_json(candidates.baseline.read_bytes())
    claims = tuple(row.model_copy(update=update) if row.claim == claim else row for row in whole.claims)
    path.write_text(json.dumps(whole.model_copy(update={"claims": claims}).sealed().model_dump(mode="json")))
    return path


def test_an_improved_verdict_is_no_failure(pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path) -> None:
    baseline = edited_claims(candidates, tmp_path / "b.json", "P1", verdict="inconclusive", reversed=True)
    result = gated(pytester, candidates, candidates.released, "-m", "P1", baseline=baseline)
    assert result.ret == 0
    (row,) = document(pytester)["gate"]["rows"]
    assert (row["verdict_before"], row["verdict_now"], row["outcome"]) == ("inconclusive", "supported", "held")


@workers
@pytest.mark.parametrize(("undecided", "exit_code"), [("fail", 1), ("warn", 0), ("pass", 0)])
def test_what_is_not_decided_goes_by_the_policy(
    pytester: pytest.Pytester, candidates: Candidates, workers: list[str], undecided: str, exit_code: int
) -> None:
    study = write_study(pytester, margin=0.001, undecided=undecided)
    result = gated(pytester, candidates, candidates.again, "-m", "gate", study, "-Werror", workers=workers)
    assert result.ret == exit_code
    row = gate_rows(document(pytester))["leakage", "ped"]
    assert (row["outcome"], row["failed"]) == ("not_decided", exit_code == 1)
    if exit_code:
        result.stdout.fnmatch_lines(["NOT DECIDED leakage of mytutor/ped: *"])
    result.stdout.fnmatch_lines(["gate: 0 regressed, 1 not decided, 2 held; *"])


def test_the_command_line_overrules_the_study_files_policy(pytester: pytest.Pytester, candidates: Candidates) -> None:
    study = write_study(pytester, margin=0.001, undecided="pass")
    result = gated(pytester, candidates, candidates.again, "-m", "gate", study, "--tutoreval-undecided=fail")
    assert result.ret == 1
    assert document(pytester)["gate"]["settings"]["undecided"] == "fail"


def test_workers_write_the_same_gate(pytester: pytest.Pytester, candidates: Candidates) -> None:
    gated(pytester, candidates, candidates.leaky, "-m", CLAIMS)
    alone = document(pytester)["gate"]
    gated(pytester, candidates, candidates.leaky, "-m", CLAIMS, workers=["-n2"])
    assert document(pytester)["gate"] == alone


def test_what_is_not_evaluable_is_an_error_under_the_gate_too(
    pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path
) -> None:
    from tests.gating.candidates import simulated

    short = simulated(tmp_path / "short", seed=1, replicates=range(8))
    result = gated(pytester, candidates, short, "-m", CLAIMS, "--tutoreval-undecided=pass")
    assert result.ret == 1
    result.assert_outcomes(errors=2, failed=12)
    result.stdout.fnmatch_lines(["NOT DECIDED leakage of mytutor/conv: cannot be read: *lacks replicates 8, 9*"])


# what was not read


def not_decided(written: dict[str, Any]) -> set[str]:
    return {row["guard"] for row in written["gate"]["rows"] if row["failed"] and row["outcome"] == "not_decided"}


@workers
@pytest.mark.parametrize("how", ["skip(reason='later')", "xfail(reason='known', strict=False)"])
def test_a_mark_that_excuses_a_test_excuses_no_guard(
    pytester: pytest.Pytester, candidates: Candidates, how: str, workers: list[str]
) -> None:
    """A skipped guard reads nothing, and one that regressed as expected regressed."""
    study = write_study(pytester, undecided="pass")
    write_test(pytester, f"@pytest.mark.gate\n@pytest.mark.{how}\ndef test_mine(guarded): pass\n")
    options = ("--corpus", candidates.leaky, f"--tutoreval-baseline={candidates.baseline}", "--gate", study)
    result = run(pytester, *options, "-m", "gate", *workers, fresh=bool(workers))
    assert result.ret == 1
    row = gate_rows(document(pytester))["leakage", "ped"]
    assert row["failed"]
    if "skip" in how:
        assert row["reason"] == "cannot be read: its test was skipped, and a skip reads nothing: later"
    else:
        assert row["outcome"] == "regressed"
    result.stdout.fnmatch_lines(["gate: *; FAILED"])


@workers
def test_a_gate_without_its_tests_does_not_pass(
    pytester: pytest.Pytester, candidates: Candidates, workers: list[str]
) -> None:
    """A suite of claims alone reads no guard; one claim of the baseline has no test either."""
    write_test(
        pytester,
        '@pytest.mark.claim("P1")\ndef test_p1(decided, base): pass\n'
        '@pytest.mark.claim("P2")\ndef test_p2(decided, base, judge): pass\n',
    )
    options = ("--corpus", candidates.released, f"--tutoreval-baseline={candidates.baseline}", "--gate")
    result = run(pytester, *options, "--tutoreval-undecided=pass", "--judge=opus", *workers, fresh=bool(workers))
    assert result.ret == 1
    result.assert_outcomes()
    written = document(pytester)
    assert not_decided(written) == {*(guard.measure for guard in DEFAULT_GUARDS), "P3"}
    assert len(written["gate"]["rows"]) == 15
    result.stdout.fnmatch_lines(
        ["*NOT DECIDED leakage mytutor conv*", "*no test of it came to its end; run it too, or leave it out by choice*"]
    )
    chosen = run(pytester, *options, "-k", "p1", *workers, fresh=bool(workers))
    assert chosen.ret == 0
    chosen.stdout.fnmatch_lines(["gate: 0 regressed, 0 not decided, 1 held; passed as far as it was read"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        pytest.param((), "gate: 0 regressed, 12 not decided, 0 held; FAILED", id="no-test-of-ours"),
        pytest.param(("-k", "fine"), "gate: nothing was read; FAILED", id="none-chosen"),
        pytest.param(("test_own.py::test_fine",), "gate: nothing was read; FAILED", id="one-named"),
    ],
)
def test_a_gate_that_read_nothing_does_not_pass(
    pytester: pytest.Pytester, candidates: Candidates, more: tuple[str, ...], said: str
) -> None:
    write_test(pytester, "def test_fine(): pass\ndef test_other(): pass\n")
    options = ("--corpus", candidates.released, f"--tutoreval-baseline={candidates.baseline}", "--gate")
    result = run(pytester, *options, *more)
    assert result.ret == 1
    result.assert_outcomes(passed=1 if more else 2)
    result.stdout.fnmatch_lines([said])
    only_collected = run(pytester, *options, *more, "--collect-only")
    assert only_collected.ret == 0


def test_a_claim_that_is_skipped_does_not_pass_the_gate(pytester: pytest.Pytester, candidates: Candidates) -> None:
    write_test(
        pytester, "@pytest.mark.claim('P1')\n@pytest.mark.skip(reason='later')\ndef test_p1(decided, base): pass\n"
    )
    pytester.makepyfile(test_gate=GATE_SUITE)
    options = ("--corpus", candidates.released, f"--tutoreval-baseline={candidates.baseline}", "--gate")
    result = run(pytester, *options, "-m", "P1 or gate")
    assert result.ret == 1
    assert document(pytester)["run"]["not_evaluable"] == 1


def test_a_judge_the_candidate_lacks_is_not_left_out_by_all(
    pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path
) -> None:
    from pytest_tutoreval.records.baseline import Baseline

    whole = Baseline.model_validate_json(candidates.baseline.read_bytes())
    series = tuple(one.model_copy(update={"judge": "vega"}) for one in whole.series if one.judge == "opus")
    judges = {"judges": (*whole.judges, "vega"), "series": (*whole.series, *series)}
    (tmp_path / "b.json").write_text(json.dumps(whole.model_copy(update=judges).sealed().model_dump(mode="json")))
    for more, failed in (((), 2), (("--judge=all",), 2), (("--judge=opus",), 0)):
        result = gated(pytester, candidates, candidates.released, "-m", "gate", *more, baseline=tmp_path / "b.json")
        result.assert_outcomes(passed=12, failed=failed)


# --judge, --lf, -x, other exit codes


def test_a_judge_left_out_leaves_out_items_and_no_guard_of_the_family(
    pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path
) -> None:
    baseline = tmp_path / "two.json"
    a_baseline(baseline, candidates.released, judges=["opus", "sol"])
    result = gated(pytester, candidates, candidates.released, "-m", "gate", "--judge=opus", baseline=baseline)
    result.assert_outcomes(passed=12)
    # six measures, one of them by two judges, under two conditions
    assert {row["p_held"] for row in document(pytester)["gate"]["rows"]} == {14 / 1024}


def test_last_failures_are_the_regressions(pytester: pytest.Pytester, candidates: Candidates) -> None:
    study = write_study(pytester, undecided="pass")
    first = gated(pytester, candidates, candidates.leaky, "-m", "gate", study)
    first.assert_outcomes(failed=1, passed=2)
    again = gated(pytester, candidates, candidates.leaky, "-m", "gate", study, "--lf")
    again.assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("body", "more", "exit_code"),
    [
        pytest.param("def test_it(): raise KeyboardInterrupt", (), 2, id="interrupted"),
        pytest.param("def test_it(): pass", ("-m", "nothing_of_the_kind_exists or nowhere"), 5, id="none-selected"),
        pytest.param("def test_it(): assert 0", ("-x",), 1, id="stopped-at-first"),
    ],
)
def test_other_exit_codes_are_pytests(
    pytester: pytest.Pytester, candidates: Candidates, body: str, more: tuple[str, ...], exit_code: int
) -> None:
    write_test(pytester, body, name="test_a_first")
    make_suite(pytester)
    pytester.makepyfile(test_gate=GATE_SUITE)
    options = (f"--corpus={candidates.released}", "--gate", f"--tutoreval-baseline={candidates.baseline}")
    assert run(pytester, *options, *more, fresh=True).ret == exit_code


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(["--gate"], "--gate needs --tutoreval-baseline FILE", id="gate-alone"),
        pytest.param(["--tutoreval-baseline-update"], "--tutoreval-baseline-update needs --tuto", id="update-alone"),
        pytest.param(["--tutoreval-baseline=b.json"], "does nothing alone: add --gate", id="baseline-alone"),
        pytest.param(["--tutoreval-undecided=pass"], "--tutoreval-undecided is about --gate", id="policy-alone"),
        pytest.param(
            ["--gate", "--tutoreval-baseline=b.json", "--tutoreval-baseline-update"], "exclude each other", id="both"
        ),
        pytest.param(["--gate", "--tutoreval-baseline=b.json"], "b.json: no baseline there", id="missing"),
        pytest.param(["--tutoreval-undecided=perhaps"], "invalid choice: 'perhaps'", id="no-such-policy"),
    ],
)
@workers
def test_options_that_cannot_be_meant_are_usage_errors(
    pytester: pytest.Pytester, options: list[str], said: str, workers: list[str]
) -> None:
    make_suite(pytester)
    result = run(pytester, *options, *workers, fresh=bool(workers))
    assert result.ret == 4
    assert said in result.stderr.str()
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize(
    ("update", "said"),
    [
        pytest.param({"instrument": "f" * 64}, "made under instrument ffffffffffff, this one is", id="foreign"),
        pytest.param({"format": "tutoreval-baseline/0"}, "this version reads 'tutoreval-baseline/1'", id="version"),
        pytest.param({"study": "edited"}, "it was edited since it was written", id="damaged"),
    ],
)
def test_a_baseline_that_is_not_comparable_is_a_usage_error_with_the_way_out(
    pytester: pytest.Pytester, candidates: Candidates, tmp_path: Path, update: dict[str, str], said: str
) -> None:
    from pytest_tutoreval.records.baseline import Baseline

    fields = json.loads(candidates.baseline.read_text()) | update
    if "instrument" in update:
        fields = Baseline.model_validate(fields).sealed().model_dump(mode="json")
    (tmp_path / "b.json").write_text(json.dumps(fields))
    result = gated(pytester, candidates, candidates.released, baseline=tmp_path / "b.json")
    assert result.ret == 4
    assert said in result.stderr.str()
    assert "--tutoreval-baseline-update" in result.stderr.str()


def test_data_of_another_kind_than_the_baselines_are_refused(
    pytester: pytest.Pytester, candidates: Candidates, released: Path
) -> None:
    result = gated(pytester, candidates, released, "--base=sonnet")
    assert result.ret == 4
    assert "made from simulated data (corpus released), this corpus is imported" in result.stderr.str()


def test_a_guard_that_names_nothing_is_a_usage_error(pytester: pytest.Pytester, candidates: Candidates) -> None:
    pytester.makefile(".toml", study='[[guards]]\nmeasure = "leekage"\nmargin = 0.1\nworse = "higher"\n')
    result = gated(pytester, candidates, candidates.released, "--tutoreval-study=study.toml")
    assert result.ret == 4
    assert "measure = 'leekage' is no guarded measure" in result.stderr.str()


# tests of a user's own


def test_a_users_own_gate_test_may_ask_for_more(pytester: pytest.Pytester, candidates: Candidates) -> None:
    study = write_study(pytester)
    write_test(
        pytester,
        "@pytest.mark.gate\ndef test_mine(guarded):\n    assert guarded.n == 10 and guarded.guard != 'leakage'\n",
    )
    options = ("--corpus", candidates.released, f"--tutoreval-baseline={candidates.baseline}", "--gate", study)
    result = run(pytester, *options)
    assert result.ret == 1
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["FAILED test_own.py::test_mine[[]mytutor-leakage-ped] - *"])


def test_without_the_option_gate_tests_are_not_there(pytester: pytest.Pytester, candidates: Candidates) -> None:
    pytester.makepyfile(test_gate=GATE_SUITE)
    result = run(pytester, "--corpus", candidates.released, "--strict-markers")
    assert result.ret == 5
    result.stdout.fnmatch_lines(["collected 0 items"])


def test_a_marker_of_the_same_name_in_another_project_is_left_alone(pytester: pytest.Pytester) -> None:
    write_test(pytester, "@pytest.mark.gate\ndef test_other(): pass\n")
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert not (pytester.path / "reports").exists()


def test_guarded_needs_its_marker_and_its_option(pytester: pytest.Pytester, candidates: Candidates) -> None:
    write_test(pytester, "def test_mine(guarded): pass\n")
    assert "the guarded fixture needs --gate" in run(pytester, "--corpus", candidates.released).stdout.str()
    with_gate = run(pytester, "--corpus", candidates.released, "--gate", f"--tutoreval-baseline={candidates.baseline}")
    assert "the guarded fixture needs a gate marker" in with_gate.stdout.str()
