"""Why a printed digit is not ours: each cause is computed, and counts only where the printed digits come out of it.

The tolerance is stated per cause. Once the cause is computed in, it is nil: the printed digits must come out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_tutoreval.analyses.replication_checks import Agree, Because, Cause
from pytest_tutoreval.analyses.replication_evidence import NEXT_TURN, Evidence, Model, Tested
from pytest_tutoreval.errors import CorpusError, NotEvaluable, StatisticsError
from pytest_tutoreval.measures import ARMS, ModelFrame, complete_scores

if TYPE_CHECKING:
    from pytest_tutoreval.inference import Contrast

__all__ = [
    "EARLY_STOP",
    "LIBRARY_VERSION",
    "OBSERVED_ERROR",
    "ROUNDING",
    "SUMMATION_ORDER",
    "TOLERANCES",
    "Which",
    "observed_error",
    "observed_holm",
    "rounded_parts",
    "stopped_early",
    "summed_by_numpy",
    "tie_free",
    "tie_free_p",
    "wald",
]

EARLY_STOP = "the released fit is not the maximum"
OBSERVED_ERROR = "observed-Hessian standard error"
LIBRARY_VERSION = "library version"
SUMMATION_ORDER = "summation order"
ROUNDING = "rounding"

Which = Literal["estimate", "p_value", "ci_low", "ci_high"]

_NORMAL_975 = 1.959963984540054
# A released coefficient further off than this share of its standard error is not explained by stopping early.
_MOST_ERRORS = 0.25
# Log-likelihoods closer than this are one maximum.
_SAME_MAXIMUM = 1e-5
# A released number recomputed at its own stopping point.
_SAME = 1e-6


def wald(estimate: float, se: float) -> dict[Which, float]:
    """Return the estimate with its two-sided normal p and 95 % interval."""
    return {
        "estimate": estimate,
        "p_value": math.erfc(abs(estimate / se) / math.sqrt(2.0)),
        "ci_low": estimate - _NORMAL_975 * se,
        "ci_high": estimate + _NORMAL_975 * se,
    }


# What must hold before a cause counts, by its name.
TOLERANCES: Mapping[str, str] = {
    OBSERVED_ERROR: "the coefficient at the maximum with se_observed must give the printed digits; tolerance nil",
    EARLY_STOP: (
        "the released variance ratios in our likelihood must give the released coefficient and standard error to a "
        "millionth and the printed digits, the log-likelihood must be lower by more than 1e-5, and the maximum lie "
        "within a quarter of a standard error"
    ),
    LIBRARY_VERSION: "there must be ties, and the table that ignores them must give the printed digits",
    SUMMATION_ORDER: "numpy.mean for the session means must give the printed digits, exact sums another value",
    ROUNDING: "the difference of the rounded parts must be the printed number",
}


# standard errors


def observed_error(slope: Callable[[Evidence], Tested], which: Which) -> Cause:
    """Return the cause that a test was printed with the observed-Hessian standard error, at the same maximum."""

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        test = slope(evidence)
        if test.se_observed is None:
            return None
        with_observed = wald(test.estimate, test.se_observed)[which]
        if which == "estimate" or not agree(with_observed):
            return None
        return Because(
            OBSERVED_ERROR,
            f"{test.se_observed:.4g}, ours is from the expected information ({test.se:.4g}); with theirs "
            f"{with_observed:.6g}",
        )

    return check


def observed_holm(base: str, analysis: str, measure: str) -> Cause:
    """Return the same cause for a Holm-adjusted p: the whole family is corrected with those errors."""

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        row = evidence.row(analysis, measure, base)
        part = next((part for part in row.components if part.name == "observed_hessian"), None)
        if part is None or part.p_holm is None or not agree(part.p_holm):
            return None
        return Because(
            OBSERVED_ERROR,
            f"{part.se:.4g}, ours is from the expected information ({row.se:.4g}); the family with theirs "
            f"{part.p_holm:.6g}",
        )

    return check


# the optimiser


@dataclass(frozen=True)
class _Released:
    """A released fit: its coefficients by column, standard error, and variance ratios over the residual variance."""

    coefficients: dict[str, float]
    se: float
    ratios: dict[str, float]
    n: int


def stopped_early(model: Model, which: Which) -> Cause:
    """Return the cause that the released optimiser stopped before the maximum.

    True only if the released file's variance ratios, put into our likelihood on these turns, give the file's own
    coefficient and standard error; if they give the printed digits; if the log-likelihood with the released
    coefficients is below the maximum; and if the coefficient is within a quarter of a standard error of it.
    """

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        released = _released_fit(evidence, model)
        frame, fit = evidence.frame(model), evidence.fit(model)
        if released is None or released.n != fit.n:
            return None
        estimate, se = _at_ratios(frame, model, released.ratios)
        same_point = math.isclose(estimate, released.coefficients["leakage"], rel_tol=_SAME) and math.isclose(
            se, released.se, rel_tol=_SAME
        )
        slope = fit.coefficients["leakage"]
        near = abs(estimate - slope.estimate) <= _MOST_ERRORS * slope.se
        if not (same_point and near and agree(wald(estimate, se)[which])):
            return None
        shortfall = _shortfall(frame, fit.log_likelihood, released)
        if shortfall is None or shortfall <= _SAME_MAXIMUM:
            return None
        return Because(
            EARLY_STOP,
            f"released {estimate:+.4f} (se {se:.4f}), at the maximum {slope.estimate:+.4f}; the log-likelihood is "
            f"lower by {shortfall:.2g}; at its stopping point {wald(estimate, se)[which]:.6g}",
        )

    return check


def _released_fit(evidence: Evidence, model: Model) -> _Released | None:
    primary = model.judge in (None, evidence.study.primary_judge)
    leg = "leak_to_next_independence" if model.outcome == NEXT_TURN else "leak_to_helpfulness"
    suffix = "" if primary else f".{model.judge}"
    if not model.adjusted:
        name = f"inference.{model.base}{suffix}.json"
        path: tuple[str, ...] = ("j2" if primary else "j2_full", leg, "mixed_effects")
        fields = {"leakage": "coef"}
        error = "se"
    else:
        name = "condition_adjusted.json" if primary else f"policy_adjusted.{model.base}{suffix}.json"
        path = ("results", model.base, "models", model.outcome) if primary else ("models", model.outcome)
        fields = {"leakage": "coefficient", "policy": "condition_coefficient_ped_vs_conv"}
        error = "standard_error"
    file = evidence.reference(name)
    if file is None:
        return None
    try:
        for step in path:
            file = file[step]
        variances: dict[str, Any] = file["variance_components"]
        return _Released(
            coefficients={column: float(file[field]) for column, field in fields.items()},
            se=float(file[error]),
            ratios={group: variances[group] / variances["residual"] for group in ("replicate", "problem")},
            n=file["n_obs"],
        )
    except (KeyError, TypeError, ZeroDivisionError) as exc:
        raise CorpusError(f"reference/{name}: no readable fit ({exc!r}); restore the file") from exc


def _columns(frame: ModelFrame, *, adjusted: bool) -> dict[str, list[float]]:
    return {"leakage": frame.leakage} | ({"policy": frame.policy} if adjusted else {})


def _groups(frame: ModelFrame) -> dict[str, list[str]]:
    return {"replicate": frame.replicate, "problem": frame.problem}


def _at_ratios(frame: ModelFrame, model: Model, ratios: dict[str, float]) -> tuple[float, float]:
    """Return the leakage coefficient and its observed-Hessian standard error at given variance ratios."""
    import numpy as np

    from pytest_tutoreval.inference.design import crossed_design
    from pytest_tutoreval.inference.deviance import profiled_deviance

    design = crossed_design(frame.outcome, _columns(frame, adjusted=model.adjusted), _groups(frame), at={})
    point = profiled_deviance(design, np.array([ratios[group] for group in design.levels]))
    back = np.linalg.inv(design.basis)
    at = design.columns.index("leakage")
    p = len(design.columns)
    variance: float = float(back[at] @ np.linalg.inv(point.observed)[:p, :p] @ back[at])
    estimate = float(back[at] @ (design.ordinary + point.shift))
    se: float = math.sqrt(variance) if variance > 0 else math.nan
    return estimate, se


def _shortfall(frame: ModelFrame, maximum: float, released: _Released) -> float | None:
    """Return by how much the best log-likelihood with the released coefficients falls short of the maximum."""
    from pytest_tutoreval.inference import profile_log_likelihood

    columns = _columns(frame, adjusted="policy" in released.coefficients)
    try:
        best = profile_log_likelihood(frame.outcome, columns, _groups(frame), at=released.coefficients)
    except StatisticsError:
        return None
    return maximum - best


# the signed-rank table


def tie_free_p(differences: Sequence[float]) -> float:
    """Return the two-sided signed-rank p of a table that knows no ties, as scipy 1.11 took it.

    Notes
    -----
    `scipy.stats.wilcoxon`, exact: the midranks' sum, cut to a whole number, is looked up among the sums of 1..n.
    """
    used = sorted((value for value in differences if value != 0), key=abs)
    n = len(used)
    sizes = [abs(value) for value in used]
    positive = 0.0
    for value in used:
        first = sizes.index(abs(value))
        positive += (first + 1 + (sizes.count(abs(value)) - 1) / 2) if value > 0 else 0.0
    counts = [1]
    for rank in range(1, n + 1):
        shifted = [0] * rank + counts
        counts = [one + other for one, other in zip(counts + [0] * rank, shifted, strict=True)]
    at = int(positive)
    if at == (len(counts) - 1) // 2:
        return 1.0
    return math.ldexp(min(sum(counts[: at + 1]), sum(counts[at:])), 1 - n)


def tie_free(base: str, measure: str) -> Cause:
    """Return the cause that a p is from a table that ignores ties; true only where there are ties."""

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        from pytest_tutoreval.inference import signed_rank

        differences = evidence.differences(base, measure)
        sizes = [abs(value) for value in differences if value != 0]
        ours, theirs = signed_rank(differences).p_value, tie_free_p(differences)
        if len(set(sizes)) == len(sizes) or not agree(theirs):
            return None
        return Because(
            LIBRARY_VERSION,
            f"an older scipy's exact table ignores ties: {theirs:.6g} here by that table; the tie-aware exact p is "
            f"{ours:.6g}",
        )

    return check


# sums


def summed_by_numpy(base: str, judge: str, rubric: str, which: Literal["cliffs_delta", "p_value"]) -> Cause:
    """Return the cause that session means were summed by numpy.mean: a tie in exact arithmetic may break there."""

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        exact, running = (_contrast(evidence, base, judge, rubric, exact=exact) for exact in (True, False))
        ours, theirs = getattr(exact, which), getattr(running, which)
        if ours == theirs or not agree(theirs):
            return None
        return Because(
            SUMMATION_ORDER, f"with numpy.mean for the session means {theirs:.6g}, with exact sums {ours:.6g}"
        )

    return check


def _contrast(evidence: Evidence, base: str, judge: str, rubric: str, *, exact: bool) -> "Contrast":
    import numpy as np

    from pytest_tutoreval.inference import paired_contrast

    cells = evidence.cells(base)
    scores = complete_scores(evidence.measures, base, judge, rubric)
    arms = []
    for arm in ARMS:
        means = []
        for _, turns in sorted(cells[arm].turns.items()):
            known = [value for turn in turns if (value := scores[arm].turns[turn.id].value) is not None]
            if not known:
                raise NotEvaluable(f"{base}/{arm}: a session has no {rubric} score by {judge}")
            means.append(math.fsum(known) / len(known) if exact else float(np.mean(known)))
        arms.append(means)
    return paired_contrast(arms[0], arms[1], rng=np.random.default_rng(0), draws=100)


# rounding


def rounded_parts(parts: Callable[[Evidence], tuple[float, float]], places: int) -> Cause:
    """Return the cause that a difference was taken between two numbers already rounded to some decimals."""

    def check(evidence: Evidence, agree: Agree) -> Because | None:
        first, second = (round(number, places) for number in parts(evidence))
        if not agree(first - second):
            return None
        return Because(ROUNDING, f"the difference of the rounded {first:.{places}f} and {second:.{places}f}")

    return check
