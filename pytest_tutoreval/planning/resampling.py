"""Studies that might have been: a pilot corpus resampled to another size, read by the product's own rules.

A simulated study is what a claim or a gate reads anyway, measures of a corpus. So the planner has no statistics of its
own: whatever decides real data decides these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path

import numpy as np

from pytest_tutoreval.errors import NotEvaluable, NotInCorpus
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.measures import CorpusMeasures, session_score
from pytest_tutoreval.measures.corpus import Cell, CellScores
from pytest_tutoreval.records.measured import SessionRow, TurnRow, TurnScore
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.store import Corpus

__all__ = ["ResampledMeasures", "StudySize", "pilot_replicates", "sized"]

# A pilot's problem and its name in the simulated study; None keeps them all as they are.
_Problems = list[tuple[str, str]] | None

# Nobody looks at the interval of a simulated study; its verdict does not depend on it.
_FEWEST_DRAWS = 100


@dataclass(frozen=True, slots=True)
class StudySize:
    """How large a study is: paired replicates, tutored problems, ratings a turn; None keeps the pilot's number."""

    replicates: int
    problems: int | None = None
    repetitions: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.replicates} replicates"]
        parts += [f"{self.problems} problems"] if self.problems is not None else []
        parts += [f"{self.repetitions} repetitions"] if self.repetitions is not None else []
        return ", ".join(parts)


class ResampledMeasures(CorpusMeasures):
    """Measures of one simulated study: replicates of a pilot drawn with replacement, problems as asked for.

    A drawn replicate brings its sessions of every base and condition, so pairing and all dependence inside a replicate
    stay as they were. Fewer problems than the pilot has are a random subset, the same for all sessions; for more, the
    pilot's are repeated as further ones. Fewer repetitions add the noise of the ratings left out, normal with the
    turn's own variance; more than the pilot's cannot take its noise away, so power is then understated.

    A study drawn `beside` another asks the same problems as that one; its replicates are its own.
    """

    def __init__(
        self,
        pilot: CorpusMeasures,
        replicates: Sequence[int],
        size: StudySize,
        rng: np.random.Generator,
        *,
        beside: "ResampledMeasures | None" = None,
    ) -> None:
        self._pilot, self._size, self._rng = pilot, size, rng
        self._drawn: list[int] = rng.choice(np.asarray(replicates), size=size.replicates).tolist()
        known = [problem.id for problem in pilot.instrument.training]
        self._problems: _Problems = beside._problems if beside else _draw_problems(known, size.problems, rng)
        super().__init__(_without_text(pilot.corpus), _asking(sized(pilot.instrument, size), self._problems))

    def cell(self, base: str, condition: str) -> Cell:
        """Return a cell of the simulated study.

        Raises
        ------
        NotEvaluable
            The pilot lacks a replicate of this cell: a pilot is complete or it is none.
        """
        key = (base, condition)
        if key not in self._cells:
            self._cells[key] = self._drawn_cell(base, condition)
        return self._cells[key]

    def whole_cell(self, base: str, condition: str) -> Cell:
        """Raise NotInCorpus: no claim and no gate reads turns outside the window."""
        raise NotInCorpus("a resampled pilot holds in-window turns only")

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        """Return a judge's scores of a cell of the simulated study."""
        key = (base, condition, judge, rubric)
        if key not in self._scores:
            self._scores[key] = self._drawn_scores(base, condition, judge, rubric)
        return self._scores[key]

    def _drawn_cell(self, base: str, condition: str) -> Cell:
        pilot, cell = self._pilot.cell(base, condition), Cell()
        for number, source in enumerate(self._drawn):
            if source not in pilot.sessions:
                raise NotEvaluable(
                    f"the pilot lacks {base}/{condition}/r{source}: {pilot.broken.get(source, 'no such session')}; "
                    "plan from a complete pilot"
                )
            turns = _renumber(pilot.turns[source], number, self._problems)
            attempts = _of_problems(pilot.attempts.get(source), self._problems)
            cell.sessions[number] = self._session(pilot.sessions[source], number, turns, attempts)
            cell.turns[number] = turns
            if attempts is not None:
                cell.attempts[number] = attempts
        return cell

    def _session(
        self,
        row: SessionRow,
        number: int,
        turns: tuple[TurnRow, ...],
        attempts: Mapping[str, tuple[bool, ...]] | None,
    ) -> SessionRow:
        key = SessionKey(row.key.base, row.key.condition, number)
        if self._size.problems is None:
            return replace(row, key=key)
        if attempts is None:
            raise NotEvaluable(
                "another number of problems needs to know which student turns attempt a step, and tables do not hold "
                "that: plan from a pilot with text, or leave the number of problems as it is"
            )
        n_student, n_attempts = sum(map(len, attempts.values())), sum(map(sum, attempts.values()))
        share = self._size.problems / len(self._pilot.instrument.training)
        return replace(
            row,
            key=key,
            leakage=sum(turn.leaky for turn in turns) / len(turns) if turns else None,
            independence=n_attempts / n_student if n_student else None,
            n_tutor_turns=len(turns),
            n_student_turns=n_student,
            **{name: round(getattr(row, name) * share) for name in _COUNTS},
        )

    def _drawn_scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        pilot = self._pilot.scores(base, condition, judge, rubric)
        if pilot.missing:
            raise NotEvaluable(f"the pilot is not fully rated: {pilot.missing[0]}; plan from a complete pilot")
        cell, scores = self._pilot.cell(base, condition), CellScores()
        as_it_was = self._size.problems is None and self._size.repetitions is None
        for number, source in enumerate(self._drawn):
            drawn = [
                (TurnId(condition, number, name, turn.id.turn), pilot.turns[turn.id])
                for turn, name in _drawn_turns(cell.turns[source], self._problems)
            ]
            found = {turn: self._rated_less(score) for turn, score in drawn}
            scores.turns.update(found)
            # An import may bring session means of its own, which differ from exact sums in the last bits.
            scores.sessions[number] = (
                pilot.sessions[source] if as_it_was else session_score(score.value for score in found.values())
            )
        return scores

    def _rated_less(self, score: TurnScore) -> TurnScore:
        """Return a turn's score as fewer ratings would have given it."""
        fewer = self._size.repetitions
        if fewer is None or score.value is None or not score.spread or fewer >= score.n_usable:
            return score
        noise = sqrt(score.spread * (1 / fewer - 1 / score.n_usable))
        return replace(score, value=score.value + noise * self._rng.standard_normal(), n_usable=fewer, n_ratings=fewer)


# Unwindowed counts of a session that another number of problems changes in proportion.
_COUNTS = (
    "visible_tutor_turns",
    "student_turns",
    "n_calls",
    "tutor_tokens",
    "student_tokens",
    "input_tokens",
    "output_tokens",
)


def _without_text(corpus: Corpus) -> Corpus:
    """Return a corpus of the same kind with nothing on disk: a drawn session is no file's."""
    return Corpus(Path("resampled pilot"), corpus.manifest.model_copy(update={"content": "tables"}))


def pilot_replicates(pilot: CorpusMeasures, cells: Iterable[tuple[str, str]]) -> list[int]:
    """Return the replicates a pilot holds in all of these cells, (base, condition) each.

    Raises
    ------
    NotEvaluable
        Fewer than two: nothing is known about how replicates differ.
    """
    wanted = list(cells)
    held = [set(pilot.cell(base, condition).sessions) for base, condition in wanted]
    shared = sorted(set.intersection(*held)) if held else []
    if len(shared) < 2:
        named = ", ".join(f"{base}/{condition}" for base, condition in wanted)
        raise NotEvaluable(
            f"{pilot.corpus.folder}: {len(shared)} replicates are complete in all of {named}; a pilot needs two at "
            "least, and ten to be worth planning from"
        )
    return shared


def sized(instrument: Instrument, size: StudySize) -> Instrument:
    """Return the instrument with a size's replicates and repetitions registered."""
    study = instrument.study
    protocol = {"replicates": size.replicates}
    if size.repetitions is not None:
        protocol["repetitions"] = size.repetitions
    return replace(
        instrument,
        study=study.model_copy(
            update={
                "protocol": study.protocol.model_copy(update=protocol),
                "inference": study.inference.model_copy(update={"bootstrap_draws": _FEWEST_DRAWS}),
            }
        ),
    )


def _asking(instrument: Instrument, problems: _Problems) -> Instrument:
    """Return the instrument with the tutored problems of a simulated study in place of the pilot's."""
    if problems is None:
        return instrument
    tutored = (instrument.problem[source].model_copy(update={"id": name}) for source, name in problems)
    others = (problem for problem in instrument.problems if problem.phase != "training")
    return replace(instrument, problems=(*tutored, *others))


def _draw_problems(known: Sequence[str], wanted: int | None, rng: np.random.Generator) -> _Problems:
    """Return which of a pilot's problems a simulated study asks, and what it calls them."""
    if wanted is None:
        return None
    rounds, rest = divmod(wanted, len(known))
    chosen = sorted(rng.permutation(len(known))[:rest].tolist())
    names = [*known] * rounds + [known[index] for index in chosen]
    copies: dict[str, int] = {}
    drawn = []
    for name in names:
        copies[name] = copies.get(name, 0) + 1
        drawn.append((name, name if copies[name] == 1 else f"{name}.{copies[name]}"))
    return drawn


def _drawn_turns(turns: Sequence[TurnRow], problems: _Problems) -> list[tuple[TurnRow, str]]:
    if problems is None:
        return [(turn, turn.id.problem) for turn in turns]
    return [(turn, name) for source, name in problems for turn in turns if turn.id.problem == source]


def _renumber(turns: Sequence[TurnRow], number: int, problems: _Problems) -> tuple[TurnRow, ...]:
    return tuple(
        replace(turn, id=TurnId(turn.id.condition, number, name, turn.id.turn))
        for turn, name in _drawn_turns(turns, problems)
    )


def _of_problems(
    attempts: Mapping[str, tuple[bool, ...]] | None, problems: _Problems
) -> Mapping[str, tuple[bool, ...]] | None:
    if attempts is None or problems is None:
        return attempts
    return {name: attempts.get(source, ()) for source, name in problems}
