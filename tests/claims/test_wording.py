"""The decision rule in words says what the code decides by."""

from typing import Any

import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.claims.wording import rule_in_words
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records.claim import claim_adapter

ABOUT: dict[str, Any] = {
    **{"id": "X1", "title": "t", "kind": "live_test", "judge_bound": False, "role": "confirmatory"},
    **{"status": "s", "evidence_visible": "none"},
}
PAIRED = ABOUT | {"form": "paired_contrast", "measure": "leakage", "direction": "conv > ped"}
MANY = ABOUT | {
    **{"form": "many_to_one", "measure": "leakage", "candidates": ["a", "b", "c"], "reference": "ped"},
    **{"direction": "reference > candidates", "multiplicity": "holm", "supported_when": "all"},
}
LEVEL = load_instrument().study.inference


def rule(fields: dict[str, Any]) -> str:
    return rule_in_words(claim_adapter.validate_python(fields), LEVEL)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            "P1",
            "Supported if mean conv - ped of leakage over paired replicates is above 0 with two-sided exact "
            "signed-rank p < .05; otherwise inconclusive; a significant difference the other way is never support.",
        ),
        (
            "P2",
            "Supported if mean conv - ped of helpfulness over paired replicates is above 0 with two-sided exact "
            "signed-rank p < .05; otherwise not supported; a significant difference the other way is never support.",
        ),
        (
            "P3",
            "Supported if mean conv - ped of independence over paired replicates is below 0 with two-sided exact "
            "signed-rank p < .05; otherwise inconclusive; a significant difference the other way is never support.",
        ),
        ("J1", "Supported if P1, P2 and P3 are all supported; otherwise not supported."),
        (
            "J2",
            "Supported if the slope of helpfulness on leakage is positive and the slope of next_turn_independence on "
            "leakage is negative, each with two-sided Wald p < .05 in the mixed model of conv and ped turns, crossed "
            "over replicates and problems; otherwise not supported; a significant slope of the other sign is never "
            "support.",
        ),
    ],
)
def test_the_registered_rules_in_words(claim: str, words: str) -> None:
    assert rule_in_words(bundled_claims()[claim], LEVEL) == words


def test_the_level_is_the_studys() -> None:
    assert "p < .01;" in rule_in_words(bundled_claims()["P1"], LEVEL.model_copy(update={"alpha": 0.01}))


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        pytest.param({"margin": 0.1}, "above 0.1, tested on differences from 0.1,", id="by-a-margin"),
        # ped > conv by .1 means conv - ped below -.1
        pytest.param(
            {"margin": 0.1, "direction": "ped > conv"}, "below -0.1, tested on differences from -0.1,", id="other"
        ),
        pytest.param(
            {"margin": 0.1, "non_inferiority": True}, "above -0.1, tested on differences from -0.1,", id="non-inferior"
        ),
        pytest.param({"margin": 0.0, "direction": "ped > conv"}, "is below 0 with", id="no-minus-zero"),
    ],
)
def test_a_margin_is_what_the_difference_is_held_against(changes: dict[str, Any], bound: str) -> None:
    assert bound in rule(PAIRED | changes)


def test_a_registered_n_and_the_arms_are_said() -> None:
    words = rule(
        PAIRED | {"arms": ["mine:conv", "theirs:conv"], "direction": "mine:conv > theirs:conv", "replicates": 8}
    )
    assert "mean mine:conv - theirs:conv of leakage over the first 8 paired replicates is above 0" in words


@pytest.mark.parametrize(
    ("multiplicity", "words"),
    [
        ("holm", "p, Holm-adjusted over the 3 candidates, < .05"),
        ("bonferroni", "p, Bonferroni-adjusted over the 3 candidates, < .05"),
        ("none", "p, not adjusted, < .05"),
    ],
)
def test_a_family_says_how_it_is_corrected(multiplicity: str, words: str) -> None:
    said = rule(MANY | {"multiplicity": multiplicity, "supported_when": "any"})
    assert said.startswith(
        "Supported if for any of a, b and c mean candidate - ped of leakage over paired replicates is below 0"
    )
    assert words in said


def test_a_joint_claim_of_one_is_grammatical() -> None:
    assert rule(ABOUT | {"form": "joint", "kind": "joint", "all_of": ["P1"]}).startswith(
        "Supported if P1 is supported;"
    )
