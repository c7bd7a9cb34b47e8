"""Leaky against non-leaky turns within replicates: by hand, by scipy, by symmetry, and on the study's tables."""

import csv
import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_tutoreval.errors import DegenerateData
from pytest_tutoreval.inference import TwoStage, two_stage

LEGS = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}


def run(rows: list[tuple[float, bool, int]], *, draws: int = 200) -> TwoStage:
    outcome, leaky, replicate = zip(*rows, strict=True)
    return two_stage(outcome, leaky, replicate, rng=np.random.default_rng(0), draws=draws)


# Replicate 0: 5 - (4 + 3) / 2 = 1.5; replicate 1: (2 + 4) / 2 - 4 = -1; replicate 2: 5 - 2 = 3; replicate 3 has no
# leaky turn, replicate 4 no other.
BY_HAND = [
    *[(5.0, True, 0), (4.0, False, 0), (3.0, False, 0)],
    *[(2.0, True, 1), (4.0, True, 1), (4.0, False, 1)],
    *[(5.0, True, 2), (2.0, False, 2)],
    *[(1.0, False, 3), (2.0, True, 4)],
]


def test_value_is_the_mean_over_replicates_of_the_difference_within() -> None:
    # (1.5 - 1 + 3) / 3
    assert run(BY_HAND).value == pytest.approx(3.5 / 3, abs=1e-15)


def test_test_is_the_signed_rank_of_the_differences() -> None:
    # ranks of 1.5, -1, 3 are 2, 1, 3: W- = 1, and 2 of 8 sign patterns lie as low on each side: p = .5
    found = run(BY_HAND)
    assert (found.statistic, found.p_value) == (1.0, 0.5)
    assert (found.n_above, found.n_below) == (2, 1)


def test_replicates_lacking_either_kind_are_skipped_and_counted() -> None:
    found = run(BY_HAND)
    assert (found.n_used, found.n_skipped) == (3, 2)


def test_without_both_kinds_anywhere_there_is_nothing_to_compare() -> None:
    with pytest.raises(DegenerateData, match="None of the 2 replicates has both leaky and non-leaky turns") as error:
        run([(1.0, True, 0), (2.0, True, 1)])
    assert error.value.kind == "no pairs"


def test_lengths_that_differ_are_named() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2,\), \(1,\) and \(2,\)"):
        two_stage([1.0, 2.0], [True], [0, 0], rng=np.random.default_rng(0))


def test_value_that_is_not_finite_is_named() -> None:
    with pytest.raises(ValueError, match=r"outcome\[1\] = nan is not finite"):
        run([(1.0, True, 0), (float("nan"), False, 0)])


def test_difference_of_rounding_alone_is_a_rank_in_numpy_s_means_and_none_in_exact_ones() -> None:
    # The same three values in two orders: no difference in exact arithmetic, one of rounding in a running sum.
    values = [0.1, 0.2, 0.3]
    assert np.mean(values) != np.mean(values[::-1])
    rows = [(value, True, 0) for value in values] + [(value, False, 0) for value in values[::-1]]
    found = run([*rows, (1.0, True, 1), (0.0, False, 1)])
    # exact: one rank alone, p = 1; numpy: two ranks, the smaller of either sign
    assert (found.p_value_exact, found.statistic_exact) == (1.0, 0.0)
    assert found.p_value in (0.5, 1.0)
    assert found.n_above + found.n_below == 2


def some_rows() -> st.SearchStrategy[list[tuple[float, bool, int]]]:
    """Five replicates with turns of both kinds, scores in thirds as the judges give them."""
    score = st.integers(3, 15).map(lambda thirds: thirds / 3)
    pair = st.tuples(st.lists(score, min_size=1, max_size=6), st.lists(score, min_size=1, max_size=6))
    return st.lists(pair, min_size=5, max_size=5).map(
        lambda pairs: [
            (value, leaky, number)
            for number, of in enumerate(pairs)
            for leaky, values in zip((True, False), of, strict=True)
            for value in values
        ]
    )


@given(some_rows())
def test_it_is_scipy_s_test_of_the_within_replicate_differences(rows: list[tuple[float, bool, int]]) -> None:
    differences = []
    for number in range(5):
        kinds = [[value for value, leaky, of in rows if of == number and leaky is kind] for kind in (True, False)]
        differences.append(math.fsum(kinds[0]) / len(kinds[0]) - math.fsum(kinds[1]) / len(kinds[1]))
    found = run(rows)
    assert found.value == pytest.approx(statistics.mean(differences), abs=1e-12)
    ranked = [difference for difference in differences if difference]
    if len(ranked) > 1:
        # method="exact" refuses ties; the permutation method goes through all 2**n sign patterns
        theirs = stats.wilcoxon(ranked, method=stats.PermutationMethod(n_resamples=2**6))
        assert found.p_value_exact == pytest.approx(theirs.pvalue, abs=1e-12)


@given(some_rows(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows: list[tuple[float, bool, int]], random: Any) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = run(rows), run(shuffled)
    assert other.value == pytest.approx(one.value, abs=1e-12)
    assert (other.p_value_exact, other.statistic_exact) == (one.p_value_exact, one.statistic_exact)
    assert (other.ci_low, other.ci_high) == pytest.approx((one.ci_low, one.ci_high), abs=1e-12)


@given(some_rows(), st.permutations(range(5)))
def test_names_of_replicates_do_not_matter(rows: list[tuple[float, bool, int]], names: list[int]) -> None:
    one, other = run(rows), run([(value, leaky, names[number]) for value, leaky, number in rows])
    assert other.value == pytest.approx(one.value, abs=1e-12)
    assert (other.p_value, other.n_above, other.n_below) == (one.p_value, one.n_above, one.n_below)


@given(some_rows())
def test_swapped_kinds_flip_the_sign(rows: list[tuple[float, bool, int]]) -> None:
    one, other = run(rows), run([(value, not leaky, number) for value, leaky, number in rows])
    assert other.value == pytest.approx(-one.value, abs=1e-12)
    assert (other.n_above, other.n_below) == (one.n_below, one.n_above)
    assert other.p_value == one.p_value
    assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low), abs=1e-12)


# the study's tables


def released(shared: Path, base: str, suffix: str, outcome: str) -> tuple[TwoStage, dict[str, Any]]:
    folder = shared / "data" / "paper-tables"
    with (folder / f"per_turn.{base}{suffix}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    truth = {"True": 1.0, "False": 0.0}
    values = [truth[row[outcome]] if row[outcome] in truth else float(row[outcome]) for row in rows]
    flags = [row["leaks"] == "True" for row in rows]
    file_of = json.loads((folder / f"inference.{base}{suffix}.json").read_text())
    legs = file_of.get("j2") or file_of["j2_full"]
    numbers = [int(row["replicate_id"]) for row in rows]
    return two_stage(values, flags, numbers, rng=np.random.default_rng(0)), legs[LEGS[outcome]]["cluster_summary"]


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
@pytest.mark.parametrize("suffix", ["", ".sol"], ids=["opus", "sol"])
@pytest.mark.parametrize("outcome", LEGS)
def test_every_released_number_is_reproduced(shared: Path, base: str, suffix: str, outcome: str) -> None:
    ours, theirs = released(shared, base, suffix, outcome)
    assert (ours.value, ours.ci_low, ours.ci_high) == pytest.approx(
        (theirs["mean_within_replicate_effect"], *theirs["effect_ci95"]), abs=1e-9, rel=0
    )
    assert (ours.statistic, ours.p_value) == pytest.approx(
        (theirs["wilcoxon_W"], theirs["p_two_sided"]), abs=1e-9, rel=0
    )
    assert (ours.n_used, ours.n_skipped) == (theirs["n_replicates_used"], 0)


def test_gpt_helpfulness_has_a_zero_that_numpy_s_means_miss(shared: Path) -> None:
    """Replicate 0: leaky and other turns average alike; numpy says 8.9e-16, and W is 11 instead of 7."""
    ours, _ = released(shared, "gpt", "", "helpfulness")
    assert (ours.statistic, ours.p_value) == (11.0, 0.10546875)
    assert (ours.statistic_exact, ours.p_value_exact) == (7.0, 0.07421875)
