"""JSON lines on disk: append-only, one writer a file, torn ends recognised."""

import errno
import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["LineFileError", "LineWriter", "TornLineWarning", "parse_lines", "read_lines", "split_plain"]


class TornLineWarning(UserWarning):
    """The last line of a file has no line end: a writer was stopped in the middle of it, and it was dropped."""


class LineFileError(Exception):
    """A line file that cannot be read; the caller says what kind of file it is."""


def read_lines(data: bytes, path: Path) -> tuple[list[dict[str, Any]], bool]:
    """Return the objects of a line file and whether a torn last line was dropped (which also warns).

    Raises
    ------
    LineFileError
        CRLF line ends, invalid UTF-8, a line that is no JSON object: with its number and what to do.
    """
    *whole, rest = data.split(b"\n")
    if rest:
        warnings.warn(
            f"{path}: the last line has no line end ({len(rest)} bytes); it was dropped as torn",
            TornLineWarning,
            stacklevel=2,
        )
    return _parsed(whole), bool(rest)


def split_plain(data: bytes) -> list[bytes] | None:
    """Return a file's lines as they stand, or None where `read_lines` has something to say about how they end."""
    return data.split(b"\n")[:-1] if data.endswith(b"\n") and b"\r\n" not in data else None


def parse_lines(data: bytes) -> list[dict[str, Any]]:
    """Return the objects of whole lines. Raises LineFileError."""
    return _parsed(data.split(b"\n")[:-1])


def _parsed(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    return [_parse_line(line, number) for number, line in enumerate(lines, start=1)]


def _parse_line(line: bytes, number: int) -> dict[str, Any]:
    if line.endswith(b"\r"):
        raise LineFileError(
            f"line {number} ends in CRLF, expected LF: an editor or git changed the file; restore its bytes "
            "(git attribute -text)"
        )
    try:
        parsed = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise LineFileError(
            f"line {number} is not UTF-8 (byte {exc.start}: {line[exc.start]:#04x}); restore the file"
        ) from exc
    except (ValueError, RecursionError) as exc:
        raise LineFileError(f"line {number} is not JSON ({exc}); restore the file") from exc
    if not isinstance(parsed, dict):
        raise LineFileError(f"line {number} is JSON but not an object; restore the file")
    return parsed


class LineWriter:
    """Appends objects to one file; each is on disk when `append` returns.

    `sync` is an argument because a simulation that can be repeated does not need to wait for the disk.
    """

    def __init__(self, path: Path, *, sync: Callable[[int], None] = os.fsync) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: what a failed write left behind is on disk or gone, never written later by a close.
        self._file = path.open("ab", buffering=0)
        self._sync = sync

    def append(self, fields: dict[str, Any]) -> None:
        """Write one line and hand it to the disk; a line that could not be written whole is cut off again."""
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # A lone surrogate has no UTF-8 form; escaped, it is JSON and comes back as it was.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        before = os.fstat(self._file.fileno()).st_size  # tell() still counts what an earlier failure cut off
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._sync(self._file.fileno())
        except OSError:
            self._file.truncate(before)
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
