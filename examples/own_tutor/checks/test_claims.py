"""The claims of this study: two registered ones and two of our own.

Each test states what its claim file registers and gets its verdict. An assertion after that is a gate of its own; what
--gate guards stands in tutoreval.toml.
"""

import pytest

from pytest_tutoreval.claims import DecidedClaim


@pytest.mark.claim("P1")
def test_p1(decided: DecidedClaim, base: str) -> None:
    """Conv discloses the answer in a larger share of its turns than ped does."""
    decided.registered_as(measure="leakage", direction="conv > ped", kind="manipulation_check")


@pytest.mark.claim("P3")
def test_p3(decided: DecidedClaim, base: str) -> None:
    """Students attempt a reasoning step in a larger share of their turns under ped than under conv."""
    decided.registered_as(measure="independence", direction="ped > conv", kind="manipulation_check")


@pytest.mark.claim("C1")
def test_c1(decided: DecidedClaim, base: str) -> None:
    """The candidate gives the answer away less than the reference."""
    decided.registered_as(
        measure="leakage", arms=["candidate", "reference"], direction="reference > candidate", kind="live_test"
    )


@pytest.mark.claim("C2")
def test_c2(decided: DecidedClaim, base: str, judge: str) -> None:
    """A judge finds the candidate better teaching than the reference."""
    decided.registered_as(
        measure="pedagogy", arms=["candidate", "reference"], direction="candidate > reference", kind="live_test"
    )
