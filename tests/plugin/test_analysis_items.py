"""Analyses as items: what they are parametrised over, and that they touch no verdict."""

from pathlib import Path

import pytest

from tests.plugin.runs import document, junit, make_suite, run, verdicts, write_test

ONE = """
@pytest.mark.analysis("{name}")
def test_{name}(analysed):
    assert analysed
"""


def test_scope_says_what_an_analysis_is_run_once_for(pytester: pytest.Pytester) -> None:
    names = ("exposure", "judged_gaps", "judge_ceiling")
    write_test(pytester, "\n".join(ONE.format(name=name) for name in names))
    result = run(pytester, "-v", "--base", "sonnet,gpt")
    result.stdout.fnmatch_lines(["*test_exposure[[]sonnet] PASSED*", "*test_exposure[[]gpt] PASSED*"])
    result.stdout.fnmatch_lines(["*test_judged_gaps[[]sonnet-opus] PASSED*", "*test_judged_gaps[[]gpt-sol] PASSED*"])
    result.stdout.fnmatch_lines(["*test_judge_ceiling[[]corpus] PASSED*"])
    assert result.ret == 0


def test_rows_stand_in_the_document_and_verdicts_are_the_same_without_them(pytester: pytest.Pytester) -> None:
    make_suite(pytester)
    run(pytester, "--base", "sonnet", "-m", "P1 or P2")
    alone = verdicts(document(pytester))
    write_test(pytester, ONE.format(name="exposure"))
    run(pytester, "--base", "sonnet", "-m", "P1 or P2 or descriptive")
    written = document(pytester)
    assert verdicts(written) == alone
    assert {row["analysis"] for row in written["analyses"]} == {"exposure"}
    assert written["run"]["analysed"] == 1
    assert written["run"]["evaluated"] == len(written["claims"]) == 3


def test_roles_select(pytester: pytest.Pytester) -> None:
    write_test(pytester, ONE.format(name="exposure") + ONE.format(name="judge_ceiling"))
    result = run(pytester, "-m", "audit")
    result.assert_outcomes(passed=1, deselected=3)
    assert result.ret == 0


def test_what_a_corpus_does_not_have_at_all_is_skipped_with_its_reason(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    write_test(pytester, ONE.format(name="ablation_scores"))
    result = run(pytester, "--junitxml", tmp_path / "junit.xml")
    result.assert_outcomes(skipped=1)
    (left_out,) = document(pytester)["not_analysed"]
    assert left_out["reason"] == "the corpus holds no ablation variant"
    assert [outcome for outcome, _ in junit(tmp_path / "junit.xml").values()] == ["skipped"]
    assert result.ret != 0, "a run in which nothing was evaluated does not exit 0"


def test_unknown_analysis_is_named_at_collection(pytester: pytest.Pytester) -> None:
    write_test(pytester, ONE.format(name="exposition"))
    result = run(pytester)
    result.stdout.fnmatch_lines(["*analysis 'exposition' is not known. Known: *exposure*"])
    assert result.ret == 2


def test_a_failing_body_takes_its_rows_out(pytester: pytest.Pytester) -> None:
    write_test(pytester, ONE.format(name="exposure").replace("assert analysed", "assert not analysed"))
    result = run(pytester, "--base", "gpt")
    result.assert_outcomes(failed=1)
    written = document(pytester)
    assert written["analyses"] == []
    assert written["not_analysed"][0]["base"] == "gpt"
    assert "the test failed at call" in written["not_analysed"][0]["reason"]


def test_rows_are_the_same_with_workers(pytester: pytest.Pytester) -> None:
    write_test(pytester, ONE.format(name="exposure") + ONE.format(name="holm_judge_by_policy"))
    run(pytester)
    alone = document(pytester)
    run(pytester, "-n", "2", fresh=True)
    assert document(pytester)["analyses"] == alone["analyses"]
