"""The matched visible-turn budget: both arms cut to the same number of turns a problem (definitions, section 11)."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tutoreval.measures.conditions import ARMS
from pytest_tutoreval.measures.corpus import Cell
from pytest_tutoreval.records.measured import TurnRow

__all__ = ["DroppedCell", "MatchedBudget", "Openings", "match_budget", "openings"]


@dataclass(frozen=True, slots=True)
class DroppedCell:
    """A replicate x problem that leaves both arms, because one of them has no in-window tutor turn there."""

    replicate: int
    problem: str
    conv_turns: int
    ped_turns: int


@dataclass(frozen=True)
class MatchedBudget:
    """What the budget leaves.

    `budget` is K by replicate and problem, 0 where the cell was dropped. `turns` are the kept tutor turns by arm and
    replicate; a replicate that lost all its cells has an empty tuple.
    """

    budget: Mapping[tuple[int, str], int]
    dropped: tuple[DroppedCell, ...]
    turns: Mapping[str, Mapping[int, tuple[TurnRow, ...]]]

    def n_student_turns(self, replicate: int) -> int:
        """Return how many student turns are kept in each arm: the opening and a reply a kept tutor turn, a problem."""
        return sum(k + 1 for (of, _), k in self.budget.items() if of == replicate and k)


def match_budget(cells: Mapping[str, Cell], problems: tuple[str, ...]) -> MatchedBudget:
    """Return the budget over the training problems of two complete arms.

    Leakage flags and next-turn labels stay those of the full window; nothing is recomputed.
    """
    conv, ped = (cells[arm] for arm in ARMS)
    by_cell = {arm: _by_cell(cells[arm]) for arm in ARMS}
    budget: dict[tuple[int, str], int] = {}
    dropped: list[DroppedCell] = []
    turns: dict[str, dict[int, tuple[TurnRow, ...]]] = {arm: {} for arm in ARMS}
    for replicate in sorted(conv.sessions.keys() & ped.sessions.keys()):
        for arm in ARMS:
            turns[arm][replicate] = ()
        for problem in problems:
            there = {arm: by_cell[arm].get((replicate, problem), []) for arm in ARMS}
            n_conv, n_ped = (len(there[arm]) for arm in ARMS)
            k = budget[replicate, problem] = min(n_conv, n_ped)
            if not k:
                dropped.append(DroppedCell(replicate, problem, n_conv, n_ped))
            for arm in ARMS:
                turns[arm][replicate] += tuple(there[arm][:k])
    return MatchedBudget(budget, tuple(dropped), turns)


def _by_cell(cell: Cell) -> dict[tuple[int, str], list[TurnRow]]:
    grouped: dict[tuple[int, str], list[TurnRow]] = {}
    for replicate, turns in cell.turns.items():
        for turn in sorted(turns, key=lambda turn: turn.id):
            grouped.setdefault((replicate, turn.id.problem), []).append(turn)
    return grouped


@dataclass(frozen=True, slots=True)
class Openings:
    """How many opening replies of a session's kept problems hold a reasoning step: a number from `low` to `high`.

    The two are equal where it is known. Tables tell only how many of all openings do; those of dropped cells could be
    any of them.
    """

    low: int
    high: int


def openings(cell: Cell, replicate: int, matched: MatchedBudget) -> Openings:
    """Return what is known of a session's opening replies on the kept problems.

    Raises
    ------
    ValueError
        The session's numbers contradict each other: no 0/1 filling of its opening replies fits its independence.
    """
    kept = [problem for (of, problem), k in matched.budget.items() if of == replicate and k]
    n_dropped = sum(of == replicate and not k for (of, _), k in matched.budget.items())
    if replicate in cell.attempts:
        known = sum(cell.attempts[replicate][problem][0] for problem in kept)
        return Openings(known, known)
    row = cell.sessions[replicate]
    if row.independence is None or row.n_student_turns != row.n_tutor_turns + len(kept) + n_dropped:
        raise ValueError(
            f"session {row.key}: {row.n_student_turns} student turns beside {row.n_tutor_turns} tutor turns on "
            f"{len(kept) + n_dropped} problems, independence {row.independence}; expected an opening reply and one "
            "reply a tutor turn"
        )
    attempts = round(row.independence * row.n_student_turns)
    in_all = attempts - sum(bool(turn.next_turn_independence) for turn in cell.turns[replicate])
    if not 0 <= in_all <= len(kept) + n_dropped:
        raise ValueError(
            f"session {row.key}: {attempts} attempts in {row.n_student_turns} student turns leave {in_all} for "
            f"{len(kept) + n_dropped} opening replies; the tables contradict each other"
        )
    return Openings(max(0, in_all - n_dropped), min(len(kept), in_all))
