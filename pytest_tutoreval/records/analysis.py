"""What is reported beside the verdicts: the `analyses` rows of verdicts.json. No row can change a verdict."""

from pydantic import Field

from pytest_tutoreval.records.base import Record

__all__ = ["AnalysisPart", "AnalysisRow", "NotAnalysed"]


class _AnalysisNumbers(Record):
    """Every number is None where it is not defined, never NaN; `n_dropped` counts what was left out."""

    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    cliffs_delta: float | None = None
    se: float | None = None
    n: int | None = None
    n_dropped: int | None = None


class AnalysisPart(_AnalysisNumbers):
    """A named part of a row: an arm's mean, a model's other coefficient, a count."""

    name: str
    se_observed: float | None = None


class AnalysisRow(_AnalysisNumbers):
    """One result of a named analysis.

    `base` is None for results over all bases, `judge` for judge-free ones; a result about two judges names the pair as
    `second-first`, and its differences are second - first. `measure` says what the number is about.
    """

    analysis: str
    base: str | None = None
    judge: str | None = None
    measure: str
    role: str
    components: tuple[AnalysisPart, ...] = ()
    notes: tuple[str, ...] = ()


class NotAnalysed(Record):
    """An analysis that could not be run, with the reason."""

    analysis: str
    base: str | None = None
    judge: str | None = None
    reason: str = Field(min_length=1)
