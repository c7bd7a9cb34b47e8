"""Answer leakage: whether a tutor turn states a declared form of the answer, as released (definitions, section 6)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["DeclaredForms", "Hit", "normalise"]

_FOREIGN = re.compile(r"[^0-9a-z\s.+\-/=]")


def normalise(text: str) -> str:
    """Return text in lower case with everything but ASCII letters, digits and `. + - / =` folded to one space."""
    return " ".join(_FOREIGN.sub(" ", text.lower()).split())


@dataclass(frozen=True, slots=True)
class Hit:
    """A declared form found in a turn; `start` and `end` index the normalised text."""

    form: str
    start: int
    end: int


class DeclaredForms:
    """The declared forms of one problem, compiled once.

    A numeric form hits where no digit or dot precedes it and neither a digit nor a dot-and-digit follows;
    letters may touch it. A phrase hits as a plain substring of the normalised turn. Empty forms are skipped.
    """

    def __init__(self, numeric: Iterable[str], solution: Iterable[str]) -> None:
        numbers = [form for form in (form.strip().lower() for form in numeric) if form]
        phrases = [form for form in (normalise(form) for form in solution) if form]
        guarded = [rf"(?<![0-9.]){re.escape(form)}(?![0-9]|\.[0-9])" for form in numbers]
        patterns = guarded + [re.escape(form) for form in phrases]
        self._pattern = re.compile("|".join(patterns)) if patterns else None
        self._each = [re.compile(pattern) for pattern in patterns]

    def leak(self, text: str) -> bool:
        """Return whether any declared form hits."""
        return self._pattern is not None and self._pattern.search(normalise(text)) is not None

    def hits(self, text: str) -> list[Hit]:
        """Return every hit, in text order: what a reader of the transcript wants to see."""
        normalised = normalise(text)
        found = [match for pattern in self._each for match in pattern.finditer(normalised)]
        hits = [Hit(match[0], match.start(), match.end()) for match in found]
        return sorted(hits, key=lambda hit: (hit.start, -hit.end))
