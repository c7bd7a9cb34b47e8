"""The analyses as tables, one an analysis: columns that hold nothing are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tutoreval.reporting.html.shown import ABSENT, count, level, minus
from pytest_tutoreval.reporting.numbers import p_value

__all__ = ["AnalysisTable", "AnalysisTableRow", "read_analyses"]

Row = Mapping[str, Any]

# A column's heading, and how a row fills it.
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("estimate", "estimate"),
    ("interval", "95 % interval"),
    ("p_value", "p"),
    ("p_holm", "p, Holm"),
    ("cliffs_delta", "delta"),
    ("se", "se"),
    ("n", "n"),
    ("n_dropped", "dropped"),
)


@dataclass(frozen=True)
class AnalysisTableRow:
    """A row: where it holds, its numbers, its parts in words, its notes."""

    base: str
    judge: str
    measure: str
    cells: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AnalysisTable:
    """All rows of an analysis."""

    name: str
    title: str | None
    role: str
    columns: tuple[str, ...]
    rows: tuple[AnalysisTableRow, ...]


def read_analyses(document: Row, titles: Mapping[str, str]) -> list[AnalysisTable]:
    """Return the analyses in the document's order; `titles` says what those that are known are about."""
    grouped: dict[str, list[Row]] = {}
    for row in document.get("analyses", ()):
        grouped.setdefault(row["analysis"], []).append(row)
    return [_table(name, titles.get(name), rows) for name, rows in grouped.items()]


def _table(name: str, title: str | None, rows: Sequence[Row]) -> AnalysisTable:
    cells = [_cells(row) for row in rows]
    used = [key for key, _ in _COLUMNS if any(cell[key] != ABSENT for cell in cells)]
    return AnalysisTable(
        name=name,
        title=title,
        role=rows[0]["role"],
        columns=tuple(heading for key, heading in _COLUMNS if key in used),
        rows=tuple(
            AnalysisTableRow(
                base=row.get("base") or "all",
                judge=row.get("judge") or ABSENT,
                measure=row["measure"],
                cells=tuple(cell[key] for key in used),
                parts=tuple(_part(part) for part in row.get("components", ())),
                notes=tuple(row.get("notes", ())),
            )
            for row, cell in zip(rows, cells, strict=True)
        ),
    )


def _cells(row: Row) -> dict[str, str]:
    low, high = row.get("ci_low"), row.get("ci_high")
    return {
        "estimate": level(row.get("estimate")),
        "interval": ABSENT if low is None or high is None else f"[{level(low)}, {level(high)}]",
        "p_value": minus(p_value(row.get("p_value"))),
        "p_holm": minus(p_value(row.get("p_holm"))),
        "cliffs_delta": level(row.get("cliffs_delta")),
        "se": level(row.get("se")),
        "n": count(row.get("n")),
        "n_dropped": count(row.get("n_dropped")),
    }


def _part(part: Row) -> tuple[str, str]:
    """Return a part's name and its numbers in one breath."""
    cells = _cells(part)
    words = {"interval": "", "p_value": "p ", "p_holm": "Holm p ", "cliffs_delta": "delta ", "se": "se ", "n": "n "}
    said = [cells["estimate"], *(f"{word}{cells[key]}" for key, word in words.items() if cells[key] != ABSENT)]
    return part["name"].replace("_", " "), " ".join(said)
