"""Rows on their way from an item to the process that reports: on its report, as one ASCII string.

Nothing else survives every worker: its channel refuses numbers of numpy, dataclasses and lone surrogates.
"""

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.running.gate_items import skipped_row
from pytest_tutoreval.running.items import find_item_claim, item_params

if TYPE_CHECKING:
    from pytest_tutoreval.records.gate import GateRow

__all__ = ["GATE_ROW", "REACHED_GATE", "ROW", "attached_row", "carry_row", "failure_of", "shown"]

# What a fixture leaves on its item: the row it came to, a guard's row, and whether the test passed before the gate.
ROW = pytest.StashKey[dict[str, Any]]()
GATE_ROW = pytest.StashKey["GateRow"]()
REACHED_GATE = pytest.StashKey[bool]()

PROPERTIES = pytest.StashKey[list[tuple[str, str]]]()
ATTRIBUTE = "tutoreval"

# Characters: nobody reads a reason that quotes a whole transcript to its end.
MOST_OF_A_REASON = 20_000


def failure_of(exc: Exception) -> BaseException:
    """Return the failure of an item that came to nothing, for its reason: no traceback of ours helps a reader."""
    return pytest.fail.Exception(shown(str(exc)), pytrace=False)


def shown(text: str, *, limit: int | None = MOST_OF_A_REASON) -> str:
    """Return a text as it may reach a terminal, a worker's channel and a file: it may quote what a model wrote."""
    from pytest_tutoreval.reporting.plain import visible

    return visible(text, lines=True, limit=limit)


def carry_row(item: pytest.Item, report: pytest.TestReport) -> None:
    """Attach an item's row to its report: what it came to once its test has passed, or why there is nothing."""
    marker = item.get_closest_marker("claim") or item.get_closest_marker("analysis")
    row = None if marker is None else _row_of(item, marker, report)
    guard = _guard_of(item, report)
    if marker is not None or guard is not None:
        _keep_harmless(report)
    carried = dict(row or {})
    if row is not None and marker is not None and marker.name == "claim":
        carried |= _registration(item, marker)
    if guard is not None:
        carried["gate"] = guard.model_dump(mode="json")
    if carried:
        setattr(report, ATTRIBUTE, json.dumps(carried, ensure_ascii=True, allow_nan=False))
        _state_properties(item, report, carried)


def attached_row(report: pytest.TestReport) -> dict[str, Any] | None:
    """Return the row an item's report carries, or None where it carries none."""
    text = getattr(report, ATTRIBUTE, None)
    row: dict[str, Any] | None = json.loads(text) if text else None
    return row


def _guard_of(item: pytest.Item, report: pytest.TestReport) -> "GateRow | None":
    """Return a guard's row once its test has passed, or where its test was skipped; None where it has none."""
    if report.when == "call" and _reached_gate(item):
        return item.stash.get(GATE_ROW, None)
    if report.skipped and item.get_closest_marker("gate") is not None:
        return skipped_row(item, shown(getattr(report, "wasxfail", "") or _skip_reason(report)))
    return None


def _reached_gate(item: pytest.Item) -> bool:
    """Return whether the item's test has passed and its guard was held against the baseline."""
    return item.stash.get(REACHED_GATE, False)


def _registration(item: pytest.Item, marker: pytest.Mark) -> dict[str, Any]:
    """Return what was registered of an item's claim: the process that reports does not read claim files."""
    claim, _ = find_item_claim(item, marker)
    return {"registration": claim.model_dump(mode="json")}


def _keep_harmless(report: pytest.TestReport) -> None:
    """Spell out what would steer a terminal, or end the run: no worker's channel carries a lone surrogate."""
    if hasattr(report, "wasxfail"):
        report.wasxfail = shown(report.wasxfail)
    if isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        report.longrepr = path, line, shown(reason)
    elif report.longrepr is not None and (spelled := shown(report.longreprtext, limit=None)) != report.longreprtext:
        report.longrepr = spelled


def _state_properties(item: pytest.Item, report: pytest.TestReport, row: dict[str, Any]) -> None:
    """State a row for JUnit, in place of an earlier phase's: what fails after its claim was decided has no verdict."""
    from pytest_tutoreval.reporting.junit import case_properties, guard_properties

    stated = case_properties(row) if "claim" in row or "analysis" in row else guard_properties(row["gate"])
    if "gate" in row and "claim" in row:
        stated.append(("gate", row["gate"]["outcome"].replace("_", " ")))
    others = [pair for pair in item.user_properties if pair not in item.stash.get(PROPERTIES, [])]
    item.stash[PROPERTIES] = stated
    item.user_properties[:] = [*others, *stated]
    report.user_properties = list(item.user_properties)


def _row_of(item: pytest.Item, marker: pytest.Mark, report: pytest.TestReport) -> dict[str, Any] | None:
    if report.passed or (report.when == "call" and _reached_gate(item)):
        return item.stash.get(ROW, None) if report.when == "call" else None
    params = item_params(item)
    if report.skipped:
        reason = _skip_reason(report)
        if marker.name == "claim":
            reason = f"the test was skipped, and a skip decides nothing: {reason}"
    else:
        reason = _failure_reason(report)
    return {
        marker.name: marker.args[0],
        "base": params.get("base") or ("-" if marker.name == "claim" else None),
        "judge": params.get("judge"),
        "reason": shown(reason) or "no reason given",
    }


def _failure_reason(report: pytest.TestReport) -> str:
    """Return why a claim was not evaluable, or, where something else broke, where and the first line of its error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else f"Failed: {report.longreprtext.strip()}"
    if report.when == "setup" and message.startswith("Failed: "):
        return report.longreprtext.strip()
    return f"the test failed at {report.when}: {message.removeprefix('Failed: ').partition(chr(10))[0]}"


def _skip_reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return reason.removeprefix("Skipped: ")
