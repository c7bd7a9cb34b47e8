"""The study's Table 1, of any claims: claims down, bases across, once a judge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tutoreval.records.verdict import say

__all__ = ["Grid", "verdict_grids"]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """The verdicts of one judge; `judge` is None where no claim is judge-bound.

    `rows` holds a claim id and its verdict by base, in words, `-` where it was not decided.
    """

    judge: str | None
    bases: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def heading(self) -> str:
        """What stands over the claim ids."""
        return f"judge {self.judge}" if self.judge else "verdicts"


def verdict_grids(claims: Sequence[Row]) -> Iterator[Grid]:
    """Yield a grid a judge, all in the order of the rows; judge-free claims stand in each."""
    bases = tuple(dict.fromkeys(claim["base"] for claim in claims))
    judges = list(dict.fromkeys(claim["judge"] for claim in claims if claim["judge"])) or [None]
    names = list(dict.fromkeys(claim["claim"] for claim in claims))
    cells = {(row["claim"], row["base"], row["judge"]): row for row in claims}
    for judge in judges if claims else ():
        rows = [
            (name, tuple(_word(cells.get((name, base, judge)) or cells.get((name, base, None))) for base in bases))
            for name in names
        ]
        yield Grid(judge, bases, tuple(rows))


def _word(row: Row | None) -> str:
    return say(row["verdict"]) if row else "-"
