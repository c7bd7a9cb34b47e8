"""The fixed rule that picks ped's responder; no model judgment takes part (definitions, section 4)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_tutoreval.frozen import RouterRules

__all__ = ["Routing", "count_attempts", "hint_level", "requests_answer", "route_turn"]

DEFER, DECOMPOSE, HINT = "defer", "decompose", "hint"


@dataclass(frozen=True, slots=True)
class Routing:
    """The branch chosen for a tutor turn and the attempt count it rests on."""

    route: str
    n_attempts: int


@lru_cache(maxsize=32)
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


def requests_answer(text: str, rules: RouterRules) -> bool:
    """Return whether a student turn asks for the answer: broad on purpose, a missed request defeats the gate."""
    return _any_of(rules.request).search(text) is not None


def count_attempts(student_turns: Sequence[str], rules: RouterRules) -> int:
    """Return the number of student turns with at least one attempt pattern: a routing signal, not a measure."""
    pattern = _any_of(rules.attempt)
    return sum(pattern.search(turn) is not None for turn in student_turns)


def route_turn(student_turns: Sequence[str], rules: RouterRules) -> Routing:
    """Return the first rule that applies: a request defers, no attempt yet decomposes, else a hint."""
    n_attempts = count_attempts(student_turns, rules)
    if requests_answer(student_turns[-1], rules):
        return Routing(DEFER, n_attempts)
    return Routing(HINT if n_attempts else DECOMPOSE, n_attempts)


def hint_level(turn: int, n_attempts: int, rules: RouterRules) -> int:
    """Return the hint level: prior tutor turns, capped at the last level, and at 1 below the attempts threshold."""
    cap = len(rules.hint_levels) - 1
    return min(turn, cap if n_attempts >= rules.attempts_threshold else 1)
