"""One row a turn, one row a session, from a transcript (definitions, sections 6, 7, 12 and 14)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pytest_tutoreval.detectors import DeclaredForms, attempts_step
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import Session
from pytest_tutoreval.transcript import (
    Exchange,
    Probe,
    Window,
    answer_window,
    dialogue_digest,
    next_student_turn,
    rated_dialogue,
    read_transcript,
)

__all__ = ["MeasuredSession", "SessionMeasurer"]


@dataclass(frozen=True, slots=True)
class MeasuredSession:
    """A session's row, its in-window tutor turns, and the digest of the dialogue a judge reads for each.

    `attempts` says of each in-window student turn of a tutored problem, in order, whether it holds a reasoning step.
    """

    row: SessionRow
    turns: tuple[TurnRow, ...]
    dialogues: Mapping[TurnId, str]
    attempts: Mapping[str, tuple[bool, ...]]


class SessionMeasurer:
    """Measures sessions of one instrument; the declared forms are compiled once."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument

    @cached_property
    def _forms(self) -> dict[str, DeclaredForms]:
        return {
            problem.id: DeclaredForms(problem.numeric_forms, problem.solution_forms)
            for problem in self._instrument.problems
        }

    def measure(self, session: Session, *, windowed: bool = True) -> MeasuredSession:
        """Return a session's measures. Rates are None where no turn is in the window.

        Unwindowed, every turn of a tutored problem counts; only the comparison with the window asks for that.
        """
        transcript = read_transcript(session)
        turns: list[TurnRow] = []
        dialogues: dict[TurnId, str] = {}
        attempts: dict[str, tuple[bool, ...]] = {}
        for problem, exchange in transcript.exchanges.items():
            window = answer_window(exchange) if windowed else _no_window(exchange)
            for turn, digest in self._measure_window(session, problem, exchange, window):
                turns.append(turn)
                dialogues[turn.id] = digest
            attempts[problem] = tuple(attempts_step(said.text) for said in window.student)
        n_student = sum(map(len, attempts.values()))
        n_attempts = sum(map(sum, attempts.values()))
        n_leaky = sum(turn.leaky for turn in turns)
        tutor_calls = [call for call in session.calls if call.role != "student"]
        student_calls = [call for call in session.calls if call.role == "student"]
        row = SessionRow(
            key=session.key,
            seed=session.header.seed,
            leakage=n_leaky / len(turns) if turns else None,
            independence=n_attempts / n_student if n_student else None,
            accuracy_immediate=self._accuracy("immediate", transcript.probes),
            accuracy_delayed=self._accuracy("delayed", transcript.probes),
            accuracy_transfer=self._accuracy("transfer", transcript.probes),
            n_tutor_turns=len(turns),
            n_student_turns=n_student,
            visible_tutor_turns=sum(len(exchange.tutor) for exchange in transcript.exchanges.values()),
            student_turns=len(student_calls),
            n_calls=len(session.calls),
            tutor_tokens=sum(call.tokens for call in tutor_calls),
            student_tokens=sum(call.tokens for call in student_calls),
            input_tokens=sum(call.input_tokens for call in session.calls),
            output_tokens=sum(call.output_tokens for call in session.calls),
        )
        return MeasuredSession(row, tuple(turns), dialogues, attempts)

    def _measure_window(
        self, session: Session, problem: str, exchange: Exchange, window: Window
    ) -> list[tuple[TurnRow, str]]:
        measured = []
        for turn in window.tutor:
            following = next_student_turn(exchange, turn)
            row = TurnRow(
                id=TurnId(session.header.condition, session.header.replicate, problem, turn.turn),
                leaky=self._forms[problem].leak(turn.text),
                next_turn_independence=attempts_step(following.text) if following else None,
                n_calls=turn.n_calls,
                tutor_tokens=turn.tokens,
                route=turn.route,
            )
            measured.append((row, dialogue_digest(rated_dialogue(window, turn))))
        return measured

    def _accuracy(self, phase: str, probes: Mapping[str, Probe]) -> float | None:
        """Return the share of a phase's items answered correctly; an item without an answer is wrong."""
        items = [problem for problem in self._instrument.problems if problem.phase == phase]
        if not items or any(item.id not in probes for item in items):
            return None
        return sum(item.is_answered_by(probes[item.id].answer) for item in items) / len(items)


def _no_window(exchange: Exchange) -> Window:
    return Window(exchange.problem, None, exchange.tutor, exchange.student)
