"""Agreement of two raters: rank correlation, quadratic kappa, and the interval over whole clusters."""

import math

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from pytest_tutoreval.errors import DegenerateData
from pytest_tutoreval.inference import (
    cluster_interval,
    quadratic_kappa,
    quadratic_kappa_of_draws,
    spearman,
    spearman_of_draws,
)

FloatArray = npt.NDArray[np.float64]
RATING = st.integers(1, 5)
THIRDS = st.integers(3, 15).map(lambda k: k / 3)
PAIRS = st.lists(st.tuples(RATING, RATING), min_size=2, max_size=40)
CLUSTERS = st.lists(st.lists(st.tuples(THIRDS, THIRDS), min_size=1, max_size=6), min_size=2, max_size=8)


def columns(pairs: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


# spearman


def test_spearman_by_hand_with_a_tie() -> None:
    # ranks of 1 2 2 3 are 1 2.5 2.5 4, of 2 1 3 4 they are 2 1 3 4; both means are 2.5
    # deviations -1.5 0 0 1.5 and -.5 -1.5 .5 1.5: product sum .75 + 2.25 = 3, squares 4.5 and 5
    assert spearman([1, 2, 2, 3], [2, 1, 3, 4]) == pytest.approx(3 / math.sqrt(4.5 * 5), abs=1e-15)


def test_the_same_order_is_exactly_one_and_the_opposite_minus_one() -> None:
    assert spearman([1, 4, 4, 5], [2, 3, 3, 9]) == 1.0
    assert spearman([1, 4, 4, 5], [9, 3, 3, 2]) == -1.0


@given(st.lists(st.tuples(THIRDS, THIRDS), min_size=2, max_size=60))
def test_spearman_is_scipy(pairs: list[tuple[float, float]]) -> None:
    first, second = columns(pairs)
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    assert spearman(first, second) == pytest.approx(scipy.stats.spearmanr(first, second).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [([5, 5, 5], [1, 2, 3], "first is 5"), ([1, 2, 3], [4, 4, 4], "second is 4")],
)
def test_a_rater_without_an_order_is_named(first: list[float], second: list[float], named: str) -> None:
    with pytest.raises(DegenerateData, match=f"{named} for all 3 items") as caught:
        spearman(first, second)
    assert caught.value.kind == "constant scores"


# kappa


def test_kappa_by_hand() -> None:
    # squares of differences: (1,1) 0, (2,1) 1, (3,5) 4, (5,5) 0: observed 5
    # expected: sum over all 16 cross pairs of (a - b)**2 / 4. a = 1 2 3 5, b = 1 1 5 5
    # a=1: 0 0 16 16 = 32; a=2: 1 1 9 9 = 20; a=3: 4 4 4 4 = 16; a=5: 16 16 0 0 = 32; 100 / 4 = 25
    assert quadratic_kappa([1, 2, 3, 5], [1, 1, 5, 5]) == pytest.approx(1 - 5 / 25, abs=1e-15)


@pytest.mark.parametrize("ratings", [pytest.param([5, 5, 5], id="ceiling"), pytest.param([3], id="one-item")])
def test_no_expected_disagreement_is_one(ratings: list[float]) -> None:
    assert quadratic_kappa(ratings, ratings) == 1.0


def test_one_constant_rater_gives_zero() -> None:
    # observed 0 + 1 + 4 = 5, expected the same: chance agreement
    assert quadratic_kappa([5, 4, 3], [5, 5, 5]) == 0.0


@given(PAIRS)
def test_kappa_is_statsmodels_over_the_full_table(pairs: list[tuple[int, int]]) -> None:
    first, second = columns([(float(a), float(b)) for a, b in pairs])
    assume(len(set(first) | set(second)) > 1)
    table = np.zeros((5, 5))
    for a, b in pairs:
        table[a - 1, b - 1] += 1
    expected = cohens_kappa(table, wt="quadratic", return_results=False)
    assert quadratic_kappa(first, second) == pytest.approx(expected, abs=1e-12)


def test_a_category_nobody_used_still_counts() -> None:
    # without 3 in the list, 2 and 4 would stand one step apart (STATISTICS, section 7)
    assert quadratic_kappa([2, 4, 2], [4, 4, 2]) == quadratic_kappa([1, 3, 1], [3, 3, 1])
    assert quadratic_kappa([1, 2, 4], [2, 2, 4]) != quadratic_kappa([1, 2, 4], [2, 2, 4], categories=(1, 2, 4))


def test_a_value_that_is_no_category_is_named() -> None:
    with pytest.raises(ValueError, match=r"second\[1\] = 4.5 is no category; expected one of 1, 2, 3, 4, 5"):
        quadratic_kappa([4, 4], [4, 4.5])
    with pytest.raises(ValueError, match=r"first\[0\] = 6 is no category"):
        quadratic_kappa([6], [5])


@pytest.mark.parametrize("categories", [(1,), (2, 1), (1, 1, 2)])
def test_categories_stand_in_order(categories: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected at least two, in rising order"):
        quadratic_kappa([1, 2], [1, 2], categories)


@given(PAIRS)
def test_swapped_raters_agree_as_well(pairs: list[tuple[int, int]]) -> None:
    first, second = columns([(float(a), float(b)) for a, b in pairs])
    assert quadratic_kappa(first, second) == quadratic_kappa(second, first)
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert spearman(first, second) == spearman(second, first)


@given(PAIRS, st.permutations(range(40)))
def test_the_order_of_the_items_changes_nothing(pairs: list[tuple[int, int]], order: list[int]) -> None:
    shuffled = [pairs[i] for i in order if i < len(pairs)]
    assert quadratic_kappa(*columns([(float(a), float(b)) for a, b in pairs])) == quadratic_kappa(
        *columns([(float(a), float(b)) for a, b in shuffled])
    )


@pytest.mark.parametrize("statistic", [spearman, quadratic_kappa])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        pytest.param([1, 2], [1], "first has shape", id="lengths"),
        pytest.param([], [], "at least one", id="nothing"),
        pytest.param([[1, 2]], [[1, 2]], "one dimension", id="a-table"),
        pytest.param([1, math.nan], [1, 2], r"first\[1\] = nan is not finite", id="unrated"),
        pytest.param([1, 2], [math.inf, 2], r"second\[0\] = inf is not finite", id="infinite"),
    ],
)
def test_what_cannot_be_compared_is_named(statistic: object, first: object, second: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        statistic(first, second)  # type: ignore[operator]


# the interval


def test_it_is_the_loop_over_single_draws() -> None:
    rng = np.random.default_rng(5)
    clusters = [(rng.integers(1, 6, 4), rng.integers(1, 6, 4)) for _ in range(7)]
    ours = cluster_interval(spearman_of_draws, clusters, rng=np.random.default_rng(0), draws=300)
    stream, values = np.random.default_rng(0), []
    for _ in range(300):
        drawn = [clusters[i] for i in stream.choice(7, 7, replace=True)]
        values.append(
            scipy.stats.spearmanr(
                np.concatenate([a for a, _ in drawn]), np.concatenate([b for _, b in drawn])
            ).statistic
        )
    assert (ours.low, ours.high) == pytest.approx(np.percentile(values, [2.5, 97.5]), abs=1e-12)
    assert (ours.draws, ours.n_clusters, ours.n_undefined, ours.level) == (300, 7, 0, 0.95)


@given(CLUSTERS)
def test_every_item_twice_changes_no_interval(clusters: list[list[tuple[float, float]]]) -> None:
    once = [columns(cluster) for cluster in clusters]
    twice = [columns(cluster * 2) for cluster in clusters]
    try:
        expected = cluster_interval(spearman_of_draws, once, rng=np.random.default_rng(0), draws=50)
    except DegenerateData:
        return
    found = cluster_interval(spearman_of_draws, twice, rng=np.random.default_rng(0), draws=50)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.n_undefined == expected.n_undefined


def test_draws_without_a_value_are_counted_and_left_out() -> None:
    clusters = [([5, 5], [5, 4]), ([4, 5], [5, 4])]
    # of draws of two out of two, the first alone is constant for the first rater
    found = cluster_interval(spearman_of_draws, clusters, rng=np.random.default_rng(0), draws=200)
    drawn = np.random.default_rng(0).choice(2, size=(200, 2))
    assert found.n_undefined == int((drawn == 0).all(axis=1).sum()) > 0


def test_a_statistic_without_any_value_has_no_interval() -> None:
    with pytest.raises(DegenerateData, match="defined in none of 20 draws of 1 clusters") as caught:
        cluster_interval(spearman_of_draws, [([5, 5], [4, 5])], rng=np.random.default_rng(0), draws=20)
    assert caught.value.kind == "undefined statistic"


@pytest.mark.parametrize(
    ("clusters", "changes", "message"),
    [
        ([], {}, "clusters is empty"),
        ([([], [])], {}, "at least one"),
        ([([1], [1])], {"draws": 0}, "draws = 0"),
        ([([1], [1])], {"level": 1.0}, "level = 1.0"),
    ],
)
def test_a_wrong_argument_is_named(clusters: list[object], changes: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cluster_interval(quadratic_kappa_of_draws, clusters, rng=np.random.default_rng(0), **changes)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_interval_covers_what_the_population_has(capsys: pytest.CaptureFixture[str]) -> None:
    # Conversations with a common level and turns around it; the truth is taken from 40 000 conversations.
    def conversations(rng: np.random.Generator, n: int) -> list[tuple[FloatArray, FloatArray]]:
        made = []
        for _ in range(n):
            level, size = rng.normal(0, 0.7), int(rng.integers(4, 9))
            turn = level + rng.normal(0, 0.8, size)
            one, other = (np.clip(np.rint(3.5 + turn + rng.normal(0, 0.6, size)), 1, 5) for _ in range(2))
            made.append((one, other))
        return made

    population = conversations(np.random.default_rng(1), 40_000)
    truth = quadratic_kappa(np.concatenate([a for a, _ in population]), np.concatenate([b for _, b in population]))
    sets, covered = 300, 0
    for number in range(sets):
        rng = np.random.default_rng([2, number])
        found = cluster_interval(quadratic_kappa_of_draws, conversations(rng, 40), rng=rng, draws=400)
        covered += found.low <= truth <= found.high
    with capsys.disabled():
        print(f"\nkappa {truth:.3f}: covered by {covered} of {sets} intervals over 40 conversations")
    # percentile intervals of 40 clusters fall a little short of .95
    assert covered / sets > 0.88


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4)), min_size=2, max_size=12),
)
def test_counts_are_repeated_items(rows: list[tuple[int, int, int]]) -> None:
    repeated = [(a, b) for a, b, times in rows for _ in range(times)]
    one, other, times = (np.array(column) for column in zip(*rows, strict=True))
    draws = np.stack([times, np.ones_like(times)])  # a second draw beside it changes nothing
    if not repeated:
        for of_draws in (spearman_of_draws, quadratic_kappa_of_draws):
            with pytest.raises(ValueError, match="a draw without any item"):
                of_draws(one, other, draws)
        return
    first, second = (np.array(column, dtype=float) for column in zip(*repeated, strict=True))
    assert quadratic_kappa_of_draws(one, other, draws)[0] == quadratic_kappa(first, second)
    found = spearman_of_draws(one, other, draws)[0]
    try:
        assert found == spearman(first, second)
    except DegenerateData:
        assert np.isnan(found)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        pytest.param([[1, -1]], "below 0", id="negative"),
        pytest.param([[1]], "expected whole numbers, 2 a draw", id="length"),
        pytest.param([1, 1], "expected whole numbers, 2 a draw", id="no-draws"),
        pytest.param([[0.5, 1.0]], "expected whole numbers, 2 a draw", id="fractions"),
    ],
)
def test_wrong_counts_are_named(counts: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spearman_of_draws(np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array(counts))
