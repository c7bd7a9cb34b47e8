"""Registered claims and the rules that decide them. No analysis can reach this room."""

from pytest_tutoreval.claims.cells import (
    cells_of,
    home_of,
    item_bases,
    most_registered,
    parts_of,
    rated_cells_of,
    replicates_of,
    rubrics_of,
)
from pytest_tutoreval.claims.decided import DecidedClaim
from pytest_tutoreval.claims.decision import decide_claim
from pytest_tutoreval.claims.registry import (
    bundled_claims,
    find_claim,
    known_claims,
    read_claim,
    read_claims,
    register_claims,
    registered_claims,
)
from pytest_tutoreval.claims.rule import decide, unmet

__all__ = [
    "DecidedClaim",
    "bundled_claims",
    "cells_of",
    "decide",
    "decide_claim",
    "find_claim",
    "home_of",
    "item_bases",
    "known_claims",
    "most_registered",
    "parts_of",
    "rated_cells_of",
    "read_claim",
    "read_claims",
    "register_claims",
    "registered_claims",
    "replicates_of",
    "rubrics_of",
    "unmet",
]
