"""The gate as a page shows it: what regressed first, both values, the interval with its margin, turns to look at."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pytest_tutoreval.reporting.gate_words import GuardNumbers, guard_numbers, guard_place, guards_by_urgency
from pytest_tutoreval.reporting.html.forest import forest_axis, forest_row, is_number, scale_around
from pytest_tutoreval.reporting.html.shown import Outcome, count, interval_of, minus, outcome
from pytest_tutoreval.reporting.html.views import TurnsLink
from pytest_tutoreval.reporting.numbers import p_value

__all__ = ["GateView", "GuardView", "flat_facts", "read_gate"]

Row = Mapping[str, Any]

_TURN = re.compile(r"(?P<base>[^/]+)/(?P<condition>[^/]+)/r(?P<replicate>\d+)/(?P<problem>[^/]+)/t(?P<turn>\d+)")


@dataclass(frozen=True)
class GuardView:
    """One guard: what it guards, both sides, and why it came out as it did. A verdict guard has no numbers."""

    place: str
    outcome: Outcome
    failed: bool
    reason: str
    cells: GuardNumbers
    is_measure: bool
    n_dropped: str
    p_regressed: str
    p_held: str
    n_needed: str
    method: str | None
    row: Markup | None
    axis: Markup | None
    turns: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class GateView:
    """The gate of a run: how many guards fail it, its guards with the worst first, and what else it says of itself."""

    n_failed: int
    guards: tuple[GuardView, ...]
    facts: tuple[tuple[str, str], ...]


def read_gate(document: Row, turns: TurnsLink) -> GateView | None:
    """Return the gate, or None where the run had none."""
    gate = document.get("gate")
    if not gate:
        return None
    guards = tuple(_guard(row, turns) for row in guards_by_urgency(gate["rows"]))
    return GateView(gate["failed"], guards, tuple(flat_facts(gate, without=("rows", "failed"))))


def flat_facts(facts: Row, *, without: tuple[str, ...] = (), under: str = "") -> list[tuple[str, str]]:
    """Return names and values of whatever a mapping says, nested ones by their path; lists are counted out in words."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        if name in without:
            continue
        said = f"{under}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            found += flat_facts(value, under=f"{said} ")
        elif isinstance(value, list | tuple):
            found.append((said, ", ".join(map(str, value)) or "none"))
        else:
            found.append((said, _word(value)))
    return found


def _word(value: object) -> str:
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _guard(row: Row, turns: TurnsLink) -> GuardView:
    came_to = outcome(row["outcome"])
    is_measure = row["kind"] == "measure"
    drawn, axis = _drawings(row, came_to) if is_measure else (None, None)
    cells = GuardNumbers(*map(minus, guard_numbers(row)))
    return GuardView(
        place=guard_place(row),
        outcome=came_to,
        failed=row["failed"],
        reason=row["reason"],
        cells=cells,
        is_measure=is_measure,
        n_dropped=count(row.get("n_dropped")),
        p_regressed=minus(p_value(row.get("p_regressed"))),
        p_held=minus(p_value(row.get("p_held"))),
        n_needed=count(row.get("n_needed")),
        method=row.get("method"),
        row=drawn,
        axis=axis,
        turns=tuple((turn, _turn_href(turn, turns)) for turn in row.get("turns", ())),
    )


def _drawings(row: Row, came_to: Outcome) -> tuple[Markup, Markup]:
    """Return the interval with zero and the margin, on the side that is worse, and its scale."""
    interval, margin = interval_of(row), row.get("margin")
    if is_number(margin) and row.get("worse") == "lower":
        margin = -margin
    scale = scale_around([interval], also=(0.0, margin) if is_number(margin) else (0.0,))
    cells = guard_numbers(row)
    drawn = forest_row(
        scale,
        interval,
        title=f"{guard_place(row)}: current - baseline {cells.difference}, interval {cells.interval}",
        described=f"{came_to.word}; {row.get('worse')} is worse, margin {cells.margin}",
        mark=came_to.kind,
        margin=margin,
    )
    return drawn, forest_axis(scale, title="Scale", described=f"from {scale.low:g} to {scale.high:g}")


def _turn_href(turn: str, turns: TurnsLink) -> str | None:
    found = _TURN.fullmatch(turn)
    return turns(**found.groupdict() | {"replicate": int(found["replicate"])}) if found else None
