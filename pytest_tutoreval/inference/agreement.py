"""Agreement of two raters over the same items: rank correlation, weighted kappa, and their clustered interval."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.errors import DegenerateData

__all__ = [
    "ClusterInterval",
    "cluster_interval",
    "quadratic_kappa",
    "quadratic_kappa_of_draws",
    "spearman",
    "spearman_of_draws",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Pairs of values and how often each stands in each draw -> one number a draw.
StatisticOfDraws = Callable[[FloatArray, FloatArray, IntArray], FloatArray]


@dataclass(frozen=True)
class ClusterInterval:
    """A percentile bootstrap interval over whole clusters.

    `draws` were made; the statistic was undefined in `n_undefined` of them, which the percentiles leave out.
    """

    low: float
    high: float
    level: float
    draws: int
    n_clusters: int
    n_undefined: int


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return Spearman's rank correlation; equal values share a midrank.

    Parameters
    ----------
    first, second : (n,) the two raters' values of the same items

    Raises
    ------
    DegenerateData
        A rater gives every item the same value (`kind` is "constant scores").
    ValueError
        Lengths differ, nothing is given, or a value is not finite.
    """
    one, other = _pair(first, second)
    found = float(spearman_of_draws(one, other, np.ones((1, one.size), dtype=np.int64))[0])
    if math.isnan(found):
        name, values = ("first", one) if (one == one[0]).all() else ("second", other)
        raise DegenerateData(
            "constant scores",
            f"{name} is {values[0]:g} for all {one.size} items, so there is no order to correlate; "
            "expected two values.",
        )
    return found


def spearman_of_draws(one: FloatArray, other: FloatArray, counts: IntArray) -> FloatArray:
    """Return Spearman's rank correlation of each draw, nan where a rater gives every item of it the same value.

    Parameters
    ----------
    one, other : (m,) pairs of values
    counts : (draws, m) how often each pair stands in a draw
    """
    times = _times(counts, one.size)
    centre = times.sum(axis=1, keepdims=True) + 1
    # Doubled midranks are whole numbers with mean n + 1, so every sum here is exact.
    a, b = (_doubled_midranks(values, times) - centre for values in (one, other))
    spread = (times * a * a).sum(axis=1).astype(np.float64) * (times * b * b).sum(axis=1).astype(np.float64)
    together = (times * a * b).sum(axis=1).astype(np.float64)
    found: FloatArray = np.full(len(times), np.nan)
    np.divide(together, np.sqrt(spread), out=found, where=spread > 0.0)
    return found


def quadratic_kappa(first: npt.ArrayLike, second: npt.ArrayLike, categories: Sequence[float] = range(1, 6)) -> float:
    """Return Cohen's kappa with quadratic weights over the full list of categories.

    Parameters
    ----------
    first, second : (n,) each a category
    categories : in order, equally spaced in weight; those nobody used count too, or the weights would shrink

    Raises
    ------
    ValueError
        Lengths differ, nothing is given, or a value is no category.

    Notes
    -----
    Source: definitions, section 13; released procedure, section 7: where no disagreement is expected by chance (both
    raters give one and the same category throughout) kappa is 1; elsewhere it is often called undefined.
    """
    one, other = _pair(first, second)
    counts = np.ones((1, one.size), dtype=np.int64)
    return float(quadratic_kappa_of_draws(one, other, counts, categories)[0])


def quadratic_kappa_of_draws(
    one: FloatArray, other: FloatArray, counts: IntArray, categories: Sequence[float] = range(1, 6)
) -> FloatArray:
    """Return quadratic kappa of each draw; `one`, `other` and `counts` as in `spearman_of_draws`."""
    a, b = _positions("first", one, categories), _positions("second", other, categories)
    times = _times(counts, a.size)
    n = times.sum(axis=1)
    # Sum over cells of (i - j)**2 times observed counts, and times counts expected from the margins.
    observed = times @ (a - b) ** 2
    expected = n * (times @ (a * a + b * b)) - 2 * (times @ a) * (times @ b)
    share: FloatArray = np.divide(n * observed, expected, out=np.zeros(len(times)), where=expected != 0)
    return 1.0 - share


def cluster_interval(
    statistic: StatisticOfDraws,
    clusters: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    rng: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
) -> ClusterInterval:
    """Return the percentile bootstrap interval of an agreement statistic over whole clusters.

    Parameters
    ----------
    statistic : `spearman_of_draws` or the like: one number a draw from the pairs of values and how often each stands
        A draw in which it is nan is counted and left out.
    clusters : in a fixed order, each the two raters' values of its items
    rng, draws, level
        The stream of resamples, their number, and the nominal coverage between 0 and 1.

    Raises
    ------
    DegenerateData
        The statistic is defined in no draw (`kind` is "undefined statistic").
    ValueError
        No clusters, an empty one, or one whose raters differ in length.

    Notes
    -----
    Source: released procedure, section 7. Turns of a conversation are not independent, so whole conversations are
    drawn, with replacement; the order of the clusters is part of what a seed means.
    """
    if not clusters:
        raise ValueError("clusters is empty; expected at least one conversation.")
    if draws < 1:
        raise ValueError(f"draws = {draws} is too few; expected at least 1 resample.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level} is not a coverage; expected a number between 0 and 1.")
    pairs = [np.stack(_pair(first, second)) for first, second in clusters]
    k = len(pairs)
    # Ratings take few values, so a draw is a table of counts over the pairs of values that occur at all.
    (one, other), position = np.unique(np.concatenate(pairs, axis=1), axis=1, return_inverse=True)
    edges = np.cumsum([0, *(pair.shape[1] for pair in pairs)])
    tables = np.stack([np.bincount(position.ravel()[a:b], minlength=one.size) for a, b in pairwise(edges)])
    chosen = rng.choice(k, size=(draws, k), replace=True)
    drawn = np.bincount((chosen + k * np.arange(draws)[:, np.newaxis]).ravel(), minlength=k * draws).reshape(draws, k)
    values = statistic(one, other, drawn @ tables)
    defined = values[~np.isnan(values)]
    if not defined.size:
        raise DegenerateData(
            "undefined statistic",
            f"The statistic is defined in none of {draws} draws of {k} clusters, so it has no interval.",
        )
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(defined, [tail, 100.0 - tail])
    return ClusterInterval(
        low=float(low),
        high=float(high),
        level=level,
        draws=draws,
        n_clusters=k,
        n_undefined=draws - int(defined.size),
    )


def _pair(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both raters' values as doubles, refusing what cannot be compared."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape or one.size == 0:
        raise ValueError(
            f"first has shape {one.shape} and second {other.shape}; expected one dimension, the same items in the "
            "same order, at least one."
        )
    for name, values in (("first", one), ("second", other)):
        for index in np.flatnonzero(~np.isfinite(values)):
            raise ValueError(f"{name}[{index}] = {values[index]} is not finite; drop and count unrated items before.")
    return one, other


def _times(counts: IntArray, size: int) -> IntArray:
    """Return how often each item stands in each draw."""
    if counts.ndim != 2 or counts.shape[1] != size or counts.dtype.kind not in "iu":
        raise ValueError(
            f"counts has shape {counts.shape} and type {counts.dtype}; expected whole numbers, {size} a draw."
        )
    if (counts < 0).any() or not counts.any(axis=1).all():
        raise ValueError("counts has a number below 0, or a draw without any item.")
    return counts.astype(np.int64)


def _doubled_midranks(values: FloatArray, times: IntArray) -> IntArray:
    """Return twice the midrank of each value among all items of each draw, which is a whole number."""
    distinct, group = np.unique(values, return_inverse=True)
    standing = times @ (group[:, np.newaxis] == np.arange(distinct.size)).astype(np.int64)
    below = np.cumsum(standing, axis=1) - standing
    doubled: IntArray = (2 * below + standing + 1)[:, group].astype(np.int64)
    return doubled


def _positions(name: str, values: FloatArray, categories: Sequence[float]) -> IntArray:
    """Return the position of each value among the categories."""
    known = np.asarray(categories, dtype=np.float64)
    if known.ndim != 1 or known.size < 2 or not (np.diff(known) > 0).all():
        raise ValueError(f"categories = {list(categories)}; expected at least two, in rising order.")
    positions: IntArray = np.minimum(np.searchsorted(known, values), known.size - 1).astype(np.int64)
    for index in np.flatnonzero(known[positions] != values):
        raise ValueError(
            f"{name}[{index}] = {values[index]:g} is no category; expected one of "
            f"{', '.join(f'{category:g}' for category in known)}."
        )
    return positions
