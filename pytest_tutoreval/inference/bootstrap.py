"""The percentile bootstrap interval of a mean."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "percentile_interval"]


@dataclass(frozen=True)
class Interval:
    """A percentile bootstrap interval: its ends, its nominal level and the resamples behind it."""

    low: float
    high: float
    level: float
    draws: int


def percentile_interval(
    values: npt.ArrayLike, *, rng: np.random.Generator, draws: int = 10_000, level: float = 0.95
) -> Interval:
    """Return the percentile bootstrap interval for the mean of the values.

    Parameters
    ----------
    values : (n,)
        Finite, at least one.
    rng
        The stream of resamples; `default_rng(0)` made anew for each interval gives the released ones.
    draws, level
        Number of resamples, and the nominal coverage between 0 and 1.

    Notes
    -----
    Source: definitions, section 9; linear percentiles. One draw of shape (draws, n) reads the generator
    exactly as `draws` single draws of n do, so this is the released loop without the loop.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0:
        raise ValueError(f"values has shape {sample.shape}; expected one dimension and at least one value.")
    for index in np.flatnonzero(~np.isfinite(sample)):
        raise ValueError(f"values[{index}] = {sample[index]} is not finite; drop undefined values before.")
    if draws < 1:
        raise ValueError(f"draws = {draws} is too few; expected at least 1 resample.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level = {level} is not a coverage; expected a number between 0 and 1.")
    means = rng.choice(sample, size=(draws, sample.size), replace=True).mean(axis=1)
    tail = 50.0 * (1.0 - level)
    low, high = np.percentile(means, [tail, 100.0 - tail])
    return Interval(low=float(low), high=float(high), level=level, draws=draws)
