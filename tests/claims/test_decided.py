"""What a test says about its claim, held against what was frozen."""

import re
from pathlib import Path

import pytest

from pytest_tutoreval.claims import DecidedClaim, bundled_claims
from pytest_tutoreval.errors import RegistrationMismatch
from tests.store.corpora import decide

STATED: dict[str, dict[str, object]] = {
    "P1": {"measure": "leakage", "direction": "conv > ped", "kind": "manipulation_check"},
    "J1": {"all_of": ["P1", "P2", "P3"], "kind": "joint"},
    "J2": {"legs": {"helpfulness": "positive", "next_turn_independence": "negative"}, "kind": "headline"},
}


def a_decided(released: Path, claim: str) -> DecidedClaim:
    judge = "opus" if bundled_claims()[claim].judge_bound else None
    return DecidedClaim(bundled_claims()[claim], decide(released, claim, "sonnet", judge))


@pytest.mark.parametrize("claim", STATED)
def test_the_registration_as_frozen_passes(released: Path, claim: str) -> None:
    a_decided(released, claim).registered_as(**STATED[claim])


@pytest.mark.parametrize(
    ("claim", "change", "message"),
    [
        ("P1", {"direction": "ped > conv"}, "direction is 'ped > conv' in the test, 'conv > ped' in the claim file"),
        ("P1", {"measure": "helpfulness"}, "measure is 'helpfulness' in the test, 'leakage' in the claim file"),
        ("J1", {"all_of": ["P1", "P2"]}, "all_of is ['P1', 'P2'] in the test, ['P1', 'P2', 'P3'] in the claim file"),
        (
            "J2",
            {"legs": {}},
            "legs is {} in the test, {'helpfulness': 'positive', 'next_turn_independence': 'negative'}",
        ),
        ("P1", {"alpha": 0.1}, "alpha is 0.1 in the test, 'no such field' in the claim file"),
    ],
)
def test_a_mismatch_names_both_values(released: Path, claim: str, change: dict[str, object], message: str) -> None:
    with pytest.raises(RegistrationMismatch, match=re.escape(f"{claim}: {message}")):
        a_decided(released, claim).registered_as(**STATED[claim] | change)


def test_what_was_left_unsaid_and_what_differs_are_all_named(released: Path) -> None:
    with pytest.raises(RegistrationMismatch) as refused:
        a_decided(released, "P1").registered_as(kind="headline", measure="leakage")
    assert str(refused.value) == (
        "P1: direction is 'unsaid' in the test, 'conv > ped' in the claim file; "
        "kind is 'headline' in the test, 'manipulation_check' in the claim file"
    )
