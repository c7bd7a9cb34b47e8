"""The evidence as records: sessions, problems, turns and ratings as a reader sees them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from pytest_tutoreval.records.session import SessionKey

__all__ = [
    "EvidenceIndex",
    "HiddenCall",
    "Mark",
    "ProblemEvidence",
    "RatingEvidence",
    "Repetition",
    "Segment",
    "SessionEvidence",
    "SessionListing",
    "TurnEvidence",
    "mark_text",
]


@dataclass(frozen=True, slots=True)
class Mark:
    """Why a piece of text is marked: `label` is the declared form that hit, or the name of the pattern that fired."""

    kind: Literal["leak", "attempt"]
    label: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a turn under one set of marks; the segments of a turn, joined, are its text."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class HiddenCall:
    """A call that took part in a tutor turn and was never shown to the student: a tracker's reply, mostly."""

    role: str
    node: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Repetition:
    """One repetition of a rating. `overall` is None where it is unusable; `discarded` are replies before a second try.

    A `stale` one was made on another dialogue than the session holds, so it enters no score.
    """

    number: int
    overall: int | None
    raw: str
    discarded: tuple[str, ...] = ()
    stale: bool = False

    @property
    def usable(self) -> bool:
        """Whether it enters the score."""
        return self.overall is not None and not self.stale


@dataclass(frozen=True, slots=True)
class RatingEvidence:
    """A judge's ratings of a turn under one rubric.

    `score` and `spread` (the sample variance) are the measures' own; both are None with no usable repetition, `spread`
    also below two. `gap` says what is missing where the turn is not rated as registered; then there is no score.
    """

    score: float | None = None
    spread: float | None = None
    gap: str | None = None
    repetitions: tuple[Repetition, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """A visible turn.

    `turn` is a tutor turn's number within its problem, None for the student's. `leaky` and `next_turn_independence` are
    the measures' labels, None beyond the window, on student turns, and where no student turn follows. `segments` are
    empty where there is no text. `unmarked` counts matches beyond the most that are marked. `commits` marks the student
    turn that ends the window.
    """

    speaker: Literal["student", "tutor"]
    segments: tuple[Segment, ...]
    in_window: bool = False
    turn: int | None = None
    route: str | None = None
    node: str | None = None
    leaky: bool | None = None
    next_turn_independence: bool | None = None
    commits: bool = False
    elicited: bool = False
    unmarked: int = 0
    hidden: tuple[HiddenCall, ...] = ()
    ratings: Mapping[str, Mapping[str, RatingEvidence]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The turn as it was said."""
        return "".join(segment.text for segment in self.segments)

    @property
    def marks(self) -> frozenset[Mark]:
        """All that was found in it."""
        return frozenset(mark for segment in self.segments for mark in segment.marks)


@dataclass(frozen=True, slots=True)
class ProblemEvidence:
    """One problem of a session: a dialogue where it was tutored, else a probe.

    `committed` is the value the student committed to, in words, and `correct` whether it is the answer; None where
    nothing was committed to. A probe without a commitment is wrong.
    """

    id: str
    phase: str
    statement: str
    answer: str
    tutored: bool
    turns: tuple[TurnEvidence, ...]
    committed: str | None = None
    correct: bool | None = None


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """A session with everything its numbers rest on.

    `broken` is the reason why there is nothing to show, `no_text` why there are labels only; None otherwise. `numbers`
    are the session's measures, None where undefined; `scores` its means by judge and rubric. `routes` are the header's,
    by role.
    """

    base: str
    condition: str
    replicate: int
    seed: int | None = None
    provenance: str | None = None
    producer: str | None = None
    source: str | None = None
    amendments: tuple[str, ...] = ()
    routes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    numbers: Mapping[str, float | int | None] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    problems: tuple[ProblemEvidence, ...] = ()
    broken: str | None = None
    no_text: str | None = None

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return SessionKey(self.base, self.condition, self.replicate)


@dataclass(frozen=True, slots=True)
class SessionListing:
    """A session of the corpus. `size` is the bytes on disk of its text and ratings, 0 for one that comes from tables.

    A broken session is listed with its reason.
    """

    key: SessionKey
    size: int
    broken: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceIndex:
    """The sessions there are, by base and condition as the corpus lists them, and why whole cells could not be read."""

    sessions: tuple[SessionListing, ...]
    unreadable: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SessionListing]:
        return iter(self.sessions)

    def __len__(self) -> int:
        return len(self.sessions)


def mark_text(text: str, spans: Sequence[tuple[int, int, Mark]]) -> tuple[Segment, ...]:
    """Return text cut where a span begins or ends, each piece with the marks of the spans that cover it.

    Pieces rather than offsets: a reader in JavaScript counts UTF-16 units where Python counts code points.
    """
    if not spans:
        return (Segment(text),) if text else ()
    edges: dict[int, list[tuple[bool, Mark]]] = {0: [], len(text): []}
    for start, end, mark in spans:
        edges.setdefault(start, []).append((True, mark))
        edges.setdefault(end, []).append((False, mark))
    cuts = sorted(edges)
    segments: list[Segment] = []
    covering: list[Mark] = []
    for start, end in pairwise(cuts):
        for begins, mark in edges[start]:
            if begins:
                covering.append(mark)
            else:
                covering.remove(mark)
        segments.append(Segment(text[start:end], tuple(dict.fromkeys(covering))))
    return tuple(segments)
