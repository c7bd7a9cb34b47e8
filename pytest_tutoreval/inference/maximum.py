"""The certified maximum over variance ratios: projected Newton steps, then an optimality check."""

import numpy as np

from pytest_tutoreval.errors import NotCertified
from pytest_tutoreval.inference.design import CrossedDesign, FloatArray
from pytest_tutoreval.inference.deviance import ProfiledPoint, profiled_deviance

__all__ = ["CERTIFIED_BELOW", "certified_maximum", "kkt_violation"]

CERTIFIED_BELOW = 1e-5
_AIM = 1e-9
_MAX_STEPS = 100
_STARTS = (0.1, 1.0, 0.0, 10.0, 100.0)


def certified_maximum(design: CrossedDesign) -> ProfiledPoint:
    """Return the point of least deviance over nonnegative ratios, its optimality checked.

    Raises
    ------
    NotCertified
        No start led to a point whose `kkt_violation` is below `CERTIFIED_BELOW`.

    Notes
    -----
    No optimiser's own word is taken: gradient methods of scipy and statsmodels stop early on such data and
    report success. A further start is tried only where the check fails.
    """
    violations = []
    for start in _STARTS:
        point = _descend(design, np.full(len(design.levels), start))
        violations.append(kkt_violation(point))
        if violations[-1] < CERTIFIED_BELOW:
            return point
    raise NotCertified(
        f"The fit of {', '.join(design.columns)} with groups {', '.join(design.levels)}: the best of "
        f"{len(_STARTS)} starts has projected gradient {min(violations):.2g}; expected below "
        f"{CERTIFIED_BELOW:g}. Check the data for groups that fix the outcome."
    )


def kkt_violation(point: ProfiledPoint) -> float:
    """Return the largest component of the projected gradient of the deviance, scaled by max(1, ratio).

    Notes
    -----
    At an optimum over g >= 0 the slope is 0 where g > 0 and not negative where g = 0. The deviance is free
    of the units of outcome and predictors, and so is its slope. Above g = 1 the slope is taken per relative
    change of g: there the deviance is flat in g, and an unscaled slope would look small anywhere.
    """
    slope = np.where(point.ratios > 0, point.gradient, np.minimum(point.gradient, 0.0))
    return float(np.max(np.abs(slope) * np.maximum(1.0, point.ratios)))


def _descend(design: CrossedDesign, start: FloatArray) -> ProfiledPoint:
    """Return where projected Newton steps from the start stop making progress."""
    point = profiled_deviance(design, start)
    for _ in range(_MAX_STEPS):
        if kkt_violation(point) < _AIM:
            break
        following = _line_search(design, point, _newton_step(point))
        if following is None:
            break
        point = following
    return point


def _newton_step(point: ProfiledPoint) -> FloatArray:
    """Return the step to subtract; the Hessian is made positive, and ratios held at 0 stay there."""
    # Two-metric projection (Bertsekas 1982): curvature is used only among the ratios that may move freely.
    step = point.ratios.copy()
    free = ~((point.ratios <= 1e-10) & (point.gradient > 0))
    if free.any():
        # Scaled as in `kkt_violation`: curvature in g falls with g**2, and would drown beside a small one's.
        scale = np.maximum(1.0, point.ratios[free])
        values, vectors = np.linalg.eigh(point.hessian[np.ix_(free, free)] * np.outer(scale, scale))
        positive = np.maximum(np.abs(values), 1e-10 * np.abs(values).max() + 1e-300)
        step[free] = scale * (vectors @ ((vectors.T @ (scale * point.gradient[free])) / positive))
    return step


def _line_search(design: CrossedDesign, point: ProfiledPoint, step: FloatArray) -> ProfiledPoint | None:
    """Return the first enough lower point on the projected path, halving; None where there is none."""
    dust = 1e-12 * (abs(point.deviance) + design.n)
    for halvings in range(40):
        candidate = profiled_deviance(design, np.maximum(point.ratios - step * 0.5**halvings, 0.0))
        promised = float(point.gradient @ (point.ratios - candidate.ratios))
        if candidate.deviance <= point.deviance - 1e-4 * promised and promised > dust:
            return candidate
        # Near the optimum the deviance cannot tell two points apart; the slope still can.
        if candidate.deviance <= point.deviance + dust and kkt_violation(candidate) < kkt_violation(point):
            return candidate
    return None
