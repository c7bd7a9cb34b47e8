"""From ratings to scores, one level of averaging a function, none skipped (definitions, section 8)."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from pytest_tutoreval.records.measured import TurnScore

__all__ = ["session_score", "turn_score"]


def turn_score(overalls: Sequence[int | None]) -> TurnScore:
    """Return a turn's score from the holistic values of its repetitions; None marks an unusable one."""
    usable = [value for value in overalls if value is not None]
    if not usable:
        return TurnScore(None, None, None, 0, len(overalls))
    mean = sum(usable) / len(usable)
    spread = math.fsum((value - mean) ** 2 for value in usable) / (len(usable) - 1) if len(usable) > 1 else None
    return TurnScore(mean, spread, float(median(usable)), len(usable), len(overalls))


def session_score(scores: Iterable[float | None]) -> float | None:
    """Return the unweighted mean over turns with a score, or None where there is none.

    The sum is exact before it is rounded: a running sum breaks ties between sessions.
    """
    known = [score for score in scores if score is not None]
    return math.fsum(known) / len(known) if known else None
