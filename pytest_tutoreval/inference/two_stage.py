"""The two-stage clustered comparison of leaky and non-leaky turns (definitions, section 10)."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.errors import DegenerateData
from pytest_tutoreval.inference.bootstrap import percentile_interval
from pytest_tutoreval.inference.signed_rank import signed_rank

__all__ = ["TwoStage", "two_stage"]


@dataclass(frozen=True)
class TwoStage:
    """The mean over replicates of leaky mean minus non-leaky mean, with its test and interval.

    Attributes
    ----------
    value : mean of the replicates' differences
    statistic, p_value : two-sided exact signed-rank test of differences of numpy's means, as the study took them
    statistic_exact, p_value_exact : the same on differences of exactly summed means; where a difference is 0 in exact
        arithmetic, rounding may have made it one more rank. A note, it decides nothing
    ci_low, ci_high, draws : 95 % percentile bootstrap of the mean over replicates, and its number of resamples
    n_used, n_skipped : replicates with turns of both kinds, and replicates that lack one
    n_below, n_above : replicates whose difference is negative, and positive
    """

    value: float
    statistic: float
    p_value: float
    statistic_exact: float
    p_value_exact: float
    ci_low: float
    ci_high: float
    n_used: int
    n_skipped: int
    n_below: int
    n_above: int
    draws: int


def two_stage(
    outcome: npt.ArrayLike,
    leaky: npt.ArrayLike,
    replicate: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 10_000,
) -> TwoStage:
    """Return the leaky-minus-non-leaky difference within replicates, tested across them.

    Parameters
    ----------
    outcome, leaky, replicate : (n,) a turn each
        A finite outcome, whether the turn leaks, and the number of its replicate. The order of the turns is part of
        the test's last digits; the study's is condition, problem, turn.
    rng, draws
        Percentile bootstrap over replicates, taken in the order of their numbers.

    Raises
    ------
    DegenerateData
        No replicate has turns of both kinds (`kind` is "no pairs").
    ValueError
        Lengths differ or an outcome is not finite.

    Notes
    -----
    Source: definitions, section 10. Both arms together, so it is no more policy-controlled than model (1). A
    replicate lacking either kind is skipped and counted.
    """
    values, flags = np.asarray(outcome, dtype=np.float64), np.asarray(leaky, dtype=bool)
    numbers = np.asarray(replicate)
    if values.ndim != 1 or not values.shape == flags.shape == numbers.shape:
        raise ValueError(
            f"outcome, leaky and replicate have shapes {values.shape}, {flags.shape} and {numbers.shape}; "
            "expected one dimension and one entry a turn."
        )
    for index in np.flatnonzero(~np.isfinite(values)):
        raise ValueError(f"outcome[{index}] = {values[index]} is not finite; drop undefined turns before.")
    known = np.unique(numbers)
    pairs = [
        (values[here & flags], values[here & ~flags])
        for here in (numbers == number for number in known)
        if (here & flags).any() and (here & ~flags).any()
    ]
    if not pairs:
        raise DegenerateData(
            "no pairs",
            f"None of the {known.size} replicates has both leaky and non-leaky turns; expected at least one.",
        )
    differences = [float(with_leak.mean() - without.mean()) for with_leak, without in pairs]
    test = signed_rank(differences)
    exact = signed_rank([_mean(with_leak) - _mean(without) for with_leak, without in pairs])
    interval = percentile_interval(differences, rng=rng, draws=draws)
    return TwoStage(
        value=math.fsum(differences) / len(differences),
        statistic=test.statistic,
        p_value=test.p_value,
        statistic_exact=exact.statistic,
        p_value_exact=exact.p_value,
        ci_low=interval.low,
        ci_high=interval.high,
        n_used=len(differences),
        n_skipped=int(known.size) - len(differences),
        n_below=sum(difference < 0 for difference in differences),
        n_above=sum(difference > 0 for difference in differences),
        draws=interval.draws,
    )


def _mean(values: npt.NDArray[np.float64]) -> float:
    # fsum: the order of the turns cannot break a tie between replicates.
    return math.fsum(values.tolist()) / values.size
