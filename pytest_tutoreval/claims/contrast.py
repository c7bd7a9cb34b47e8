"""One arm against another on a session measure, over replicates: what paired and many-to-one claims are decided by."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tutoreval.claims.rule import Outcome, decide
from pytest_tutoreval.errors import DegenerateData, NotEvaluable
from pytest_tutoreval.records.claim import ContrastClaim
from pytest_tutoreval.records.study import Study

if TYPE_CHECKING:
    from pytest_tutoreval.inference import Contrast

__all__ = ["ArmContrast", "contrast_arms", "margin_notes"]

Replicates = Mapping[int, float | None]


@dataclass(frozen=True)
class ArmContrast:
    """first - second, tested against the claim's threshold.

    `sign` is +1 where the first arm is registered to have more. `null` is what the differences were held against: the
    threshold, with that sign. `undefined` names the pairs that were dropped, None where none was.
    """

    numbers: "Contrast"
    sign: int
    null: float
    undefined: str | None

    def outcome(self, alpha: float, *, p_value: float | None = None) -> Outcome:
        """Return whether the claim holds here, on the test's p or on an adjusted one."""
        p = self.numbers.p_value if p_value is None else p_value
        return decide(self.numbers.value - self.null, p, sign=self.sign, alpha=alpha)

    def notes(self, claim: ContrastClaim, direction: str, outcome: Outcome) -> list[str]:
        """Return what a reader should know: pairs dropped, a reversal of `direction`, mean and ranks at odds, ties."""
        notes = [] if self.undefined is None else [self.undefined]
        if outcome.reversed:
            notes.append(_reversal(claim, direction))
        if (outcome.holds or outcome.reversed) and self._is_at_odds:
            notes.append(self._odds())
        if not math.isclose(self.numbers.p_value, self.numbers.p_value_rounded, rel_tol=1e-9):
            notes.append(
                f"on differences rounded to 12 decimals p is {self.numbers.p_value_rounded:.6g}; "
                "the registered test ranks raw doubles, and this decides nothing"
            )
        return notes

    @property
    def _is_at_odds(self) -> bool:
        """Whether the mean lies on the one side of the null and the larger rank sum on the other."""
        return (self.numbers.value - self.null) * self.numbers.side < 0

    def _odds(self) -> str:
        ranks, mean = ("above", "below") if self.numbers.side > 0 else ("below", "above")
        return (
            f"significant by ranks, which lie {ranks} {self.null + 0.0:g}, while the mean lies {mean} it: a few large "
            "differences against many small ones; the registered rule takes its direction from the mean"
        )


def contrast_arms(
    claim: ContrastClaim, study: Study, values: Mapping[str, Replicates], first: str, second: str, *, sign: int
) -> ArmContrast:
    """Return the contrast first - second of two arms over the registered replicates.

    A pair whose measure is undefined (no in-window turn, no usable rating) is dropped and counted; the claim is decided
    on the rest, with the registered minimum of pairs.

    Raises
    ------
    NotEvaluable
    """
    import numpy as np

    from pytest_tutoreval.inference import paired_contrast

    replicates, inference = list(study.registered_replicates()), study.inference
    pair = (first, second)
    one, other = (np.array([_nan_if_undefined(values[arm][r]) for r in replicates], dtype=float) for arm in pair)
    undefined = [f"{arm}/r{replicate}" for arm in pair for replicate in replicates if values[arm][replicate] is None]
    defined = int(np.sum(np.isfinite(one) & np.isfinite(other)))
    if defined < inference.minimum_pairs:
        raise NotEvaluable(
            f"{claim.measure} is defined in {defined} of {len(replicates)} pairs, at least "
            f"{inference.minimum_pairs} are needed: fewer can never reach .05"
        )
    null = sign * claim.threshold
    try:
        numbers = paired_contrast(
            one,
            other,
            rng=np.random.default_rng(inference.bootstrap_seed),
            draws=inference.bootstrap_draws,
            null=null,
        )
    except DegenerateData as exc:
        raise NotEvaluable(f"{claim.measure}: {exc}") from exc
    dropped = f"{claim.measure} undefined in {', '.join(undefined)}: pair dropped" if undefined else None
    return ArmContrast(numbers, sign, null, dropped)


def margin_notes(claim: ContrastClaim, direction: str) -> list[str]:
    """Return what the margin of a claim makes of its numbers; nothing without one. `direction` is "A > B"."""
    if not claim.threshold:
        return []
    more, less = direction.split(" > ")
    unshifted = "p is of differences shifted by the margin; estimate and interval are not shifted"
    if claim.non_inferiority:
        return [f"registered: {more} is not lower than {less} by {claim.margin:g} or more; {unshifted}"]
    return [f"registered: {more} exceeds {less} by more than {claim.margin:g}; {unshifted}"]


def _reversal(claim: ContrastClaim, direction: str) -> str:
    more, less = direction.split(" > ")
    if not claim.threshold:
        return "significant in the direction opposite to the registered one"
    if claim.non_inferiority:
        return f"significant on the other side of the margin: {more} is lower than {less} by more than {claim.margin:g}"
    return (
        f"significant on the other side of the margin: {more} exceeds {less} by less than {claim.margin:g}, if at all"
    )


def _nan_if_undefined(value: float | None) -> float:
    return math.nan if value is None else value
