"""Maximum-likelihood fit of a linear model with crossed random intercepts, certified."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.inference.design import CrossedDesign, FloatArray, Labels, crossed_design
from pytest_tutoreval.inference.deviance import ProfiledPoint
from pytest_tutoreval.inference.maximum import certified_maximum, kkt_violation

__all__ = ["Coefficient", "CrossedFit", "fit_crossed", "profile_log_likelihood"]

_NORMAL_975 = 1.959963984540054
# lme4's isSingular: a relative standard deviation below this is on the boundary.
_SINGULAR_BELOW = 1e-4


@dataclass(frozen=True)
class Coefficient:
    """One fixed effect with its Wald z test and normal 95 % interval.

    Attributes
    ----------
    estimate, se : maximum-likelihood estimate and its model-based standard error
    z, p_value : estimate / se, and its two-sided normal p
    ci_low, ci_high : estimate -+ 1.96 se
    se_observed : standard error from the observed Hessian over coefficients and variance ratios, as
        statsmodels' MixedLM prints it; None where that Hessian gives no variance
    """

    estimate: float
    se: float
    z: float
    p_value: float
    ci_low: float
    ci_high: float
    se_observed: float | None


@dataclass(frozen=True)
class CrossedFit:
    """The certified maximum of a crossed random-intercept model.

    Attributes
    ----------
    coefficients : column -> estimate and test, "(Intercept)" first
    vcov : (p, p) covariance of the coefficients, in their order
    log_likelihood, deviance : at the maximum; deviance is -2 log-likelihood
    theta : group -> standard deviation of its intercepts over `sigma`
    sigma : residual standard deviation
    variances, residual_variance : group -> variance of its intercepts, and the residual variance
    singular : whether some theta is below 1e-4, as lme4 says it; a boundary fit, not a failure
    kkt : scaled projected gradient of the deviance at the maximum; below 1e-5 in every fit returned
    n, levels : observations, and group -> number of levels
    """

    coefficients: dict[str, Coefficient]
    vcov: FloatArray
    log_likelihood: float
    deviance: float
    theta: dict[str, float]
    sigma: float
    variances: dict[str, float]
    residual_variance: float
    singular: bool
    kkt: float
    n: int
    levels: dict[str, int]


def fit_crossed(outcome: npt.ArrayLike, fixed: Mapping[str, npt.ArrayLike], groups: Mapping[str, Labels]) -> CrossedFit:
    """Return the certified maximum-likelihood fit of outcome = X b + sum of crossed intercepts + error.

    Parameters
    ----------
    outcome : (n,)
        Finite.
    fixed : column name -> (n,)
        Finite, in the order wanted; "(Intercept)" is always added first.
    groups : group name -> (n,) labels
        Each a crossed Gaussian intercept.

    Raises
    ------
    DegenerateData
        The maximum is not defined; `kind` names how, before anything is fitted.
    NotCertified
        No point passed the optimality check.
    ValueError
        Lengths differ or a value is not finite; the message names column and count.

    Notes
    -----
    Source: definitions, section 10. ML, not REML. `se` is lme4's, from sigma**2 (X'V**-1 X)**-1 with
    sigma**2 = r2 / n; the released tables print `se_observed`, which differs by up to 8 % on a boundary.
    Row order does not change a bit of the result; label order and units change the last digits only.
    """
    design = crossed_design(outcome, fixed, groups, at={})
    return _described(design, certified_maximum(design))


def profile_log_likelihood(
    outcome: npt.ArrayLike,
    fixed: Mapping[str, npt.ArrayLike],
    groups: Mapping[str, Labels],
    at: Mapping[str, float],
) -> float:
    """Return the log-likelihood maximised over everything but the coefficients held at `at`.

    Below `fit_crossed(...).log_likelihood` by more than rounding, it shows that a published coefficient is
    not the maximum. Parameters and errors as in `fit_crossed`; `at` maps columns to values.
    """
    return -certified_maximum(crossed_design(outcome, fixed, groups, at)).deviance / 2


def _described(design: CrossedDesign, point: ProfiledPoint) -> CrossedFit:
    """Return the fit in the caller's columns and units."""
    back = np.asarray(np.linalg.inv(design.basis), dtype=np.float64)
    estimates = back @ (design.ordinary + point.shift)
    vcov = point.sigma**2 * back @ np.linalg.inv(point.information) @ back.T
    vcov = (vcov + vcov.T) / 2
    observed = _observed_variances(point, back)
    theta = np.sqrt(point.ratios)
    return CrossedFit(
        coefficients={
            name: _wald(float(estimates[j]), math.sqrt(vcov[j, j]), float(observed[j]))
            for j, name in enumerate(design.columns)
        },
        vcov=vcov,
        log_likelihood=-point.deviance / 2,
        deviance=point.deviance,
        theta=dict(zip(design.levels, theta.tolist(), strict=True)),
        sigma=point.sigma,
        variances=dict(zip(design.levels, (point.sigma**2 * point.ratios).tolist(), strict=True)),
        residual_variance=point.sigma**2,
        singular=bool((theta < _SINGULAR_BELOW).any()),
        kkt=kkt_violation(point),
        n=design.n,
        levels=design.levels,
    )


def _observed_variances(point: ProfiledPoint, back: FloatArray) -> FloatArray:
    """Return the coefficients' variances from the whole observed Hessian; nan where it is singular."""
    p = back.shape[0]
    try:
        inverse = np.linalg.inv(point.observed)[:p, :p]
    except np.linalg.LinAlgError:
        return np.full(p, np.nan)
    variances: FloatArray = np.einsum("ij,jk,ik->i", back, inverse, back)
    return variances


def _wald(estimate: float, se: float, observed_variance: float) -> Coefficient:
    z = estimate / se
    return Coefficient(
        estimate=estimate,
        se=se,
        z=z,
        p_value=math.erfc(abs(z) / math.sqrt(2.0)),
        ci_low=estimate - _NORMAL_975 * se,
        ci_high=estimate + _NORMAL_975 * se,
        se_observed=math.sqrt(observed_variance) if observed_variance > 0.0 else None,
    )
