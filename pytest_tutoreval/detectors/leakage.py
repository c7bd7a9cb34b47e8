"""Answer leakage: whether a tutor turn states a declared form of the answer, as released (definitions, section 6)."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

__all__ = ["DeclaredForms", "Hit", "Span", "normalise"]

_FOREIGN = re.compile(r"[^0-9a-z\s.+\-/=]")

# What `normalise` keeps: the words it joins by one space are exactly the runs of these in the lowered text.
_WORD = re.compile(r"[0-9a-z.+\-/=]+")


def normalise(text: str) -> str:
    """Return text in lower case with everything but ASCII letters, digits and `. + - / =` folded to one space."""
    return " ".join(_FOREIGN.sub(" ", text.lower()).split())


@dataclass(frozen=True, slots=True)
class Hit:
    """A declared form found in a turn; `start` and `end` index the normalised text."""

    form: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """A declared form found in a turn; `start` and `end` index the turn as it was written, in code points."""

    form: str
    start: int
    end: int


class _Alignment:
    """Where each character of the normalised text stands in the text it was made from."""

    def __init__(self, text: str) -> None:
        lowered = text.lower()
        words = [word.span() for word in _WORD.finditer(lowered)]
        self._lowered = [start for start, _ in words]
        self._starts = [0, *accumulate([end - start + 1 for start, end in words])]
        # Lower case is written one character for one, but for a dotted capital I, which becomes two.
        expands = len(lowered) != len(text)
        self._raw = [at for at, character in enumerate(text) for _ in character.lower()] if expands else None

    def raw(self, position: int) -> int:
        """Return where the character at `position` of the normalised text (none of its spaces) stands in the text."""
        word = bisect_right(self._starts, position) - 1
        lowered = self._lowered[word] + position - self._starts[word]
        return lowered if self._raw is None else self._raw[lowered]


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
        if self._pattern is None or self._pattern.search(normalised) is None:
            return []
        found = [match for pattern in self._each for match in pattern.finditer(normalised)]
        hits = [Hit(match[0], match.start(), match.end()) for match in found]
        return sorted(hits, key=lambda hit: (hit.start, -hit.end))

    def spans(self, text: str) -> list[Span]:
        """Return every hit where it stands in the raw turn, in text order; a form neither begins nor ends in a space.

        Between its first and its last character a span may hold what normalising folds away: `add, **twelve**`.
        """
        hits = self.hits(text)
        if not hits:
            return []
        alignment = _Alignment(text)
        return [Span(hit.form, alignment.raw(hit.start), alignment.raw(hit.end - 1) + 1) for hit in hits]
