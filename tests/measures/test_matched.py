"""The matched visible-turn budget, problem by problem."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.measures import Cell, DroppedCell, MatchedBudget, match_budget, openings
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey

PROBLEMS = ("train-1", "train-2")
Counts = Sequence[Sequence[int]]


def a_cell(
    arm: str,
    counts: Counts,
    *,
    replies: bool = True,
    attempts: Sequence[Sequence[Sequence[bool]]] | None = None,
    steps: int = 0,
) -> Cell:
    """A cell whose replicate r has counts[r][p] in-window turns on problem p, the first of each leaking."""
    cell = Cell()
    for replicate, of in enumerate(counts):
        turns = tuple(
            TurnRow(TurnId(arm, replicate, problem, number), number == 0, replies, 1, 9, None)
            for problem, n in zip(PROBLEMS, of, strict=True)
            for number in range(n)
        )
        n_student = len(turns) + len(PROBLEMS)
        cell.turns[replicate] = turns
        cell.sessions[replicate] = SessionRow(
            key=SessionKey("sonnet", arm, replicate),
            seed=replicate,
            leakage=None,
            independence=steps / n_student,
            accuracy_immediate=None,
            accuracy_delayed=None,
            accuracy_transfer=None,
            n_tutor_turns=len(turns),
            n_student_turns=n_student,
            visible_tutor_turns=8,
            student_turns=10,
            n_calls=18,
            tutor_tokens=1,
            student_tokens=1,
            input_tokens=1,
            output_tokens=1,
        )
        if attempts is not None:
            cell.attempts[replicate] = dict(zip(PROBLEMS, map(tuple, attempts[replicate]), strict=True))
    return cell


def matched(conv: Counts, ped: Counts) -> MatchedBudget:
    return match_budget({"conv": a_cell("conv", conv), "ped": a_cell("ped", ped)}, PROBLEMS)


def kept(budget: MatchedBudget, arm: str, replicate: int = 0) -> list[tuple[str, int]]:
    return [(turn.id.problem, turn.id.turn) for turn in budget.turns[arm][replicate]]


def test_each_problem_keeps_the_first_turns_both_arms_have() -> None:
    budget = matched([[1, 4]], [[3, 2]])
    assert budget.budget == {(0, "train-1"): 1, (0, "train-2"): 2}
    assert kept(budget, "conv") == kept(budget, "ped") == [("train-1", 0), ("train-2", 0), ("train-2", 1)]


def test_cell_without_a_turn_leaves_both_arms() -> None:
    budget = matched([[0, 4]], [[3, 2]])
    assert budget.dropped == (DroppedCell(0, "train-1", 0, 3),)
    assert kept(budget, "ped") == [("train-2", 0), ("train-2", 1)]


def test_student_turns_are_an_opening_and_a_reply_a_turn_on_kept_problems() -> None:
    # train-1 dropped, opening included; train-2: opening and two replies
    assert matched([[0, 4]], [[3, 2]]).n_student_turns(0) == 3


def test_nothing_is_cut_where_nothing_differs() -> None:
    budget = matched([[4, 4]], [[4, 4]])
    assert len(kept(budget, "conv")) == 8
    assert budget.n_student_turns(0) == 10


def test_replicate_that_loses_all_its_cells_is_empty() -> None:
    budget = matched([[0, 0], [1, 1]], [[4, 4], [1, 1]])
    assert (kept(budget, "conv"), budget.n_student_turns(0)) == ([], 0)
    assert len(budget.dropped) == 2


counts = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)


@given(counts, st.data())
def test_arms_keep_the_same_turns_and_may_be_swapped(conv: list[tuple[int, int]], data: st.DataObject) -> None:
    ped = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=len(conv), max_size=len(conv)))
    one, other = matched(conv, ped), matched(ped, conv)
    assert one.budget == other.budget
    for replicate in range(len(conv)):
        assert kept(one, "conv", replicate) == kept(one, "ped", replicate) == kept(other, "conv", replicate)


# opening replies


def budget_of(cell: Cell, other: Counts) -> MatchedBudget:
    return match_budget({"conv": cell, "ped": a_cell("ped", other)}, PROBLEMS)


def test_text_says_which_openings_hold_a_step() -> None:
    cell = a_cell("conv", [[0, 1]], attempts=[[[True], [False, True]]])
    found = openings(cell, 0, budget_of(cell, [[2, 2]]))
    assert (found.low, found.high) == (0, 0)


def test_tables_say_it_where_no_cell_is_dropped() -> None:
    # 3 steps in the session, 2 of them replies
    cell = a_cell("conv", [[1, 1]], steps=3)
    found = openings(cell, 0, budget_of(cell, [[2, 2]]))
    assert (found.low, found.high) == (1, 1)


@pytest.mark.parametrize(
    ("steps", "low", "high"),
    [
        pytest.param(1, 0, 0, id="none-anywhere"),
        pytest.param(2, 0, 1, id="one-here-or-there"),
        pytest.param(3, 1, 1, id="both"),
    ],
)
def test_a_dropped_cell_leaves_a_range(steps: int, low: int, high: int) -> None:
    # one reply with a step on train-2; train-1 is dropped and takes its opening along
    cell = a_cell("conv", [[0, 1]], steps=steps)
    found = openings(cell, 0, budget_of(cell, [[2, 2]]))
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize("steps", [0, 4])
def test_numbers_no_filling_fits_are_refused(steps: int) -> None:
    cell = a_cell("conv", [[0, 1]], steps=steps)
    if steps == 4:
        cell.sessions[0] = _with_independence(cell.sessions[0], 4 / 3)
    with pytest.raises(ValueError, match="the tables contradict each other"):
        openings(cell, 0, budget_of(cell, [[2, 2]]))


def test_other_counts_than_the_protocol_s_are_refused() -> None:
    cell = a_cell("conv", [[1, 1]], steps=2)
    cell.turns[0] = cell.turns[0][:1]
    cell.sessions[0] = _with_independence(cell.sessions[0], None)
    with pytest.raises(ValueError, match="expected an opening reply and one reply a tutor turn"):
        openings(cell, 0, budget_of(cell, [[2, 2]]))


def _with_independence(row: SessionRow, value: float | None) -> SessionRow:
    return replace(row, independence=value)
