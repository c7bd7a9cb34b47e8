"""A run as it was seen: complete only when everything selected finished."""

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_tutoreval.records import NotEvaluated, Verdict
from pytest_tutoreval.reporting import RunRecord

VERDICT: dict[str, Any] = {
    "claim": "P1",
    "base": "sonnet",
    "judge": None,
    "verdict": "supported",
    "reversed": False,
    "role": "confirmatory",
    "status": "registered",
    "direction": "conv > ped",
}
REASON = {"claim": "P1", "base": "sonnet", "judge": None, "reason": "a missing cell"}


def test_a_run_is_complete_when_every_selected_item_finished() -> None:
    run = RunRecord()
    run.select(["a", "b"])
    run.finished.add("a")
    assert (run.complete, run.unfinished) == (False, ["b"])
    run.finished.add("b")
    assert (run.complete, run.unfinished) == (True, [])


def test_an_interrupted_run_is_never_complete() -> None:
    assert not RunRecord(interrupted=True).complete


@pytest.mark.parametrize("order", [(VERDICT, REASON), (REASON, VERDICT)], ids=["verdict-first", "reason-first"])
def test_a_reason_wins_over_a_verdict_in_any_order(order: tuple[dict[str, Any], ...]) -> None:
    run = RunRecord()
    for payload in order:
        run.add_row("a", payload)
    assert run.verdicts == []
    assert [row.reason for row in run.not_evaluated] == ["a missing cell"]


def test_rows_are_records() -> None:
    run = RunRecord()
    run.add_row("a", VERDICT)
    run.add_row("b", REASON)
    assert (type(run.rows["a"]), type(run.rows["b"])) == (Verdict, NotEvaluated)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_gets_into_no_verdict(number: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        Verdict.model_validate(VERDICT | {"estimate": number})


def test_a_reason_is_never_empty() -> None:
    with pytest.raises(ValidationError, match="at least 1 character"):
        NotEvaluated.model_validate(REASON | {"reason": ""})
