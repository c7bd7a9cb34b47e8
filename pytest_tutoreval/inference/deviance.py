"""The profiled deviance of a crossed random-intercept model, with exact derivatives."""

import math
from dataclasses import dataclass

import numpy as np

from pytest_tutoreval.inference.design import CrossedDesign, FloatArray

__all__ = ["ProfiledPoint", "profiled_deviance"]


@dataclass(frozen=True)
class ProfiledPoint:
    """The deviance at given variance ratios, coefficients and sigma at their best for these ratios.

    Attributes
    ----------
    ratios : (m,) g_k = theta_k**2, variance of group k over the residual variance
    deviance : -2 log-likelihood
    gradient, hessian : (m,) and (m, m) derivatives of `deviance` in the ratios
    shift : (p,) best coefficients on Q, less the least-squares ones
    information : (p, p) Q'V**-1 Q, V = I + sum g_k Z_k Z_k'
    mixed : (p, m) minus the second derivative of the log-likelihood in coefficients on Q and ratios
    held : (m, m) second derivative of `deviance` in the ratios with the coefficients held
    sigma : residual standard deviation, maximum likelihood
    """

    ratios: FloatArray
    deviance: float
    gradient: FloatArray
    hessian: FloatArray
    shift: FloatArray
    information: FloatArray
    mixed: FloatArray
    held: FloatArray
    sigma: float

    @property
    def observed(self) -> FloatArray:
        """Minus the Hessian of the log-likelihood in coefficients on Q and ratios, sigma profiled out."""
        coefficients = self.information / self.sigma**2
        return np.block([[coefficients, self.mixed], [self.mixed.T, self.held / 2]])


def profiled_deviance(design: CrossedDesign, ratios: FloatArray) -> ProfiledPoint:
    """Return the profiled deviance and its derivatives at nonnegative variance ratios.

    Notes
    -----
    lme4's criterion (Bates et al. 2015, section 3.4), but in g = theta**2: in theta the slope is 0 at
    theta = 0 always, in g its sign there tells whether 0 is the optimum. With r = e - Q shift,
    r2 = r'V**-1 r, c = Z'V**-1 r and C = Z'V**-1 Z in blocks k, l:

        dev        = log|V| + n (1 + log(2 pi r2 / n))
        d dev_k    = tr C_kk - n |c_k|**2 / r2
        d2 dev_kl  = -|C_kl|**2 + n (2 c_k'C_kl c_l / r2 - |c_k|**2 |c_l|**2 / r2**2)   coefficients held

    and the coefficients are profiled out of the last by a Schur complement. Z'V**-1 = (I + Z'Z G)**-1 Z'
    needs neither a root nor a division, so it holds at g = 0; a'V**-1 b = (V**-1 a)'(V**-1 b) + s_a'G s_b
    with s = Z'V**-1 a is a sum of squares for a = b, so nothing cancels at large g.
    """
    n, p = design.n, len(design.columns)
    weights = np.repeat(ratios, list(design.levels.values()))
    kernel = np.eye(weights.size) + design.zz * weights
    log_det = float(np.linalg.slogdet(kernel)[1])
    solved = np.linalg.solve(kernel, np.hstack([design.zeq, design.zz]))
    seq, zz = solved[:, : 1 + p], solved[:, 1 + p :]
    whitened = design.eq - design.z @ (weights[:, None] * seq)
    products = whitened.T @ whitened + seq.T @ (weights[:, None] * seq)
    information = products[1:, 1:]
    shift = np.linalg.solve(information, products[1:, 0])
    c = seq[:, 0] - seq[:, 1:] @ shift
    residual = whitened[:, 0] - whitened[:, 1:] @ shift
    # At ratios far beyond any data rounding could pass the bound, and it keeps the logarithm defined.
    r2 = max(float(residual @ residual) + float((weights * c) @ c), design.floor)

    def by_group(values: FloatArray) -> FloatArray:
        summed: FloatArray = np.add.reduceat(values, design.starts, axis=-1)
        return summed

    squares = by_group(c * c)
    curvature = by_group(by_group(zz * zz).T)
    bilinear = by_group(by_group(c[:, None] * zz * c).T)
    held = -curvature + n * (2 * bilinear / r2 - np.outer(squares, squares) / r2**2)
    mixed = (n / r2) * by_group(seq[:, 1:].T * c)
    return ProfiledPoint(
        ratios=ratios,
        deviance=log_det + n * (1 + math.log(2 * math.pi * r2 / n)),
        gradient=by_group(np.diag(zz)) - n * squares / r2,
        hessian=held - 2 * (r2 / n) * mixed.T @ np.linalg.solve(information, mixed),
        shift=shift,
        information=information,
        mixed=mixed,
        held=held,
        sigma=math.sqrt(r2 / n),
    )
