"""Wilcoxon's signed-rank test by its exact permutation distribution."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SignedRank", "attainable_floor", "signed_rank"]


@dataclass(frozen=True)
class SignedRank:
    """The outcome of a two-sided signed-rank test.

    Attributes
    ----------
    statistic : min(W+, W-), the smaller sum of midranks; 0 when nothing was ranked
    p_value : exact two-sided permutation p, given the ties observed
    n_used, n_zero : differences ranked, and zero differences left out
    side : the sign of W+ - W-: 1 where positive differences have the larger sum of midranks, -1 where negative ones do
    """

    statistic: float
    p_value: float
    n_used: int
    n_zero: int
    side: int


def signed_rank(differences: npt.ArrayLike) -> SignedRank:
    """Return the two-sided exact signed-rank test of differences symmetric about 0.

    Parameters
    ----------
    differences : (n,) paired differences
        Zeros are left out and counted. With nothing left `p_value` is 1.

    Raises
    ------
    ValueError
        A difference is not finite; the message gives its index and value.

    Notes
    -----
    Source: definitions, section 9. Ties share a midrank, and only bit-equal doubles tie: the study ranked
    raw differences, so 0.3 - 0.2 and 0.1 are two ranks. The p-value is the share of the 2**n sign patterns
    at least as extreme, which is what `scipy.stats.wilcoxon` gives from 1.15 on; older versions ignored
    ties. The p-value is exact to the last bit up to n = 53 and to rounding above.
    """
    raw = np.asarray(differences, dtype=np.float64)
    if raw.ndim != 1:
        raise ValueError(f"differences has shape {raw.shape}; expected one dimension, one value a pair.")
    for index in np.flatnonzero(~np.isfinite(raw)):
        raise ValueError(f"differences[{index}] = {raw[index]} is not finite; drop undefined pairs before the test.")
    used = raw[raw != 0.0]
    n_zero = int(raw.size - used.size)
    if used.size == 0:
        return SignedRank(statistic=0.0, p_value=1.0, n_used=0, n_zero=n_zero, side=0)
    doubled = _doubled_midranks(np.abs(used))
    positive = int(doubled[used > 0.0].sum())
    negative = int(doubled.sum()) - positive
    smaller = min(positive, negative)
    # W+ is symmetric about half the rank sum, so the two tails are equal.
    p_value = min(1.0, 2.0 * _lower_tail(doubled, smaller))
    return SignedRank(
        statistic=smaller / 2,
        p_value=p_value,
        n_used=int(used.size),
        n_zero=n_zero,
        side=(positive > negative) - (positive < negative),
    )


def attainable_floor(n: int) -> float:
    """Return the smallest two-sided p that n untied, nonzero pairs can reach: 2 / 2**n, at most 1."""
    if n < 0:
        raise ValueError(f"n = {n} is negative; expected a number of pairs.")
    return min(1.0, math.ldexp(1.0, 1 - n))


def _doubled_midranks(magnitudes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return twice the midrank of each magnitude, which is a whole number."""
    _, group, counts = np.unique(magnitudes, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts
    doubled: npt.NDArray[np.int64] = (2 * below + counts + 1)[group].astype(np.int64)
    return doubled


def _lower_tail(doubled: npt.NDArray[np.int64], bound: int) -> float:
    """Return P(sum of a random half of the doubled ranks <= bound), each kept with probability 1/2."""
    # Halving as we go keeps every entry a probability: no overflow at any n, and exact while 2**n < 2**53.
    chance = np.zeros(bound + 1)
    chance[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chance)
        if rank <= bound:
            shifted[rank:] = chance[: chance.size - rank]
        chance = 0.5 * (chance + shifted)
    return float(math.fsum(chance))
