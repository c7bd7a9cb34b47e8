"""A verdict beside the released result it re-computes, with the cause of every difference.

An import keeps the study's result files in the corpus; this reads them for comparison only and returns notes. It takes
verdicts as records and can change none.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from pytest_tutoreval.errors import CorpusError, NotEvaluable, StatisticsError
from pytest_tutoreval.measures import CorpusMeasures, model_frame
from pytest_tutoreval.records.verdict import Component, Verdict

__all__ = ["compare_with_released"]

# Non-model numbers agree to this; model numbers are compared at the printed digits and explained.
EXACT = 1e-9
SAME_COEFFICIENT = 1e-4
SAME_ERROR = 1e-3

_CONTRAST = {"P1": "P1_leakage", "P2": "P2_helpfulness", "P3": "P3_independence"}
_LEG = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}


def compare_with_released(verdict: Verdict, measures: CorpusMeasures) -> tuple[str, ...]:
    """Return a line for each number of a verdict that a released file also has; empty where there is none.

    Raises
    ------
    CorpusError
        A kept result file cannot be read, or lacks a number it had.
    """
    released = _released(verdict, measures)
    if released is None:
        return ()
    try:
        return _compare(verdict, released, measures)
    except (KeyError, IndexError) as exc:
        name = _reference_name(verdict, measures)
        raise CorpusError(f"reference/{name}: no field {exc} where the study has one; restore the file") from exc


def _compare(verdict: Verdict, released: Mapping[str, Any], measures: CorpusMeasures) -> tuple[str, ...]:
    if verdict.claim in _CONTRAST:
        contrasts = released.get("j1") or released.get("j1_full") or {}
        contrast = contrasts.get(_CONTRAST[verdict.claim])
        return () if contrast is None else (_compare_contrast(verdict, contrast, released),)
    if verdict.claim == "J2":
        legs = released.get("j2") or released.get("j2_full") or {}
        return tuple(
            _compare_leg(leg, legs[_LEG[leg.name]]["mixed_effects"], verdict, measures)
            for leg in verdict.components
            if leg.name in _LEG and _LEG[leg.name] in legs
        )
    return ()


def _released(verdict: Verdict, measures: CorpusMeasures) -> Mapping[str, Any] | None:
    """Return the released result file of a verdict's base and judge; judge-free claims stand in the primary judge's."""
    name = _reference_name(verdict, measures)
    data = measures.corpus.reference(name)
    if data is None:
        return None
    try:
        parsed = json.loads(data)
    except ValueError as exc:
        raise CorpusError(f"reference/{name}: not JSON: {exc}") from exc
    return parsed if isinstance(parsed, dict) else None


def _reference_name(verdict: Verdict, measures: CorpusMeasures) -> str:
    primary = measures.instrument.study.primary_judge
    suffix = "" if verdict.judge in (None, primary) else f".{verdict.judge}"
    return f"inference.{verdict.base}{suffix}.json"


def _compare_contrast(verdict: Verdict, released: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    numbers = {
        "estimate": (verdict.estimate, released["mean_diff_conv_minus_ped"]),
        "interval": (verdict.ci_low, released["diff_ci95"][0]),
        "interval end": (verdict.ci_high, released["diff_ci95"][1]),
        "delta": (verdict.cliffs_delta, released["cliffs_delta_conv_vs_ped"]),
        "p": (verdict.p_value, released["p_two_sided"]),
    }
    differing = [name for name, (ours, theirs) in numbers.items() if not _close(ours, theirs, EXACT)]
    if not differing:
        return "equal to the released result to 1e-9"
    if differing == ["p"]:
        library = (file.get("provenance") or {}).get("scipy")
        version = f" (scipy {library})" if library else ""
        return (
            f"released p {released['p_two_sided']:.6g}{version} is from a table that ignores ties; "
            f"the tie-aware exact p is {verdict.p_value:.6g}; all else equal to 1e-9"
        )
    shown = "; ".join(f"{name} {_show(numbers[name][0])} against {_show(numbers[name][1])}" for name in differing)
    return f"DIFFERS from the released result: {shown}"


def _compare_leg(leg: Component, released: Mapping[str, Any], verdict: Verdict, measures: CorpusMeasures) -> str:
    theirs, error = released["coef"], released["se"]
    assert leg.estimate is not None
    assert leg.se is not None
    if abs(theirs - leg.estimate) <= SAME_COEFFICIENT:
        coefficient = f"{leg.name}: released {theirs:+.4f}, at the maximum {leg.estimate:+.4f}"
    else:
        coefficient = (
            f"{leg.name}: released {theirs:+.4f} is not the maximum {leg.estimate:+.4f} "
            f"(log-likelihood lower by {_shortfall(leg, theirs, verdict, measures)}): its optimiser stopped early"
        )
    return f"{coefficient}; {_compare_error(leg, error)}"


def _compare_error(leg: Component, released: float) -> str:
    if _same_error(leg.se, released):
        return f"standard errors agree ({released:.4f})"
    if _same_error(leg.se_observed, released):
        return (
            f"its standard error {released:.4f} is the observed-Hessian one, "
            f"the expected-information one is {leg.se:.4f}"
        )
    observed = "not computable" if leg.se_observed is None else f"{leg.se_observed:.4f}"
    return f"its standard error {released:.4f}, here {leg.se:.4f} expected and {observed} observed"


def _shortfall(leg: Component, coefficient: float, verdict: Verdict, measures: CorpusMeasures) -> str:
    """Return by how much the best log-likelihood with the released coefficient falls short of the maximum."""
    from pytest_tutoreval.inference import profile_log_likelihood

    try:
        frame = model_frame(leg.name, measures, verdict.base, verdict.judge)
        best = profile_log_likelihood(
            frame.outcome,
            {"leakage": frame.leakage},
            {"replicate": frame.replicate, "problem": frame.problem},
            at={"leakage": coefficient},
        )
    except (NotEvaluable, StatisticsError):
        return "an unknown amount"
    return "an unknown amount" if leg.log_likelihood is None else f"{leg.log_likelihood - best:.2g}"


def _same_error(ours: float | None, released: float) -> bool:
    return ours is not None and math.isclose(ours, released, rel_tol=SAME_ERROR)


def _close(ours: float | None, theirs: float | None, tolerance: float) -> bool:
    return ours is not None and theirs is not None and math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance)


def _show(number: float | None) -> str:
    return "none" if number is None else f"{number:.10g}"
