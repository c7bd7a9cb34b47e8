import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.inference import cliffs_delta

_GROUPS = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)


def test_two_by_three_worked_by_hand() -> None:
    # 1 > 0; 1 = 1; 1 < 2; 3 > 0, 1, 2: four above, one below, of six.
    assert cliffs_delta([1, 3], [0, 1, 2]) == 3 / 6


def test_separated_groups_reach_one() -> None:
    assert cliffs_delta([2, 3], [0, 1]) == 1.0


@given(_GROUPS, _GROUPS)
def test_swapped_groups_flip_the_sign(first: list[float], second: list[float]) -> None:
    assert cliffs_delta(first, second) == -cliffs_delta(second, first)


@given(_GROUPS, _GROUPS)
def test_agrees_with_the_mann_whitney_statistic(first: list[float], second: list[float]) -> None:
    # delta = 2 U / (n m) - 1, U from stats.mannwhitneyu(first, second)
    u = stats.mannwhitneyu(first, second, method="asymptotic").statistic
    assert cliffs_delta(first, second) == pytest.approx(2 * u / (len(first) * len(second)) - 1, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "message"),
    [pytest.param([], r"first has shape \(0,\)", id="empty"), pytest.param([float("nan")], "nan", id="nan")],
)
def test_group_without_order_is_refused(first: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cliffs_delta(first, [1.0])
