"""Live collection: every session at once in one event loop, sequential inside, each call on disk before the next."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from pytest_tutoreval.collecting.episode import EpisodePlan, episode, record_call
from pytest_tutoreval.errors import BrokenSession, TutorEvalError
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.session import SessionHeader, SessionKey
from pytest_tutoreval.store.corpus import LOCKS
from pytest_tutoreval.store.growing import GrowingFile, HeldElsewhere, JobQueue
from pytest_tutoreval.store.sessions import header_line, session_path

__all__ = ["Collected", "Collection", "SessionJob", "collect_session", "collect_sessions"]

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]
Fate = Literal["finished", "found finished", "unfinished"]


@dataclass(frozen=True)
class SessionJob:
    """A session to be collected: its plan and the header its file begins with."""

    plan: EpisodePlan
    header: SessionHeader

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return self.header.key


@dataclass(frozen=True, slots=True)
class Collected:
    """What became of one job. `reason` says why it is unfinished; `resumed` counts calls that were on disk already."""

    key: SessionKey
    fate: Fate
    n_calls: int = 0
    resumed: int = 0
    reason: str | None = None


@dataclass
class Collection:
    """What became of all jobs, counted as they end."""

    finished: int = 0
    found_finished: int = 0
    calls: int = 0
    resumed: int = 0
    unfinished: dict[SessionKey, str] = field(default_factory=dict)

    def add(self, collected: Collected) -> None:
        """Count one session."""
        self.finished += collected.fate == "finished"
        self.found_finished += collected.fate == "found finished"
        self.calls += collected.n_calls
        self.resumed += collected.resumed
        if collected.reason is not None:
            self.unfinished[collected.key] = collected.reason


async def collect_sessions(
    jobs: Iterable[SessionJob],
    folder: Path,
    ask: Ask,
    *,
    at_once: int = 256,
    deadline: float | None = None,
    sync: Callable[[int], None] = os.fsync,
    stopping: Callable[[], bool] = lambda: False,
    ended: Callable[[Collected], None] = lambda _: None,
) -> Collection:
    """Collect what is missing and return what became of it. One session's failure stops no other.

    Parameters
    ----------
    at_once : sessions open together; memory is bounded by it, not by the number of jobs
    deadline : seconds one session may take in this run; then it is left unfinished, to be resumed
    stopping : whether to wait no longer for sessions that another process holds
    ended : hears of each session as it ends
    """
    collection = Collection()
    queue = JobQueue(jobs)

    async def work() -> None:
        while (job := queue.take()) is not None:
            try:
                collected = await _collect_within(job, folder, ask, deadline, sync)
            except HeldElsewhere as exc:
                if not stopping():
                    await queue.put_back(job)
                    continue
                collected = Collected(job.key, "unfinished", reason=str(exc))
            collection.add(collected)
            ended(collected)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    return collection


async def _collect_within(
    job: SessionJob, folder: Path, ask: Ask, deadline: float | None, sync: Callable[[int], None]
) -> Collected:
    try:
        async with asyncio.timeout(deadline):
            return await collect_session(job, folder, ask, sync=sync)
    except HeldElsewhere:
        raise
    except TimeoutError:
        return Collected(job.key, "unfinished", reason=f"not finished within its deadline of {deadline} s")
    except TutorEvalError as exc:
        return Collected(job.key, "unfinished", reason=str(exc))


async def collect_session(
    job: SessionJob, folder: Path, ask: Ask, *, sync: Callable[[int], None] = os.fsync
) -> Collected:
    """Collect or resume one session: recorded calls are replayed into the protocol, then it goes on from there.

    Raises
    ------
    HeldElsewhere
        Another process is collecting it.
    BrokenSession
        A recorded call is not the one this protocol would have made: nothing is sent.
    TutorEvalError
        Whatever `ask` raised; the file holds every completed call.
    """
    path = folder / session_path(job.key)
    with GrowingFile(path, locks=folder / LOCKS, header=header_line(job.header), sync=sync) as file:
        if file.lines and "end" in file.lines[-1]:
            return Collected(job.key, "found finished")
        recorded = [_recorded_call(path, number, fields) for number, fields in enumerate(file.lines, start=1)]
        total = await _play(job, path, recorded, ask, file)
        await file.keep({"end": True, "n_calls": total})
        return Collected(job.key, "finished", n_calls=total - len(recorded), resumed=len(recorded))


async def _play(job: SessionJob, path: Path, recorded: list[Call], ask: Ask, file: GrowingFile) -> int:
    """Drive the episode to its end and return its number of calls."""
    running = episode(job.plan)
    seq = 0
    try:
        request = next(running)
        for call in recorded:
            if request.digest() != call.request:
                raise BrokenSession(
                    path,
                    f"call {call.seq} was asked otherwise than the protocol asks now; move the file away to begin anew",
                )
            seq += 1
            request = running.send(ModelReply(call.text))
        while True:
            reply = await ask(request)
            seq += 1
            await file.keep(record_call(seq, request, reply).compact())
            request = running.send(reply)
    except StopIteration:
        return seq
    finally:
        running.close()


def _recorded_call(path: Path, number: int, fields: dict[str, Any]) -> Call:
    try:
        call = Call.model_validate(fields)
    except ValidationError as exc:
        raise BrokenSession(path, f"call {number} cannot be read: {exc.errors(include_url=False)[0]['msg']}") from exc
    if call.seq != number:
        raise BrokenSession(path, f"call {call.seq} where call {number} was due; move the file away to begin anew")
    return call
