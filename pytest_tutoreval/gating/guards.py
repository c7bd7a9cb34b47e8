"""What is guarded: measures per replicate and problem, the default margins, and the turns that show a worsening."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_tutoreval.errors import ConfigurationProblem, did_you_mean
from pytest_tutoreval.measures import Cell, CellScores, CorpusMeasures, SessionMeasure
from pytest_tutoreval.records.baseline import GuardedSeries
from pytest_tutoreval.records.gate import Guard
from pytest_tutoreval.records.measured import TurnRow
from pytest_tutoreval.records.session import Route, Session
from pytest_tutoreval.records.study_file import Price
from pytest_tutoreval.registering import add_entry

__all__ = [
    "DEFAULT_GUARDS",
    "GUARDED_MEASURES",
    "SESSION",
    "GuardedMeasure",
    "PriceOf",
    "Values",
    "check_guards",
    "guard_measure",
    "read_series",
    "showing_turns",
]

Values = Mapping[int, Mapping[str, float | None]]

# What a route costs, None where nobody stated it.
PriceOf = Callable[[Route], Price | None]

_MILLION = 1_000_000

# Stands for the problem where a value is of a whole session.
SESSION = "session"

DEFAULT_GUARDS = (
    Guard(
        measure="leakage",
        margin=0.10,
        worse="higher",
        reason="one tutor turn in ten more that gives the answer away is a tutor students notice as different",
    ),
    Guard(
        measure="next_turn_independence",
        margin=0.10,
        worse="lower",
        reason="one student reply in ten less that holds a reasoning step, right after a tutor turn",
    ),
    Guard(
        measure="independence",
        margin=0.10,
        worse="lower",
        reason="one student turn in ten less that holds a reasoning step",
    ),
    Guard(
        measure="pedagogy",
        margin=0.5,
        worse="lower",
        reason="half a step of the five-step rubric, about what one repetition of a judge differs from the next",
    ),
    Guard(
        measure="turns_to_commitment",
        margin=0.5,
        worse="lower",
        reason="every second problem answered a turn earlier: less work before the answer, as when it is handed out",
    ),
    Guard(
        measure="cost_per_session",
        margin=0.25,
        worse="higher",
        relative=True,
        reason="a quarter more than the baseline's mean, which would be seen on a bill",
    ),
)


@dataclass(frozen=True)
class Reading:
    """A cell of the corpus, with all a guarded measure may need of it; `scores` is None for a judge-free measure."""

    measures: CorpusMeasures
    cell: Cell
    problems: tuple[str, ...]
    scores: CellScores | None = None

    def by_problem(self, value: Callable[[Sequence[TurnRow]], float | None]) -> Values:
        """Return a value of each problem's in-window tutor turns, which may be none."""
        return {
            replicate: {
                problem: value([turn for turn in turns if turn.id.problem == problem]) for problem in self.problems
            }
            for replicate, turns in self.cell.turns.items()
        }

    def score(self, turn: TurnRow) -> float | None:
        """Return a turn's score by the judge, None where no rating was usable."""
        found = self.scores.turns.get(turn.id) if self.scores else None
        return found.value if found else None


@dataclass(frozen=True)
class GuardedMeasure:
    """A measure that can be guarded.

    Attributes
    ----------
    unit : what a value is in
    judged : whether there is one a judge
    read : values by replicate and problem
    shows : how strongly a tutor turn shows a worsening, 0 where it does not
    """

    name: str
    unit: str
    judged: bool
    read: Callable[[Reading], Values]
    shows: Callable[[Reading, TurnRow], float]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _leakage(reading: Reading) -> Values:
    return reading.by_problem(lambda turns: _mean(float(turn.leaky) for turn in turns))


def _next_turn_independence(reading: Reading) -> Values:
    return reading.by_problem(lambda turns: _mean(turn.next_turn_independence for turn in turns))


def _independence(reading: Reading) -> Values:
    """Return the share of in-window student turns with a reasoning step; tables hold it for whole sessions only."""
    cell = reading.cell
    return {
        replicate: (
            {problem: _mean(cell.attempts[replicate].get(problem, ())) for problem in reading.problems}
            if replicate in cell.attempts
            else {SESSION: row.independence}
        )
        for replicate, row in cell.sessions.items()
    }


def _pedagogy(reading: Reading) -> Values:
    return reading.by_problem(lambda turns: _mean(map(reading.score, turns)))


def _turns_to_commitment(reading: Reading) -> Values:
    """Return the tutor turns until the student commits to an answer; all of them where none is committed to."""
    return reading.by_problem(lambda turns: float(len(turns)))


def _cost(reading: Reading) -> Values:
    return {replicate: {SESSION: float(row.total_tokens)} for replicate, row in reading.cell.sessions.items()}


def _without_step(_: Reading, turn: TurnRow) -> float:
    return float(turn.next_turn_independence is False)


def _low_score(reading: Reading, turn: TurnRow) -> float:
    score = reading.score(turn)
    return 0.0 if score is None else 5.0 - score


GUARDED_MEASURES: dict[str, GuardedMeasure] = {
    measure.name: measure
    for measure in (
        GuardedMeasure("leakage", "share of tutor turns", False, _leakage, lambda _, turn: float(turn.leaky)),
        GuardedMeasure(
            "next_turn_independence", "share of next student turns", False, _next_turn_independence, _without_step
        ),
        GuardedMeasure("independence", "share of student turns", False, _independence, _without_step),
        GuardedMeasure("pedagogy", "points", True, _pedagogy, _low_score),
        GuardedMeasure(
            # the last turn before the commitment shows it best
            "turns_to_commitment",
            "tutor turns",
            False,
            _turns_to_commitment,
            lambda _, turn: turn.id.turn + 1.0,
        ),
        GuardedMeasure("cost_per_session", "tokens", False, _cost, lambda _, turn: float(turn.tutor_tokens)),
    )
}


def guard_measure(measure: SessionMeasure, *, by: str) -> Callable[[], None]:
    """Let a package's session measure be guarded, and return how it is taken out again.

    It is paired by session. Which turns show a worsening nobody can say of it, so there are no examples.

    Raises
    ------
    ExtensionError
        A guarded measure has that name.
    """

    def read(reading: Reading) -> Values:
        cell = reading.cell
        return {
            replicate: {SESSION: measure.read(row, cell.turns[replicate])} for replicate, row in cell.sessions.items()
        }

    guarded = GuardedMeasure(measure.name, measure.unit, False, read, lambda _, turn: 0.0)
    return add_entry(GUARDED_MEASURES, "guarded measure", measure.name, guarded, tuple(GUARDED_MEASURES), by=by)


# What a study has to decide for itself: a longer way to an answer is more work, or a tutor that does not get there.
_EITHER_WAY = "turns_to_commitment"
_WORSE = {guard.measure: guard.worse for guard in DEFAULT_GUARDS if guard.measure != _EITHER_WAY}


def check_guards(guards: Sequence[Guard], conditions: Sequence[str]) -> None:
    """Raise ConfigurationProblem where a guard names what is not there, or looks the wrong way, or stands twice.

    A guard that takes leakage to be worse where it is lower would pass the very tutor it is there to stop.

    Parameters
    ----------
    conditions : the tutored conditions of the study
    """
    taken: set[tuple[str, str]] = set()
    for guard in guards:
        if guard.measure not in GUARDED_MEASURES:
            hint = did_you_mean(guard.measure, GUARDED_MEASURES)
            raise ConfigurationProblem(
                f"guards: measure = {guard.measure!r} is no guarded measure. Known: "
                f"{', '.join(GUARDED_MEASURES)}.{hint}"
            )
        if guard.worse != _WORSE.get(guard.measure, guard.worse):
            raise ConfigurationProblem(
                f"guards: {guard.measure}: worse = {guard.worse!r}, but it is worse where it is "
                f"{_WORSE[guard.measure]}; this guard would pass what it is there to stop"
            )
        unknown = [name for name in guard.conditions or () if name not in conditions]
        if unknown:
            raise ConfigurationProblem(
                f"guards: {guard.measure}: condition {', '.join(unknown)} is none of the study's tutored ones "
                f"({', '.join(conditions)})"
            )
        places = {(guard.measure, condition) for condition in guard.conditions or conditions}
        if twice := sorted(places & taken):
            raise ConfigurationProblem(
                f"guards: {twice[0][0]} is guarded twice in {twice[0][1]}; a measure has one margin a condition"
            )
        taken |= places


def reading_of(
    measures: CorpusMeasures, base: str, condition: str, measure: GuardedMeasure, judge: str | None
) -> Reading:
    scores = measures.scores(base, condition, judge, measure.name) if measure.judged and judge else None
    problems = tuple(problem.id for problem in measures.instrument.training)
    return Reading(measures, measures.cell(base, condition), problems, scores)


def read_series(
    measures: CorpusMeasures,
    base: str,
    condition: str,
    measure: str,
    judge: str | None,
    price_of: PriceOf,
) -> list[GuardedSeries]:
    """Return a guarded measure of a cell as series: one, but for cost in tokens and, where prices are known, dollars.

    The cell is as it is: whether it is complete is the caller's to check.
    """
    guarded = GUARDED_MEASURES[measure]
    reading = reading_of(measures, base, condition, guarded, judge)
    read = [(guarded.unit, guarded.read(reading))]
    if measure == "cost_per_session":
        dollars = _dollars(measures, reading.cell, price_of)
        read += [("dollars", dollars)] if dollars is not None else []
    return [
        GuardedSeries(
            measure=measure,
            unit=unit,
            base=base,
            condition=condition,
            judge=judge,
            values={replicate: dict(by_problem) for replicate, by_problem in sorted(values.items())},
        )
        for unit, values in read
    ]


def _dollars(measures: CorpusMeasures, cell: Cell, price_of: PriceOf) -> Values | None:
    """Return what each session's calls cost.

    None where there is no text, a price is not known, or nothing costs anything: a tutor on one's own machine is
    compared in tokens, since 0 against 0 would hold however much it talked.
    """
    if not measures.corpus.has_text:
        return None
    values: dict[int, Mapping[str, float]] = {}
    for replicate, row in cell.sessions.items():
        cost = _session_dollars(measures.corpus.session(row.key), price_of)
        if cost is None:
            return None
        values[replicate] = {SESSION: cost}
    return values if any(cost for by_problem in values.values() for cost in by_problem.values()) else None


def _session_dollars(session: Session, price_of: PriceOf) -> float | None:
    price = {role: price_of(route) for role, route in session.header.routes.items()}
    costs: list[float] = []
    for call in session.calls:
        # the tracker's calls go the tutor's way
        paid = price.get("student" if call.role == "student" else "tutor")
        if paid is None:
            return None
        costs.append((call.input_tokens * paid.input + call.output_tokens * paid.output) / _MILLION)
    return math.fsum(costs)


def showing_turns(
    measures: CorpusMeasures,
    base: str,
    condition: str,
    measure: str,
    judge: str | None,
    cells: Sequence[tuple[int, str]],
    *,
    at_most: int,
) -> tuple[str, ...]:
    """Return turns of the candidate that show a worsening, as base/condition/rN/problem/tN.

    Parameters
    ----------
    cells : replicates and problems, those that worsened most first; two turns each at most
    """
    guarded = GUARDED_MEASURES[measure]
    reading = reading_of(measures, base, condition, guarded, judge)
    shown: list[str] = []
    for replicate, problem in cells:
        turns = [
            (guarded.shows(reading, turn), turn)
            for turn in reading.cell.turns.get(replicate, ())
            if problem in (turn.id.problem, SESSION)
        ]
        worst = sorted((pair for pair in turns if pair[0] > 0.0), key=lambda pair: (-pair[0], pair[1].id))
        shown += [f"{base}/{turn.id}" for _, turn in worst[:2]]
        if len(shown) >= at_most:
            break
    return tuple(shown[:at_most])
