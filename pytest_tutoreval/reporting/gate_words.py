"""A gate in words: what it came to, and each guard's numbers as every renderer prints them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_tutoreval.records.gate import in_unit
from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.plain import visible

__all__ = ["GuardNumbers", "gate_words", "guard_numbers", "guard_place", "guards_by_urgency", "outcome_words"]

Row = Mapping[str, Any]

_URGENCY = ("regressed", "not_decided", "held")


class GuardNumbers(NamedTuple):
    """A guard's cells, `-` where there is none; `before` and `now` are values, or verdicts in words."""

    before: str
    now: str
    difference: str
    interval: str
    margin: str
    n: str


def gate_words(document: Row) -> str | None:
    """Return what the gate came to in one line, or None where none was asked for."""
    gate = document.get("gate")
    if gate is None:
        return None
    counts = Counter(row["outcome"] for row in gate["rows"])
    outcomes = ", ".join(f"{counts[word]} {word.replace('_', ' ')}" for word in _URGENCY)
    if not gate["rows"]:
        return "gate: nothing was read; FAILED"
    passed = "passed as far as it was read" if document["run"]["partial"] else "passed"
    return f"gate: {outcomes}; {'FAILED' if gate['failed'] else passed}"


def guards_by_urgency(rows: Sequence[Row]) -> list[Row]:
    """Return the guards with the regressed ones first and the held ones last, otherwise as they were."""
    return sorted(rows, key=lambda row: _URGENCY.index(row["outcome"]))


def outcome_words(row: Row) -> str:
    """Return a guard's outcome as people read it."""
    return str(row["outcome"]).replace("_", " ")


def guard_place(row: Row) -> str:
    """Return what a guard is about: its measure or claim, base, judge and condition."""
    names = " ".join(visible(row[name]) for name in ("guard", "base", "judge", "condition") if row[name])
    held_against = row.get("baseline_base")
    return f"{names} (against {visible(held_against)})" if held_against else names


def guard_numbers(row: Row) -> GuardNumbers:
    """Return a guard's numbers in its measure's own units."""
    unit = row.get("unit")
    if row["kind"] == "verdict":
        before, now = (say(word) if word else "-" for word in (row["verdict_before"], row["verdict_now"]))
    else:
        before, now = in_unit(row["baseline"], unit), in_unit(row["current"], unit)
    low, high = (in_unit(row[end], unit, sign="+") for end in ("ci_low", "ci_high"))
    interval = "-" if (low, high) == ("-", "-") else f"[{low}, {high}]"
    n = "-" if row["n"] is None else str(row["n"])
    difference, margin = in_unit(row["estimate"], unit, sign="+"), in_unit(row["margin"], unit)
    return GuardNumbers(before, now, difference, interval, margin, n)
