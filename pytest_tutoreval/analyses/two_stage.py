"""The two-stage clustered sensitivity on both J2 legs (definitions, section 10). Not registered."""

from collections.abc import Callable

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import (
    Subject,
    fit_frame,
    leakage_mean_parts,
    outcome_words,
    same_outcome,
    two_stage_of,
)
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ModelFrame, model_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["TWO_STAGE", "two_stage_row"]

_NOT_CONTROLLED = "both arms together within a replicate: no more policy-controlled than model (1)"


def two_stage_row(subject: Subject, measure: str, frame: ModelFrame, notes: tuple[str, ...] = ()) -> AnalysisRow:
    """Return leaky minus non-leaky within replicates, over replicates, with both pooled means.

    `n` counts replicates with turns of both kinds, `n_dropped` the registered ones that lack one.
    """
    found = two_stage_of(frame, subject)
    said = [*frame.notes, *notes]
    # A replicate without any turn is in no frame, and is skipped all the same.
    n_skipped = len(subject.instrument.study.registered_replicates()) - found.n_used
    if n_skipped:
        said.append(f"{n_skipped} replicates lack leaky or non-leaky turns and were skipped")
    if abs(found.p_value - found.p_value_exact) > 1e-9:
        said.append(
            f"with exactly summed means W is {found.statistic_exact:g} and p {found.p_value_exact:.6g}: a difference "
            "that is zero there is not zero in numpy's means, which the released numbers rest on"
        )
    return subject.row(
        measure,
        estimate=found.value,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
        p_value=found.p_value,
        n=found.n_used,
        n_dropped=n_skipped,
        components=(
            *leakage_mean_parts(frame),
            AnalysisPart(name="above", n=found.n_above),
            AnalysisPart(name="below", n=found.n_below),
            AnalysisPart(name="signed_rank", estimate=found.statistic, p_value=found.p_value, n=found.n_used),
            AnalysisPart(name="signed_rank_exact_means", estimate=found.statistic_exact, p_value=found.p_value_exact),
        ),
        notes=tuple(said),
    )


def _clustered(name: str, outcome: str) -> Callable[[AnalysisInput], list[AnalysisRow]]:
    def run(given: AnalysisInput) -> list[AnalysisRow]:
        subject = Subject.of(name, "sensitivity", given)
        frame = model_frame(outcome, given.measures, subject.base, subject.judge)
        row = two_stage_row(subject, outcome, frame, (_NOT_CONTROLLED,))
        return [row.model_copy(update={"notes": (*row.notes, *_disagreement(row, frame, subject.alpha))})]

    return run


def _disagreement(row: AnalysisRow, frame: ModelFrame, alpha: float) -> list[str]:
    """Return how the row and model (1) differ in what they say."""
    assert row.estimate is not None
    assert row.p_value is not None
    try:
        slope = fit_frame(frame, adjusted=False).coefficients["leakage"]
    except NotEvaluable as exc:
        return [f"model (1) has no fit to compare with: {exc}"]
    how = same_outcome((slope.estimate, slope.p_value), (row.estimate, row.p_value), alpha)
    if how is None:
        return []
    return [
        f"model (1) and the two-stage comparison {'are ' if how == 'reversed' else ''}{how}: "
        f"{outcome_words(slope.estimate, slope.p_value, alpha)}; here "
        f"{outcome_words(row.estimate, row.p_value, alpha)}"
    ]


TWO_STAGE: tuple[Analysis, ...] = (
    Analysis(
        "two_stage_helpfulness",
        "Two-stage clustered: helpfulness of leaky against non-leaky turns within replicates",
        "sensitivity",
        "base_judge",
        _clustered("two_stage_helpfulness", "helpfulness"),
    ),
    Analysis(
        "two_stage_independence",
        "Two-stage clustered: next-turn independence after leaky against non-leaky turns within replicates",
        "sensitivity",
        "base",
        _clustered("two_stage_independence", "next_turn_independence"),
    ),
)
