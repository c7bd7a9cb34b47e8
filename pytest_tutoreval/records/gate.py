"""What a candidate may not be worse in, and what a comparison with the baseline came to."""

from itertools import pairwise
from typing import Literal

from pydantic import Field, field_validator

from pytest_tutoreval.records.base import Name, Record
from pytest_tutoreval.records.verdict import VerdictWord

__all__ = ["GateOutcome", "GateRow", "GateSettings", "Guard", "SequentialRule", "Undecided", "in_unit"]

GateOutcome = Literal["regressed", "held", "not_decided"]
Undecided = Literal["fail", "warn", "pass"]


class Guard(Record):
    """A measure that may not be worse than the baseline's by `margin` or more, in the measure's own units.

    `worse` is the direction in which the measure is worse. `conditions` are the arms that are guarded; None guards
    every tutored condition the study registers. `measure` is a guarded measure's name. With `relative` the margin is a
    share of the baseline's mean, which is then taken as given. `reason` says why this margin.
    """

    measure: Name
    margin: float = Field(gt=0)
    worse: Literal["higher", "lower"]
    conditions: tuple[Name, ...] | None = None
    relative: bool = False
    reason: str = ""


class SequentialRule(Record):
    """Looks at growing numbers of replicates: the last is the registered n; alpha is spent over them."""

    looks: tuple[int, ...] = Field(min_length=2)
    spending: Literal["obrien_fleming", "pocock"] = "obrien_fleming"

    @field_validator("looks")
    @classmethod
    def _growing(cls, looks: tuple[int, ...]) -> tuple[int, ...]:
        if looks[0] < 1 or any(later <= sooner for sooner, later in pairwise(looks)):
            raise ValueError("looks are growing numbers of replicates, the last the registered n")
        return looks


class GateSettings(Record):
    """The registered gate: its level over all guards, and what becomes of a guard that is not decided."""

    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    undecided: Undecided = "fail"
    multiplicity: Literal["holm", "bonferroni"] = "holm"
    sequential: SequentialRule | None = None


class GateRow(Record):
    """One guard, read: a verdict that may not regress, or a measure that may not be worse beyond its margin.

    `estimate` is current - baseline over pairs, `ci_low` and `ci_high` its interval, simultaneous over the base's
    guards; an end is None where n is too small for one. `baseline`, `current`, `margin` and these are in `unit`.
    `p_regressed` and `p_held` are one-sided and adjusted over the base's guards. Numbers of a verdict guard are None.
    `n` counts paired replicates, `n_dropped` the replicate x problem cells left out because one side is undefined, and
    `n_needed` the replicates that would decide at 80 % power, None where none would or the guard is decided. `guard` is
    the claim or the measure; `baseline_base` names the base it is held against where that has another name. `turns` are
    example turns of the candidate, as base/condition/rN/problem/tN.
    """

    kind: Literal["verdict", "measure"]
    guard: str
    base: str
    judge: str | None = None
    condition: str | None = None
    baseline_base: str | None = None
    unit: str | None = None
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


def in_unit(value: float | None, unit: str | None, *, sign: str = "") -> str:
    """Return a guarded measure's value as every report prints it: whole from 100 on, dollars to a hundredth of a cent.

    `sign` is a format's: `+` shows it always. None is `-`.
    """
    if value is None:
        return "-"
    digits = 4 if unit == "dollars" else 0 if abs(value) >= 100 else 3
    return format(value, f"{sign}.{digits}f")
