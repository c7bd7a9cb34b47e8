"""What a candidate may not be worse in, and what a comparison with the baseline came to."""

from typing import Literal

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record
from pytest_tutoreval.records.verdict import VerdictWord

__all__ = ["GateOutcome", "GateRow", "GateSettings", "Guard", "SequentialRule", "Undecided"]

GateOutcome = Literal["regressed", "held", "not_decided"]
Undecided = Literal["fail", "warn", "pass"]


class Guard(Record):
    """A measure that may not be worse than the baseline's by `margin` or more, in the measure's own units.

    `worse` is the direction in which the measure is worse. `conditions` are the arms that are guarded; None guards
    every tutored condition the baseline holds. `measure` is a guarded measure's name.
    """

    measure: Name
    margin: float = Field(gt=0)
    worse: Literal["higher", "lower"]
    conditions: tuple[Name, ...] | None = None


class SequentialRule(Record):
    """Looks at growing numbers of replicates: the last is the registered n; alpha is spent over them."""

    looks: tuple[int, ...] = Field(min_length=2)
    spending: Literal["obrien_fleming", "pocock"] = "obrien_fleming"


class GateSettings(Record):
    """The registered gate: its level over all guards, and what becomes of a guard that is not decided."""

    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    undecided: Undecided = "fail"
    multiplicity: Literal["holm", "bonferroni"] = "holm"
    sequential: SequentialRule | None = None


class GateRow(Record):
    """One guard, read: a verdict that may not regress, or a measure that may not be worse beyond its margin.

    `estimate` is current - baseline over pairs, `ci_low` and `ci_high` its interval at the gate's level. Numbers of a
    verdict guard are None. `n` counts paired replicates, `n_needed` how many would decide at 80 % power, None where
    none would or the guard is decided. `turns` are example turns of the candidate, as base/condition/rN/problem/tN.
    """

    kind: Literal["verdict", "measure"]
    guard: str
    base: str
    judge: str | None = None
    condition: str | None = None
    outcome: GateOutcome
    failed: bool
    reason: str = Field(min_length=1)
    verdict_before: VerdictWord | None = None
    verdict_now: VerdictWord | None = None
    baseline: float | None = None
    current: float | None = None
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    margin: float | None = None
    worse: Literal["higher", "lower"] | None = None
    p_regressed: float | None = None
    p_held: float | None = None
    n: int | None = None
    n_dropped: int | None = None
    n_needed: int | None = None
    method: str | None = None
    turns: tuple[str, ...] = ()
