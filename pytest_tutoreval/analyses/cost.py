"""Calls and tokens a session by condition, unwindowed (definitions, sections 5 and 12)."""

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, complete_cells
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.session import UNTUTORED

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
    reasons: list[NotEvaluable] = []
    for condition in (UNTUTORED, *ARMS):
        try:
            sessions = complete_cells(given.measures, subject.base, (condition,))[condition].sessions
        except NotEvaluable as exc:
            reasons.append(exc)
            rows.append(subject.undecided(f"n_calls.{condition}", exc))
            continue
        rows += [
            subject.mean_row(
                f"{quantity}.{condition}", {number: float(getattr(row, quantity)) for number, row in sessions.items()}
            )
            for quantity in QUANTITIES
        ]
    if len(reasons) == 1 + len(ARMS):
        raise reasons[0]
    return rows


COST: tuple[Analysis, ...] = (Analysis("cost", "Calls and tokens a session by condition", "descriptive", "base", cost),)
