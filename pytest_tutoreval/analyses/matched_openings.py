"""Independence under the matched budget where tables do not hold it: bounds over all fillings.

Tables hold the reply to every in-window tutor turn and, through the session's ratio, how many of its opening replies
hold a reasoning step, but not which. Where a dropped cell takes its opening along, the kept ones are known only as a
range; everything else is exact.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, Cell, MatchedBudget, openings

__all__ = ["IndependenceBounds", "MatchedIndependence", "bound_contrast", "matched_independence"]

# Beyond this many fillings the test is not looked at one by one; the bounds of the mean need no enumeration.
MOST_FILLINGS = 50_000


@dataclass(frozen=True)
class MatchedIndependence:
    """A session's independence over its kept student turns, by arm and replicate: every value it may have.

    One value where it is known; None where no cell is kept.
    """

    values: Mapping[str, Mapping[int, tuple[float, ...] | None]]

    @property
    def is_known(self) -> bool:
        """Whether every session has one value."""
        return all(values is None or len(values) == 1 for arm in self.values.values() for values in arm.values())

    def known(self, arm: str) -> dict[int, float | None]:
        """Return an arm's values where each is known."""
        return {replicate: None if values is None else values[0] for replicate, values in self.values[arm].items()}


def matched_independence(cells: Mapping[str, Cell], matched: MatchedBudget) -> MatchedIndependence:
    """Return what is known of each session's independence under the budget.

    Raises
    ------
    NotEvaluable
        A session's numbers contradict each other.
    """
    found: dict[str, dict[int, tuple[float, ...] | None]] = {arm: {} for arm in ARMS}
    for arm in ARMS:
        for replicate, turns in matched.turns[arm].items():
            n = matched.n_student_turns(replicate)
            if not n:
                found[arm][replicate] = None
                continue
            try:
                first = openings(cells[arm], replicate, matched)
            except ValueError as exc:
                raise NotEvaluable(str(exc)) from exc
            replies = sum(bool(turn.next_turn_independence) for turn in turns)
            found[arm][replicate] = tuple((count + replies) / n for count in range(first.low, first.high + 1))
    return MatchedIndependence(found)


@dataclass(frozen=True)
class IndependenceBounds:
    """The contrast conv - ped over all fillings of the missing opening replies.

    Attributes
    ----------
    low, high : bounds of the mean difference, each reached
    arms : bounds of each arm's mean
    n_pairs, n_fillings : replicates with a kept cell, and how many fillings give them numbers of their own
    p_low, p_high : smallest and largest signed-rank p; None where the fillings are too many to look at one by one
    outcomes : every (significant, sign of the mean) there is, or None likewise
    n_significant : fillings that are significant, or None likewise
    """

    low: float
    high: float
    arms: Mapping[str, tuple[float, float]]
    n_pairs: int
    n_fillings: int
    p_low: float | None
    p_high: float | None
    outcomes: frozenset[tuple[bool, int]] | None
    n_significant: int | None


def bound_contrast(independence: MatchedIndependence, alpha: float) -> IndependenceBounds:
    """Return the bounds of the contrast over all fillings.

    Raises
    ------
    NotEvaluable
        No replicate has a kept cell.
    """
    from pytest_tutoreval.inference import signed_rank

    conv, ped = (independence.values[arm] for arm in ARMS)
    pairs = [(one, other) for replicate in sorted(conv) if (one := conv[replicate]) and (other := ped[replicate])]
    if not pairs:
        raise NotEvaluable("no replicate has a cell with in-window turns in both arms")
    choices = [[one - other for one, other in product(*pair)] for pair in pairs]
    n_fillings = math.prod(map(len, choices))
    looked_at = n_fillings <= MOST_FILLINGS
    tests = [(_mean(filling), signed_rank(filling).p_value) for filling in product(*choices)] if looked_at else []
    return IndependenceBounds(
        low=_mean([min(choice) for choice in choices]),
        high=_mean([max(choice) for choice in choices]),
        arms={
            arm: (_mean([min(pair[at]) for pair in pairs]), _mean([max(pair[at]) for pair in pairs]))
            for at, arm in enumerate(ARMS)
        },
        n_pairs=len(pairs),
        n_fillings=n_fillings,
        p_low=min(p for _, p in tests) if looked_at else None,
        p_high=max(p for _, p in tests) if looked_at else None,
        outcomes=frozenset((p < alpha, (value > 0) - (value < 0)) for value, p in tests) if looked_at else None,
        n_significant=sum(p < alpha for _, p in tests) if looked_at else None,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
