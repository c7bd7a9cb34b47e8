"""Group sequential levels: one-sided alpha spent over registered looks, so that stopping early inflates nothing."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Look", "Spending", "nominal_levels", "spent"]

Spending = Literal["obrien_fleming", "pocock"]

# Below -8 standard deviations lies less than 1e-15 of the mass.
_FAR = 8.0
# Simpson's rule with nodes this many to a standard deviation of an increment: its error is below 1e-6 of a level.
_NODES_A_SD = 10
_FEWEST_NODES, _MOST_NODES = 129, 4001


def spent(fraction: float, *, alpha: float, spending: Spending) -> float:
    """Return the one-sided alpha spent once a fraction of the registered n is in.

    Notes
    -----
    Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983), 659-663:
    2 (1 - Phi(z_{alpha/2} / sqrt(t))) resembles O'Brien and Fleming, alpha ln(1 + (e - 1) t) resembles Pocock.
    """
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1.0) * fraction)
    return 2.0 * _upper_tail(-NormalDist().inv_cdf(alpha / 2.0) / math.sqrt(fraction))


@lru_cache(maxsize=512)
def nominal_levels(looks: tuple[int, ...], *, alpha: float, spending: Spending) -> tuple[float, ...]:
    """Return the one-sided nominal level of each look: decide there where the p-value is at most this.

    Parameters
    ----------
    looks : numbers of replicates, growing; the last is the registered n
    alpha : one-sided probability of a false decision over all looks together
    spending : how alpha is spent in between

    Raises
    ------
    ValueError
        Looks that are not positive and growing, or an alpha that is no one-sided level.

    Notes
    -----
    Recursive numerical integration after Armitage, McPherson and Rowe, "Repeated significance tests on accumulating
    data", JRSS A 132 (1969), 235-244: the standardised mean at the looks behaves as a Brownian motion, whose density
    below the boundaries so far is carried from look to look by Simpson's rule, and each boundary spends what is due.
    The levels are then applied to exact sign-flip p-values. These are discrete, so an early level below 2**-n can never
    be met; what is not spent there is not carried over, and the rule stays on the safe side.
    """
    if not looks or looks[0] < 1 or any(later <= sooner for sooner, later in pairwise(looks)):
        raise ValueError(f"looks = {list(looks)}; expected growing numbers of replicates, the last the registered n.")
    if not 0.0 < alpha <= 0.5:
        raise ValueError(f"alpha = {alpha} is not a one-sided level; expected a number above 0 and at most 0.5.")
    times = [look / looks[-1] for look in looks]
    total = [spent(time, alpha=alpha, spending=spending) for time in times]
    # A look so early that what it spends is no double still has a level, which no p-value of so few reaches.
    due = [max(later - sooner, sys.float_info.min) for sooner, later in pairwise([0.0, *total])]
    boundaries = [-NormalDist().inv_cdf(due[0])]
    # Until the first look there is one starting point, at 0.
    nodes, weighted = np.zeros(1), np.ones(1)
    before = 0.0
    for index in range(1, len(times)):
        step, narrowest = math.sqrt(times[index - 1] - before), math.sqrt(times[index] - times[index - 1])
        grid, weights = _simpson(
            -_FAR * math.sqrt(times[index - 1]), boundaries[-1] * math.sqrt(times[index - 1]), min(step, narrowest)
        )
        arrived = (
            np.exp(-0.5 * ((grid[:, np.newaxis] - nodes) / step) ** 2) @ weighted / (step * math.sqrt(2 * math.pi))
        )
        nodes, weighted, before = grid, arrived * weights, times[index - 1]
        boundaries.append(_boundary(nodes, weighted, times[index], narrowest, due[index]))
    return tuple(_upper_tail(boundary) for boundary in boundaries)


@dataclass(frozen=True)
class Look:
    """One look of a registered sequential rule: `index` counts from 0."""

    looks: tuple[int, ...]
    index: int
    spending: Spending

    @property
    def final(self) -> "Look":
        """The last look of the rule."""
        return Look(self.looks, len(self.looks) - 1, self.spending)

    def level(self, alpha: float) -> float:
        """Return the nominal one-sided level of this look where the whole rule has alpha."""
        return nominal_levels(self.looks, alpha=alpha, spending=self.spending)[self.index]

    def repeated_p(self, p_value: float) -> float:
        """Return the smallest alpha at which the rule decides here: a p-value that counts all looks.

        It is 1 where even alpha = .5 does not decide. Nominal levels grow with alpha, so repeated p-values may enter
        Holm's procedure as any others (Maurer and Bretz, "Multiple testing in group sequential trials using graphical
        approaches", Statistics in Biopharmaceutical Research 5 (2013), 311-320).
        """
        return _repeated_p(self, p_value)


@lru_cache(maxsize=4096)
def _repeated_p(look: Look, p_value: float) -> float:
    if p_value > look.level(0.5):
        return 1.0
    # What one look may use is part of what is spent in all, so alpha is never below the nominal level.
    found = _root(
        lambda log_alpha: math.log(look.level(math.exp(log_alpha)) / p_value), math.log(p_value), math.log(0.5)
    )
    return math.exp(found)


def _boundary(
    nodes: npt.NDArray[np.float64], weighted: npt.NDArray[np.float64], time: float, step: float, due: float
) -> float:
    """Return the standardised boundary that a path below all earlier ones crosses with probability `due`."""

    def excess(boundary: float) -> float:
        arguments = ((boundary * math.sqrt(time) - nodes) / step).tolist()
        crossed = float(np.dot(weighted, np.fromiter(map(_upper_tail, arguments), np.float64, len(arguments))))
        return math.log(crossed / due) if crossed > 0.0 else -math.inf

    return _root(excess, -_FAR, 38.0)


def _simpson(low: float, high: float, sd: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return nodes and weights of Simpson's rule, fine enough for a kernel of that standard deviation."""
    wanted = math.ceil(_NODES_A_SD * (high - low) / sd)
    n = min(max(wanted, _FEWEST_NODES), _MOST_NODES) | 1
    weights = np.full(n, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return np.linspace(low, high, n), weights * (high - low) / (3 * (n - 1))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a monotone function is zero: Illinois' false position, halving where it has no finite value."""
    at_low, at_high = function(low), function(high)
    if at_low == 0.0 or (at_low < 0.0) == (at_high < 0.0):
        return low if abs(at_low) <= abs(at_high) else high
    stayed = ""
    for _ in range(200):
        finite = math.isfinite(at_low) and math.isfinite(at_high)
        middle = (low * at_high - high * at_low) / (at_high - at_low) if finite else (low + high) / 2
        value = function(middle)
        if value == 0.0 or abs(high - low) < 1e-13 or abs(value) < 1e-12:
            return middle
        # Halved only where one end stays a second time: at every step it would halve the interval and do no better.
        if (value < 0.0) == (at_high < 0.0):
            high, at_high = middle, value
            at_low /= 1 + (stayed == "low")
            stayed = "low"
        else:
            low, at_low = middle, value
            at_high /= 1 + (stayed == "high")
            stayed = "high"
    return (low + high) / 2


def _upper_tail(z: float) -> float:
    return 0.5 * math.erfc(z / math.sqrt(2.0))
