"""Tables of an imported corpus: per-turn and per-session numbers without text, as CSV.

tables/turns.csv            one row an in-window tutor turn: leakage, next-turn independence, cost, route
tables/sessions.csv         one row a session: rates, accuracies, counts, tokens
tables/scores.csv           one row a judge, rubric and turn: the mean of its ratings
tables/session_scores.csv   the released session means, where the source has them (they decide ties)

Ablation conditions stand in tables/ablation/, never beside conv and ped.
"""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_tutoreval.errors import BrokenTable
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey

__all__ = ["BaseTables", "ScoreCell", "SessionScoreCell", "TableSet", "parse_tables", "render_table"]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "turns.csv": (
        *("base", "condition", "replicate", "problem", "turn"),
        *("leaky", "next_turn_independence", "n_calls", "tutor_tokens", "route"),
    ),
    "sessions.csv": (
        *("base", "condition", "replicate", "seed", "leakage", "independence"),
        *("accuracy_immediate", "accuracy_delayed", "accuracy_transfer"),
        *("n_tutor_turns", "n_student_turns", "visible_tutor_turns", "student_turns", "n_calls"),
        *("tutor_tokens", "student_tokens", "input_tokens", "output_tokens"),
    ),
    "scores.csv": ("judge", "rubric", "base", "condition", "replicate", "problem", "turn", "score"),
    "session_scores.csv": ("judge", "rubric", "base", "condition", "replicate", "score"),
}

_IDENTITY = ("judge", "rubric", "condition", "replicate", "problem", "turn")


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A turn's score by one judge under one rubric; None where the source had none or a non-finite one."""

    judge: str
    rubric: str
    turn: TurnId
    score: float | None


@dataclass(frozen=True, slots=True)
class SessionScoreCell:
    """A session's released mean score."""

    judge: str
    rubric: str
    condition: str
    replicate: int
    score: float | None


@dataclass
class BaseTables:
    """Everything the tables say about one base.

    `excluded` names each non-finite value that was left out, with its condition.
    """

    sessions: dict[SessionKey, SessionRow] = field(default_factory=dict)
    turns: dict[TurnId, TurnRow] = field(default_factory=dict)
    scores: list[ScoreCell] = field(default_factory=list)
    session_scores: list[SessionScoreCell] = field(default_factory=list)
    excluded: list[tuple[str, str]] = field(default_factory=list)


TableSet = dict[str, BaseTables]


def render_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return CSV text: None as an empty cell, floats to their last digit, LF line ends."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


class _Row:
    """One CSV row with typed access; every failure names file, line and column."""

    def __init__(self, path: Path, line: int, cells: dict[str, str], tables: TableSet) -> None:
        self.path, self.line, self.cells = path, line, cells
        self.base = tables.setdefault(cells["base"], BaseTables())

    def text(self, column: str) -> str:
        return self.cells[column]

    def whole(self, column: str) -> int:
        try:
            return int(self.cells[column])
        except ValueError:
            raise self.problem(column, "a whole number") from None

    def truth(self, column: str) -> bool | None:
        try:
            return {"True": True, "False": False, "": None}[self.cells[column]]
        except KeyError:
            raise self.problem(column, "True, False or empty") from None

    def number(self, column: str) -> float | None:
        """Return the number, or None where the cell is empty or not finite; the latter is counted."""
        if self.cells[column] == "":
            return None
        try:
            value = float(self.cells[column])
        except ValueError:
            raise self.problem(column, "a number or empty") from None
        if math.isfinite(value):
            return value
        where = "/".join(self.cells[name] for name in _IDENTITY if name in self.cells)
        note = f"{self.path.name} {where}: {column} is {self.cells[column]}, excluded"
        self.base.excluded.append((self.cells["condition"], note))
        return None

    def problem(self, column: str, expected: str) -> BrokenTable:
        return BrokenTable(self.path, f"line {self.line}: {column} is {self.cells[column]!r}, expected {expected}")

    @property
    def turn_id(self) -> TurnId:
        return TurnId(self.text("condition"), self.whole("replicate"), self.text("problem"), self.whole("turn"))

    @property
    def key(self) -> SessionKey:
        return SessionKey(self.text("base"), self.text("condition"), self.whole("replicate"))


def parse_tables(files: dict[str, tuple[Path, str]]) -> TableSet:
    """Return the tables by base. `files` maps a table's name to its path and text.

    Raises
    ------
    BrokenTable
        A missing table or column, an unreadable cell, a session, turn or score that stands twice.
    """
    tables: TableSet = {}
    for row in _rows(files, "sessions.csv", tables):
        if row.key in row.base.sessions:
            raise BrokenTable(row.path, f"line {row.line}: session {row.key} stands twice")
        row.base.sessions[row.key] = _session_row(row)
    for row in _rows(files, "turns.csv", tables):
        if row.turn_id in row.base.turns:
            raise BrokenTable(row.path, f"line {row.line}: turn {row.turn_id} stands twice")
        row.base.turns[row.turn_id] = _turn_row(row)
    rated: set[tuple[object, ...]] = set()
    for row in _rows(files, "scores.csv", tables):
        score = ScoreCell(row.text("judge"), row.text("rubric"), row.turn_id, row.number("score"))
        _once(rated, row, score.judge, score.rubric, f"turn {score.turn}")
        row.base.scores.append(score)
    for row in _rows(files, "session_scores.csv", tables):
        mean = SessionScoreCell(
            row.text("judge"),
            row.text("rubric"),
            row.text("condition"),
            row.whole("replicate"),
            row.number("score"),
        )
        _once(rated, row, mean.judge, mean.rubric, f"session {row.key}")
        row.base.session_scores.append(mean)
    return tables


def _once(rated: set[tuple[object, ...]], row: _Row, judge: str, rubric: str, what: str) -> None:
    identity = (row.text("base"), judge, rubric, what)
    if identity in rated:
        raise BrokenTable(row.path, f"line {row.line}: the score of {what} by {judge} under {rubric} stands twice")
    rated.add(identity)


def _rows(files: dict[str, tuple[Path, str]], name: str, tables: TableSet) -> Iterable[_Row]:
    path, text = files[name]
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if list(reader.fieldnames or ()) != list(COLUMNS[name]):
        raise BrokenTable(path, f"columns are {reader.fieldnames}, expected {list(COLUMNS[name])}")
    for cells in reader:
        if None in cells or None in cells.values():
            raise BrokenTable(path, f"line {reader.line_num}: not {len(COLUMNS[name])} cells")
        yield _Row(path, reader.line_num, cells, tables)


def _session_row(row: _Row) -> SessionRow:
    return SessionRow(
        key=row.key,
        seed=row.whole("seed"),
        leakage=row.number("leakage"),
        independence=row.number("independence"),
        accuracy_immediate=row.number("accuracy_immediate"),
        accuracy_delayed=row.number("accuracy_delayed"),
        accuracy_transfer=row.number("accuracy_transfer"),
        n_tutor_turns=row.whole("n_tutor_turns"),
        n_student_turns=row.whole("n_student_turns"),
        visible_tutor_turns=row.whole("visible_tutor_turns"),
        student_turns=row.whole("student_turns"),
        n_calls=row.whole("n_calls"),
        tutor_tokens=row.whole("tutor_tokens"),
        student_tokens=row.whole("student_tokens"),
        input_tokens=row.whole("input_tokens"),
        output_tokens=row.whole("output_tokens"),
    )


def _turn_row(row: _Row) -> TurnRow:
    leaky = row.truth("leaky")
    if leaky is None:
        raise row.problem("leaky", "True or False")
    return TurnRow(
        id=row.turn_id,
        leaky=leaky,
        next_turn_independence=row.truth("next_turn_independence"),
        n_calls=row.whole("n_calls"),
        tutor_tokens=row.whole("tutor_tokens"),
        route=row.text("route") or None,
    )
