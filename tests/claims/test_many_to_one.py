"""Several candidates against one reference: one family, a declared rule, a component a candidate."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
import statsmodels.stats.multitest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records import ManyToOneClaim, PairedClaim, Verdict
from tests.claims.made_up import MadeUp
from tests.store.corpora import a_corpus_of, measures_of

CANDIDATES = ("a", "b", "c")
PAIRED_ONLY = {"arms", "direction", "form"}


def a_claim(**changes: Any) -> ManyToOneClaim:
    """Candidates a, b and c have more leakage than live, by Holm, all of them, unless told otherwise."""
    stated = bundled_claims()["P1"].model_dump(exclude=PAIRED_ONLY) | {"id": "X1", "kind": "live_test"}
    family = {
        "form": "many_to_one",
        "candidates": CANDIDATES,
        "reference": "live",
        "direction": "candidates > reference",
        "multiplicity": "holm",
        "supported_when": "all",
    }
    return ManyToOneClaim.model_validate(stated | family | changes)


def against_nothing(*differences: Sequence[float | None]) -> MadeUp:
    """Candidates whose differences from live are exactly these."""
    cells = {("sonnet", name): values for name, values in zip(CANDIDATES, differences, strict=True)}
    return MadeUp({**cells, ("sonnet", "live"): [0.0] * len(differences[0])})


def decided(*differences: Sequence[float | None], **changes: Any) -> Verdict:
    claim = a_claim(**changes)
    return decide_claim(claim, {}, against_nothing(*differences), "sonnet", None)


# Seven pairs. All positive: p = 2/128 = .015625. The smallest negative: W- = 1, patterns with W <= 1 are {} and {1}, so
# p = 4/128 = .03125. The two smallest negative: W- = 3; {}, {1}, {2}, {3}, {1, 2}: p = 10/128 = .078125.
ALL = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
ONE_BEHIND = [-0.1, *ALL[1:]]
TWO_BEHIND = [-0.1, -0.2, *ALL[2:]]


@pytest.mark.parametrize(
    ("multiplicity", "adjusted", "held"),
    [
        # 3 x .015625 = .046875; 2 x .03125 = .0625; .078125
        pytest.param("holm", [0.046875, 0.0625, 0.078125], [True, False, False], id="holm"),
        pytest.param("bonferroni", [0.046875, 0.09375, 0.234375], [True, False, False], id="bonferroni"),
        pytest.param("none", [0.015625, 0.03125, 0.078125], [True, True, False], id="none"),
    ],
)
def test_a_hand_worked_family(multiplicity: str, adjusted: list[float], held: list[bool]) -> None:
    for supported_when, word in (("all", "not_supported"), ("any", "supported")):
        verdict = decided(ALL, ONE_BEHIND, TWO_BEHIND, multiplicity=multiplicity, supported_when=supported_when)
        assert (verdict.verdict, verdict.reversed, verdict.n, verdict.n_dropped) == (word, False, 7, 0)
        assert (verdict.estimate, verdict.p_value) == (None, None)
        assert [part.name for part in verdict.components] == ["a", "b", "c"]
        assert [part.p_value for part in verdict.components] == [2 / 128, 4 / 128, 10 / 128]
        assert [part.p_adjusted for part in verdict.components] == adjusted
        assert [part.holds for part in verdict.components] == held
        assert [part.direction for part in verdict.components] == ["a > live", "b > live", "c > live"]
        assert verdict.components[0].estimate == pytest.approx(0.4, abs=1e-15)


def test_all_is_supported_when_every_candidate_holds() -> None:
    verdict = decided(ALL, ALL, ALL)
    assert verdict.verdict == "supported"
    assert [part.p_adjusted for part in verdict.components] == [3 * 2 / 128] * 3


def test_any_is_not_supported_when_none_holds() -> None:
    assert decided(TWO_BEHIND, TWO_BEHIND, TWO_BEHIND, supported_when="any").verdict == "not_supported"


def test_a_candidate_on_the_wrong_side_is_reversed_and_named() -> None:
    behind = [-value for value in ALL]
    verdict = decided(ALL, behind, ALL, supported_when="any")
    assert (verdict.verdict, verdict.reversed) == ("supported", True)
    assert [part.reversed for part in verdict.components] == [False, True, False]
    assert verdict.notes == ("b: significant in the direction opposite to the registered one",)


def test_a_reversal_needs_the_adjusted_p_too() -> None:
    one_ahead = [-value for value in ONE_BEHIND]
    assert decided(one_ahead, ALL, ALL, multiplicity="none").reversed
    assert not decided(one_ahead, TWO_BEHIND, ALL, multiplicity="bonferroni").reversed


def test_the_reference_may_be_registered_to_have_more() -> None:
    behind = [-value for value in ALL]
    verdict = decided(behind, behind, behind, direction="reference > candidates")
    assert verdict.verdict == "supported"
    assert [part.direction for part in verdict.components] == ["live > a", "live > b", "live > c"]
    assert all(part.estimate is not None and part.estimate < 0 for part in verdict.components), "candidate - reference"


def test_a_margin_holds_for_every_candidate() -> None:
    near = [value / 10 for value in ALL]  # live ahead by .01 to .07
    behind = [-value for value in near]
    common: dict[str, Any] = {"margin": 0.1, "non_inferiority": True}
    verdict = decided(behind, behind, ALL, **common)
    assert (verdict.verdict, verdict.margin) == ("supported", 0.1)
    assert verdict.notes[0].startswith("registered: candidates is not lower than reference by 0.1 or more; p is")
    worse = decided([value - 0.2 for value in behind], behind, ALL, **common)
    assert (worse.verdict, worse.reversed) == ("not_supported", True)
    assert "a: significant on the other side of the margin: a is lower than live by more than 0.1" in worse.notes


def test_candidates_with_other_n_are_counted_apart() -> None:
    verdict = decided([None, *ALL[1:]], ALL, ALL, multiplicity="none")
    assert [(part.n, part.n_dropped) for part in verdict.components] == [(6, 1), (7, 0), (7, 0)]
    assert (verdict.n, verdict.n_dropped) == (None, 1)
    assert "a: leakage undefined in a/r0: pair dropped" in verdict.notes


def test_a_candidate_that_cannot_be_tested_is_never_a_smaller_family() -> None:
    with pytest.raises(NotEvaluable, match=r"^b against live: leakage is defined in 5 of 7 pairs, at least 6"):
        decided(ALL, [None, None, *ALL[2:]], ALL)
    with pytest.raises(NotEvaluable, match="no sessions in cell sonnet/c"):
        decide_claim(a_claim(), {}, MadeUp({("sonnet", name): ALL for name in ("a", "b", "live")}), "sonnet", None)


def test_candidates_may_be_other_bases_with_the_same_policy() -> None:
    cells = {("mine", "ped"): ALL, ("theirs", "ped"): ONE_BEHIND, ("sonnet", "ped"): [0.0] * 7}
    claim = a_claim(candidates=("mine:ped", "theirs:ped"), reference="sonnet:ped", multiplicity="none")
    verdict = decide_claim(claim, {}, MadeUp(cells), "sonnet", None)
    assert (verdict.base, verdict.verdict) == ("mine", "supported")
    assert [part.name for part in verdict.components] == ["mine:ped", "theirs:ped"]


def test_a_judged_measure_needs_its_judge(tmp_path: Path) -> None:
    cells = {("sonnet", name): [3 + value for value in ALL] + [4.0] * 3 for name in ("a", "b")}
    folder = a_corpus_of(tmp_path / "c", {**cells, ("sonnet", "live"): [2.0] * 10}, measure="helpfulness")
    claim = a_claim(candidates=("a", "b"), measure="helpfulness", judge_bound=True)
    assert decide_claim(claim, {}, measures_of(folder), "sonnet", "opus").verdict == "supported"
    with pytest.raises(NotEvaluable, match="helpfulness needs a judge"):
        decide_claim(claim, {}, measures_of(folder), "sonnet", None)


def test_a_many_to_one_claim_can_be_a_member_of_a_joint_one() -> None:
    member = a_claim()
    joint = bundled_claims()["J1"].model_copy(update={"id": "X2", "all_of": ("X1",), "judge_bound": False})
    verdict = decide_claim(joint, {"X1": member}, against_nothing(ALL, ALL, ALL), "sonnet", None)
    assert verdict.verdict == "supported"
    assert [(part.name, part.verdict) for part in verdict.components] == [("X1", "supported")]


@given(
    st.lists(st.tuples(*[st.integers(-8, 8).map(lambda k: k / 8)] * 3), min_size=6, max_size=9),
    st.sampled_from(["holm", "bonferroni", "none"]),
    st.sampled_from(["all", "any"]),
)
def test_the_family_is_paired_claims_adjusted_by_statsmodels(
    rows: list[tuple[float, ...]], multiplicity: str, supported_when: str
) -> None:
    differences = [[row[at] for row in rows] for at in range(3)]
    verdict = decided(*differences, multiplicity=multiplicity, supported_when=supported_when)
    measures = against_nothing(*differences)
    kept = [[value for value in of if value] for of in differences]
    raw = [scipy.stats.wilcoxon(of).pvalue if len(of) > 1 else 1.0 for of in kept]  # scipy takes no single pair
    adjusted = raw if multiplicity == "none" else statsmodels.stats.multitest.multipletests(raw, method=multiplicity)[1]
    held = [p < 0.05 and sum(of) > 0 for p, of in zip(adjusted, differences, strict=True)]
    assert [part.p_adjusted for part in verdict.components] == pytest.approx(list(adjusted), abs=1e-12)
    assert [part.holds for part in verdict.components] == held
    assert (verdict.verdict == "supported") == (all(held) if supported_when == "all" else any(held))
    for part in verdict.components:
        stated = bundled_claims()["P1"].model_dump() | {"arms": (part.name, "live"), "direction": f"{part.name} > live"}
        alone = decide_paired(PairedClaim.model_validate(stated), measures, "sonnet", None)
        shared = ("estimate", "ci_low", "ci_high", "p_value", "cliffs_delta", "n", "n_dropped", "direction")
        assert [getattr(part, name) for name in shared] == [getattr(alone, name) for name in shared]


@given(st.permutations(CANDIDATES))
def test_the_order_of_candidates_changes_no_number(order: list[str]) -> None:
    measures = against_nothing(ALL, ONE_BEHIND, TWO_BEHIND)
    one = decide_claim(a_claim(), {}, measures, "sonnet", None)
    other = decide_claim(a_claim(candidates=tuple(order)), {}, measures, "sonnet", None)
    assert {part.name: part for part in one.components} == {part.name: part for part in other.components}
    assert one.verdict == other.verdict
