"""Session files: a header line, then one line a call, then a closing line once the episode is over."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenSession
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.session import Session, SessionHeader, SessionKey
from pytest_tutoreval.store.lines import LineFileError, LineWriter, read_lines, split_plain
from pytest_tutoreval.store.validation import first_problem, validate_lines

__all__ = ["header_line", "parse_session", "session_path", "write_session"]


def session_path(key: SessionKey) -> str:
    """Return where a session stands in its corpus."""
    return f"sessions/{key.base}/{key.condition}/r{key.replicate}.jsonl"


def header_line(header: SessionHeader) -> dict[str, Any]:
    """Return a header's line: all that was set, so that it can be compared when a session is resumed."""
    return header.model_dump(mode="json", exclude_none=True, exclude={"amendments"} if not header.amendments else None)


def write_session(folder: Path, header: SessionHeader, calls: Sequence[Call], *, sync: Callable[[int], None]) -> Path:
    """Write a finished session and return its path."""
    path = folder / session_path(header.key)
    with LineWriter(path, sync=sync) as writer:
        writer.append(header_line(header))
        for call in calls:
            writer.append(call.compact())
        writer.append({"end": True, "n_calls": len(calls)})
    return path


def parse_session(data: bytes, path: Path, key: SessionKey) -> Session:
    """Return the finished session in `data`.

    Raises
    ------
    BrokenSession
        No closing line (still being collected, or cut off), a torn last line, a duplicated, missing or out-of-order
        call, an unknown field, another session's key, or bytes that are no UTF-8 lines.
    """
    read = _read_plain(data) or _read_line_by_line(data, path)
    header, closing = read.header, read.closing
    if header.key != key:
        raise BrokenSession(
            path, f"holds session {header.key}, which belongs in {session_path(header.key)}: one key, one file"
        )
    calls = _in_order(read.calls, path)
    if closing is None:
        cut = "its last line was torn and dropped" if read.torn else "it has no closing line"
        raise BrokenSession(
            path, f"the session is not finished: {cut} after {len(calls)} calls; resume it or restore the file"
        )
    if closing != {"end": True, "n_calls": len(calls)} or read.torn:
        raise BrokenSession(
            path, f"the closing line says {closing.get('n_calls')} calls, the file holds {len(calls)}; restore it"
        )
    return Session(header=header, calls=tuple(calls))


@dataclass(frozen=True, slots=True)
class _Lines:
    """What stands in a session file; its calls may raise BrokenSession as they are met."""

    header: SessionHeader
    calls: Iterable[Call]
    closing: Mapping[str, Any] | None
    torn: bool


def _read_plain(data: bytes) -> _Lines | None:
    """Return what a file holds whose every line is as it should be, else None."""
    if not (lines := split_plain(data)):
        return None
    try:
        closing = json.loads(lines[-1].decode("utf-8"))
        if not isinstance(closing, dict) or "end" not in closing:
            return None
        header = SessionHeader.model_validate_json(lines[0])
        return _Lines(header, validate_lines(lines[1:-1], Call), closing, torn=False)
    except (ValueError, RecursionError):  # ValidationError is a ValueError
        return None


def _read_line_by_line(data: bytes, path: Path) -> _Lines:
    """Return what any file holds."""
    try:
        lines, torn = read_lines(data, path)
    except LineFileError as exc:
        raise BrokenSession(path, str(exc)) from exc
    if not lines:
        raise BrokenSession(path, "holds no header line; delete the file to collect the session anew")
    try:
        header = SessionHeader.model_validate(lines[0])
    except ValidationError as exc:
        raise BrokenSession(path, f"header: {first_problem(exc)}") from exc
    closing = lines[-1] if "end" in lines[-1] else None
    return _Lines(header, _calls(lines[1:-1] if closing else lines[1:], path), closing, torn)


def _calls(lines: Iterable[dict[str, Any]], path: Path) -> Iterator[Call]:
    for number, fields in enumerate(lines, start=2):
        try:
            yield Call.model_validate(fields)
        except ValidationError as exc:
            raise BrokenSession(path, f"line {number}: {first_problem(exc)}") from exc


def _in_order(found: Iterable[Call], path: Path) -> list[Call]:
    """Return calls that are numbered without a gap. Raises BrokenSession."""
    calls: list[Call] = []
    for due, call in enumerate(found, start=1):
        if call.seq != due:
            how = "stands twice" if call.seq < due else "is out of order"
            raise BrokenSession(path, f"line {due + 1}: call {call.seq} {how}, call {due} was due; restore the file")
        calls.append(call)
    return calls
