"""conv - ped of every rubric by one judge: the judged gaps, of which helpfulness is P2 and pedagogy a check."""

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, complete_arms, complete_scores
from pytest_tutoreval.records.analysis import AnalysisRow

__all__ = ["JUDGED_GAPS"]

_CHECK = "a manipulation check: ped was built on this rubric's principles; in no verdict"


def judged_gaps(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the paired contrast of each rubric's session means.

    Raises
    ------
    NotEvaluable
        An arm is incomplete, or no rubric is rated throughout.
    """
    subject = Subject.of("judged_gaps", "descriptive", given)
    if subject.judge is None:
        raise ValueError("judge = None; this analysis is run once a base and judge, so name one.")
    complete_arms(given.measures, subject.base)
    rows: list[AnalysisRow] = []
    reasons: list[NotEvaluable] = []
    for rubric in subject.instrument.study.rubrics:
        notes = (_CHECK,) if rubric == "pedagogy" else ()
        try:
            scores = complete_scores(given.measures, subject.base, subject.judge, rubric)
            notes = (*notes, *(note for arm in ARMS for note in scores[arm].notes))
            rows.append(subject.contrast_row(rubric, *(scores[arm].sessions for arm in ARMS), notes=notes))
        except NotEvaluable as exc:
            reasons.append(exc)
            rows.append(subject.undecided(rubric, exc, notes=notes))
    if len(reasons) == len(rows) and reasons:
        raise reasons[0]
    return rows


JUDGED_GAPS: tuple[Analysis, ...] = (
    Analysis("judged_gaps", "conv - ped of every rubric, by judge", "descriptive", "base_judge", judged_gaps),
)
