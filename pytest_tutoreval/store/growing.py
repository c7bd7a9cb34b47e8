"""Files that grow while a run is paid for: taken up where they were left, by one writer at a time."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from filelock import FileLock, Timeout

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.store.lines import LineFileError, LineWriter, parse_lines

__all__ = ["GrowingFile", "HeldElsewhere", "JobQueue"]

Job = TypeVar("Job")

_LOOK_AGAIN = 0.25


class HeldElsewhere(CorpusError):
    """Another process is writing this file; it is not an error to come back later."""


class GrowingFile:
    """A line file under its lock, with what it already holds.

    The lock is the operating system's: a dead holder holds nothing. A torn last line is cut off before the first
    append, so the file is whole lines again; what was torn had not completed.

    Parameters
    ----------
    locks : folder for the lock files, beside the data and never part of it
    header : the line a new file begins with; an existing file must begin with the same one, the producer aside

    Raises
    ------
    HeldElsewhere
        Another process holds the file.
    CorpusError
        The file begins with another header, cannot be read, or the folder cannot be written.
    """

    def __init__(
        self, path: Path, *, locks: Path, header: dict[str, Any], sync: Callable[[int], None] = os.fsync
    ) -> None:
        self.path = path
        self._sync = sync
        try:
            lock = locks / path.relative_to(locks.parent)
            lock.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{lock}.lock", timeout=0, thread_local=False)
            self._lock.acquire()
        except Timeout as exc:
            raise HeldElsewhere(f"{path}: another process is writing it") from exc
        except OSError as exc:
            raise _unwritable(path, exc) from exc
        try:
            self.lines = self._take_up(header)
        except BaseException:
            self._lock.release()
            raise

    def _take_up(self, header: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
            whole = data[: data.rfind(b"\n") + 1]
            lines = parse_lines(whole)
            if lines and (differing := _differing(lines[0], header)):
                raise CorpusError(
                    f"{self.path}: was begun with other settings ({', '.join(differing)}); finish it with those, or "
                    "move the file away to begin anew"
                )
            if len(whole) < len(data):
                os.truncate(self.path, len(whole))
            self._writer = LineWriter(self.path, sync=self._sync)
            if not lines:
                self._begin(header)
        except LineFileError as exc:
            raise CorpusError(f"{self.path}: {exc}") from exc
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc
        return lines[1:]

    def _begin(self, header: dict[str, Any]) -> None:
        try:
            self._writer.append(header)
        except BaseException:
            self._writer.close()
            raise

    async def keep(self, fields: dict[str, Any]) -> None:
        """Append in a thread, since disks are slow. A cancellation waits for it: what was paid for is kept whole."""
        writing = asyncio.ensure_future(asyncio.to_thread(self.append, fields))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.gather(writing, return_exceptions=True)
            raise

    def append(self, fields: dict[str, Any]) -> None:
        """Write one line; it is on disk when this returns."""
        try:
            self._writer.append(fields)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()
        self._lock.release()


class JobQueue(Generic[Job]):
    """Jobs in their order, each taken once; one whose file is held elsewhere comes round again after all others.

    So two processes on one corpus divide the work, whatever the number each has open at once.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._fresh, self._held = iter(jobs), deque[Job]()
        self._has_fresh = True

    def take(self) -> Job | None:
        """Return the next job, or None where nothing is left to take."""
        for job in self._fresh:
            return job
        self._has_fresh = False
        return self._held.popleft() if self._held else None

    async def put_back(self, job: Job) -> None:
        """Leave a held job for later. The other process finishes it, or dies and leaves it to us."""
        self._held.append(job)
        if not self._has_fresh:
            await asyncio.sleep(_LOOK_AGAIN)


def _differing(begun: dict[str, Any], header: dict[str, Any]) -> list[str]:
    """Return the settings that differ; a newer version of this package may finish what an older one began."""
    names = (begun.keys() | header.keys()) - {"producer"}
    return sorted(name for name in names if begun.get(name) != header.get(name))


def _unwritable(path: Path, error: OSError) -> CorpusError:
    return CorpusError(
        f"{path}: cannot be written ({error.strerror}). Everything completed before is on disk; make room or mend the "
        "permissions, then run again to resume."
    )
