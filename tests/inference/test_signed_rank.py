import dataclasses
import itertools
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.inference import attainable_floor, signed_rank

# shared/STATISTICS.md, section 6: p of the true permutation distribution.
TABLE = [
    pytest.param([1, 2, -3, 4, 5, -6, 7, 8, 9, 10], 0.064453, id="untied"),
    pytest.param([1, 1, -1, 2, 2, -3, 3, 4, 4, 5], 0.062500, id="ties"),
    pytest.param([0, 2, -3, 4, 5, -6, 7, 8, 9, 10], 0.074219, id="a-zero"),
    pytest.param([0, 0, 1, 1, -1, 2, 2, -2, 3, 4], 0.164062, id="zeros-and-ties"),
    pytest.param([3, 4, 2, -2, 4, -4, 2, -2, 2, -3], 638 / 1024, id="gemini-leakage"),
    pytest.param([0] * 10, 1.0, id="all-zero"),
]


def enumerated_p(differences: list[float]) -> float:
    """Every sign pattern, midranks from scipy: no dynamic programme, no symmetry assumed."""
    used = [d for d in differences if d != 0]
    ranks: list[float] = stats.rankdata(np.abs(used)).tolist()
    observed = sum(r for r, d in zip(ranks, used, strict=True) if d > 0)
    sums = [
        sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in itertools.product([0, 1], repeat=len(used))
    ]
    lower = sum(s <= observed for s in sums) / len(sums)
    upper = sum(s >= observed for s in sums) / len(sums)
    return min(1.0, 2 * min(lower, upper))


def test_three_positive_pairs_worked_by_hand() -> None:
    # Ranks 1, 2, 3 all positive: W- = 0, one of the 2**3 patterns is as low, p = 2 * 1/8.
    result = signed_rank([1.0, 2.0, 4.0])
    assert (result.statistic, result.p_value, result.n_used, result.n_zero) == (0.0, 0.25, 3, 0)


def test_tied_pairs_share_a_midrank_worked_by_hand() -> None:
    # |d| = 1, 1, 2: ranks 1.5, 1.5, 3. W- = 1.5; sums <= 1.5 are {}, {1.5}, {1.5}: p = 2 * 3/8.
    result = signed_rank([-1.0, 1.0, 2.0])
    assert (result.statistic, result.p_value) == (1.5, 0.75)


@pytest.mark.parametrize(("differences", "p_value"), TABLE)
def test_p_is_the_measured_permutation_p(differences: list[float], p_value: float) -> None:
    assert signed_rank(differences).p_value == pytest.approx(p_value, abs=5e-7)


@pytest.mark.parametrize(("differences", "p_value"), TABLE)
def test_agrees_with_scipy(differences: list[float], p_value: float) -> None:
    # scipy >= 1.15: stats.wilcoxon(d), method "auto", zero_method "wilcox", two-sided
    with np.errstate(invalid="ignore"):  # scipy divides by 0 on its way to p = 1 for all zeros
        theirs = stats.wilcoxon(differences)
    ours = signed_rank(differences)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-12)


@given(st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=9))
def test_p_is_that_of_enumerated_sign_patterns(differences: list[float]) -> None:
    assert signed_rank(differences).p_value == enumerated_p(differences)


@given(st.lists(st.floats(-1e6, 1e6), max_size=40), st.randoms(use_true_random=False))
def test_order_does_not_change_the_test_and_the_sign_turns_its_side_alone(
    differences: list[float], random: Random
) -> None:
    shuffled = [-d for d in differences]
    random.shuffle(shuffled)
    turned = signed_rank(shuffled)
    assert dataclasses.replace(turned, side=-turned.side) == signed_rank(differences)


@pytest.mark.parametrize(
    ("differences", "side"),
    [
        pytest.param([1.0, 2.0, -4.0], 0, id="1+2-against-3"),
        pytest.param([1.0, 3.0, -2.0], 1, id="1+3-against-2"),
        pytest.param([-1.0, -2.0, -3.0, 100.0], -1, id="1+2+3-against-4-however-large"),
        pytest.param([0.0, 0.0], 0, id="nothing-ranked"),
    ],
)
def test_the_side_is_that_of_the_larger_rank_sum(differences: list[float], side: int) -> None:
    assert signed_rank(differences).side == side


def test_only_bit_equal_differences_tie() -> None:
    # 0.3 - 0.2 = 0.09999999999999998 is below 0.1, so the ranks are 1, 2, 3 and W- = 1: p = 2 * 2/8.
    assert signed_rank([-(0.3 - 0.2), 0.1, 1.0]).p_value == 0.5
    assert signed_rank([-0.1, 0.1, 1.0]).p_value == 0.75


def test_large_samples_agree_with_the_normal_approximation() -> None:
    differences = np.random.default_rng(3).normal(0.03, 1.0, 600)
    approximate = stats.wilcoxon(differences, method="approx").pvalue
    assert signed_rank(differences).p_value == pytest.approx(approximate, rel=0.01)


@pytest.mark.parametrize("n", [1, 2, 5, 6, 10, 40])
def test_all_positive_pairs_reach_the_floor(n: int) -> None:
    assert signed_rank(np.arange(1.0, n + 1)).p_value == attainable_floor(n) == min(1.0, 2 / 2**n)


def test_floor_of_no_pairs_is_one() -> None:
    assert attainable_floor(0) == 1.0


def test_floor_of_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="n = -1"):
        attainable_floor(-1)


def test_nothing_to_rank_is_p_one() -> None:
    assert signed_rank([]).p_value == 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_difference_is_refused_by_name(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"differences\[1\] = {bad}"):
        signed_rank([1.0, bad])


def test_table_of_differences_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        signed_rank([[1.0, 2.0]])
