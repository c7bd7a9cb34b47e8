"""The registered decision rule of a claim, in words: what this room decides by, for who reads a report."""

from collections.abc import Sequence
from typing import assert_never

from pytest_tutoreval.claims.rule import unmet
from pytest_tutoreval.records.claim import (
    Claim,
    ContrastClaim,
    CouplingClaim,
    JointClaim,
    Leg,
    ManyToOneClaim,
    Multiplicity,
    PairedClaim,
)
from pytest_tutoreval.records.study import Inference
from pytest_tutoreval.records.verdict import say

__all__ = ["rule_in_words"]


def rule_in_words(claim: Claim, inference: Inference) -> str:
    """Return when a claim is supported and what it is otherwise; `inference` holds the registered level."""
    otherwise = f"otherwise {say(unmet(claim.kind))}"
    level = f"{inference.alpha:g}".removeprefix("0")
    match claim:
        case PairedClaim():
            first, second = claim.arms
            bound = _bound(claim, 1 if claim.direction.startswith(f"{first} > ") else -1)
            return (
                f"Supported if mean {first} - {second} of {claim.measure} over {_pairs(claim)} is {bound} with "
                f"two-sided exact signed-rank p < {level}; {otherwise}; {_NEVER_SUPPORT}."
            )
        case ManyToOneClaim():
            bound = _bound(claim, 1 if claim.direction.startswith("candidates") else -1)
            return (
                f"Supported if for {claim.supported_when} of {_joined(claim.candidates)} mean candidate - "
                f"{claim.reference} of {claim.measure} over {_pairs(claim)} is {bound} with two-sided exact "
                f"signed-rank p{_adjusted(claim.multiplicity, len(claim.candidates))} < {level}; {otherwise}; "
                f"{_NEVER_SUPPORT}."
            )
        case CouplingClaim():
            first, second = claim.arms
            among = "" if claim.replicates is None else f" of the first {claim.replicates} replicates"
            return (
                f"Supported if {_joined([_slope(leg) for leg in claim.legs])}, each with two-sided Wald p < {level} in "
                f"the mixed model of {first} and {second} turns{among}, crossed over replicates and problems; "
                f"{otherwise}; a significant slope of the other sign is never support."
            )
        case JointClaim():
            number = "is" if len(claim.all_of) == 1 else "are all"
            return f"Supported if {_joined(claim.all_of)} {number} supported; {otherwise}."
        case _:
            assert_never(claim)


_NEVER_SUPPORT = "a significant difference the other way is never support"


def _bound(claim: ContrastClaim, sign: int) -> str:
    """Return what the mean difference is held against: `sign` is +1 where it is registered to be positive."""
    threshold = sign * claim.threshold + 0.0  # never -0
    shifted = f", tested on differences from {threshold:g}," if threshold else ""
    return f"{'above' if sign > 0 else 'below'} {threshold:g}{shifted}"


def _pairs(claim: ContrastClaim) -> str:
    return "paired replicates" if claim.replicates is None else f"the first {claim.replicates} paired replicates"


def _adjusted(multiplicity: Multiplicity, n_candidates: int) -> str:
    match multiplicity:
        case "holm" | "bonferroni":
            return f", {multiplicity.capitalize()}-adjusted over the {n_candidates} candidates,"
        case "none":
            return ", not adjusted,"
        case _:
            assert_never(multiplicity)


def _slope(leg: Leg) -> str:
    return f"the slope of {leg.outcome} on leakage is {leg.sign}"


def _joined(parts: Sequence[str]) -> str:
    """Return the parts as people list them."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
