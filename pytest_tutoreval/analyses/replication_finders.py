"""How the registry finds a number of ours, and the checks that contrasts and models share."""

from collections.abc import Callable, Mapping, Sequence

from pytest_tutoreval.analyses.replication_causes import Which, observed_error, stopped_early
from pytest_tutoreval.analyses.replication_checks import Cause, Check, Number
from pytest_tutoreval.analyses.replication_evidence import Evidence, Model, Tested, part_of
from pytest_tutoreval.analyses.replication_printed import Digits
from pytest_tutoreval.analyses.subject import significance
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = [
    "ALL_FOUR",
    "BASES",
    "FIRST",
    "PAIR",
    "PRIMARY",
    "P_VALUE",
    "SECOND",
    "Checks",
    "Find",
    "absolute",
    "claim_of",
    "contrast_checks",
    "estimate_of",
    "field_of",
    "mean_of",
    "model_checks",
    "model_checks_with_n",
    "n_of",
    "pairs_in",
    "part_field",
    "row_of",
    "scaled",
    "shown",
    "significant",
    "slope_checks",
]

# What the published file is about.
BASES = ("sonnet", "gpt", "gemini")
FIRST, SECOND = "opus", "sol"
PAIR = f"{SECOND}-{FIRST}"
PRIMARY = "sonnet"

P_VALUE = Digits(is_p=True)
ALL_FOUR: tuple[Which, ...] = ("estimate", "p_value", "ci_low", "ci_high")
PATHS: Mapping[Which, str] = {"estimate": "value", "p_value": "p", "ci_low": "ci.low", "ci_high": "ci.high"}

# Path of a value -> what it is held against.
Checks = Mapping[str, Check]
Find = Callable[[Evidence], float | str]


def row_of(
    analysis: str, measure: str, base: str | None = None, judge: str | None = None
) -> Callable[..., AnalysisRow]:
    """Return what finds a row of an analysis."""
    return lambda evidence: evidence.row(analysis, measure, base, judge)


def field_of(find: Callable[[Evidence], object], field: str) -> Find:
    """Return a field of a row, part or verdict as a number; an empty one is not evaluable."""

    def number(evidence: Evidence) -> float | str:
        value: float | str | None = getattr(find(evidence), field)
        if value is None:
            raise NotEvaluable(f"{field} is not defined")
        return value

    return number


def part_field(find: Callable[[Evidence], AnalysisRow], name: str, field: str) -> Find:
    """Return what finds a field of a part of a row."""
    return field_of(lambda evidence: part_of(find(evidence), name), field)


def scaled(find: Find, factor: float) -> Find:
    """Return what finds a number times a factor, as for percent."""
    return lambda evidence: factor * float(find(evidence))


def pairs_in(find: Callable[[Evidence], Sequence[float]], sign: int) -> Find:
    """Return what finds how many pairs have a sign, in words: `9 of 10`."""

    def words(evidence: Evidence) -> str:
        differences = find(evidence)
        return f"{sum(sign * value > 0 for value in differences)} of {len(differences)}"

    return words


def significant(evidence: Evidence, estimate: float | None, p_value: float | None) -> int:
    """Return the sign of a significant estimate, or 0."""
    return significance(estimate, p_value, evidence.study.inference.alpha)


def shown(estimate: float | None, p_value: float | None) -> str:
    """Return an estimate and its p in words."""
    if estimate is None or p_value is None:
        raise NotEvaluable("it has no number")
    return f"{estimate:+.3f} (p {p_value:.2g})"


def absolute(find: Find) -> Find:
    """Return the size of a number."""
    return lambda evidence: abs(float(find(evidence)))


def estimate_of(given: AnalysisPart | AnalysisRow) -> float:
    """Return an estimate that is there."""
    if given.estimate is None:
        raise NotEvaluable("the estimate is not defined")
    return given.estimate


def n_of(model: Model) -> Find:
    """Return how many turns a model rests on."""
    return lambda evidence: evidence.fit(model).n


def claim_of(claim: str, base: str, judge: str | None = None) -> Callable[[Evidence], object]:
    """Return what finds a verdict."""
    return lambda evidence: evidence.verdict(claim, base, judge)


def mean_of(base: str, arm: str, measure: str = "leakage") -> Find:
    """Return what finds the mean of a session measure over replicates."""
    return lambda evidence: evidence.mean(base, arm, measure)


def model_checks(model: Model, *which: Which) -> dict[str, Check]:
    """Return a slope's printed numbers: as ours, with the observed-Hessian error, or where the optimiser stopped."""

    def slope(evidence: Evidence) -> Tested:
        return evidence.slope(model)

    return slope_checks(slope, which, model)


def slope_checks(
    slope: Callable[[Evidence], Tested], which: Sequence[Which], model: Model | None = None
) -> dict[str, Check]:
    """Return the checks of a slope's printed numbers; `model` says which released fit may have stopped early."""
    checks: dict[str, Check] = {}
    for name in which:
        causes: list[Cause] = [observed_error(slope, name)]
        if model is not None:
            causes.append(stopped_early(model, name))
        checks[PATHS[name]] = Number(field_of(slope, name), P_VALUE if name == "p_value" else Digits(3), causes)
    return checks


def contrast_checks(find: Callable[[Evidence], object]) -> dict[str, Check]:
    """Return the checks of a paired contrast's value, interval and p."""
    return {
        "value": Number(field_of(find, "estimate"), Digits(3)),
        "ci.low": Number(field_of(find, "ci_low"), Digits(3)),
        "ci.high": Number(field_of(find, "ci_high"), Digits(3)),
        "p": Number(field_of(find, "p_value"), P_VALUE),
    }


def model_checks_with_n(model: Model) -> Checks:
    """Return the checks of all of a slope's numbers and its turns."""
    return model_checks(model, *ALL_FOUR) | {"n": Number(n_of(model))}
