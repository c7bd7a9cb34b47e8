"""All visible turns instead of the answer-phase window."""

from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import SessionMeasurer
from pytest_tutoreval.records import Session
from tests.builders import ASKING, UNSURE, a_session
from tests.store.corpora import DEMO, measures_of

LEAK = "The answer is 24."


def committed_early() -> Session:
    """train-1: the student commits after the first tutor turn; a leak and a step come after that."""
    return a_session(said={"train-1": [UNSURE, ASKING, "FINAL ANSWER: 3", LEAK, "x = 24"]})


def test_window_ends_at_the_commitment_and_the_whole_does_not() -> None:
    measurer = SessionMeasurer(load_instrument())
    windowed, whole = (measurer.measure(committed_early(), windowed=flag) for flag in (True, False))
    # 1 of 4 turns on train-1, 4 on each of the other five
    assert (windowed.row.n_tutor_turns, whole.row.n_tutor_turns) == (21, 24)
    # an opening each, and a reply a turn
    assert (windowed.row.n_student_turns, whole.row.n_student_turns) == (27, 30)


def test_what_comes_after_the_commitment_counts_in_the_whole_alone() -> None:
    measurer = SessionMeasurer(load_instrument())
    windowed, whole = (measurer.measure(committed_early(), windowed=flag).row for flag in (True, False))
    assert (windowed.leakage, whole.leakage) == (0.0, 1 / 24)
    assert (windowed.independence, whole.independence) == (0.0, 1 / 30)


def test_attempts_are_listed_by_problem_in_order() -> None:
    measured = SessionMeasurer(load_instrument()).measure(committed_early(), windowed=False)
    assert measured.attempts["train-1"] == (False, False, True, False, False)


def test_unwindowed_quantities_are_the_same_either_way() -> None:
    measurer = SessionMeasurer(load_instrument())
    windowed, whole = (measurer.measure(committed_early(), windowed=flag).row for flag in (True, False))
    for name in ("visible_tutor_turns", "student_turns", "n_calls", "tutor_tokens", "accuracy_delayed"):
        assert getattr(windowed, name) == getattr(whole, name)


def test_whole_cell_holds_every_turn_of_the_protocol() -> None:
    measures = measures_of(DEMO)
    cell = measures.whole_cell("sonnet", "conv")
    assert {len(turns) for turns in cell.turns.values()} == {24}
    assert measures.whole_cell("sonnet", "conv") is cell
    assert measures.cell("sonnet", "conv").sessions[0].n_tutor_turns < 24


def test_window_is_the_beginning_of_the_whole() -> None:
    measures = measures_of(DEMO)
    windowed, whole = measures.cell("sonnet", "conv"), measures.whole_cell("sonnet", "conv")
    for replicate, turns in windowed.turns.items():
        every = {turn.id: turn for turn in whole.turns[replicate]}
        assert all(every[turn.id] == turn for turn in turns)
        for problem, flags in windowed.attempts[replicate].items():
            assert whole.attempts[replicate][problem][: len(flags)] == flags


def test_tables_hold_in_window_turns_only(released: Path) -> None:
    with pytest.raises(NotEvaluable, match="the tables hold in-window turns only"):
        measures_of(released).whole_cell("sonnet", "conv")
