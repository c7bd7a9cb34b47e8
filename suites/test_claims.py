"""The confirmatory claims, as they were registered.

Each test states its claim's registration and gets its verdict: supported, not supported or inconclusive. A verdict is
an outcome, not a failure; a claim that cannot be evaluated is an error. Contrasts are conv - ped over ten paired
replicates, two-sided at .05, in the answer-phase window.
"""

import pytest

from pytest_tutoreval.claims import DecidedClaim


@pytest.mark.claim("P1")
def test_p1(decided: DecidedClaim, base: str) -> None:
    """Conv discloses the answer in a larger share of its turns than ped does."""
    decided.registered_as(measure="leakage", direction="conv > ped", kind="manipulation_check")


@pytest.mark.claim("P2")
def test_p2(decided: DecidedClaim, base: str, judge: str) -> None:
    """A judge finds conv's turns more helpful than ped's."""
    decided.registered_as(measure="helpfulness", direction="conv > ped", kind="live_test")


@pytest.mark.claim("P3")
def test_p3(decided: DecidedClaim, base: str) -> None:
    """Students attempt a reasoning step in a larger share of their turns under ped than under conv."""
    decided.registered_as(measure="independence", direction="ped > conv", kind="manipulation_check")


@pytest.mark.claim("J1")
def test_j1(decided: DecidedClaim, base: str, judge: str) -> None:
    """P1, P2 and P3 hold together: conv leaks more, looks more helpful, and leaves less independent work."""
    decided.registered_as(all_of=["P1", "P2", "P3"], kind="joint")


@pytest.mark.claim("J2")
def test_j2(decided: DecidedClaim, base: str, judge: str) -> None:
    """Turn by turn, a leak is rated more helpful and is followed by less student work.

    Y = b0 + bL L + u_r + v_p + e by maximum likelihood, crossed intercepts for replicate and problem: bL > 0 for
    helpfulness and bL < 0 for the student's next-turn independence, both significant.
    """
    decided.registered_as(legs={"helpfulness": "positive", "next_turn_independence": "negative"}, kind="headline")
