"""Calls and tokens a session by condition, unwindowed (definitions, sections 5 and 12)."""

from pytest_tutoreval.analyses.conditions import sessions_by_condition
from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records.analysis import AnalysisRow

__all__ = ["COST"]

QUANTITIES = (
    "n_calls",
    "tutor_tokens",
    "student_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "visible_tutor_turns",
    "student_turns",
)


def cost(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the mean of each quantity a session by condition, with interval, median, range and sum.

    Raises
    ------
    NotEvaluable
        No condition is complete.
    """
    subject = Subject.of("cost", "descriptive", given)
    rows: list[AnalysisRow] = []
    for condition, sessions in sessions_by_condition(given.measures, subject.base).items():
        if isinstance(sessions, NotEvaluable):
            rows.append(subject.undecided(f"n_calls.{condition}", sessions))
            continue
        rows += [
            subject.mean_row(
                f"{quantity}.{condition}", {number: float(getattr(row, quantity)) for number, row in sessions.items()}
            )
            for quantity in QUANTITIES
        ]
    return rows


COST: tuple[Analysis, ...] = (Analysis("cost", "Calls and tokens a session by condition", "descriptive", "base", cost),)
