"""A frozen problem with its declared forms."""

from typing import Literal

from pytest_tutoreval.records.base import Name, Record

__all__ = ["PHASES", "Phase", "Problem"]

Phase = Literal["training", "immediate", "interference", "delayed", "transfer"]

# An answer is correct within this distance of the canonical one (definitions, section 14).
TOLERANCE = 1e-6

# The fixed order of a session (definitions, section 3).
PHASES: tuple[Phase, ...] = ("training", "immediate", "interference", "delayed", "transfer")


class Problem(Record):
    """One of the frozen problems (definitions, section 2).

    `numeric_forms` and `solution_forms` are the declared N_p and Phi_p, in file order.
    """

    id: Name
    phase: Phase
    statement: str
    answer: float
    training_parent: Name | None = None
    numeric_forms: tuple[str, ...] = ()
    solution_forms: tuple[str, ...] = ()

    def is_answered_by(self, value: float | None) -> bool:
        """Return whether a committed value is the canonical answer; no value is wrong."""
        return value is not None and abs(value - self.answer) <= TOLERANCE
