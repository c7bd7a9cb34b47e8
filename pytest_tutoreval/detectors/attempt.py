"""Whether a student turn attempts a reasoning step, as released (definitions, section 7)."""

import re
from dataclasses import dataclass

__all__ = ["ATTEMPT_PATTERNS", "AttemptSpan", "attempt_patterns", "attempt_spans", "attempts_step"]

_NUMBER = r"\d+(?:\.\d+)?"

# A search that starts at the first digit of a run finds all that one starting inside it would, in linear time.
_STARTING = rf"(?<!\d){_NUMBER}"

# On the raw turn, any case. No letter x, division sign, caret or typographic minus: as released.
ATTEMPT_PATTERNS: dict[str, re.Pattern[str]] = {
    "equation": re.compile(r"[0-9a-z)]\s*=\s*[-+(]?\s*[0-9a-z]", re.IGNORECASE),
    "arithmetic": re.compile(rf"{_STARTING}\s*[-+*/×·]\s*{_NUMBER}", re.IGNORECASE),
    "coefficient": re.compile(rf"{_STARTING}[a-z]\b", re.IGNORECASE),
    "variable": re.compile(r"\b[a-z]\s*[-+*/]\s*[0-9a-z(]", re.IGNORECASE),
}


def attempts_step(text: str) -> bool:
    """Return whether any of the four frozen patterns is found: an equation, an operation, a coefficient, a relation.

    Correctness is irrelevant; bare numbers and number words do not qualify.
    """
    return any(pattern.search(text) for pattern in ATTEMPT_PATTERNS.values())


def attempt_patterns(text: str) -> tuple[str, ...]:
    """Return the names of the patterns that fired, in their frozen order."""
    return tuple(name for name, pattern in ATTEMPT_PATTERNS.items() if pattern.search(text))


@dataclass(frozen=True, slots=True)
class AttemptSpan:
    """Where one of the four patterns matched; `start` and `end` index the raw turn, in code points."""

    pattern: str
    start: int
    end: int


def attempt_spans(text: str) -> list[AttemptSpan]:
    """Return every match of every pattern, in text order; there is one exactly where `attempts_step` says so."""
    spans = [
        AttemptSpan(name, match.start(), match.end())
        for name, pattern in ATTEMPT_PATTERNS.items()
        for match in pattern.finditer(text)
    ]
    return sorted(spans, key=lambda span: (span.start, -span.end))
