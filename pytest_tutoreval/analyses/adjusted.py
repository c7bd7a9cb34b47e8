"""Model (2): the leakage slope with the policy held fixed, beside model (1) (definitions, section 10)."""

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject, fit_frame, fit_parts, outcome_words, same_outcome, slope_part
from pytest_tutoreval.errors import CorpusError, StatisticsError
from pytest_tutoreval.measures import CorpusMeasures, ModelFrame, model_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

if TYPE_CHECKING:
    from pytest_tutoreval.inference import CrossedFit

__all__ = ["ADJUSTED"]

# As compare_with_released: closer than this, a released fit is at the maximum; closer than that, errors are one.
SAME_COEFFICIENT = 1e-4
SAME_ERROR = 1e-3


def _adjusted(name: str, outcome: str) -> Callable[[AnalysisInput], list[AnalysisRow]]:
    def run(given: AnalysisInput) -> list[AnalysisRow]:
        subject = Subject.of(name, "sensitivity", given)
        frame = model_frame(outcome, given.measures, subject.base, subject.judge)
        pooled, adjusted = fit_frame(frame, adjusted=False), fit_frame(frame, adjusted=True)
        slope = adjusted.coefficients["leakage"]
        parts, notes = fit_parts(adjusted)
        said = [*frame.notes, *notes, *_disagreement(pooled, adjusted, subject.alpha)]
        released = _released(given.measures, subject, outcome)
        released_parts: tuple[AnalysisPart, ...] = ()
        if released is not None:
            released_parts = (_released_part(released),)
            said += _compare(released, adjusted, frame)
        return [
            subject.row(
                outcome,
                estimate=slope.estimate,
                ci_low=slope.ci_low,
                ci_high=slope.ci_high,
                p_value=slope.p_value,
                se=slope.se,
                n=adjusted.n,
                n_dropped=frame.dropped,
                components=(*parts, slope_part("pooled", pooled), *released_parts),
                notes=tuple(said),
            )
        ]

    return run


def _disagreement(pooled: "CrossedFit", adjusted: "CrossedFit", alpha: float) -> list[str]:
    one, two = (fit.coefficients["leakage"] for fit in (pooled, adjusted))
    how = same_outcome((one.estimate, one.p_value), (two.estimate, two.p_value), alpha)
    if how is None:
        return []
    return [
        f"models (1) and (2) {'are ' if how == 'reversed' else ''}{how}: pooled "
        f"{outcome_words(one.estimate, one.p_value, alpha)}; with the policy held fixed "
        f"{outcome_words(two.estimate, two.p_value, alpha)}"
    ]


# the study's own fit


def _released(measures: CorpusMeasures, subject: Subject, outcome: str) -> Mapping[str, Any] | None:
    """Return the released fit of model (2) on an outcome, or None where the corpus keeps none."""
    primary = subject.instrument.study.primary_judge
    is_primary = subject.judge in (None, primary)
    name = "condition_adjusted.json" if is_primary else f"policy_adjusted.{subject.base}.{subject.judge}.json"
    data = measures.corpus.reference(name)
    if data is None:
        return None
    try:
        file = json.loads(data)
        results = file["results"].get(subject.base) if is_primary else file
        fit: Mapping[str, Any] | None = None if results is None else results["models"][outcome]
        if fit is not None:
            for field in ("coefficient", "condition_coefficient_ped_vs_conv", "standard_error", "p_value", "n_obs"):
                fit[field]
            fit["confidence_interval_95"][1]
    except ValueError as exc:
        raise CorpusError(f"reference/{name}: not JSON: {exc}") from exc
    except (KeyError, IndexError, TypeError, AttributeError) as exc:
        raise CorpusError(f"reference/{name}: no field {exc} where the study has one; restore the file") from exc
    return fit


def _released_part(released: Mapping[str, Any]) -> AnalysisPart:
    low, high = released["confidence_interval_95"]
    return AnalysisPart(
        name="released",
        estimate=released["coefficient"],
        ci_low=low,
        ci_high=high,
        p_value=released["p_value"],
        se=released["standard_error"],
        n=released["n_obs"],
    )


def _compare(released: Mapping[str, Any], fit: "CrossedFit", frame: ModelFrame) -> list[str]:
    pairs = {"leakage": released["coefficient"], "policy": released["condition_coefficient_ped_vs_conv"]}
    ours = {name: fit.coefficients[name].estimate for name in pairs}
    if released["n_obs"] != fit.n:
        return [f"DIFFERS from the released result: {fit.n} turns against {released['n_obs']}"]
    slope = fit.coefficients["leakage"]
    if all(abs(ours[name] - pairs[name]) <= SAME_COEFFICIENT for name in pairs):
        said = f"released {pairs['leakage']:+.4f}, at the maximum {ours['leakage']:+.4f}"
    else:
        said = (
            f"released {pairs['leakage']:+.4f} is not the maximum {ours['leakage']:+.4f} (log-likelihood lower by "
            f"{_shortfall(frame, fit, pairs)}): its optimiser stopped early"
        )
    return [f"{said}; {_compare_error(released['standard_error'], slope.se, slope.se_observed)}"]


def _compare_error(released: float, expected: float, observed: float | None) -> str:
    if math.isclose(released, expected, rel_tol=SAME_ERROR):
        return f"standard errors agree ({released:.4f})"
    if observed is not None and math.isclose(released, observed, rel_tol=SAME_ERROR):
        return (
            f"its standard error {released:.4f} is the observed-Hessian one, "
            f"the expected-information one is {expected:.4f}"
        )
    shown = "not computable" if observed is None else f"{observed:.4f}"
    return f"its standard error {released:.4f}, here {expected:.4f} expected and {shown} observed"


def _shortfall(frame: ModelFrame, fit: "CrossedFit", at: Mapping[str, float]) -> str:
    """Return by how much the best log-likelihood with the released coefficients falls short of the maximum."""
    from pytest_tutoreval.inference import profile_log_likelihood

    try:
        best = profile_log_likelihood(
            frame.outcome,
            {"leakage": frame.leakage, "policy": frame.policy},
            {"replicate": frame.replicate, "problem": frame.problem},
            at=at,
        )
    except StatisticsError:
        return "an unknown amount"
    return f"{fit.log_likelihood - best:.2g}"


ADJUSTED: tuple[Analysis, ...] = (
    Analysis(
        "policy_adjusted_helpfulness",
        "Model (2): leakage and helpfulness with the policy held fixed",
        "sensitivity",
        "base_judge",
        _adjusted("policy_adjusted_helpfulness", "helpfulness"),
    ),
    Analysis(
        "policy_adjusted_independence",
        "Model (2): leakage and next-turn independence with the policy held fixed",
        "sensitivity",
        "base",
        _adjusted("policy_adjusted_independence", "next_turn_independence"),
    ),
)
