"""Differences against a margin: worked by hand, held against scipy, invariances, error rates by simulation."""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.inference import (
    Look,
    decide_guard,
    decide_guards,
    holm,
    margin_p_values,
    needed_replicates,
    smallest_deciding_n,
)

# Eighths are exact in doubles, so that ties are ties.
eighths = st.lists(st.integers(-40, 40).map(lambda number: number / 8), min_size=1, max_size=10)
margins = st.integers(-24, 24).map(lambda number: number / 8)
levels = st.sampled_from([0.01, 0.025, 0.05, 0.1, 0.25])


def test_five_differences_by_hand() -> None:
    """Subset means of .1 .2 .3 .4 .5 run from .1 to .5, and 31 of 32 sign patterns flip something.

    Margin 0: no subset mean is at most 0, so p = (0 + 1)/32 = .03125. Interval at .05: floor(.05 x 32) = 1 pattern may
    be as extreme, the empty one, so its ends are the smallest and the largest subset mean. Margin .15: {.1} and
    {.1, .2}, whose mean ties with it, so p = 3/32.
    """
    decided = decide_guard([0.1, 0.2, 0.3, 0.4, 0.5], margin=0.0, alpha=0.05)
    assert (decided.outcome, decided.p_regressed, decided.p_held, decided.p_floor) == ("regressed", 1 / 32, 1.0, 1 / 32)
    assert (decided.ci_low, decided.ci_high) == (0.1, 0.5)
    assert decided.estimate == pytest.approx(0.3)
    tied = decide_guard([0.1, 0.2, 0.3, 0.4, 0.5], margin=0.15, alpha=0.05)
    assert (tied.outcome, tied.p_regressed) == ("not_decided", 3 / 32)


def test_six_differences_by_hand() -> None:
    """-1 2 3 4 5 6 against 0: {-1} is the only subset mean at most 0, so p = 2/64.

    Interval at .05: floor(.05 x 64) = 3 patterns may be as extreme. Subset means from below: -1, (-1 + 2)/2 = .5,
    (-1 + 3)/2 = 1; with the empty pattern the third would make 4, so the lower end is 1. From above: 6, (6 + 5)/2 =
    5.5, and (6 + 5 + 4)/3 = (6 + 4)/2 = 5 is the upper end.
    """
    decided = decide_guard([-1, 2, 3, 4, 5, 6], margin=0.0, alpha=0.05)
    assert (decided.outcome, decided.p_regressed) == ("regressed", 2 / 64)
    assert (decided.ci_low, decided.ci_high) == (1.0, 5.0)
    held = decide_guard([-1, 2, 3, 4, 5, 6], margin=6.5, alpha=0.05)
    assert (held.outcome, held.p_held) == ("held", 1 / 64)


def test_four_differences_never_decide_at_five_percent() -> None:
    decided = decide_guard([9.0, 9.0, 9.0, 9.0], margin=0.1, alpha=0.05)
    assert (decided.outcome, decided.p_regressed, decided.n_needed) == ("not_decided", 1 / 16, 5)
    assert (decided.ci_low, decided.ci_high) == (None, None)
    assert (smallest_deciding_n(0.05), smallest_deciding_n(1 / 16), smallest_deciding_n(0.05 / 14)) == (5, 4, 9)


@pytest.mark.parametrize(
    ("worse", "outcome", "p_regressed", "p_held"),
    [
        pytest.param([0.0] * 5, "held", 1.0, 1 / 32, id="one-and-the-same"),
        pytest.param([0.1] * 5, "not_decided", 1.0, 1.0, id="all-on-the-margin"),
        pytest.param([0.3] * 5, "regressed", 1 / 32, 1.0, id="all-equal-beyond-it"),
        # 1/3 - 1/4 is 1/12 but for its last bits, and three of them add up to a quarter but for theirs
        pytest.param([0.1 + 1e-17, 0.3 - 0.2, 0.1, 0.2 - 0.1, 0.4 - 0.3], "not_decided", 1.0, 1.0, id="dust-ties"),
    ],
)
def test_equal_differences_are_treated_on_purpose(
    worse: list[float], outcome: str, p_regressed: float, p_held: float
) -> None:
    decided = decide_guard(worse, margin=0.1, alpha=0.05)
    assert (decided.outcome, decided.p_regressed, decided.p_held) == (outcome, p_regressed, p_held)
    if outcome == "not_decided":
        assert decided.n_needed is None, "no number of replicates decides a mean that sits on the margin"


@pytest.mark.parametrize("n", [5, 8, 12])
def test_p_values_are_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    worse, margin = rng.normal(0.1, 0.3, n), 0.05
    found = margin_p_values(worse, margin=margin)
    directions: list[tuple[npt.NDArray[np.float64], Literal["greater", "less"]]]
    directions = [(found.regressed, "greater"), (found.held, "less")]
    for p_value, alternative in directions:
        expected = stats.permutation_test(
            [worse - margin], np.sum, permutation_type="samples", n_resamples=2**n, alternative=alternative
        )
        assert float(p_value) == pytest.approx(expected.pvalue, abs=1e-12)


def test_drawn_patterns_come_near_the_t_test_and_are_recorded() -> None:
    worse = np.random.default_rng(3).normal(0.12, 0.3, 40)
    decided = decide_guard(worse, margin=0.05, alpha=0.05)
    expected = stats.ttest_1samp(worse, 0.05, alternative="greater").pvalue
    assert decided.p_regressed == pytest.approx(expected, abs=0.01)
    assert decided.draws == 19_999
    assert decided == decide_guard(worse, margin=0.05, alpha=0.05), "one seed, one answer"


def test_rows_of_a_batch_are_decided_alone() -> None:
    batch = np.random.default_rng(1).normal(size=(7, 9))
    found = margin_p_values(batch, margin=0.2)
    for row, regressed, held in zip(batch, found.regressed, found.held, strict=True):
        alone = decide_guard(row, margin=0.2, alpha=0.05)
        assert (alone.p_regressed, alone.p_held) == (regressed, held)


@given(eighths, margins, st.randoms())
def test_order_of_replicates_does_not_matter(worse: list[float], margin: float, random: object) -> None:
    shuffled = list(worse)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (decide_guard(values, margin=margin, alpha=0.1) for values in (worse, shuffled))
    assert (one.p_regressed, one.p_held, one.outcome) == (other.p_regressed, other.p_held, other.outcome)
    assert one.ci_low == (None if other.ci_low is None else pytest.approx(other.ci_low, abs=1e-12))


@given(eighths, margins, levels)
def test_swapped_roles_mirror_the_decision(worse: list[float], margin: float, alpha: float) -> None:
    one = decide_guard(worse, margin=margin, alpha=alpha)
    other = decide_guard([-value for value in worse], margin=-margin, alpha=alpha)
    mirrored = {"regressed": "held", "held": "regressed", "not_decided": "not_decided"}
    assert other.outcome == mirrored[one.outcome]
    assert (other.p_regressed, other.p_held) == (one.p_held, one.p_regressed)
    assert other.estimate == -one.estimate
    if one.ci_low is not None and one.ci_high is not None:
        assert (other.ci_low, other.ci_high) == (-one.ci_high, -one.ci_low)


@given(eighths, levels)
def test_interval_contains_the_mean(worse: list[float], alpha: float) -> None:
    decided = decide_guard(worse, margin=0.0, alpha=alpha)
    assume(decided.ci_low is not None and decided.ci_high is not None)
    assert decided.ci_low is not None
    assert decided.ci_high is not None
    assert decided.ci_low - 1e-9 <= decided.estimate <= decided.ci_high + 1e-9


@given(eighths, margins, levels)
def test_interval_and_p_say_the_same(worse: list[float], margin: float, alpha: float) -> None:
    """The margin is outside the interval exactly where it is rejected: both are counts of the same subset means."""
    decided = decide_guard(worse, margin=margin, alpha=alpha)
    # thirds and fifths of eighths carry dust where they tie with the margin
    below = decided.ci_low is not None and margin < decided.ci_low - 1e-9
    above = decided.ci_high is not None and margin > decided.ci_high + 1e-9
    assert (decided.p_regressed <= alpha) == below
    assert (decided.p_held <= alpha) == above
    assert not (below and above)


@given(eighths, st.integers(-8, 8))
def test_scale_does_not_matter(worse: list[float], power: int) -> None:
    scaled = [value * 2.0**power for value in worse]
    one = margin_p_values(worse, margin=0.5)
    other = margin_p_values(scaled, margin=0.5 * 2.0**power)
    assert (float(one.regressed), float(one.held)) == (float(other.regressed), float(other.held))


@pytest.mark.parametrize("worse", [[], [math.nan, 1.0], [math.inf]], ids=["none", "nan", "infinite"])
def test_what_cannot_be_decided_is_an_error(worse: list[float]) -> None:
    with pytest.raises(ValueError, match=r"expected at least one difference|not finite"):
        decide_guard(worse, margin=0.1, alpha=0.05)


# n that would decide


@pytest.mark.parametrize(
    ("effect", "sd", "alpha"),
    [(1.0, 1.0, 0.05), (0.8, 1.0, 0.05), (1.2, 1.0, 0.025), (1.5, 1.0, 0.01), (1.6, 1.0, 0.05 / 14)],
)
def test_needed_replicates_give_the_promised_power(effect: float, sd: float, alpha: float) -> None:
    n = needed_replicates(effect, sd, alpha=alpha)
    assert n is not None
    assert smallest_deciding_n(alpha) <= n <= 16
    worse = np.random.default_rng(7).normal(0.5 + effect, sd, size=(4000, n))
    power = float(np.mean(margin_p_values(worse, margin=0.5).regressed <= alpha))
    assert 0.75 <= power <= 0.90


def test_nothing_decides_where_there_is_no_distance() -> None:
    assert needed_replicates(0.0, 1.0, alpha=0.05) is None
    assert needed_replicates(1.0, 0.0, alpha=0.05) == 5


# a family


def test_a_family_is_adjusted_in_either_direction_separately() -> None:
    jitter = np.linspace(-0.1, 0.1, 10)
    data = [0.6 + jitter, 0.1 + 3 * jitter, jitter - 0.3, 0.3 + jitter]
    single = [decide_guard(worse, margin=0.1, alpha=0.05) for worse in data]
    family = decide_guards(data, margins=[0.1] * 4, alpha=0.05)
    assert [one.p_regressed for one in family] == holm([one.p_regressed for one in single])
    assert [one.p_held for one in family] == holm([one.p_held for one in single])
    assert [one.outcome for one in family] == ["regressed", "not_decided", "held", "regressed"]
    assert {one.level for one in family} == {0.05 / 4}
    bonferroni = decide_guards(data, margins=[0.1] * 4, alpha=0.05, multiplicity="bonferroni")
    assert [one.p_regressed for one in bonferroni] == [min(1.0, 4 * one.p_regressed) for one in single]


def test_guards_that_could_not_be_read_make_nothing_easier() -> None:
    data = [np.full(8, 0.5)]
    alone = decide_guards(data, margins=[0.1], alpha=0.05)[0]
    among = decide_guards(data, margins=[0.1], alpha=0.05, n_guards=20)[0]
    assert (alone.outcome, alone.p_regressed) == ("regressed", 1 / 256)
    # 20/256 > .05: with 20 guards eight equal differences are not enough, nine are (20/512)
    assert (among.outcome, among.p_regressed, among.n_needed) == ("not_decided", 20 / 256, 9)


def test_bonferroni_intervals_and_bonferroni_decisions_agree() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        data = [rng.normal(mean, 0.2, 9) for mean in (0.3, 0.1, -0.1)]
        for one in decide_guards(data, margins=[0.1] * 3, alpha=0.05, multiplicity="bonferroni"):
            assert one.ci_low is not None
            assert one.ci_high is not None
            assert (one.outcome == "regressed") == (one.ci_low > 0.1)
            assert (one.outcome == "held") == (one.ci_high < 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("multiplicity", ["holm", "bonferroni"])
def test_no_false_alarm_and_no_false_pass_beyond_alpha(multiplicity: str) -> None:
    """Six correlated guards whose true means sit on their margins: both errors, at once, over 4,000 families."""
    rng = np.random.default_rng(20)
    families, alpha = 4000, 0.05
    alarmed = passed = 0
    for _ in range(families):
        common = rng.laplace(0.0, 0.1, 10)
        data = [0.1 + common + rng.laplace(0.0, 0.1, 10) for _ in range(6)]
        outcomes = [
            one.outcome
            for one in decide_guards(data, margins=[0.1] * 6, alpha=alpha, multiplicity=multiplicity)  # type: ignore[arg-type]
        ]
        alarmed += "regressed" in outcomes
        passed += "held" in outcomes
    # the Monte Carlo error of a rate of .05 over 4,000 is .0034
    assert alarmed / families <= alpha + 3 * 0.0034
    assert passed / families <= alpha + 3 * 0.0034
    assert alarmed > 0
    assert passed > 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 10, 14])
def test_one_guard_keeps_its_level_on_the_margin(n: int) -> None:
    """Exact under symmetry: on the margin either error has the largest multiple of 2^-n below alpha."""
    worse = 0.1 + np.random.default_rng(n).standard_t(3, size=(20_000, n))
    found = margin_p_values(worse, margin=0.1)
    attainable = math.floor(0.05 * 2**n) / 2**n
    for p_values in (found.regressed, found.held):
        assert float(np.mean(p_values <= 0.05)) == pytest.approx(attainable, abs=4 * math.sqrt(0.05 * 0.95 / 20_000))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "passed"), [(6, 0.53), (10, 0.34)])
def test_what_rarely_happens_passes_too_easily_as_is_said(n: int, passed: float) -> None:
    """All given away in every tenth session, margin .10: with none seen, .9^6 = .53, all differences are 0 and hold."""
    worse = (np.random.default_rng(n).random((20_000, n)) < 0.1).astype(float)
    found = margin_p_values(worse, margin=0.1)
    assert float(np.mean(found.held <= 0.05)) == pytest.approx(passed, abs=0.015)
    assert float(np.mean(found.regressed <= 0.05)) < 0.01


def test_a_look_decides_on_repeated_p_values() -> None:
    look = Look((6, 8, 10), 1, "pocock")
    data = [np.array([0.4, 0.5, 0.6, 0.5, 0.4, 0.6, 0.5, 0.5])]
    first = decide_guards(data, margins=[0.1], alpha=0.05, looks=[look])[0]
    assert first.outcome == "regressed"
    assert first.level == look.level(0.05)
    assert first.p_regressed == look.repeated_p(1 / 256)
    assert first.p_regressed > 1 / 256
