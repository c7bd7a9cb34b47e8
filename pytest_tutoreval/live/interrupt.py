"""Stopping a live run: the first signal finishes the calls in flight, the second cancels."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from pytest_tutoreval.providers.desk import Stop

__all__ = ["run_anywhere", "stopping_gracefully"]

Result = TypeVar("Result")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_gracefully(stop: Stop, *, said: Callable[[str], None]) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a stop between calls while the block runs; a second one cancels the task.

    In a thread that is not the main one there are no signals to handle, and the block runs as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def on_signal() -> None:
        if stop.requested and task is not None:
            said("cancelled: calls in flight are lost, everything completed is on disk")
            task.cancel()
        else:
            stop.requested = True
            said("stopping: calls in flight finish, then the run can be resumed; once more cancels them")

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number in _SIGNALS:
            loop.add_signal_handler(number, on_signal)
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def run_anywhere(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine to its end, also where an event loop is running already: then in a thread of its own.

    No signal reaches a loop in a thread, so there Ctrl-C cancels at once; what was completed is on disk.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    cancels: list[Callable[[], object]] = []

    async def cancellable() -> Result:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            cancels.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work()

    with ThreadPoolExecutor(max_workers=1) as executor:
        running = executor.submit(lambda: asyncio.run(cancellable()))
        try:
            return running.result()
        except KeyboardInterrupt:
            for cancel in cancels:
                cancel()
            raise
