"""Probe accuracy by phase and condition: secondary, near its ceiling (definitions, section 14)."""

from pytest_tutoreval.analyses.conditions import sessions_by_condition
from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["ACCURACY"]

PHASES = ("immediate", "delayed", "transfer")


def accuracy(given: AnalysisInput) -> list[AnalysisRow]:
    """Return mean accuracy by phase and condition with its interval over replicates, then the range of all.

    Raises
    ------
    NotEvaluable
        No condition is complete.
    """
    subject = Subject.of("accuracy", "descriptive", given)
    rows: list[AnalysisRow] = []
    for condition, sessions in sessions_by_condition(given.measures, subject.base).items():
        if isinstance(sessions, NotEvaluable):
            rows += [subject.undecided(f"accuracy.{phase}.{condition}", sessions) for phase in PHASES]
            continue
        rows += [
            subject.mean_row(
                f"accuracy.{phase}.{condition}",
                {number: getattr(row, f"accuracy_{phase}") for number, row in sessions.items()},
            )
            for phase in PHASES
        ]
    known = [row.estimate for row in rows if row.estimate is not None]
    rows.append(
        subject.row(
            "accuracy.range",
            estimate=max(known) - min(known) if known else None,
            n=len(known),
            components=(
                (AnalysisPart(name="min", estimate=min(known)), AnalysisPart(name="max", estimate=max(known)))
                if known
                else ()
            ),
            notes=("near the ceiling in carried context, so no durable learning is inferred",),
        )
    )
    return rows


ACCURACY: tuple[Analysis, ...] = (
    Analysis("accuracy", "Probe accuracy by phase and condition", "descriptive", "base", accuracy),
)
