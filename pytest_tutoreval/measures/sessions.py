"""A session measure of some cells, by replicate: what a contrast is made of."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures.arms import CellKey, complete_cells_at, complete_scores_at
from pytest_tutoreval.measures.corpus import Cell, CorpusMeasures
from pytest_tutoreval.measures.registry import PACKAGE_MEASURES, is_judged
from pytest_tutoreval.measures.scores import session_score

__all__ = ["SessionValues", "session_values"]


@dataclass(frozen=True)
class SessionValues:
    """A measure by arm and replicate, None where it is undefined, and what a reader should know about it."""

    by_arm: Mapping[str, Mapping[int, float | None]]
    notes: tuple[str, ...]


def session_values(
    measure: str, arms: Mapping[str, CellKey], measures: CorpusMeasures, judge: str | None
) -> SessionValues:
    """Return a session measure of some arms, every registered replicate in each.

    `arms` gives each arm's cell by the name its notes carry.

    Raises
    ------
    NotEvaluable
        Sessions or ratings are missing or broken, the measure is a judge's and there is none, or a package's and fails.
    """
    whole = complete_cells_at(measures, arms.values())
    cells = {arm: whole[key] for arm, key in arms.items()}
    notes = _of_cells(cells, f"{measure} ", ("sessions.csv",))
    if not is_judged(measure):
        by_arm = {
            arm: {number: _value(cell, number, measure) for number in cell.sessions} for arm, cell in cells.items()
        }
        return SessionValues(by_arm, tuple(notes))
    if judge is None:
        raise NotEvaluable(f"{measure} needs a judge, and the corpus holds no ratings; run a judge over it first")
    notes += _of_cells(
        cells, "", tuple(f"{table} {judge}/{measure}/" for table in ("scores.csv", "session_scores.csv"))
    )
    found = complete_scores_at(measures, arms.values(), judge, measure)
    scores = {arm: found[key] for arm, key in arms.items()}
    notes += [note for arm in arms for note in scores[arm].notes]
    notes += [f"{arm}: {usability}" for arm in arms if (usability := scores[arm].usability())]
    return SessionValues({arm: scores[arm].sessions for arm in arms}, tuple(notes))


def _of_cells(cells: Mapping[str, Cell], about: str, starts: tuple[str, ...]) -> list[str]:
    """Return what an import left out of these cells; a table's note names the condition, not the base."""
    return [
        note if ":" not in arm else f"{arm}: {note}"
        for arm, cell in cells.items()
        for note in cell.notes
        if note.startswith(starts) and about in note
    ]


def _value(cell: Cell, replicate: int, measure: str) -> float | None:
    if measure in PACKAGE_MEASURES:
        return PACKAGE_MEASURES[measure].read(cell.sessions[replicate], cell.turns[replicate])
    if measure == "next_turn_independence":  # of turns, so its session value is their mean
        followed = (turn.next_turn_independence for turn in cell.turns[replicate])
        return session_score(None if attempted is None else float(attempted) for attempted in followed)
    value: float | None = getattr(cell.sessions[replicate], measure)
    return value
