"""Every judge-free measure over all visible turns, beside the answer-phase window (definitions, section 5).

After a commitment conv tends to chat and to restate; the window leaves that out. Ratings exist for in-window turns
alone, so the judged measures have no full-window counterpart.
"""

from collections.abc import Mapping

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import (
    Replicates,
    Subject,
    change_notes,
    compare,
    contrast_part,
    fit_frame,
    fit_parts,
    leakage_mean_parts,
    slope_part,
)
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, Cell, complete_arms, model_frame, turn_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["FULL_WINDOW"]

_NAMES = ("answer-phase window", "all visible turns")


def full_window(given: AnalysisInput) -> list[AnalysisRow]:
    """Return turns, leakage, independence and the judge-free leg over all visible turns, the windowed ones beside.

    Raises
    ------
    NotEvaluable
        The corpus holds tables only: turns after the commitment are in no table.
    """
    subject = Subject.of("full_window", "sensitivity", given)
    windowed = complete_arms(given.measures, subject.base)
    whole = {arm: given.measures.whole_cell(subject.base, arm) for arm in ARMS}
    rows = [_turns_row(subject, windowed, whole)]
    rows += [_contrast_row(subject, measure, windowed, whole) for measure in ("leakage", "independence")]
    rows.append(_leg_row(subject, given, whole))
    return rows


def _turns_row(subject: Subject, windowed: Mapping[str, Cell], whole: Mapping[str, Cell]) -> AnalysisRow:
    every = {arm: [turn for turns in whole[arm].turns.values() for turn in turns] for arm in ARMS}
    inside = {arm: sum(map(len, windowed[arm].turns.values())) for arm in ARMS}
    return subject.row(
        "turns",
        n=sum(map(len, every.values())),
        components=(
            *(AnalysisPart(name=arm, n=len(every[arm])) for arm in ARMS),
            *(AnalysisPart(name=f"{arm}_windowed", n=inside[arm]) for arm in ARMS),
            *(AnalysisPart(name=f"{arm}_leaky", n=sum(turn.leaky for turn in every[arm])) for arm in ARMS),
        ),
        notes=("helpfulness and pedagogy: only in-window turns are rated, so there is nothing beyond the window",),
    )


def _contrast_row(
    subject: Subject, measure: str, windowed: Mapping[str, Cell], whole: Mapping[str, Cell]
) -> AnalysisRow:
    def values(cells: Mapping[str, Cell]) -> list[Replicates]:
        return [{number: getattr(row, measure) for number, row in cells[arm].sessions.items()} for arm in ARMS]

    name = f"contrast.{measure}"
    try:
        row = subject.contrast_row(name, *values(whole))
        inside = contrast_part("windowed", compare(subject.instrument, *values(windowed)))
    except NotEvaluable as exc:
        return subject.undecided(name, exc)
    changed, notes = change_notes((_NAMES[0], inside), (_NAMES[1], row), subject.alpha)
    return row.model_copy(update={"components": (*row.components, inside, changed), "notes": notes})


def _leg_row(subject: Subject, given: AnalysisInput, whole: Mapping[str, Cell]) -> AnalysisRow:
    outcome = "next_turn_independence"
    frame = turn_frame(outcome, (turn for arm in ARMS for turns in whole[arm].turns.values() for turn in turns))
    means = leakage_mean_parts(frame)
    try:
        fit = fit_frame(frame, adjusted=False)
        inside = fit_frame(model_frame(outcome, given.measures, subject.base, None), adjusted=False)
    except NotEvaluable as exc:
        return subject.undecided(f"leg.{outcome}", exc, components=means, n=len(frame.outcome))
    slope = fit.coefficients["leakage"]
    parts, fit_notes = fit_parts(fit)
    part = slope_part("windowed", inside)
    row = subject.row(
        f"leg.{outcome}",
        estimate=slope.estimate,
        ci_low=slope.ci_low,
        ci_high=slope.ci_high,
        p_value=slope.p_value,
        se=slope.se,
        n=fit.n,
        n_dropped=frame.dropped,
        components=(*parts, *means, part),
        notes=(*frame.notes, *fit_notes),
    )
    changed, notes = change_notes((_NAMES[0], part), (_NAMES[1], row), subject.alpha)
    return row.model_copy(update={"components": (*row.components, changed), "notes": (*row.notes, *notes)})


FULL_WINDOW: tuple[Analysis, ...] = (
    Analysis(
        "full_window",
        "Leakage, independence and the judge-free leg over all visible turns against the answer-phase window",
        "sensitivity",
        "base",
        full_window,
    ),
)
