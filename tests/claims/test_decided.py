"""What a test says about its claim, held against what was frozen."""

import re
from pathlib import Path

import pytest

from pytest_tutoreval.claims import DecidedClaim, bundled_claims
from pytest_tutoreval.errors import RegistrationMismatch
from pytest_tutoreval.records import Verdict, claim_adapter
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


ABOUT = {"id": "X1", "title": "t", "kind": "live_test", "judge_bound": False, "role": "audit", "status": "s"}
OWN: dict[str, dict[str, object]] = {
    "paired_contrast": {
        "measure": "leakage",
        "arms": ["rc", "live"],
        "direction": "live > rc",
        "margin": 0.1,
        "non_inferiority": True,
        "replicates": 20,
    },
    "many_to_one": {
        "measure": "leakage",
        "candidates": ["rc1", "rc2"],
        "reference": "live",
        "direction": "reference > candidates",
        "multiplicity": "none",
        "supported_when": "any",
        "margin": 0.05,
    },
    "leakage_coupling": {"arms": ["rc", "live"], "legs": {"next_turn_independence": "negative"}, "replicates": 12},
}


def an_own(form: str, **changes: object) -> DecidedClaim:
    fields = ABOUT | {"evidence_visible": "none", "form": form} | OWN[form] | changes
    if form == "leakage_coupling":
        fields["legs"] = [{"outcome": "next_turn_independence", "sign": "negative"}]
    about = {"base": "sonnet", "judge": None, "verdict": "supported", "reversed": False}
    verdict = Verdict(claim="X1", role="audit", status="s", direction="d", **about)
    return DecidedClaim(claim_adapter.validate_python(fields), verdict)


@pytest.mark.parametrize("form", OWN)
def test_a_test_states_what_differs_from_the_defaults(form: str) -> None:
    stated = {"kind": "live_test", **OWN[form]}
    an_own(form).registered_as(**stated)
    an_own(form).registered_as(**{name: tuple(v) if isinstance(v, list) else v for name, v in stated.items()})
    for name, value in OWN[form].items():
        unsaid = {field: said for field, said in stated.items() if field != name}
        with pytest.raises(RegistrationMismatch, match=re.escape(f"X1: {name} is 'unsaid' in the test, {value!r} in")):
            an_own(form).registered_as(**unsaid)


def test_a_default_may_be_said_or_left_unsaid(released: Path) -> None:
    claim = a_decided(released, "P1")
    claim.registered_as(**STATED["P1"], arms=["conv", "ped"], margin=None, non_inferiority=False, replicates=None)
    with pytest.raises(RegistrationMismatch, match=r"^P1: margin is 0.1 in the test, None in the claim file$"):
        claim.registered_as(**STATED["P1"], margin=0.1)


def test_a_margin_of_zero_is_said() -> None:
    with pytest.raises(RegistrationMismatch, match=r"^X1: margin is 'unsaid' in the test, 0.0 in the claim file"):
        an_own("paired_contrast", margin=0, non_inferiority=False).registered_as(
            kind="live_test", measure="leakage", direction="live > rc", arms=["rc", "live"], replicates=20
        )
