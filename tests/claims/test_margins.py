"""Any two arms, and margins: superiority by more than one, non-inferiority within one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records import Arm, ManyToOneClaim, PairedClaim, Verdict
from tests.claims.made_up import MadeUp

ARMS = ("rc", "live")


def a_claim(**changes: Any) -> PairedClaim:
    """rc > live on leakage, a live test, unless told otherwise."""
    stated = bundled_claims()["P1"].model_dump() | {"id": "X1", "kind": "live_test", "arms": ARMS}
    return PairedClaim.model_validate(stated | {"direction": "rc > live"} | changes)


def decided(rc: Sequence[float | None], live: Sequence[float | None], **changes: Any) -> Verdict:
    claim = a_claim(**changes)
    first, second = claim.arms
    return decide_paired(claim, MadeUp({("sonnet", first): rc, ("sonnet", second): live}), "sonnet", None)


def at_zero(differences: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
    """Two arms whose differences are exactly these."""
    return differences, [0.0] * len(differences)


# hand-worked; all sign patterns of six pairs are 64, so all on one side is p = 2/64

AHEAD = [0.11, 0.12, 0.13, 0.14, 0.15, 0.16]
JUST_BEHIND = [-0.05, -0.04, -0.03, -0.02, -0.01, 0.0]


@pytest.mark.parametrize(
    ("differences", "changes", "word", "reversed_", "p"),
    [
        pytest.param(AHEAD, {}, "supported", False, 2 / 64, id="ahead"),
        # .01 to .06 above the margin, all of one sign
        pytest.param(AHEAD, {"margin": 0.10}, "supported", False, 2 / 64, id="ahead-by-more-than-the-margin"),
        # -.025 -.015 -.005 .005 .015 .025 with ranks 5.5 3.5 1.5 1.5 3.5 5.5: W+ = 10.5 = W-, so p = 1. As doubles the
        # ties may break, which changes no sum enough to matter: any split of 21 near the half has p > .9
        pytest.param(AHEAD, {"margin": 0.135}, "not_supported", False, None, id="ahead-by-about-the-margin"),
        # -.06 to -.01: ahead in every pair, and by less than the margin in every pair
        pytest.param(AHEAD, {"margin": 0.17}, "not_supported", True, 2 / 64, id="ahead-by-less-than-the-margin"),
        # one zero is left out, five pairs are of one sign: 2/32
        pytest.param(JUST_BEHIND, {}, "not_supported", False, 2 / 32, id="behind-in-five-pairs-decides-nothing"),
        pytest.param(
            JUST_BEHIND, {"margin": 0.10, "non_inferiority": True}, "supported", False, 2 / 64, id="within-the-margin"
        ),
        # -.05 + .02 … .0 + .02 = -.03 -.02 -.01 0 .01 .02: the zero is left out, ranks 5 3.5 1.5 1.5 3.5 on
        # magnitudes 3 2 1 1 2: W+ = 5, W- = 10 of 15, far from any bound
        pytest.param(
            JUST_BEHIND, {"margin": 0.02, "non_inferiority": True}, "not_supported", False, None, id="astride-a-margin"
        ),
        pytest.param(
            [-value for value in AHEAD],
            {"margin": 0.10, "non_inferiority": True},
            "not_supported",
            True,
            2 / 64,
            id="behind-by-more-than-the-margin",
        ),
        # the other direction: live - rc = -.11 to -.16
        pytest.param(AHEAD, {"direction": "live > rc"}, "not_supported", True, 2 / 64, id="the-other-is-ahead"),
        pytest.param(
            AHEAD,
            {"direction": "live > rc", "margin": 0.2, "non_inferiority": True},
            "supported",
            False,
            2 / 64,
            id="the-other-is-ahead-within-the-margin",
        ),
    ],
)  # fmt: skip
def test_hand_worked_margins(
    differences: list[float], changes: dict[str, Any], word: str, reversed_: bool, p: float | None
) -> None:
    verdict = decided(*at_zero(differences), **changes)
    assert (verdict.verdict, verdict.reversed) == (word, reversed_)
    assert verdict.p_value is not None
    if p is None:
        assert verdict.p_value > 0.3
    else:
        assert verdict.p_value == p
    assert verdict.estimate == pytest.approx(math.fsum(differences) / 6, abs=1e-15), "never shifted"
    assert verdict.margin == changes.get("margin")


def test_estimate_interval_and_effect_do_not_move_with_the_margin() -> None:
    plain, shifted = decided(*at_zero(AHEAD)), decided(*at_zero(AHEAD), margin=0.12)
    for name in ("estimate", "ci_low", "ci_high", "cliffs_delta", "n", "n_dropped"):
        assert getattr(shifted, name) == getattr(plain, name)
    assert plain.p_value != shifted.p_value


@pytest.mark.parametrize(
    ("differences", "changes", "notes"),
    [
        (AHEAD, {}, []),
        (AHEAD, {"margin": 0.0}, []),
        (AHEAD, {"margin": 0.1}, ["registered: rc exceeds live by more than 0.1; p is of differences shifted by the "]),
        (
            AHEAD,
            {"margin": 0.5, "direction": "live > rc", "non_inferiority": True},
            ["registered: live is not lower than rc by 0.5 or more; p is of differences shifted by the margin"],
        ),
        (
            AHEAD,
            {"margin": 0.2},
            ["registered: rc exceeds live by more", "significant on the other side of the margin: rc exceeds live by "
             "less than 0.2, if at all"],
        ),
        (
            AHEAD,
            {"margin": 0.1, "direction": "live > rc", "non_inferiority": True},
            ["registered: live is not", "significant on the other side of the margin: live is lower than rc by more "
             "than 0.1"],
        ),
        (AHEAD, {"direction": "live > rc"}, ["significant in the direction opposite to the registered one"]),
    ],
)  # fmt: skip
def test_a_margin_says_what_it_makes_of_the_numbers(
    differences: list[float], changes: dict[str, Any], notes: list[str]
) -> None:
    said = [note for note in decided(*at_zero(differences), **changes).notes if "rounded to 12 decimals" not in note]
    assert len(said) == len(notes)
    assert all(note.startswith(start) for note, start in zip(said, notes, strict=True))


# independent implementation and invariances

SHARES = st.integers(0, 40).map(lambda k: k / 40)
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=7, max_size=12).map(
    lambda pairs: ([one for one, _ in pairs], [other for _, other in pairs])
)
MARGINS = st.integers(0, 30).map(lambda k: k / 64)


@given(PAIRS, MARGINS, st.booleans(), st.sampled_from(["rc > live", "live > rc"]))
def test_the_p_is_scipys_on_shifted_differences(
    arms: tuple[list[float], list[float]], margin: float, lenient: bool, direction: str
) -> None:
    lenient = lenient and margin > 0
    verdict = decided(*arms, margin=margin, non_inferiority=lenient, direction=direction)
    claimed = np.subtract(*arms) if direction == "rc > live" else np.subtract(arms[1], arms[0])
    # shares of 40 tie in exact arithmetic and hardly ever as doubles
    shifted = np.round(claimed + margin if lenient else claimed - margin, 12) if margin else claimed
    kept = shifted[shifted != 0]
    # scipy >= 1.15: exact at this n, by permutation where there are ties; it does not take one pair, whose p is 1
    expected = scipy.stats.wilcoxon(kept).pvalue if kept.size > 1 else 1.0
    assert verdict.p_value == pytest.approx(expected, abs=1e-12)
    mean = math.fsum(claimed) / len(claimed) - (-margin if lenient else margin)
    significant = expected < 0.05
    assert (verdict.verdict == "supported") == (significant and mean > 0)
    assert verdict.reversed == (significant and mean < 0)


@given(PAIRS, MARGINS, st.booleans(), st.sampled_from(["rc > live", "live > rc"]))
def test_swapped_arms_flip_the_estimate_and_keep_the_verdict(
    arms: tuple[list[float], list[float]], margin: float, lenient: bool, direction: str
) -> None:
    changes: dict[str, Any] = {"margin": margin, "non_inferiority": lenient and margin > 0, "direction": direction}
    one = decided(*arms, **changes)
    other = decided(arms[1], arms[0], arms=("live", "rc"), **changes)
    assert (one.verdict, one.reversed, one.p_value) == (other.verdict, other.reversed, other.p_value)
    assert one.estimate is not None
    assert other.estimate == -one.estimate


@given(PAIRS, st.sampled_from(["rc > live", "live > rc"]))
def test_a_margin_of_nothing_is_no_margin(arms: tuple[list[float], list[float]], direction: str) -> None:
    zero = decided(*arms, margin=0, direction=direction)
    assert zero.model_copy(update={"margin": None}) == decided(*arms, direction=direction)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.lists(st.floats(-0.2, 1.0), min_size=6, max_size=11, unique=True),
    st.floats(0, 0.3),
    st.floats(0.01, 0.5),
)
def test_superiority_by_a_margin_implies_superiority_implies_non_inferiority(
    differences: list[float], margin: float, lenient: float
) -> None:
    # Ties and zeros change the number of sign patterns, and with it what p is attainable; without them p is monotone.
    # Up to eleven pairs: from twelve on one outlying pair can carry the mean to the side the ranks speak against.
    for shift in (margin, 0.0, -lenient):
        magnitudes = {abs(value - shift) for value in differences}
        assume(len(magnitudes) == len(differences) and 0.0 not in magnitudes)
    arms = at_zero(differences)
    by_margin = decided(*arms, margin=margin).verdict == "supported"
    plainly = decided(*arms).verdict == "supported"
    not_worse = decided(*arms, margin=lenient, non_inferiority=True).verdict == "supported"
    assert not by_margin or plainly
    assert not plainly or not_worse


# the mean on the one side and the ranks on the other

# Eleven differences of -.01 to -.11 and one of +5: ranks 1 to 11 are negative, W- = 66, and 12 is positive, W+ = 12.
# Sums of at most 12 among the subsets of 1 to 12 are the partitions of 0 to 12 into distinct parts: 1 + 1 + 1 + 2 + 2 +
# 3 + 4 + 5 + 6 + 8 + 10 + 12 + 15 = 70, so p = 2 * 70 / 4096 = .0342. The mean is (5 - .66) / 12 = .3617.
MANY_BELOW = [*(-i / 100 for i in range(1, 12)), 5.0]
AT_ODDS = (
    "significant by ranks, which lie below 0, while the mean lies above it: a few large differences against many small "
    "ones; the registered rule takes its direction from the mean"
)


@pytest.mark.parametrize(
    ("direction", "word", "reversed_"), [("rc > live", "supported", False), ("live > rc", "not_supported", True)]
)
def test_a_mean_that_the_ranks_contradict_is_noted_and_decides_as_registered(
    direction: str, word: str, reversed_: bool
) -> None:
    verdict = decided(*at_zero(MANY_BELOW), direction=direction)
    assert (verdict.verdict, verdict.reversed, verdict.p_value) == (word, reversed_, 140 / 4096)
    assert verdict.estimate == pytest.approx(4.34 / 12, abs=1e-12)
    assert verdict.notes.count(AT_ODDS) == 1


def test_the_other_way_round_it_is_noted_with_the_margin_the_ranks_were_held_against() -> None:
    # the same differences with their signs turned, all .2 higher, against a margin of .2
    verdict = decided(*at_zero([0.2 - value for value in MANY_BELOW]), margin=0.2)
    assert (verdict.verdict, verdict.reversed) == ("not_supported", True)
    assert any(note.startswith("significant by ranks, which lie above 0.2, while the mean") for note in verdict.notes)


def test_mean_and_ranks_at_odds_are_not_noted_where_nothing_was_decided_by_them() -> None:
    # one pair fewer: W+ = 11 of 66, p > .05
    verdict = decided(*at_zero(MANY_BELOW[1:]))
    assert verdict.p_value is not None
    assert verdict.p_value > 0.05
    assert not any("by ranks" in note for note in verdict.notes)
    assert not any("by ranks" in note for note in decided(*at_zero(AHEAD)).notes)


def test_a_candidate_s_mean_that_its_ranks_contradict_is_noted_by_its_name() -> None:
    claim = ManyToOneClaim.model_validate(
        {name: value for name, value in a_claim().model_dump().items() if name not in ("form", "arms", "direction")}
        | {"form": "many_to_one", "candidates": ("a", "b"), "reference": "r", "direction": "candidates > reference"}
        | {"multiplicity": "none", "supported_when": "any"}
    )
    cells = {"a": MANY_BELOW, "b": [float(i) for i in range(1, 13)], "r": [0.0] * 12}
    measures = MadeUp({("sonnet", condition): values for condition, values in cells.items()})
    verdict = decide_claim(claim, {}, measures, "sonnet", None)
    assert [note for note in verdict.notes if "by ranks" in note] == [f"a: {AT_ODDS}"]


# which arms there can be


def test_the_policy_is_compared_across_bases_by_replicate() -> None:
    # ped of mine - ped of theirs, replicate by replicate: .1 - .0, .3 - .1, .2 - .1, .5 - .2, .4 - .2, .6 - .1
    mine, theirs = [0.1, 0.3, 0.2, 0.5, 0.4, 0.6], [0.0, 0.1, 0.1, 0.2, 0.2, 0.1]
    measures = MadeUp({("mine", "ped"): mine, ("theirs", "ped"): theirs})
    claim = a_claim(arms=("ped", "theirs:ped"), direction="ped > theirs:ped")
    verdict = decide_claim(claim, {}, measures, "mine", None)
    assert (verdict.base, verdict.verdict, verdict.n) == ("mine", "supported", 6)
    assert verdict.estimate == pytest.approx((0.1 + 0.2 + 0.1 + 0.3 + 0.2 + 0.5) / 6, abs=1e-15)
    with pytest.raises(NotEvaluable, match=r"for base theirs two arms of ped, theirs:ped are theirs/ped; nothing to"):
        decide_claim(claim, {}, measures, "theirs", None)


def test_a_claim_whose_arms_all_name_a_base_is_decided_at_the_first_ones() -> None:
    measures = MadeUp({("mine", "rc"): AHEAD, ("theirs", "live"): [0.0] * 6})
    claim = a_claim(arms=("mine:rc", "theirs:live"), direction="mine:rc > theirs:live")
    verdict = decide_claim(claim, {}, measures, "anything", None)
    assert (verdict.base, verdict.verdict, verdict.direction) == ("mine", "supported", "mine:rc > theirs:live")


def test_a_pair_undefined_in_an_arm_is_named_as_the_claim_names_it() -> None:
    measures = MadeUp({("mine", "rc"): [None, *AHEAD], ("theirs", "rc"): [0.0] * 7})
    claim = a_claim(arms=("rc", "theirs:rc"), direction="rc > theirs:rc")
    verdict = decide_claim(claim, {}, measures, "mine", None)
    assert (verdict.n, verdict.n_dropped) == (6, 1)
    assert "leakage undefined in rc/r0: pair dropped" in verdict.notes


def test_what_is_missing_in_either_base_is_named_at_once() -> None:
    measures = MadeUp({("mine", "rc"): AHEAD[:5]}, replicates=6)
    claim = a_claim(arms=("rc", "theirs:rc"), direction="rc > theirs:rc")
    with pytest.raises(NotEvaluable, match=r"mine/rc lacks replicate 5 of 6 registered; no sessions in cell theirs/rc"):
        decide_claim(claim, {}, measures, "mine", None)


@pytest.mark.parametrize(
    ("text", "arm"),
    [
        ("ped", Arm(None, "ped")),
        ("my.tutor-1:conv_socratic", Arm("my.tutor-1", "conv_socratic")),
    ],
)
def test_an_arm_is_a_condition_or_a_base_and_a_condition(text: str, arm: Arm) -> None:
    assert Arm.parse(text) == arm
    assert arm.at("sonnet") == (arm.base or "sonnet", arm.condition)


@pytest.mark.parametrize("text", ["", ":", "a:", ":b", "a:b:c", "a b", "../x", "a/b", "-a", "a\n", "x" * 65])
def test_what_is_no_name_is_no_arm(text: str) -> None:
    with pytest.raises(ValueError, match="is no arm; expected a condition, or base:condition"):
        Arm.parse(text)


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), -0.1])
def test_a_margin_is_a_finite_amount(margin: float) -> None:
    with pytest.raises(ValidationError):
        a_claim(margin=margin)
