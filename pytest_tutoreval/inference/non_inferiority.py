"""Whether a mean paired difference lies beyond a margin, within it, or is not decided: exact, by flipping signs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.inference.holm import holm
from pytest_tutoreval.inference.sequential import Look

__all__ = [
    "GuardDecision",
    "MarginPValues",
    "Multiplicity",
    "Outcome",
    "decide_guard",
    "decide_guards",
    "margin_p_values",
    "needed_replicates",
    "smallest_deciding_n",
]

FloatArray = npt.NDArray[np.float64]
Outcome = Literal["regressed", "held", "not_decided"]
Multiplicity = Literal["holm", "bonferroni"]

# 2**16 sign patterns take 8 MB once; above, patterns are drawn.
EXACT_UP_TO = 16
DRAWS = 19_999
SEED = 0

POWER = 0.80

# Equal in exact arithmetic, a few last bits apart in doubles: such values tie, and a tie never helps a decision.
_DUST = 1e-12


@dataclass(frozen=True)
class MarginPValues:
    """One-sided p-values against a margin, one a row of differences.

    Attributes
    ----------
    regressed : against "the mean is at most the margin"; small says worse than the margin allows
    held : against "the mean is at least the margin"; small says better than the margin
    floor : the smallest p these n differences can reach in either direction
    """

    regressed: FloatArray
    held: FloatArray
    floor: float


@dataclass(frozen=True)
class GuardDecision:
    """What n paired differences say about a margin. Positive is worse.

    Attributes
    ----------
    outcome : `regressed` beyond the margin, `held` within it, both significantly, else `not_decided`
    estimate : mean difference
    ci_low, ci_high : typical-value interval, one-sided error `level` at either end; None where n is too small for one
    p_regressed, p_held : one-sided; over a family they are adjusted, and decide against `alpha`
    alpha, level : what the p-values are held against, and the one-sided level of the interval
    n, p_floor : differences, and the smallest raw p they can reach
    n_needed : replicates that would decide with 80 % power were mean and sd as observed; None where decided, or where
        the mean sits on the margin
    draws : sign patterns drawn, None where all were enumerated
    """

    outcome: Outcome
    estimate: float
    ci_low: float | None
    ci_high: float | None
    p_regressed: float
    p_held: float
    alpha: float
    level: float
    n: int
    p_floor: float
    n_needed: int | None
    draws: int | None


@dataclass(frozen=True)
class _Subsets:
    """Which differences a sign pattern flips, the empty patterns apart: those are always as extreme as the data."""

    members: FloatArray
    sizes: FloatArray
    empty: int

    @property
    def patterns(self) -> int:
        return len(self.sizes) + self.empty

    def means(self, worse: FloatArray) -> FloatArray:
        """Return the mean of each subset, (..., n_subsets): Hartigan's typical values."""
        means: FloatArray = worse @ self.members.T
        means /= self.sizes
        return means


@lru_cache(maxsize=8)
def _subsets(n: int, draws: int, seed: int) -> _Subsets:
    if n <= EXACT_UP_TO:
        patterns = np.arange(1, 2**n, dtype=np.int64)
        members = ((patterns[:, np.newaxis] >> np.arange(n)) & 1).astype(np.float64)
        return _Subsets(members, members.sum(axis=1), empty=1)
    drawn = np.random.default_rng(seed).integers(0, 2, size=(draws, n)).astype(np.float64)
    sizes = drawn.sum(axis=1)
    # The pattern that was observed counts beside those drawn: that is what keeps a Monte Carlo test's level.
    return _Subsets(drawn[sizes > 0], sizes[sizes > 0], empty=1 + int(np.sum(sizes == 0)))


def margin_p_values(worse: npt.ArrayLike, *, margin: float, draws: int = DRAWS, seed: int = SEED) -> MarginPValues:
    """Return the exact one-sided sign-flip p-values of a mean difference against a margin.

    Parameters
    ----------
    worse : (..., n) paired differences, positive where the candidate is worse; a row is one data set
    margin : in the same units
    draws, seed : sign patterns drawn above n = 16; up to there all 2**n are enumerated

    Raises
    ------
    ValueError
        No difference, or one that is not finite.

    Notes
    -----
    Fisher's sign-flip test of the mean: if the differences about their mean m are symmetric, each d - m may change its
    sign, and a pattern is as extreme as the data in one direction exactly if the mean of the differences it flips lies
    at or beyond m. The p-value is therefore the share of patterns whose flipped mean is on the wrong side of the
    margin, counting the empty one, and the ends of the interval are order statistics of the same subset means
    (Hartigan, "Using subsample values as typical values", JASA 64 (1969), 1303-1317), so that the two agree by
    construction. Exact for every n under symmetry, whatever the distribution; without symmetry it is the usual
    approximation of a t-test, and no better: where a few sessions are far worse and most are as before, `held` comes
    too easily, because the few are easily missed. Simulated with the true mean on a margin of .10 at alpha .05: shares
    of four turns over six problems, .10 against 0, are falsely `held` with .05 to .07 at n = 6 to 20; over one problem
    with .08 to .18; a tutor that gives all away in every tenth session with .53 at n = 6, .35 at 10 and .12 at 20
    (`regressed` is too rare then). No test of so few can rule out what hardly ever happens. Ties go against a decision.
    The floor is 2**-n: four differences never reach .05.

    All differences equal: every subset has that mean, so p is the floor on one side of the margin, 1 on the other, and
    1 on both at the margin. All zero, as when candidate and baseline are one, holds at the floor for a positive margin.
    """
    data = _checked(worse)
    n = data.shape[-1]
    subsets = _subsets(n, draws, seed)
    means = subsets.means(data)
    slack = _slack(data, margin)[..., np.newaxis]
    at_most = (means <= margin + slack).sum(axis=-1) + subsets.empty
    at_least = (means >= margin - slack).sum(axis=-1) + subsets.empty
    total = subsets.patterns
    return MarginPValues(regressed=at_most / total, held=at_least / total, floor=subsets.empty / total)


def decide_guard(
    worse: npt.ArrayLike, *, margin: float, alpha: float, draws: int = DRAWS, seed: int = SEED
) -> GuardDecision:
    """Return what paired differences say about a margin, each direction at one-sided level alpha.

    Parameters
    ----------
    worse : (n_replicates,) paired differences, positive where the candidate is worse
        Finite; undefined pairs are dropped before.
    margin : how much worse is tolerated, in the same units
    alpha : probability of a false `regressed`, and likewise of a false `held`, where the mean sits on the margin
    draws, seed : as in `margin_p_values`

    Notes
    -----
    Where differences are symmetric about their mean, a mean beyond the margin is wrongly `held`, or one within it
    wrongly `regressed`, with probability at most alpha: only one of the two can be an error. What skew does to that is
    in `margin_p_values`. They never hold at once, since the two p-values add up to more than 1.
    """
    data = _checked(worse)
    if data.ndim != 1:
        raise ValueError(f"worse has shape {data.shape}; expected one dimension, one difference a replicate.")
    if not 0.0 < alpha < 0.5:
        raise ValueError(f"alpha = {alpha} is not a one-sided level; expected a number between 0 and 0.5.")
    subsets = _subsets(data.size, draws, seed)
    means = np.sort(subsets.means(data))
    slack = float(_slack(data, margin))
    total = subsets.patterns
    p_regressed = (int(np.searchsorted(means, margin + slack, side="right")) + subsets.empty) / total
    p_held = (means.size - int(np.searchsorted(means, margin - slack, side="left")) + subsets.empty) / total
    # The first subset mean that too many patterns reach: at it p just exceeds alpha, below it p does not.
    rank = _most_patterns(alpha, total) - subsets.empty
    estimate = math.fsum(data.tolist()) / data.size
    outcome = _outcome(p_regressed, p_held, alpha)
    return GuardDecision(
        outcome=outcome,
        estimate=estimate,
        ci_low=_without_dust(means[rank], slack) if rank >= 0 else None,
        ci_high=_without_dust(means[-1 - rank], slack) if rank >= 0 else None,
        p_regressed=p_regressed,
        p_held=p_held,
        alpha=alpha,
        level=alpha,
        n=int(data.size),
        p_floor=subsets.empty / total,
        n_needed=None if outcome != "not_decided" else _needed(data, estimate, margin, slack, alpha),
        draws=None if data.size <= EXACT_UP_TO else draws,
    )


def decide_guards(
    worse: Sequence[npt.ArrayLike],
    *,
    margins: Sequence[float],
    alpha: float,
    multiplicity: Multiplicity = "holm",
    n_guards: int | None = None,
    looks: Sequence[Look | None] | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> list[GuardDecision]:
    """Return what each guard of a family comes to, with adjusted p-values.

    Parameters
    ----------
    worse, margins : one array of paired differences and one margin a guard
        Guards may differ in their number of replicates.
    alpha : probability of any false `regressed` in the family, and, separately, of any false `held`
    multiplicity : Holm's step-down, or Bonferroni
    n_guards : size of the family as registered; the members that are not among `worse` could not be read and count as
        p = 1, so that a missing guard never makes the others easier to decide. None: just these.
    looks : where a sequential rule is registered, at which look each guard is read; its p-values are then repeated ones

    Notes
    -----
    Two families of one-sided hypotheses, "no worse than the margin" and "no better than the margin", are each adjusted
    over all guards. Holm controls the familywise error strongly and under any dependence, as far as each p-value keeps
    its level (`margin_p_values` says when), so with probability at least 1 - alpha no guard that is within its margin
    is called `regressed`, and with probability at least 1 - alpha none that is beyond it is called `held`. Both errors
    are of interest to different people (who is stopped wrongly, who is let through wrongly), so each has its own alpha
    and neither pays for the other. Intervals are simultaneous by
    Bonferroni: each end at one-sided level alpha / n_guards, or the look's share of it. Holm is the sharper, so it may
    decide a guard whose interval still reaches over the margin.
    """
    size = len(worse) if n_guards is None else n_guards
    if len(margins) != len(worse) or size < len(worse) or size < 1:
        raise ValueError(f"{len(worse)} guards, {len(margins)} margins, a family of {size}; expected one margin each.")
    at = list(looks) if looks is not None else [None] * len(worse)
    share = alpha / size
    single = [
        decide_guard(data, margin=margin, alpha=look.level(share) if look else share, draws=draws, seed=seed)
        for data, margin, look in zip(worse, margins, at, strict=True)
    ]
    regressed, held = (
        _adjusted(
            [look.repeated_p(raw) if look else raw for raw, look in zip(raws, at, strict=True)], size, multiplicity
        )
        for raws in ([one.p_regressed for one in single], [one.p_held for one in single])
    )
    decisions = []
    for data, margin, look, one, p_regressed, p_held in zip(worse, margins, at, single, regressed, held, strict=True):
        outcome = _outcome(p_regressed, p_held, alpha)
        needed = None
        if outcome == "not_decided":
            array = _checked(data)
            final = look.final.level(share) if look else share
            needed = _needed(array, one.estimate, margin, float(_slack(array, margin)), final)
        decisions.append(
            replace(one, outcome=outcome, p_regressed=p_regressed, p_held=p_held, alpha=alpha, n_needed=needed)
        )
    return decisions


def smallest_deciding_n(alpha: float) -> int:
    """Return the smallest n whose p-value can reach a one-sided level: 2**-n is at most alpha."""
    n = max(1, math.ceil(-math.log2(alpha)))
    return n + 1 if 2.0**-n > alpha else n


def needed_replicates(effect: float, sd: float, *, alpha: float, power: float = POWER) -> int | None:
    """Return the replicates at which a distance from the margin is found with the given power, or None at distance 0.

    Parameters
    ----------
    effect, sd : distance of the true mean from the margin, and the standard deviation of the differences
    alpha : one-sided level

    Notes
    -----
    Guenther's normal approximation for the one-sample t-test, ((z_alpha + z_power) sd / effect)**2 + z_alpha**2 / 2
    (Guenther, "Sample size formulas for normal theory t tests", The American Statistician 35 (1981), 243-244), whose
    power the sign-flip test has in large samples (Hoeffding, 1952). In small ones the sign-flip p is a multiple of
    2**-n, so alpha is replaced by the largest such multiple below it, and no n under the floor is given.
    """
    if effect == 0.0:
        return None
    n = smallest_deciding_n(alpha)
    ratio = sd / abs(effect)
    if not math.isfinite(ratio):
        return None
    n = max(n, math.ceil(_guenther(ratio, alpha, power)))
    while n < _guenther(ratio, _attainable(alpha, n), power):
        n += 1
    return n


def _guenther(ratio: float, alpha: float, power: float) -> float:
    normal = NormalDist()
    z_alpha, z_power = -normal.inv_cdf(alpha), normal.inv_cdf(power)
    return ((z_alpha + z_power) * ratio) ** 2 + z_alpha**2 / 2 * (ratio > 0.0)


def _attainable(alpha: float, n: int) -> float:
    """Return the largest multiple of 2**-n that is at most alpha."""
    return math.ldexp(math.floor(math.ldexp(alpha, n)), -n) if n <= EXACT_UP_TO else alpha


def _most_patterns(alpha: float, total: int) -> int:
    """Return how many patterns may be as extreme as the data at level alpha, as `count / total <= alpha` decides."""
    count = math.floor(alpha * total)
    if count / total > alpha:
        return count - 1
    return count + 1 if (count + 1) / total <= alpha else count


def _needed(data: FloatArray, estimate: float, margin: float, slack: float, alpha: float) -> int | None:
    distance = abs(estimate - margin)
    if distance <= slack:
        return None
    sd = float(np.std(data, ddof=1)) if data.size > 1 else 0.0
    needed = needed_replicates(distance, sd, alpha=alpha)
    # It was not decided at this n, so no approximation may promise that this n decides.
    return None if needed is None else max(needed, data.size + 1)


def _adjusted(p_values: list[float], size: int, multiplicity: Multiplicity) -> list[float]:
    if multiplicity == "bonferroni":
        return [min(1.0, size * p_value) for p_value in p_values]
    return holm([*p_values, *[1.0] * (size - len(p_values))])[: len(p_values)]


def _outcome(p_regressed: float, p_held: float, alpha: float) -> Outcome:
    if p_regressed <= alpha:
        return "regressed"
    return "held" if p_held <= alpha else "not_decided"


def _without_dust(value: float, slack: float) -> float:
    """Return a subset mean, 0 where it is 0 in exact arithmetic."""
    return 0.0 if abs(value) <= slack else float(value)


def _slack(data: FloatArray, margin: float) -> FloatArray:
    """Return how far apart two values of a row may be and still tie."""
    slack: FloatArray = _DUST * np.maximum(np.abs(data).max(axis=-1), abs(margin))
    return slack


def _checked(worse: npt.ArrayLike) -> FloatArray:
    data = np.asarray(worse, dtype=np.float64)
    if data.ndim == 0 or data.shape[-1] == 0:
        raise ValueError(f"worse has shape {data.shape}; expected at least one difference.")
    if not np.isfinite(data).all():
        where = tuple(int(axis) for axis in np.argwhere(~np.isfinite(data))[0])
        raise ValueError(f"worse{list(where)} = {data[where]} is not finite; drop undefined pairs before the test.")
    return data
