"""Session files: a header line, then one line a call, then a closing line once the episode is over."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenSession
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.session import Session, SessionHeader, SessionKey
from pytest_tutoreval.store.lines import LineFileError, LineWriter, read_lines
from pytest_tutoreval.store.validation import first_problem

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
    try:
        lines, torn = read_lines(data, path)
    except LineFileError as exc:
        raise BrokenSession(path, str(exc)) from exc
    if not lines:
        raise BrokenSession(path, "holds no header line; delete the file to collect the session anew")
    header = _header(lines[0], path)
    if header.key != key:
        raise BrokenSession(
            path, f"holds session {header.key}, which belongs in {session_path(header.key)}: one key, one file"
        )
    closing = lines[-1] if "end" in lines[-1] else None
    calls = _calls(lines[1:-1] if closing else lines[1:], path)
    if closing is None:
        cut = "its last line was torn and dropped" if torn else "it has no closing line"
        raise BrokenSession(
            path, f"the session is not finished: {cut} after {len(calls)} calls; resume it or restore the file"
        )
    if closing != {"end": True, "n_calls": len(calls)} or torn:
        raise BrokenSession(
            path, f"the closing line says {closing.get('n_calls')} calls, the file holds {len(calls)}; restore it"
        )
    return Session(header=header, calls=tuple(calls))


def _header(fields: dict[str, Any], path: Path) -> SessionHeader:
    try:
        return SessionHeader.model_validate(fields)
    except ValidationError as exc:
        raise BrokenSession(path, f"header: {first_problem(exc)}") from exc


def _calls(lines: Sequence[dict[str, Any]], path: Path) -> list[Call]:
    calls: list[Call] = []
    for number, fields in enumerate(lines, start=2):
        try:
            call = Call.model_validate(fields)
        except ValidationError as exc:
            raise BrokenSession(path, f"line {number}: {first_problem(exc)}") from exc
        due = len(calls) + 1
        if call.seq != due:
            how = "stands twice" if call.seq < due else "is out of order"
            raise BrokenSession(path, f"line {number}: call {call.seq} {how}, call {due} was due; restore the file")
        calls.append(call)
    return calls
