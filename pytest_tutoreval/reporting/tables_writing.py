"""The three ways a table is written: CSV for machines, Markdown and LaTeX for people."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_tutoreval.reporting.tables import Cell, Column, Table, lines_of_notes

__all__ = ["csv_text", "escape_latex", "escape_markdown", "latex_text", "markdown_text", "write_tables"]


def csv_text(table: Table) -> str:
    """Return every column, exact numbers beside the printed ones; first the table and its provenance, last the notes.

    An exact number is its shortest decimal that reads back as the same double; where there is none the field is empty
    and `notes` says why the printed one is a dash.
    """
    names = ["table", "data"]
    for column in table.columns:
        names += [column.key, f"{column.key}_exact"] if column.exact else [column.key]
    data = "SIMULATED" if table.simulated else "not simulated"
    out = io.StringIO()
    writer = csv.writer(out)  # ends lines as RFC 4180 does, so that a lone line end inside a cell is quoted
    writer.writerow([*names, "notes"])
    for row in table.rows:
        fields = [f"Table {table.number}", data]
        notes: dict[str, list[str]] = {}
        for column, cell in zip(table.columns, row, strict=True):
            fields.append(cell.shown)
            if column.exact:
                fields.append("" if cell.exact is None else repr(cell.exact))
            if cell.note:
                notes.setdefault(cell.note, []).append(column.key)
        said = "; ".join(f"{', '.join(keys)}: {note}" for note, keys in notes.items())
        writer.writerow([*fields, said])
    return out.getvalue()


# Markdown

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|$~&^])")


def escape_markdown(words: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\1", _one_line(words))


def markdown_text(table: Table) -> str:
    """Return a pipe table under its caption, with the notes below."""
    columns, rows = table.printed()
    marks = table.marks()
    lines = [f"**{escape_markdown(table.caption)}**", ""]
    lines.append(_piped(escape_markdown(column.heading or "") for column in columns))
    lines.append(_piped("---:" if column.align == "right" else ":---" for column in columns))
    lines += [_piped(_marked(escape_markdown(cell.shown), cell, marks, " ({})") for cell in row) for row in rows]
    for note in lines_of_notes(table):
        lines += ["", escape_markdown(note)]
    return "\n".join(lines) + "\n"


def _piped(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


# LaTeX

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",
    "[": "{[}",  # after a line end, [ would open an optional argument, * would star it
    "]": "{]}",
    "*": "{*}",
    "-": "-{}",  # no ligatures
    "'": "'{}",
    ",": ",{}",
    "?": "?{}",
    "!": "!{}",
    "\N{EM DASH}": "---",
    "\N{MINUS SIGN}": "$-$",
    "\N{GREEK CAPITAL LETTER DELTA}": r"$\Delta$",
    "\N{GREEK SMALL LETTER DELTA}": r"$\delta$",
    "\N{GREEK SMALL LETTER BETA}": r"$\beta$",
}
# Only a character that another one would join to needs the empty group.
_LONELY = re.compile(r"([-',?!])\{\}(?![-'`,])")
_SCIENTIFIC = re.compile(r"(-?)(\d(?:\.\d+)?)e([+-])0*(\d+)")


def escape_latex(words: str) -> str:
    """Return text that LaTeX shows as it is, on one line; no character of it is a command."""
    joined = "".join(_LATEX.get(character, character) for character in _one_line(words))
    return _LONELY.sub(r"\1", joined)


def latex_text(table: Table) -> str:
    """Return a `table` environment with a plain `tabular`: it needs no package."""
    columns, rows = table.printed()
    marks = table.marks()
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\renewcommand{{\thetable}}{{{escape_latex(table.number)}}}",
        rf"\caption{{{escape_latex(table.heading)}}}",
        rf"\label{{tab:{re.sub(r'[^A-Za-z0-9-]', '-', table.number)}}}",
        rf"\begin{{tabular}}{{{''.join(map(_latex_column, columns))}}}",
        r"\hline",
        _latex_row(escape_latex(column.heading or "") for column in columns),
        r"\hline",
        *(
            _latex_row(_latex_cell(cell, column, marks) for column, cell in zip(columns, row, strict=True))
            for row in rows
        ),
        r"\hline",
        r"\end{tabular}",
        *(rf"\par\smallskip\footnotesize {escape_latex(note)}" for note in lines_of_notes(table)),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_column(column: Column) -> str:
    if column.width is not None:
        return rf"p{{{column.width:g}\linewidth}}"
    return "r" if column.align == "right" else "l"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell, column: Column, marks: Mapping[str, str]) -> str:
    shown = (
        _latex_number(cell.shown) if cell.exact is not None and column.align == "right" else escape_latex(cell.shown)
    )
    return _marked(shown, cell, marks, r"\textsuperscript{{{}}}")


def _latex_number(shown: str) -> str:
    if (found := _SCIENTIFIC.fullmatch(shown)) is not None:
        sign, mantissa, power_sign, power = found.groups()
        return rf"${sign}{mantissa}\times10^{{{'-' if power_sign == '-' else ''}{power}}}$"
    return f"${shown[0]}${shown[1:]}" if shown[:1] in ("-", "+") else escape_latex(shown)


# all of them


def _marked(shown: str, cell: Cell, marks: Mapping[str, str], form: str) -> str:
    return shown + form.format(marks[cell.note]) if cell.note else shown


def _one_line(words: str) -> str:
    """Return the words with white space made single spaces and what cannot be printed made a visible sign."""
    joined = " ".join(words.split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c)[0] == "C" else c for c in joined)


def write_tables(tables: Iterable[Table], folder: Path) -> list[Path]:
    """Write each table three times and return the paths. The same tables give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for table in tables:
        for suffix, said in (("csv", csv_text(table)), ("md", markdown_text(table)), ("tex", latex_text(table))):
            path = folder / f"{table.stem}.{suffix}"
            path.write_text(said, encoding="utf-8", newline="")
            written.append(path)
    return written
