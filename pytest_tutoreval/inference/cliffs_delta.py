"""Cliff's delta, the ordinal effect size between two unpaired groups."""

import numpy as np
import numpy.typing as npt

__all__ = ["cliffs_delta"]


def cliffs_delta(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return (#first > second - #first < second) over all pairs, from -1 to 1.

    Parameters
    ----------
    first, second : (n,) and (m,)
        Values without nan, at least one each.

    Notes
    -----
    Source: definitions, section 9. It compares the groups unpaired, so its sign may differ from that of the
    mean paired difference. Values are compared as doubles: a mean summed in another order breaks ties.
    """
    groups = {"first": np.asarray(first, dtype=np.float64), "second": np.asarray(second, dtype=np.float64)}
    for name, group in groups.items():
        if group.ndim != 1 or group.size == 0:
            raise ValueError(f"{name} has shape {group.shape}; expected one dimension and at least one value.")
        for index in np.flatnonzero(np.isnan(group)):
            raise ValueError(f"{name}[{index}] = nan has no order; drop undefined values before.")
    above = groups["first"][:, None] > groups["second"][None, :]
    below = groups["first"][:, None] < groups["second"][None, :]
    return (int(above.sum()) - int(below.sum())) / above.size
