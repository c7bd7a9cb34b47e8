"""Registered claims and the rules that decide them. No analysis can reach this room."""

from pytest_tutoreval.claims.decided import DecidedClaim
from pytest_tutoreval.claims.decision import decide_claim, rubrics_of
from pytest_tutoreval.claims.registry import bundled_claims, find_claim, read_claim, read_claims
from pytest_tutoreval.claims.rule import decide, unmet

__all__ = [
    "DecidedClaim",
    "bundled_claims",
    "decide",
    "decide_claim",
    "find_claim",
    "read_claim",
    "read_claims",
    "rubrics_of",
    "unmet",
]
