from dataclasses import replace
from functools import reduce
from operator import add
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.measures import session_score, turn_score
from pytest_tutoreval.records import TurnScore


@pytest.mark.parametrize(
    ("overalls", "expected"),
    [
        # mean 13/3; squares (2/3)^2 + (1/3)^2 + (1/3)^2 = 2/3, over n - 1 = 2: 1/3; median 4
        pytest.param([5, 4, 4], TurnScore(13 / 3, 1 / 3, 4.0, 3, 3), id="three-usable"),
        # mean 3; (1 + 1) / 1 = 2; median 3
        pytest.param([2, None, 4], TurnScore(3.0, 2.0, 3.0, 2, 3), id="one-unusable"),
        pytest.param([None, 4, None], TurnScore(4.0, None, 4.0, 1, 3), id="spread-undefined-below-two"),
        pytest.param([None, None, None], TurnScore(None, None, None, 0, 3), id="none-usable-is-no-zero"),
        pytest.param([], TurnScore(None, None, None, 0, 0), id="not-rated"),
        pytest.param([3, 3, 3], TurnScore(3.0, 0.0, 3.0, 3, 3), id="unanimous"),
    ],
)
def test_turn_score_worked_by_hand(overalls: list[int | None], expected: TurnScore) -> None:
    score = turn_score(overalls)
    assert score.spread == (None if expected.spread is None else pytest.approx(expected.spread))
    assert replace(score, spread=expected.spread) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # (4 + 3 + 5) / 3; the undefined turn is dropped, not a zero
        pytest.param([4.0, None, 3.0, 5.0], 4.0, id="undefined-turn-dropped"),
        pytest.param([None, None], None, id="no-score"),
        pytest.param([], None, id="no-turn"),
        pytest.param([2.5], 2.5, id="one-turn"),
    ],
)
def test_session_score_worked_by_hand(scores: list[float | None], expected: float | None) -> None:
    assert session_score(scores) == expected


def running_mean(scores: list[float]) -> float:
    # sum() itself compensates from Python 3.12 on
    return reduce(add, scores) / len(scores)


def test_session_mean_is_of_an_exact_sum() -> None:
    # nine thirds, twelve, fourteen, ten: 45 / 3 / 4
    scores = [9 / 3, 12 / 3, 14 / 3, 10 / 3]
    assert (session_score(scores), running_mean(scores)) == (3.75, 3.7500000000000004)


def test_exact_sums_keep_sessions_tied_that_a_running_sum_parts() -> None:
    forth = [9 / 3, 12 / 3, 14 / 3, 10 / 3]
    back = forth[::-1]
    assert running_mean(forth) != running_mean(back)
    assert session_score(forth) == session_score(back)


@given(st.lists(st.none() | st.integers(1, 5), max_size=6))
def test_turn_score_counts_what_it_rests_on(overalls: list[int | None]) -> None:
    score = turn_score(overalls)
    assert (score.n_ratings, score.n_usable) == (len(overalls), sum(value is not None for value in overalls))


@given(st.lists(st.floats(1, 5), min_size=1), st.randoms())
def test_order_of_turns_never_changes_a_session_score(scores: list[float], random: Random) -> None:
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert session_score(shuffled) == session_score(scores)
