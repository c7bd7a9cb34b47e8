"""Turns of one problem, rebuilt from calls: who said what, in which order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_tutoreval.detectors import final_answer
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import UNTUTORED, Session

__all__ = ["Exchange", "Probe", "StudentTurn", "TutorTurn", "protocol_breach", "read_exchange", "read_probe"]

# One reply, the forced commitment, one retry.
MAX_PROBE_REPLIES = 3


@dataclass(frozen=True, slots=True)
class StudentTurn:
    """A student's reply at position `seq`."""

    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class TutorTurn:
    """A visible tutor turn: what the student received.

    `first` and `last` are the positions of its constituent calls, the tracker's included; `text` is the last
    responder call's. Windows use `first`, the next-turn rule uses `last` (definitions, sections 5 and 7).
    """

    turn: int
    text: str
    first: int
    last: int
    n_calls: int
    tokens: int
    node: str | None
    route: str | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tutored problem: all visible turns, unwindowed, each side in sequence order."""

    problem: str
    tutor: tuple[TutorTurn, ...]
    student: tuple[StudentTurn, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """An untutored item: the student's replies, elicited ones included."""

    problem: str
    replies: tuple[StudentTurn, ...]

    @property
    def answer(self) -> float | None:
        """The value of the first reply that commits to one, or None."""
        values = (final_answer(reply.text) for reply in self.replies)
        return next((value for value in values if value is not None), None)


def read_exchange(problem: str, calls: Iterable[Call]) -> Exchange:
    """Return the exchange made of one problem's calls; calls that share a tutor turn become one visible turn."""
    students = []
    turns: dict[int, list[Call]] = {}
    for call in calls:
        if call.role == "student":
            students.append(StudentTurn(call.seq, call.text))
        elif call.turn is not None:
            turns.setdefault(call.turn, []).append(call)
    tutors = [turn for turn in (_visible(number, made_of) for number, made_of in turns.items()) if turn]
    return Exchange(problem, tuple(sorted(tutors, key=lambda turn: turn.first)), tuple(students))


def _visible(number: int, calls: Sequence[Call]) -> TutorTurn | None:
    responders = [call for call in calls if call.role == "tutor"]
    if not responders:
        return None
    shown = responders[-1]
    return TutorTurn(
        turn=number,
        text=shown.text,
        first=calls[0].seq,
        last=calls[-1].seq,
        n_calls=len(calls),
        tokens=sum(call.tokens for call in calls),
        node=shown.node,
        route=shown.route,
    )


def read_probe(problem: str, calls: Iterable[Call]) -> Probe:
    """Return the probe made of one problem's calls."""
    return Probe(problem, tuple(StudentTurn(call.seq, call.text) for call in calls))


def protocol_breach(session: Session, problems: Sequence[Problem], tutor_turns: int) -> str | None:
    """Return the first way in which a session is not one finished episode, or None.

    Checked: every problem in file order; S T S … T S with the registered number of tutor turns on tutored problems;
    on probes, elicitation exactly as long as nothing was committed to (definitions, section 3).
    """
    order = [problem for problem, _ in groupby(call.problem for call in session.calls)]
    expected = [problem.id for problem in problems]
    if order != expected[: len(order)]:
        wrong = next(pair for pair in zip(order, [*expected, None], strict=False) if pair[0] != pair[1])
        return f"problem {wrong[0]!r} where {wrong[1]!r} was due"
    by_problem = _by_problem(session.calls)
    is_tutored = session.header.condition != UNTUTORED
    for problem in problems:
        calls = by_problem.get(problem.id)
        if calls is None:
            return f"ends before {problem.id}: {len(order)} of {len(expected)} problems"
        tutored = is_tutored and problem.phase == "training"
        breach = _exchange_breach(calls, tutor_turns) if tutored else _probe_breach(calls)
        if breach:
            return f"{problem.id}: {breach}"
    return None


def _by_problem(calls: Iterable[Call]) -> Mapping[str, list[Call]]:
    by_problem: dict[str, list[Call]] = {}
    for call in calls:
        by_problem.setdefault(call.problem, []).append(call)
    return by_problem


def _exchange_breach(calls: Sequence[Call], tutor_turns: int) -> str | None:
    spoken = "".join("s" if call.role == "student" else "t" for call in calls if call.role != "tracker")
    expected = "s" + "ts" * tutor_turns
    if spoken != expected:
        shown, due = "-".join(spoken).upper(), "-".join(expected).upper()
        return f"turns go {shown}, the protocol's {due}"
    numbers = [call.turn for call in calls if call.role == "tutor"]
    if numbers != list(range(tutor_turns)):
        return f"tutor turns are numbered {numbers}"
    if any(call.purpose != "exchange" for call in calls):
        return "a probe or commitment stands inside a tutored problem"
    return None


def _probe_breach(calls: Sequence[Call]) -> str | None:
    if any(call.role != "student" for call in calls):
        return "a tutor call stands inside a probe"
    committed = [final_answer(call.text) is not None for call in calls]
    if True in committed[:-1]:
        return "the student was asked on after committing to an answer"
    if not committed[-1] and len(calls) < MAX_PROBE_REPLIES:
        return f"ends after {len(calls)} replies without a commitment, elicitation was due"
    if len(calls) > MAX_PROBE_REPLIES:
        return f"{len(calls)} replies, the protocol has at most {MAX_PROBE_REPLIES}"
    return None
