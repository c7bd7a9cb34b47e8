"""The data of a crossed random-intercept model: checked, put in canonical order, in an orthonormal basis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.errors import DegenerateData

__all__ = ["INTERCEPT", "CrossedDesign", "FloatArray", "Labels", "crossed_design"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Labels = Sequence[Any] | npt.NDArray[Any]

INTERCEPT = "(Intercept)"

# Relative sums of squares below this are rounding dust: residuals of doubles come out at about 1e-31.
_DUST = 1e-24


@dataclass(frozen=True)
class CrossedDesign:
    """What the likelihood needs, with X = Q R in an orthonormal basis.

    Attributes
    ----------
    columns : fixed effects left to estimate, in order
    levels : group name -> number of levels, in order
    basis : (p, p) upper triangular R; coefficients are R**-1 times those on Q
    ordinary : (p,) least-squares coefficients on Q
    eq : (n, 1 + p) residuals e of that fit, beside Q; the likelihood works on e, so nothing cancels
    z : (n, q) level indicators of all groups, side by side
    zeq, zz : Z'[e Q] and Z'Z
    starts : (m,) first column of each group in Z
    floor : residual sum of squares with the groups as fixed effects; r'V**-1 r is never below it
    """

    columns: tuple[str, ...]
    levels: dict[str, int]
    basis: FloatArray
    ordinary: FloatArray
    eq: FloatArray
    z: FloatArray
    zeq: FloatArray
    zz: FloatArray
    starts: IntArray
    floor: float

    @property
    def n(self) -> int:
        """Observations."""
        return int(self.z.shape[0])


def crossed_design(
    outcome: npt.ArrayLike,
    fixed: Mapping[str, npt.ArrayLike],
    groups: Mapping[str, Labels],
    at: Mapping[str, float],
) -> CrossedDesign:
    """Return the checked design, with the coefficients in `at` held fixed.

    Raises
    ------
    ValueError
        Lengths differ, a value is not finite, or `at` names no column; the message says which.
    DegenerateData
        The maximum is not defined; `kind` is one of "too few observations", "single level",
        "constant predictor", "rank-deficient design", "constant outcome", "separated outcome".
    """
    y = _column("outcome", outcome, None)
    x = {INTERCEPT: np.ones(y.size)}
    for name, values in fixed.items():
        if name in x:
            raise ValueError(f"fixed names a column {name!r}; the intercept is always added.")
        x[name] = _column(name, values, y.size)
    for name, value in at.items():
        if name not in x or not np.isfinite(value):
            raise ValueError(f"at[{name!r}] = {value}; expected a finite value for one of {', '.join(x)}.")
    if not groups:
        raise ValueError("groups is empty; expected at least one grouping factor.")
    codes = {name: _codes(name, labels, y.size) for name, labels in groups.items()}
    _refuse_small(y.size, len(x), codes)
    # One order for the same rows, however they came: sums then agree to the last bit.
    order = np.lexsort([y, *x.values(), *codes.values()])
    y, x = y[order], {name: column[order] for name, column in x.items()}
    codes = {name: code[order] for name, code in codes.items()}
    _refuse_columns(x)
    for name, value in at.items():
        y = y - value * x[name]
    return _reduced(y, {name: column for name, column in x.items() if name not in at}, codes)


def _column(name: str, values: npt.ArrayLike, n: int | None) -> FloatArray:
    """Return the values as doubles, refusing a wrong shape or anything not finite."""
    column = np.asarray(values, dtype=np.float64)
    if column.ndim != 1 or (n is not None and column.size != n):
        expected = "one dimension" if n is None else f"({n},) as in outcome"
        raise ValueError(f"{name} has shape {column.shape}; expected {expected}.")
    n_bad = int(column.size - np.isfinite(column).sum())
    if n_bad:
        raise ValueError(
            f"{name} has {n_bad} of {column.size} values not finite; drop and count such rows before the fit."
        )
    return column


def _codes(name: str, labels: Labels, n: int) -> IntArray:
    """Return the index of each label among the sorted labels."""
    if len(labels) != n:
        raise ValueError(f"group {name!r} has {len(labels)} labels; expected {n} as in outcome.")
    # Looked for among the labels as given: beside strings, numpy would spell a nan "nan".
    n_bad = sum(label is None or label != label for label in labels)
    if n_bad:
        raise ValueError(f"group {name!r} has {n_bad} of {n} labels missing; drop such rows before the fit.")
    codes: IntArray = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)
    return codes


def _refuse_small(n: int, n_columns: int, codes: Mapping[str, IntArray]) -> None:
    """Raise where there are too few rows for the model, or a group with nothing to vary over."""
    # Beyond the coefficients: one variance a group and the residual one.
    needed = n_columns + len(codes) + 2
    if n < needed:
        raise DegenerateData("too few observations", f"{n} observations; expected at least {needed}.")
    for name, code in codes.items():
        n_levels = int(code.max()) + 1
        if n_levels == 1:
            raise DegenerateData(
                "single level",
                f"Group {name!r} has a single level, so its variance is not defined; expected at least 2.",
            )
        if n_levels == n:
            raise DegenerateData(
                "too few observations",
                f"Group {name!r} has a level for each of {n} observations, so its variance cannot be told "
                "from the residual one; expected some level with 2.",
            )


def _refuse_columns(x: Mapping[str, FloatArray]) -> None:
    """Raise where a coefficient is not identified, naming its column."""
    for name, column in x.items():
        if name != INTERCEPT and column.min() == column.max():
            raise DegenerateData(
                "constant predictor",
                f"Column {name!r} is {column[0]:g} in all {column.size} rows, so it has no coefficient; "
                "expected two values.",
            )
    design = np.column_stack(list(x.values()))
    # Without pivoting, |R[j, j]| is the distance of column j from the span of the columns before it.
    distance = np.abs(np.diag(np.linalg.qr(design, mode="r")))
    for name, share in zip(x, distance / np.linalg.norm(design, axis=0), strict=True):
        if share < 1e-10:
            raise DegenerateData(
                "rank-deficient design",
                f"Column {name!r} is a combination of the columns before it ({', '.join(x)}); leave one out.",
            )


def _reduced(y: FloatArray, x: Mapping[str, FloatArray], codes: Mapping[str, IntArray]) -> CrossedDesign:
    """Return the design in its basis, refusing an outcome without residual variation."""
    basis_q, basis_r = np.linalg.qr(np.column_stack(list(x.values())) if x else np.empty((y.size, 0)))
    ordinary = basis_q.T @ y
    e = y - basis_q @ ordinary
    scale = float(y @ y)
    if float(np.square(y - y.mean()).sum()) <= _DUST * scale:
        raise DegenerateData("constant outcome", f"The outcome is {y[0]:g} in all {y.size} rows; it has no variance.")
    if float(e @ e) <= _DUST * scale:
        raise DegenerateData(
            "separated outcome", f"{_listed(x)} give the outcome exactly, so the likelihood has no maximum."
        )
    sizes = [int(code.max()) + 1 for code in codes.values()]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    columns = np.column_stack([code + start for code, start in zip(codes.values(), starts, strict=True)])
    z = np.zeros((y.size, sum(sizes)))
    np.put_along_axis(z, columns, 1.0, axis=1)
    both = np.hstack([basis_q, z])
    residual = e - both @ np.linalg.lstsq(both, e, rcond=None)[0]
    if float(residual @ residual) <= _DUST * scale:
        raise DegenerateData(
            "separated outcome",
            f"{_listed([*x, *codes])} give the outcome exactly, so the likelihood has no maximum.",
        )
    eq = np.column_stack([e, basis_q])
    return CrossedDesign(
        columns=tuple(x),
        levels=dict(zip(codes, sizes, strict=True)),
        basis=basis_r,
        ordinary=ordinary,
        eq=eq,
        z=z,
        zeq=z.T @ eq,
        zz=z.T @ z,
        starts=starts,
        floor=float(residual @ residual),
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "The held coefficients"
