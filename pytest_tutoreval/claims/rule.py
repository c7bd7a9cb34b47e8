"""The decision rule, small enough to be checked by eye against the text (definitions, section 9)."""

from dataclasses import dataclass
from typing import assert_never

from pytest_tutoreval.records.claim import ClaimKind
from pytest_tutoreval.records.verdict import VerdictWord

__all__ = ["Outcome", "decide", "unmet"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test's outcome against its registration.

    `holds`: significant with the registered sign. `reversed`: significant with the opposite sign.
    """

    holds: bool
    reversed: bool


def decide(estimate: float, p_value: float, *, sign: int, alpha: float) -> Outcome:
    """Return whether an estimate holds: p strictly below alpha and the observed sign as registered (+1 or -1)."""
    significant = p_value < alpha
    observed = (estimate > 0) - (estimate < 0)
    return Outcome(holds=significant and observed == sign, reversed=significant and observed == -sign)


def unmet(kind: ClaimKind) -> VerdictWord:
    """Return the verdict of a claim that does not hold, reversed or not; a reversal is named beside it.

    A manipulation check that does not separate decides nothing; a live test, a joint claim and the headline are not
    supported.
    """
    match kind:
        case "manipulation_check":
            return "inconclusive"
        case "live_test" | "joint" | "headline":
            return "not_supported"
        case _:
            assert_never(kind)
