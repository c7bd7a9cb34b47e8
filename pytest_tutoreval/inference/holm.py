"""Holm's step-down adjustment within a family of fixed size."""

import math
from collections.abc import Sequence

__all__ = ["holm"]


def holm(p_values: Sequence[float | None]) -> list[float]:
    """Return Holm-adjusted p-values in the order given: the running maximum of (m - rank) p, capped at 1.

    Parameters
    ----------
    p_values : one for every member of the family

    Raises
    ------
    ValueError
        The family is empty, or a member's p-value is missing or not in [0, 1]: the denominator is the declared family
        size, so a member that cannot be tested is an error and never a smaller family.

    Notes
    -----
    Source: definitions, section 13; released procedure, section 7. Rank counts from 0 at the smallest p.
    """
    known: list[float] = []
    for index, p_value in enumerate(p_values):
        if p_value is None or math.isnan(p_value):
            raise ValueError(
                f"p_values[{index}] = {p_value} is missing; a family has a fixed size, so every member needs its own."
            )
        if not 0.0 <= p_value <= 1.0:
            raise ValueError(f"p_values[{index}] = {p_value} is no p-value; expected a number from 0 to 1.")
        known.append(float(p_value))
    if not known:
        raise ValueError("p_values is empty; expected at least one member of the family.")
    adjusted = [0.0] * len(known)
    running = 0.0
    for rank, index in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        running = max(running, min(1.0, (len(known) - rank) * known[index]))
        adjusted[index] = running
    return adjusted
