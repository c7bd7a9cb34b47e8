"""A corpus and its verdicts as frames for notebooks: turns, sessions, verdicts, as CSV or Parquet.

A frame is wide: one row a tutor turn, or a session, with a column for each judge's score under each rubric. What is
undefined is an empty cell or a null, never NaN. `provenance` stands in every row, since a row is easily pasted alone.
"""

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.measures import Cell, CorpusMeasures
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.reporting.plain import visible

__all__ = [
    "FORMATS",
    "Frame",
    "FrameFormat",
    "left_out",
    "session_frame",
    "turn_frame",
    "verdict_frame",
    "write_frames",
]

Value = str | bool | int | float | None
Kind = Literal["text", "flag", "count", "number"]
FrameFormat = Literal["csv", "parquet"]

FORMATS: tuple[FrameFormat, ...] = get_args(FrameFormat)

# A spreadsheet takes a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

# A spreadsheet's cell holds 32,767 characters, and Python's csv reader stops at 131,072.
_MOST_OF_A_TEXT = 32_000

_CELL: Mapping[str, Kind] = {"provenance": "text", "base": "text", "condition": "text", "replicate": "count"}

_SESSION: Mapping[str, Kind] = {
    "seed": "count",
    "leakage": "number",
    "independence": "number",
    "accuracy_immediate": "number",
    "accuracy_delayed": "number",
    "accuracy_transfer": "number",
    "n_tutor_turns": "count",
    "n_student_turns": "count",
    "visible_tutor_turns": "count",
    "student_turns": "count",
    "n_calls": "count",
    "tutor_tokens": "count",
    "student_tokens": "count",
    "input_tokens": "count",
    "output_tokens": "count",
}

_TURN: Mapping[str, Kind] = {
    "problem": "text",
    "turn": "count",
    "leaky": "flag",
    "next_turn_independence": "flag",
    "n_calls": "count",
    "tutor_tokens": "count",
    "route": "text",
}

_NUMBERS: Mapping[str, Kind] = {
    "estimate": "number",
    "ci_low": "number",
    "ci_high": "number",
    "p_value": "number",
    "cliffs_delta": "number",
    "se": "number",
    "n": "count",
    "n_dropped": "count",
}

_VERDICT: Mapping[str, Kind] = {
    "provenance": "text",
    "claim": "text",
    "base": "text",
    "judge": "text",
    "part": "text",
    "verdict": "text",
    "holds": "flag",
    "reversed": "flag",
    "role": "text",
    "status": "text",
    "direction": "text",
    "margin": "number",
    **_NUMBERS,
    "p_adjusted": "number",
    "notes": "text",
    "reason": "text",
}


@dataclass(frozen=True)
class Frame:
    """A table by name: the kind of each column, and the rows, each with a value for every column."""

    name: str
    columns: Mapping[str, Kind]
    rows: Sequence[Sequence[Value]]


def turn_frame(measures: CorpusMeasures) -> Frame:
    """Return one row a visible in-window tutor turn of a readable session.

    `JUDGE_RUBRIC` is the mean of the usable ratings, `JUDGE_RUBRIC_usable` how many there were; both are empty where a
    turn was not rated. `next_turn_independence` is empty where no student turn follows.
    """
    scored = _scored(measures)
    columns: dict[str, Kind] = {**_CELL, **_TURN}
    for judge, rubric in scored:
        columns |= {f"{judge}_{rubric}": "number", f"{judge}_{rubric}_usable": "count"}
    rows = []
    for base, condition, cell in _cells(measures):
        scores = [measures.scores(base, condition, judge, rubric).turns for judge, rubric in scored]
        for replicate, turns in sorted(cell.turns.items()):
            for turn in turns:
                found = [by_turn.get(turn.id) for by_turn in scores]
                rated = [
                    value for score in found for value in ((score.value, score.n_usable) if score else (None, None))
                ]
                where = (measures.corpus.manifest.provenance, base, condition, replicate)
                rows.append((*where, *_turn_values(turn), *rated))
    return Frame("turns", columns, rows)


def _turn_values(turn: TurnRow) -> Iterator[Value]:
    yield from (turn.id.problem, turn.id.turn, turn.leaky, turn.next_turn_independence)
    yield from (turn.n_calls, turn.tutor_tokens, turn.route)


def session_frame(measures: CorpusMeasures) -> Frame:
    """Return one row a readable session; `JUDGE_RUBRIC` is its mean score, empty where it has none."""
    scored = _scored(measures)
    columns: dict[str, Kind] = {**_CELL, **_SESSION, **{f"{judge}_{rubric}": "number" for judge, rubric in scored}}
    rows = []
    for base, condition, cell in _cells(measures):
        scores = [measures.scores(base, condition, judge, rubric).sessions for judge, rubric in scored]
        for replicate, row in sorted(cell.sessions.items()):
            where = (measures.corpus.manifest.provenance, base, condition, replicate)
            rows.append((*where, *_session_values(row), *(means.get(replicate) for means in scores)))
    return Frame("sessions", columns, rows)


def _session_values(row: SessionRow) -> Iterator[Value]:
    return (getattr(row, name) for name in _SESSION)


def _scored(measures: CorpusMeasures) -> list[tuple[str, str]]:
    return [
        (judge, rubric) for judge in measures.corpus.manifest.judges for rubric in measures.instrument.study.rubrics
    ]


def _cells(measures: CorpusMeasures) -> Iterator[tuple[str, str, Cell]]:
    manifest = measures.corpus.manifest
    for base in manifest.bases:
        for condition in manifest.conditions:
            yield base, condition, measures.cell(base, condition)


def left_out(measures: CorpusMeasures) -> list[str]:
    """Return what the frames of a corpus lack, a line each: unreadable sessions, turns that are not rated."""
    lines = []
    for base, condition, cell in _cells(measures):
        lines += [f"{base}/{condition}/r{replicate}: {reason}" for replicate, reason in sorted(cell.broken.items())]
        for judge, rubric in _scored(measures):
            missing = measures.scores(base, condition, judge, rubric).missing
            if missing:
                lines.append(f"{base}/{condition} {judge} {rubric}: {len(missing)} missing, the first: {missing[0]}")
    return lines


def verdict_frame(document: Mapping[str, Any]) -> Frame:
    """Return one row a claim, decided or not, and one a part of it, which `part` names.

    A claim that could not be evaluated has no verdict and its reason.
    """
    provenance = document["corpus"]["provenance"]
    rows: list[Mapping[str, Value]] = []
    for claim in document["claims"]:
        rows.append({**claim, "part": None, "holds": None, "notes": "; ".join(claim["notes"]) or None, "reason": None})
        place = {name: claim[name] for name in ("claim", "base", "judge", "role", "status")}
        rows += [{**part, **place, "part": part["name"]} for part in claim["components"]]
    rows += document["not_evaluable"]
    values = [tuple(provenance if name == "provenance" else row.get(name) for name in _VERDICT) for row in rows]
    return Frame("verdicts", _VERDICT, values)


# on disk


def write_frames(frames: Sequence[Frame], folder: Path, form: FrameFormat) -> list[Path]:
    """Write each frame to a file of its name, whole or not at all, and return the paths.

    In CSV a text that a spreadsheet would take for a formula is preceded by an apostrophe.

    Raises
    ------
    ConfigurationProblem
        pyarrow is not installed, or the folder cannot be written; no frame is half written.
    """
    encode = {"csv": _csv_bytes, "parquet": _parquet_bytes}[form]
    written = []
    try:
        for frame, data in [(frame, encode(frame)) for frame in frames]:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{frame.name}.{form}"
            fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
            try:
                fresh.write_bytes(data)
                os.replace(fresh, path)
            finally:
                fresh.unlink(missing_ok=True)
            written.append(path)
    except OSError as exc:
        raise ConfigurationProblem(f"{folder}: cannot be written ({exc.strerror}); give another folder") from exc
    return written


def _csv_bytes(frame: Frame) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(frame.columns)
    writer.writerows([_csv_cell(value) for value in row] for row in frame.rows)
    return out.getvalue().encode("utf-8")


def _csv_cell(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            shown = _kept(value)
            return f"'{shown}" if shown.startswith(_FORMULA) else shown
        case _:
            return repr(value)  # the shortest text that reads back as the same double


def _kept(text: str) -> str:
    """Return a text that any file can hold and any reader can show."""
    return visible(text, lines=True, limit=_MOST_OF_A_TEXT)


def _parquet_bytes(frame: Frame) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as exc:
        raise ConfigurationProblem(
            "parquet: pyarrow is not installed; pip install 'pytest-tutoreval[frames]', or take --format csv"
        ) from exc
    types: Mapping[Kind, Callable[[], pa.DataType]] = {
        "text": pa.string,
        "flag": pa.bool_,
        "count": pa.int64,
        "number": pa.float64,
    }
    schema = pa.schema([(name, types[kind]()) for name, kind in frame.columns.items()])
    columns = zip(*frame.rows, strict=True) if frame.rows else [()] * len(frame.columns)
    arrays = [
        pa.array([_kept(value) if isinstance(value, str) else value for value in column], type=field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    out = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), out)
    data: bytes = out.getvalue().to_pybytes()
    return data
