"""A table as data: columns, printed cells with their exact values, and what every missing number is missing for."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_tutoreval.reporting.numbers import p_value, signed
from pytest_tutoreval.reporting.words import SIMULATED

__all__ = [
    "ABSENT",
    "SIMULATED",
    "Cell",
    "Column",
    "Table",
    "absent",
    "lines_of_notes",
    "number",
    "p_cell",
    "text",
    "whole",
]

# What a cell shows that has no number: never nothing, never NaN.
ABSENT = "\N{EM DASH}"

_DASH = f"{ABSENT} marks a cell without a value; its letter gives the reason."


@dataclass(frozen=True)
class Cell:
    """A cell: its words or number as the study prints it.

    `exact` is the number it was rounded from. `note` is the reason of an absent one, or what has to be said of a
    present one; equal notes of a table share a letter.
    """

    shown: str
    exact: float | int | None = None
    note: str | None = None


@dataclass(frozen=True)
class Column:
    """A column. `key` names it in the CSV; without a `heading` it stands there alone.

    `exact` adds the column `key`_exact to the CSV. `width`, a share of the line, lets LaTeX wrap long text.
    """

    key: str
    heading: str | None
    align: Literal["left", "right"] = "left"
    exact: bool = False
    width: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the study. `number` is the study's ("2a"); `rows` hold a cell a column, hidden ones included."""

    number: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    simulated: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.number}: a row of {len(row)} cells under {len(self.columns)} columns")

    @property
    def heading(self) -> str:
        """The title; that the data are simulated comes first."""
        return f"{SIMULATED}. {self.title}" if self.simulated else self.title

    @property
    def caption(self) -> str:
        """The number and the heading."""
        return f"Table {self.number}. {self.heading}"

    @property
    def stem(self) -> str:
        """What the table's files are called."""
        return f"table{self.number}"

    def printed(self) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
        """Return the columns that are printed and the rows of just these."""
        kept = [at for at, column in enumerate(self.columns) if column.heading is not None]
        return tuple(self.columns[at] for at in kept), tuple(tuple(row[at] for at in kept) for row in self.rows)

    def marks(self) -> dict[str, str]:
        """Return a letter for each different note of the printed cells, in reading order."""
        _, rows = self.printed()
        notes = dict.fromkeys(cell.note for row in rows for cell in row if cell.note)
        return {note: _letter(at) for at, note in enumerate(notes) if note}


def _letter(at: int) -> str:
    """Return a, b, …, z, aa, ab, …."""
    rest, this = divmod(at, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("a") + this)


def text(shown: object, note: str | None = None) -> Cell:
    """Return a cell of words."""
    return Cell(str(shown), note=note)


def absent(note: str) -> Cell:
    """Return the cell of something that is not there, with the reason."""
    return Cell(ABSENT, note=note)


def number(
    value: float | None, digits: int = 3, *, sign: bool = True, note: str | None = None, missing: str = "not defined"
) -> Cell:
    """Return a number with its digits; the cell of an undefined one says so, or what `missing` says."""
    if value is None:
        return absent(note or missing)
    return Cell(signed(value, digits) if sign else f"{value:.{digits}f}", value, note)


def p_cell(value: float | None, *, note: str | None = None, missing: str = "not defined") -> Cell:
    """Return a p-value as the study prints it."""
    return absent(note or missing) if value is None else Cell(p_value(value), value, note)


def whole(value: int | None, *, missing: str = "not defined") -> Cell:
    """Return a count."""
    return absent(missing) if value is None else Cell(str(value), value)


def lines_of_notes(table: Table) -> Iterable[str]:
    """Yield the notes under a table: the lettered ones of its cells, then its own."""
    for note, letter in table.marks().items():
        yield f"({letter}) {note}"
    _, rows = table.printed()
    if any(cell.shown == ABSENT for row in rows for cell in row):
        yield _DASH
    yield from table.notes
