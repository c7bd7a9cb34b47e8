"""Alpha spent over looks: published boundaries, an independent integral, and error rates by simulation."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.inference import Look, margin_p_values, nominal_levels, spent
from pytest_tutoreval.inference.sequential import Spending, _root

SPENDING: tuple[Spending, ...] = ("obrien_fleming", "pocock")


def boundaries(levels: tuple[float, ...]) -> list[float]:
    return [-NormalDist().inv_cdf(level) for level in levels]


@pytest.mark.parametrize(
    ("spending", "published"),
    [
        pytest.param("obrien_fleming", [4.877, 3.357, 2.680, 2.290, 2.031], id="OBrien-Fleming"),
        pytest.param("pocock", [2.438, 2.427, 2.410, 2.397, 2.386], id="Pocock"),
    ],
)
def test_boundaries_are_the_published_ones(spending: Spending, published: list[float]) -> None:
    """Five equally spaced looks, two-sided .05, so one-sided .025: Reboussin et al., Controlled Clin. Trials 21."""
    found = boundaries(nominal_levels((2, 4, 6, 8, 10), alpha=0.025, spending=spending))
    assert found == pytest.approx(published, abs=6e-4)


@pytest.mark.parametrize(("spending", "looks"), list(product(SPENDING, [(4, 7, 10), (9, 10), (5, 20, 22)])))
def test_crossing_probabilities_are_what_is_spent(spending: Spending, looks: tuple[int, ...]) -> None:
    """By another road: the multivariate normal of the standardised means, correlation sqrt(t_i / t_j)."""
    alpha = 0.05
    found = boundaries(nominal_levels(looks, alpha=alpha, spending=spending))
    times = [look / looks[-1] for look in looks]
    for k in range(1, len(looks) + 1):
        correlation = [[(min(a, b) / max(a, b)) ** 0.5 for a in times[:k]] for b in times[:k]]
        below = stats.multivariate_normal.cdf(found[:k], mean=np.zeros(k), cov=correlation, abseps=1e-7)
        assert 1 - float(below) == pytest.approx(spent(times[k - 1], alpha=alpha, spending=spending), abs=2e-5)


@pytest.mark.parametrize("spending", SPENDING)
def test_all_of_alpha_is_spent_at_the_end_and_one_look_is_a_plain_test(spending: Spending) -> None:
    assert spent(1.0, alpha=0.05, spending=spending) == pytest.approx(0.05, abs=1e-12)
    assert nominal_levels((10,), alpha=0.05, spending=spending) == pytest.approx((0.05,), abs=1e-12)


@pytest.mark.parametrize("spending", SPENDING)
def test_a_level_far_below_what_is_spent_later_is_still_found(spending: Spending) -> None:
    """One replicate of a hundred, at a guard's share of alpha: O'Brien-Fleming spends 1e-200 there."""
    levels = nominal_levels((1, 50, 99, 100), alpha=0.05 / 50, spending=spending)
    assert all(0.0 <= level < 0.05 / 50 for level in levels)
    assert levels[-1] > 0.0


@settings(max_examples=25)
@given(st.floats(1e-6, 0.5), st.integers(0, 3), st.sampled_from(SPENDING))
def test_a_repeated_p_value_decides_as_its_level_does(p_value: float, index: int, spending: Spending) -> None:
    look = Look((4, 6, 8, 10), index, spending)
    repeated = look.repeated_p(p_value)
    assert p_value <= repeated <= 1.0
    for alpha in (0.01, 0.05):
        level = look.level(alpha)
        if abs(p_value - level) > 1e-6 * level:
            assert (repeated <= alpha) == (p_value <= level)


@pytest.mark.parametrize("looks", [(), (0, 5), (5, 5), (6, 5)], ids=str)
def test_looks_grow(looks: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="growing numbers of replicates"):
        nominal_levels(looks, alpha=0.05, spending="pocock")


@pytest.mark.parametrize("looks", [(1, 200), (2, 400), (1, 2, 1000)])
def test_a_look_too_early_to_spend_anything_has_a_level_nothing_reaches(looks: tuple[int, ...]) -> None:
    """One guard of fourteen: what O'Brien and Fleming spend at the first look is below the smallest double."""
    levels = nominal_levels(looks, alpha=0.05 / 14, spending="obrien_fleming")
    assert 0.0 < levels[0] < 2.0 ** -looks[0]
    assert levels[-1] == pytest.approx(0.05 / 14)


@pytest.mark.slow
@pytest.mark.parametrize(("spending", "alpha"), list(product(SPENDING, [0.05, 0.025])))
def test_looking_four_times_keeps_alpha(spending: Spending, alpha: float) -> None:
    """Exact sign-flip p-values at each look, true mean on the margin: false alarms and false passes over all looks."""
    looks, studies = (6, 8, 11, 14), 10_000
    levels = nominal_levels(looks, alpha=alpha, spending=spending)
    worse = 0.1 + np.random.default_rng(5).normal(size=(studies, looks[-1]))
    alarmed, passed = np.zeros(studies, dtype=bool), np.zeros(studies, dtype=bool)
    naive = np.zeros(studies, dtype=bool)
    for look, level in zip(looks, levels, strict=True):
        found = margin_p_values(worse[:, :look], margin=0.1)
        alarmed |= found.regressed <= level
        passed |= found.held <= level
        naive |= found.regressed <= alpha
    error = 3 * (alpha * (1 - alpha) / studies) ** 0.5
    assert np.mean(alarmed) <= alpha + error
    assert np.mean(passed) <= alpha + error
    assert np.mean(naive) > 1.4 * alpha, "looking without a rule would not keep it"


@pytest.mark.parametrize("backwards", [False, True])
def test_a_root_is_found_in_fewer_steps_than_by_halving(backwards: bool) -> None:
    """Halving 46 down to 1e-12 takes log2(46e12) = 45 steps; a gate asks for thousands of these roots."""
    asked: list[float] = []

    def function(x: float) -> float:
        asked.append(x)
        return (1 - 2 * backwards) * float(stats.norm.logsf(x) - np.log(0.005))

    assert _root(function, -8.0, 38.0) == pytest.approx(NormalDist().inv_cdf(0.995), abs=1e-10)
    assert len(asked) < 25
