"""What a page shows of claims: Table 1, and a card a claim, base and judge; and how its places are named and linked."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from pytest_tutoreval.reporting.html.shown import Numbers, Outcome

__all__ = [
    "Anchors",
    "Card",
    "ClaimSection",
    "Grid",
    "GridCell",
    "Part",
    "Plot",
    "PlotRow",
    "Registration",
    "SmallPlot",
    "TurnsLink",
]

# Returns the address of some turns in the transcript viewer, by its keys; None where the page has no viewer.
TurnsLink = Callable[..., str | None]


class Anchors:
    """Gives every place of the page one id, from names that may be any text."""

    def __init__(self) -> None:
        self._ids: dict[tuple[str | None, ...], str] = {}
        self._taken: set[str] = set()

    def of(self, *names: str | None) -> str:
        """Return the id of what these names name: the same names, the same id."""
        if names not in self._ids:
            plain = "-".join(
                "".join(c for c in name if c.isascii() and (c.isalnum() or c in "_.")) for name in names if name
            )
            wanted = plain[:80] or "place"
            found, number = wanted, 1
            while found in self._taken:
                number += 1
                found = f"{wanted}-{number}"
            self._taken.add(found)
            self._ids[names] = found
        return self._ids[names]


@dataclass(frozen=True)
class Registration:
    """What was registered about a claim, in words; None where the document does not say."""

    title: str | None
    rule: str
    measure: str | None
    arms: tuple[str, str]
    kind: str | None
    evidence: str | None


@dataclass(frozen=True)
class Part:
    """A part of a joint claim: a member with a card of its own, or a leg."""

    name: str
    outcome: Outcome
    direction: str
    numbers: Numbers
    plot: "SmallPlot"
    href: str | None


@dataclass(frozen=True)
class SmallPlot:
    """One forest row above its axis, and what its numbers are."""

    row: Markup
    axis: Markup
    quantity: str


@dataclass(frozen=True)
class Card:
    """One claim for one base and judge, with everything that was registered and everything that came out."""

    anchor: str
    claim: str
    base: str
    judge: str | None
    outcome: Outcome
    direction: str
    registration: Registration
    role: str
    status: str
    numbers: Numbers | None
    plot: SmallPlot | None
    parts: tuple[Part, ...]
    notes: tuple[str, ...]
    turns: str | None


@dataclass(frozen=True)
class PlotRow:
    """A row of a claim's overview."""

    base: str
    judge: str | None
    outcome: Outcome
    drawn: Markup
    numbers: Numbers
    href: str
    turns: str | None


@dataclass(frozen=True)
class Plot:
    """All bases and judges of a claim, or of one leg of it, on one scale."""

    name: str | None
    quantity: str
    registered: str
    rows: tuple[PlotRow, ...]
    axis: Markup


@dataclass(frozen=True)
class ClaimSection:
    """A claim: what was registered, its overview, its cards."""

    anchor: str
    claim: str
    registration: Registration
    plots: tuple[Plot, ...]
    members: tuple[str, ...]
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class GridCell:
    """A verdict, and where its card is."""

    outcome: Outcome
    href: str | None


@dataclass(frozen=True)
class Grid:
    """The study's Table 1 for one judge: claims down, bases across. `judge` is None where no claim has one."""

    judge: str | None
    bases: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[GridCell, ...]], ...]
