"""The paired contrast conv - ped of a session measure over replicates."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.errors import DegenerateData, UnpairedError
from pytest_tutoreval.inference.bootstrap import percentile_interval
from pytest_tutoreval.inference.cliffs_delta import cliffs_delta
from pytest_tutoreval.inference.signed_rank import signed_rank

__all__ = ["Contrast", "paired_contrast"]

# Differences closer than this are one number in exact arithmetic (1/3 - 1/4 and 1/12).
_DUST_DECIMALS = 12


@dataclass(frozen=True)
class Contrast:
    """The mean of conv - ped over replicates, with its test, interval and effect size.

    Attributes
    ----------
    value : mean paired difference
    statistic, p_value : two-sided exact signed-rank test of the differences against `null`
    side : the sign of the differences - `null` that have the larger rank sum; the mean's may be the other (see Notes)
    ci_low, ci_high, draws : 95 % percentile bootstrap of the mean, and its number of resamples
    cliffs_delta : conv against ped unpaired, over the pairs kept
    n_pairs, n_dropped, n_zero : pairs used, pairs with an undefined arm, and used pairs that differ by `null`
    p_value_rounded : the test on differences rounded to 12 decimals; a note where raw ones are ranked, `null` = 0
    conv_mean, ped_mean : arm means over the pairs kept
    """

    value: float
    statistic: float
    p_value: float
    side: int
    ci_low: float
    ci_high: float
    cliffs_delta: float
    n_pairs: int
    n_dropped: int
    n_zero: int
    p_value_rounded: float
    conv_mean: float
    ped_mean: float
    draws: int


def paired_contrast(
    conv: npt.ArrayLike, ped: npt.ArrayLike, *, rng: np.random.Generator, draws: int = 10_000, null: float = 0.0
) -> Contrast:
    """Return the mean of conv - ped over replicates, with its test, interval and effect size.

    Parameters
    ----------
    conv, ped : (n_replicates,) a session measure, same replicate at the same index
        nan where the measure is undefined; such a pair is dropped and counted in `n_dropped`.
    rng, draws
        Percentile bootstrap of the mean; `draws` is recorded in the result.
    null
        What the test holds differences against, a margin in the measure's units. Statistic and p-values are those of
        differences - null rounded to 12 decimals, so that pairs at `null` count as zero however the two were written
        (0.4 - 0.3 lies a last bit above 0.1); mean, interval and effect size stay as they are. At 0 raw differences
        are ranked, as the study did.

    Raises
    ------
    UnpairedError
        The arms differ in length; the message gives both lengths.
    DegenerateData
        No pair has both values (`kind` is "no pairs").
    ValueError
        An arm holds an infinite value.

    Notes
    -----
    Source: definitions, section 9. Test and interval target different functionals (pseudomedian and mean)
    and may disagree at the margin. All differences zero: `p_value` is 1. The two may even lie on opposite sides of
    `null` with p < .05, from 12 pairs on: eleven differences just below it and one far above it.
    """
    arms = {"conv": np.asarray(conv, dtype=np.float64), "ped": np.asarray(ped, dtype=np.float64)}
    for name, arm in arms.items():
        if arm.ndim != 1:
            raise ValueError(f"{name} has shape {arm.shape}; expected one dimension, one value a replicate.")
        for index in np.flatnonzero(np.isinf(arm)):
            raise ValueError(f"{name}[{index}] = {arm[index]} is infinite; expected a measure, or nan where undefined.")
    if arms["conv"].size != arms["ped"].size:
        raise UnpairedError(
            f"conv has {arms['conv'].size} replicates and ped has {arms['ped'].size}; "
            "expected the same replicates in the same order. Align them, with nan where one is undefined."
        )
    kept = ~(np.isnan(arms["conv"]) | np.isnan(arms["ped"]))
    n_pairs = int(kept.sum())
    if n_pairs == 0:
        raise DegenerateData(
            "no pairs",
            f"None of the {kept.size} replicates has the measure defined in both conv and ped; "
            "expected at least one pair. Collect more sessions.",
        )
    conv_kept, ped_kept = arms["conv"][kept], arms["ped"][kept]
    differences = conv_kept - ped_kept
    rounded = np.round(differences - null, _DUST_DECIMALS)
    test = signed_rank(differences if null == 0.0 else rounded)
    interval = percentile_interval(differences, rng=rng, draws=draws)
    return Contrast(
        value=_mean(differences),
        statistic=test.statistic,
        p_value=test.p_value,
        side=test.side,
        ci_low=interval.low,
        ci_high=interval.high,
        cliffs_delta=cliffs_delta(conv_kept, ped_kept),
        n_pairs=n_pairs,
        n_dropped=int(kept.size - n_pairs),
        n_zero=test.n_zero,
        p_value_rounded=signed_rank(rounded).p_value,
        conv_mean=_mean(conv_kept),
        ped_mean=_mean(ped_kept),
        draws=interval.draws,
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    # fsum: a running sum depends on the order of the replicates in its last digit.
    return math.fsum(values.tolist()) / values.size
