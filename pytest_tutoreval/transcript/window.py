"""The answer-phase window: turns up to the student's first commitment (definitions, section 5)."""

from dataclasses import dataclass

from pytest_tutoreval.detectors import final_answer
from pytest_tutoreval.transcript.exchange import Exchange, StudentTurn, TutorTurn

__all__ = ["Window", "answer_window", "next_student_turn"]


@dataclass(frozen=True, slots=True)
class Window:
    """The turns every turn-level measure and both rubrics see.

    `commitment` is the position c of the first student turn that commits to an answer, right or wrong, or None.
    Tutor turns lie strictly before it, by their first call; student turns reach up to and include it.
    """

    problem: str
    commitment: int | None
    tutor: tuple[TutorTurn, ...]
    student: tuple[StudentTurn, ...]


def answer_window(exchange: Exchange) -> Window:
    """Return the window of one tutored problem. If the opening reply commits, no tutor turn is in it."""
    commitment = next((turn.seq for turn in exchange.student if final_answer(turn.text) is not None), None)
    if commitment is None:
        return Window(exchange.problem, None, exchange.tutor, exchange.student)
    return Window(
        exchange.problem,
        commitment,
        tuple(turn for turn in exchange.tutor if turn.first < commitment),
        tuple(turn for turn in exchange.student if turn.seq <= commitment),
    )


def next_student_turn(exchange: Exchange, turn: TutorTurn) -> StudentTurn | None:
    """Return the first student turn strictly after the last constituent call of a tutor turn, or None."""
    return next((said for said in exchange.student if said.seq > turn.last), None)
