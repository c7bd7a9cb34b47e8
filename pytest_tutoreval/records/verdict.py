"""What was decided, with its numbers: the rows of verdicts.json."""

from typing import Literal

from pydantic import Field

from pytest_tutoreval.records.base import Record

__all__ = ["Component", "NotEvaluated", "Verdict", "VerdictWord", "say"]

VerdictWord = Literal["supported", "not_supported", "inconclusive"]


def say(word: VerdictWord) -> str:
    """Return the verdict as people read it: with a space."""
    return word.replace("_", " ")


class _Numbers(Record):
    """Shared numbers; every one is None where it is not defined, never NaN."""

    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    cliffs_delta: float | None = None
    se: float | None = None
    n: int | None = None
    n_dropped: int | None = None


class Component(_Numbers):
    """A part of a claim: a member claim of J1, a leg of J2, a candidate of a many-to-one claim.

    `holds` says whether the part meets its registered condition, `reversed` whether it is significant with the
    opposite sign. `se` of a leg is lme4's (expected information); `se_observed` inverts the observed Hessian. A
    candidate holds on `p_adjusted`, its p under the declared multiplicity rule; None for any other part.
    """

    name: str
    direction: str
    holds: bool
    reversed: bool
    verdict: VerdictWord | None = None
    se_observed: float | None = None
    log_likelihood: float | None = None
    p_adjusted: float | None = None
    variance_replicate: float | None = None
    variance_problem: float | None = None
    variance_residual: float | None = None
    singular: bool | None = None


class Verdict(_Numbers):
    """One claim decided for one base and, where it is judge-bound, one judge.

    Differences are always first - second arm, conv - ped unless the claim names others. `estimate` and `p_value` of
    claims made of components are None. `n` counts pairs for a paired contrast and turns for J2; `n_dropped` those left
    out, with the reasons in `notes`. With a `margin` `p_value` is of differences shifted by it; estimate and interval
    are never shifted.
    """

    claim: str
    base: str
    judge: str | None
    verdict: VerdictWord
    reversed: bool
    role: str
    status: str
    direction: str
    margin: float | None = None
    components: tuple[Component, ...] = ()
    notes: tuple[str, ...] = ()


class NotEvaluated(Record):
    """A claim that could not be decided, with the reason."""

    claim: str
    base: str
    judge: str | None
    reason: str = Field(min_length=1)
