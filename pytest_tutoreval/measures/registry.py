"""Which measures exist and whether a judge has a hand in them."""

from collections.abc import Mapping

__all__ = ["SESSION_MEASURES", "TURN_OUTCOMES", "is_judged"]

# name: whether it is a judge's (definitions, section 9)
SESSION_MEASURES: Mapping[str, bool] = {
    "helpfulness": True,
    "independence": False,
    "leakage": False,
    "next_turn_independence": False,
    "pedagogy": True,
}

# outcomes of turn-level models (definitions, section 10)
TURN_OUTCOMES: Mapping[str, bool] = {"helpfulness": True, "next_turn_independence": False, "pedagogy": True}


def is_judged(measure: str) -> bool:
    """Return whether a measure rests on a judge's ratings."""
    return SESSION_MEASURES.get(measure, False) or TURN_OUTCOMES.get(measure, False)
