"""What a claim rests on: cells, ratings, replicates, and the bases it is decided for."""

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tutoreval.claims import (
    bundled_claims,
    cells_of,
    home_of,
    item_bases,
    most_registered,
    rated_cells_of,
    replicates_of,
    rubrics_of,
)
from pytest_tutoreval.records import Claim, claim_adapter

COMMON = {
    "title": "A claim of one's own.",
    "kind": "live_test",
    "judge_bound": False,
    "role": "confirmatory",
    "status": "registered here",
    "evidence_visible": "none",
}
BASES = ("mine", "theirs", "sonnet")


def paired(first: str, second: str, **changes: Any) -> dict[str, Any]:
    arms = {"form": "paired_contrast", "measure": "leakage", "arms": (first, second)}
    return {**arms, "direction": f"{first} > {second}", **changes}


def family(*candidates: str, reference: str, **changes: Any) -> dict[str, Any]:
    arms = {"form": "many_to_one", "measure": "leakage", "candidates": candidates, "reference": reference}
    rule = {"direction": "candidates > reference", "multiplicity": "holm", "supported_when": "any"}
    return {**arms, **rule, **changes}


KNOWN: Mapping[str, Claim] = {
    **bundled_claims(),
    **{
        name: claim_adapter.validate_python(COMMON | {"id": name} | stated)
        for name, stated in {
            "here": paired("rc", "live", measure="pedagogy", replicates=12),
            "cross": paired("ped", "theirs:ped"),
            "pinned": paired("mine:rc", "theirs:live", measure="helpfulness"),
            "away": paired("theirs:rc", "mine:live"),
            "many": family("a", "b", reference="theirs:b"),
            "pinned_many": family("mine:a", "sonnet:a", reference="theirs:a", replicates=20),
            "coupling": {
                "form": "leakage_coupling",
                "arms": ("rc", "live"),
                "legs": ({"outcome": "pedagogy", "sign": "negative"},),
            },
            "joint": {"form": "joint", "kind": "joint", "all_of": ("here", "cross", "P1")},
            "pinned_joint": {"form": "joint", "kind": "joint", "all_of": ("pinned", "pinned_many")},
        }.items()
    },
}


@pytest.mark.parametrize(
    ("claim", "cells"),
    [
        ("P1", [("mine", "conv"), ("mine", "ped")]),
        ("J2", [("mine", "conv"), ("mine", "ped")]),
        ("J1", [("mine", "conv"), ("mine", "ped")]),
        ("here", [("mine", "rc"), ("mine", "live")]),
        ("cross", [("mine", "ped"), ("theirs", "ped")]),
        ("pinned", [("mine", "rc"), ("theirs", "live")]),
        ("many", [("mine", "a"), ("mine", "b"), ("theirs", "b")]),
        ("coupling", [("mine", "rc"), ("mine", "live")]),
        ("joint", [("mine", "rc"), ("mine", "live"), ("mine", "ped"), ("theirs", "ped"), ("mine", "conv")]),
    ],
)
def test_a_claim_rests_on_the_cells_of_its_arms(claim: str, cells: list[tuple[str, str]]) -> None:
    assert list(cells_of(KNOWN[claim], KNOWN, "mine")) == cells


@pytest.mark.parametrize(
    ("claim", "home", "bases"),
    [
        ("P1", None, BASES),
        ("J1", None, BASES),
        ("here", None, BASES),
        ("cross", None, ("mine", "sonnet")),
        ("joint", None, ("mine", "sonnet")),
        ("many", None, ("mine", "sonnet")),
        ("pinned", "mine", ("mine",)),
        ("away", "theirs", ("theirs",)),
        ("pinned_many", "mine", ("mine",)),
        ("pinned_joint", "mine", ("mine",)),
    ],
)
def test_a_claim_is_decided_for_bases_where_it_compares_something(
    claim: str, home: str | None, bases: tuple[str, ...]
) -> None:
    assert home_of(KNOWN[claim], KNOWN) == home
    assert item_bases(KNOWN[claim], KNOWN, BASES) == bases
    assert item_bases(KNOWN[claim], KNOWN, ()) == ()


@pytest.mark.parametrize(
    ("claim", "rated"),
    [
        ("P1", []),
        ("P2", [("mine", "conv", "helpfulness"), ("mine", "ped", "helpfulness")]),
        ("J1", [("mine", "conv", "helpfulness"), ("mine", "ped", "helpfulness")]),
        ("J2", [("mine", "conv", "helpfulness"), ("mine", "ped", "helpfulness")]),
        ("pinned", [("mine", "rc", "helpfulness"), ("theirs", "live", "helpfulness")]),
        ("coupling", [("mine", "rc", "pedagogy"), ("mine", "live", "pedagogy")]),
        # of a joint claim's cells, those of its judged member alone
        ("joint", [("mine", "rc", "pedagogy"), ("mine", "live", "pedagogy")]),
    ],
)
def test_only_the_cells_of_judged_measures_are_rated(claim: str, rated: list[tuple[str, str, str]]) -> None:
    assert list(rated_cells_of(KNOWN[claim], KNOWN, "mine")) == rated
    assert set(rubrics_of(KNOWN[claim], KNOWN)) == {rubric for *_, rubric in rated}


@pytest.mark.parametrize(
    ("claim", "n"), [("P1", None), ("J1", None), ("here", 12), ("joint", 12), ("pinned_many", 20), ("pinned_joint", 20)]
)
def test_an_n_of_its_own_is_the_largest_of_its_members(claim: str, n: int | None) -> None:
    assert replicates_of(KNOWN[claim], KNOWN) == n


@pytest.mark.parametrize(
    ("cell", "n"),
    [
        # "here" registers 12 on rc and live of whatever base it is decided for
        (("mine", "rc"), 12),
        (("sonnet", "live"), 12),
        # "pinned_many" registers 20 on a, of three bases it names
        (("sonnet", "a"), 20),
        (("gpt", "a"), None),
        # "joint" has "here" for a member, and P1, which registers none
        (("mine", "conv"), None),
    ],
)
def test_the_most_registered_of_a_cell_is_that_of_the_claims_on_it(cell: tuple[str, str], n: int | None) -> None:
    assert most_registered(cell, KNOWN) == n
    assert most_registered(cell, {}) is None
