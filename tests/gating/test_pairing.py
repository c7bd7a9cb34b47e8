"""Pairs by replicate and problem, worked by hand."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.gating.pairing import pair_values

values = st.dictionaries(
    st.integers(0, 5), st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(-8, 8).map(float)), min_size=1
)


def test_a_difference_is_the_mean_over_shared_problems_by_hand() -> None:
    """r0: a .50 - .25 = .25, b undefined now, c 1 - .5 = .5, so .375; r1: a 0 - 1 = -1; r2 has nothing shared.

    Baseline: ((.25 + .5)/2 + 1)/2 = .6875, current ((.5 + 1)/2 + 0)/2 = .375, and .375 - .6875 = (.375 - 1)/2.
    """
    current: dict[int, dict[str, float | None]] = {0: {"a": 0.5, "b": None, "c": 1.0}, 1: {"a": 0.0}, 2: {"a": None}}
    before: dict[int, dict[str, float | None]] = {
        0: {"a": 0.25, "b": 0.5, "c": 0.5},
        1: {"a": 1.0, "b": 0.5},
        2: {"a": 0.5},
    }
    paired = pair_values(current, before, [0, 1, 2])
    assert paired is not None
    assert paired.differences == (0.375, -1.0)
    assert (paired.baseline, paired.current) == (0.6875, 0.375)
    assert paired.cells == {(0, "a"): 0.25, (0, "c"): 0.5, (1, "a"): -1.0}
    assert paired.n_dropped == 3, "b of r0, b of r1, a of r2"


def test_nothing_shared_is_no_pair() -> None:
    assert pair_values({0: {"a": 1.0}}, {0: {"a": None}, 1: {"a": 1.0}}, [0, 1]) is None


@given(values, values)
def test_swapped_sides_mirror_the_pairs(
    one: dict[int, dict[str, float | None]], other: dict[int, dict[str, float | None]]
) -> None:
    replicates = sorted({*one, *other})
    paired, mirrored = pair_values(one, other, replicates), pair_values(other, one, replicates)
    assert (paired is None) == (mirrored is None)
    if paired is not None and mirrored is not None:
        assert mirrored.differences == tuple(-value for value in paired.differences)
        assert (mirrored.baseline, mirrored.current) == (paired.current, paired.baseline)
        assert mirrored.n_dropped == paired.n_dropped
