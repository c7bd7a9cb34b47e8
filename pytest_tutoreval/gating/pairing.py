"""Candidate and baseline paired by replicate and problem: one difference a replicate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_tutoreval.gating.guards import Values

__all__ = ["Paired", "pair_values"]


@dataclass(frozen=True)
class Paired:
    """Differences current - baseline, on the cells where both are defined.

    Attributes
    ----------
    differences : a replicate's mean over its problems; replicates without a shared cell are left out
    cells : the difference of each replicate and problem
    baseline, current : means over those replicates of the means over those problems
    n_dropped : cells left out because one side, or both, is undefined
    """

    differences: tuple[float, ...]
    cells: Mapping[tuple[int, str], float]
    baseline: float
    current: float
    n_dropped: int


def pair_values(current: Values, baseline: Values, replicates: Sequence[int]) -> Paired | None:
    """Return the pairs of these replicates, None where none has a cell in which both sides are defined.

    Every problem of a replicate weighs the same, however many turns it took, so that a candidate that talks more about
    one problem is not measured by that problem more.
    """
    cells: dict[tuple[int, str], float] = {}
    before: list[float] = []
    now: list[float] = []
    differences: list[float] = []
    n_dropped = 0
    for replicate in replicates:
        mine, theirs = current.get(replicate, {}), baseline.get(replicate, {})
        shared: list[tuple[float, float]] = []
        for problem in sorted({*mine, *theirs}):
            one, other = mine.get(problem), theirs.get(problem)
            if one is None or other is None:
                n_dropped += 1
                continue
            cells[replicate, problem] = one - other
            shared.append((one, other))
        if shared:
            now.append(_mean([one for one, _ in shared]))
            before.append(_mean([other for _, other in shared]))
            differences.append(_mean([one - other for one, other in shared]))
    if not differences:
        return None
    return Paired(tuple(differences), cells, _mean(before), _mean(now), n_dropped)


def _mean(values: Sequence[float]) -> float:
    # fsum: a running sum depends on the order of the replicates in its last digit.
    return math.fsum(values) / len(values)
