import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.inference import percentile_interval


@pytest.mark.parametrize("n", [1, 2, 7, 9, 10, 13])
def test_interval_is_that_of_one_draw_at_a_time(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    rng = np.random.default_rng(0)
    means = [np.mean(rng.choice(values, size=n, replace=True)) for _ in range(2000)]
    interval = percentile_interval(values, rng=np.random.default_rng(0), draws=2000)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-12)


def test_agrees_with_scipy_percentile_bootstrap() -> None:
    values = np.random.default_rng(1).normal(size=10)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    ours = percentile_interval(values, rng=np.random.default_rng(6), draws=20_000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_two_values_worked_by_hand() -> None:
    # Resample means of {0, 1} are 0, .5, 1 with chances 1/4, 1/2, 1/4: the quartiles' outside are 0 and 1.
    interval = percentile_interval([0.0, 1.0], rng=np.random.default_rng(0))
    assert (interval.low, interval.high, interval.level, interval.draws) == (0.0, 1.0, 0.95, 10_000)


def test_equal_values_give_an_interval_of_no_width() -> None:
    interval = percentile_interval([0.25] * 10, rng=np.random.default_rng(0), draws=100)
    assert (interval.low, interval.high) == (0.25, 0.25)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=12))
def test_interval_of_negated_values_is_mirrored(values: list[float]) -> None:
    interval = percentile_interval(values, rng=np.random.default_rng(0), draws=200)
    mirrored = percentile_interval(np.negative(values), rng=np.random.default_rng(0), draws=200)
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low), abs=1e-11)


def test_lower_level_is_narrower() -> None:
    values = np.random.default_rng(2).normal(size=10)
    wide = percentile_interval(values, rng=np.random.default_rng(0))
    narrow = percentile_interval(values, rng=np.random.default_rng(0), level=0.5)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("values", "draws", "level", "message"),
    [
        pytest.param([], 10, 0.95, r"shape \(0,\)", id="empty"),
        pytest.param([1.0, float("nan")], 10, 0.95, r"values\[1\] = nan", id="nan"),
        pytest.param([1.0], 0, 0.95, "draws = 0", id="no-draws"),
        pytest.param([1.0], 10, 95.0, "level = 95.0", id="level-in-percent"),
    ],
)
def test_wrong_argument_is_named(values: list[float], draws: int, level: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        percentile_interval(values, rng=np.random.default_rng(0), draws=draws, level=level)


@pytest.mark.slow
def test_interval_of_forty_normal_values_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(20)
    covered = 0
    for _ in range(1000):
        interval = percentile_interval(rng.normal(size=40), rng=rng, draws=1000)
        covered += interval.low <= 0.0 <= interval.high
    # The percentile bootstrap is a little short at n = 40: about .935, with a simulation error of .008.
    assert 0.91 <= covered / 1000 <= 0.96
