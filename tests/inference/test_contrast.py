import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.errors import DegenerateData, UnpairedError
from pytest_tutoreval.inference import Contrast, paired_contrast

_PAIRS = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=12)


def contrast(conv: list[float], ped: list[float]) -> Contrast:
    return paired_contrast(conv, ped, rng=np.random.default_rng(0), draws=300)


def test_four_replicates_worked_by_hand() -> None:
    # Pairs (.5, 0), (1, .25), (.5, .5), and one undefined. d = .5, .75, 0; mean 1.25 / 3. Ranks 1, 2,
    # both positive: W = 0, p = 2 * 1/4. Delta of {.5, 1, .5} over {0, .25, .5}:
    # .5 is above 0 and .25 (twice), 1 is above all three: 7 above, 0 below, of 9.
    result = contrast([0.5, 1.0, 0.5, math.nan], [0.0, 0.25, 0.5, 0.5])
    assert result.value == 1.25 / 3
    assert (result.statistic, result.p_value, result.cliffs_delta) == (0.0, 0.5, 7 / 9)
    assert (result.n_pairs, result.n_dropped, result.n_zero, result.draws) == (3, 1, 1, 300)
    assert (result.conv_mean, result.ped_mean) == (2 / 3, 0.25)


@given(_PAIRS)
def test_swapped_arms_flip_value_and_delta_and_mirror_the_interval(pairs: list[tuple[float, float]]) -> None:
    conv, ped = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = contrast(conv, ped), contrast(ped, conv)
    assert (back.value, back.cliffs_delta) == (-there.value, -there.cliffs_delta)
    assert (back.statistic, back.p_value) == (there.statistic, there.p_value)
    assert (back.ci_low, back.ci_high) == pytest.approx((-there.ci_high, -there.ci_low), abs=1e-12)


@given(_PAIRS)
def test_replicate_order_changes_the_interval_alone(pairs: list[tuple[float, float]]) -> None:
    def without_interval(order: list[tuple[float, float]]) -> Contrast:
        result = contrast([a for a, _ in order], [b for _, b in order])
        return dataclasses.replace(result, ci_low=0.0, ci_high=0.0)

    assert without_interval(pairs[::-1]) == without_interval(pairs)


def test_undefined_pair_is_dropped_from_the_arm_means_too() -> None:
    result = contrast([1.0, math.nan, 3.0], [0.0, 9.0, 1.0])
    assert (result.conv_mean, result.ped_mean, result.n_dropped) == (2.0, 0.5, 1)


def test_equal_arms_have_p_one() -> None:
    result = contrast([0.5, 0.25], [0.5, 0.25])
    assert (result.value, result.p_value, result.n_zero) == (0.0, 1.0, 2)


def test_rounded_test_is_a_note_beside_the_raw_one() -> None:
    # d = -(0.3 - 0.2), 0.1, 1: three ranks raw, a tie at 1.5 when rounded (see test_signed_rank).
    result = contrast([0.2, 0.1, 1.0], [0.3, 0.0, 0.0])
    assert (result.p_value, result.p_value_rounded) == (0.5, 0.75)


def test_delta_may_differ_in_sign_from_the_mean() -> None:
    result = contrast([1.0, 1.0, 9.0], [2.0, 2.0, 2.0])
    assert result.value > 0 > result.cliffs_delta


def test_arms_of_different_length_cannot_be_paired() -> None:
    with pytest.raises(UnpairedError, match="conv has 2 replicates and ped has 3"):
        contrast([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("conv", [pytest.param([], id="empty"), pytest.param([math.nan], id="all-undefined")])
def test_no_pair_left_is_degenerate(conv: list[float]) -> None:
    with pytest.raises(DegenerateData) as caught:
        contrast(conv, [1.0] * len(conv))
    assert caught.value.kind == "no pairs"


def test_infinite_value_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"ped\[1\] = -inf"):
        contrast([1.0, 2.0], [1.0, -math.inf])


def test_table_for_an_arm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"conv has shape \(1, 1\)"):
        paired_contrast([[1.0]], [1.0], rng=np.random.default_rng(0))


def test_a_null_moves_the_test_and_nothing_else() -> None:
    # differences .25 .5 .75 1 1.25 1.5 against .625: -.375 -.125 .125 .375 .625 .875, ranks 3.5 1.5 1.5 3.5 5 6:
    # W- = 5 of 21; all exact in binary. Against 2 all six are negative: W = 0, p = 2/64.
    first, second = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5], [0.0] * 6
    plain = paired_contrast(first, second, rng=np.random.default_rng(0), draws=300)
    for null, statistic in ((0.625, 5.0), (2.0, 0.0), (0.0, 0.0)):
        shifted = paired_contrast(first, second, rng=np.random.default_rng(0), draws=300, null=null)
        assert shifted.statistic == statistic
        # W+ = 16 above .625, nothing above 2, all above 0
        assert shifted.side == {0.625: 1, 2.0: -1, 0.0: 1}[null]
        tested: dict[str, Any] = {"statistic": 0.0, "p_value": 0.0, "p_value_rounded": 0.0, "side": 0}
        assert dataclasses.replace(shifted, **tested) == dataclasses.replace(plain, **tested)
    assert paired_contrast(first, second, rng=np.random.default_rng(0), draws=300, null=2.0).p_value == 2 / 64


@pytest.mark.parametrize(("first", "second"), [(0.4, 0.3), (0.35, 0.25), (0.8, 0.7), (0.6, 0.5)])
def test_pairs_at_the_null_are_zeros_however_they_were_written(first: float, second: float) -> None:
    """As doubles .4 - .3 lies above .1 and .6 - .5 below it: six such pairs would decide either way by a last bit."""
    contrast = paired_contrast([first] * 6, [second] * 6, rng=np.random.default_rng(0), draws=300, null=0.1)
    assert (contrast.n_zero, contrast.p_value) == (6, 1.0)


def test_magnitudes_that_tie_about_the_null_share_a_rank() -> None:
    first, second = [0.4, 0.5, 0.3, 0.2, 0.1, 0.7], [0.2, 0.3, 0.3, 0.2, 0.1, 0.5]
    contrast = paired_contrast(first, second, rng=np.random.default_rng(0), draws=300, null=0.1)
    # .2 .2 0 0 0 .2 minus .1: three up, three down, all of magnitude .1, midrank 3.5: W+ = W- = 10.5, p = 1
    assert (contrast.statistic, contrast.p_value, contrast.side) == (10.5, 1.0, 0)


def test_pairs_at_the_null_are_its_zeros() -> None:
    contrast = paired_contrast([0.5, 0.75, 1.0], [0.0] * 3, rng=np.random.default_rng(0), draws=300, null=0.75)
    assert (contrast.n_pairs, contrast.n_zero) == (3, 1)
