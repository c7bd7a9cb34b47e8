"""Progress of a live run on the terminal: a bar where there is one, a line every few seconds where there is none."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pytest_tutoreval.live.progress import Progress

__all__ = ["show_progress"]

_EVERY = 5.0


@contextmanager
def show_progress(write_line: Callable[[str], None], *, terminal: TextIO | None) -> Iterator[Progress]:
    """Yield the counts of a live run, shown while the block runs and once more when it ends."""
    progress = Progress()
    if terminal is None:
        progress.shown = _PlainLines(write_line)
        yield progress
    else:
        with _bar(terminal) as progress.shown:
            yield progress
    write_line(progress.line())


class _PlainLines:
    """Writes a line now and then: what a CI log can hold."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line, self._last = write_line, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            self._write_line(progress.line())


@contextmanager
def _bar(terminal: TextIO) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(file=terminal),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        task = bar.add_task("", total=None)

        def show(progress: Progress) -> None:
            due = progress.sessions_due + progress.ratings_due
            done = progress.sessions_done + progress.files_done
            bar.update(task, description=progress.line(), total=due or None, completed=done)

        yield show
