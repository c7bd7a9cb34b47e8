"""What a gate says of a guard, in one breath: where, both sides, the interval, the margin, what to do next."""

from typing import TYPE_CHECKING

from pytest_tutoreval.records.baseline import BaselineClaim
from pytest_tutoreval.records.gate import GateOutcome, GateRow, GateSettings, in_unit
from pytest_tutoreval.records.verdict import Verdict, say

if TYPE_CHECKING:
    from pytest_tutoreval.inference import GuardDecision, Look

__all__ = ["failure_message", "guard_reason", "method_words", "verdict_reason"]

_PREFIX = {"regressed": "REGRESSION", "not_decided": "NOT DECIDED", "held": "HELD"}


def failure_message(row: GateRow) -> str:
    """Return how an item fails: what regressed or is not decided and where, why, and the turns that show it."""
    place = "/".join(filter(None, (row.base, row.condition)))
    by = f" by {row.judge}" if row.judge else ""
    against = f" (baseline: {row.baseline_base})" if row.baseline_base else ""
    lines = [f"{_PREFIX[row.outcome]} {row.guard} of {place}{by}{against}: {_facts(row)}{row.reason}"]
    if row.method:
        lines.append(f"  {row.method}")
    if row.turns:
        lines.append(f"  turns to look at: {', '.join(row.turns)}")
    return "\n".join(lines)


def verdict_reason(before: BaselineClaim | None, now: Verdict, outcome: GateOutcome) -> str:
    """Return how a verdict stands against the baseline's."""
    found = _verdict_words(now)
    if before is None:
        return f"{found} now, and the baseline holds no verdict for it; update the baseline from a complete run"
    was = _verdict_words(before)
    if outcome == "regressed":
        return f"was {was} in the baseline, is {found} now"
    return f"{found}, as in the baseline" if was == found else f"{found} now, {was} in the baseline"


def _verdict_words(row: BaselineClaim | Verdict) -> str:
    return f"{say(row.verdict)}{' (reversed)' if row.reversed else ''}"


def guard_reason(row: GateRow, decision: "GuardDecision", look: "Look | None") -> str:
    """Return what follows from the numbers, and where nothing does, what would decide."""
    worse = f"{_value(row, row.margin)} {row.worse}"
    if row.outcome == "regressed":
        return f"worse by more than the margin, {worse}"
    if row.outcome == "held":
        return f"a worsening by the margin, {worse}, is ruled out"
    return f"a worsening by the margin, {worse}, is neither shown nor ruled out: {_what_would_decide(decision, look)}"


def _facts(row: GateRow) -> str:
    """Return both sides and the difference with its interval; nothing where there are no numbers."""
    if row.estimate is None:
        return ""
    difference = f"{_plus(row, row.estimate)} [{_end(row, row.ci_low)}, {_end(row, row.ci_high)}]"
    sides = f"{_value(row, row.current)}, baseline {_value(row, row.baseline)} ({row.unit})"
    dropped = f" ({row.n_dropped} undefined cells left out)" if row.n_dropped else ""
    return f"{sides}, difference {difference}, margin {_value(row, row.margin)}, n {row.n}{dropped}; "


def _what_would_decide(decision: "GuardDecision", look: "Look | None") -> str:
    from pytest_tutoreval.inference import smallest_deciding_n

    ways = []
    if decision.p_floor > decision.level:
        fewest = smallest_deciding_n(decision.level)
        ways.append(
            f"with {decision.n} replicates p is never below {decision.p_floor:.2g}, and a first guard needs "
            f"{decision.level:.2g}: at least {fewest} replicates"
        )
    if look is not None and look.index + 1 < len(look.looks):
        ways.append(f"this is look {look.index + 1} of {len(look.looks)}, the next is at {look.looks[look.index + 1]}")
    if decision.n_needed is None:
        ways.append("the observed mean sits on the margin, so no number of replicates would decide")
    else:
        ways.append(
            f"about {decision.n_needed} replicates would decide, with 80 % power, if mean and spread are as observed"
        )
    return "; ".join(ways)


def method_words(
    decision: "GuardDecision", settings: GateSettings, n_guards: int, look: "Look | None", *, default: str | None
) -> str:
    """Return how it is decided: the test, the family, the look, the interval, and why this margin if by default."""
    flips = "exact sign flip" if decision.draws is None else f"sign flip, {decision.draws} patterns drawn"
    rule = "Holm" if settings.multiplicity == "holm" else "Bonferroni"
    parts = [
        f"{flips} of replicate differences",
        f"one-sided {rule} over {n_guards} guards at {settings.alpha:g} in either direction",
        f"interval simultaneous by Bonferroni, {decision.level:.2g} at either end",
    ]
    if look is not None:
        spending = "O'Brien-Fleming" if look.spending == "obrien_fleming" else "Pocock"
        parts.insert(1, f"look {look.index + 1} of {len(look.looks)}, alpha spent {spending}-type, repeated p-values")
    if default is not None:
        parts.append(f"margin by default, none is registered ({default})")
    return "; ".join(parts)


def _value(row: GateRow, value: float | None) -> str:
    return in_unit(value, row.unit)


def _plus(row: GateRow, value: float | None) -> str:
    return f"{'+' if value is not None and value > 0 else ''}{_value(row, value)}"


def _end(row: GateRow, value: float | None) -> str:
    return "unbounded" if value is None else _plus(row, value)
