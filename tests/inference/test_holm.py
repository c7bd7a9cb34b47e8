"""Holm's adjustment within a family of fixed size."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from pytest_tutoreval.inference import holm

CHANCES = st.floats(0.0, 1.0)


def test_three_members_by_hand() -> None:
    # sorted .01 .03 .04; 3 x .01 = .03; 2 x .03 = .06; 1 x .04 = .04, held up at the running maximum .06
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06], abs=1e-15)


def test_a_product_above_one_is_one() -> None:
    # 2 x .6 = 1.2 -> 1; then max(1, .7) = 1
    assert holm([0.7, 0.6]) == [1.0, 1.0]


def test_a_family_of_one_is_unchanged() -> None:
    assert holm([0.049]) == [0.049]


@given(st.lists(CHANCES, min_size=1, max_size=8))
def test_it_is_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(expected.tolist(), abs=1e-15)


@given(st.lists(CHANCES, min_size=1, max_size=6), st.randoms())
def test_order_of_the_members_changes_nothing(p_values: list[float], random: object) -> None:
    order = list(range(len(p_values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    adjusted = holm(p_values)
    assert holm([p_values[i] for i in order]) == [adjusted[i] for i in order]


@pytest.mark.parametrize("missing", [pytest.param(None, id="none"), pytest.param(math.nan, id="nan")])
def test_a_missing_member_is_never_a_smaller_family(missing: float | None) -> None:
    with pytest.raises(ValueError, match=r"p_values\[1\] = .* is missing; a family has a fixed size"):
        holm([0.01, missing, 0.03])


@pytest.mark.parametrize("p_value", [-0.1, 1.1, math.inf])
def test_what_is_no_chance_is_refused(p_value: float) -> None:
    with pytest.raises(ValueError, match=r"p_values\[0\] = .* is no p-value"):
        holm([p_value])


def test_an_empty_family_is_refused() -> None:
    with pytest.raises(ValueError, match="p_values is empty"):
        holm([])
