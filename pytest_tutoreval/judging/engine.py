"""Live judging: every in-window turn of finished sessions, each rating on disk as soon as it is given."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenRatings, TutorEvalError
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.judging.blinding import BlindingCheck
from pytest_tutoreval.judging.parsing import parse_rating
from pytest_tutoreval.judging.rating import rating_requests, record_rating
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.rating import Rating, RatingHeader
from pytest_tutoreval.records.session import Session, SessionKey
from pytest_tutoreval.store.corpus import LOCKS
from pytest_tutoreval.store.growing import GrowingFile, HeldElsewhere, JobQueue
from pytest_tutoreval.store.ratings import ratings_path

__all__ = [
    "Judged",
    "Judging",
    "RatingJob",
    "judge_session",
    "judge_sessions",
    "rating_identity",
    "recorded_ratings",
]

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]


@dataclass(frozen=True)
class RatingJob:
    """One session to be rated by one judge under one rubric; the session is read when its turn comes."""

    header: RatingHeader
    second_tries: int
    read_session: Callable[[], Session]

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return SessionKey(self.header.base, self.header.condition, self.header.replicate)


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of one job: ratings given now, found on disk, and how many of both are unusable."""

    job: RatingJob
    given: int = 0
    found: int = 0
    unusable: int = 0
    second_tries: int = 0
    reason: str | None = None

    @property
    def path(self) -> str:
        """Where its file stands in the corpus."""
        return ratings_path(self.job.header.judge, self.job.header.rubric, self.job.key)


@dataclass
class Judging:
    """What became of all jobs, counted as they end."""

    given: int = 0
    found: int = 0
    unusable: int = 0
    second_tries: int = 0
    complete: list[str] = field(default_factory=list)
    incomplete: dict[str, str] = field(default_factory=dict)

    def add(self, judged: Judged) -> None:
        """Count one file."""
        self.given += judged.given
        self.found += judged.found
        self.unusable += judged.unusable
        self.second_tries += judged.second_tries
        if judged.reason is None:
            self.complete.append(judged.path)
        else:
            self.incomplete[judged.path] = judged.reason


async def judge_sessions(
    instrument: Instrument,
    jobs: Iterable[RatingJob],
    folder: Path,
    ask: Ask,
    *,
    at_once: int = 32,
    sync: Callable[[int], None] = os.fsync,
    stopping: Callable[[], bool] = lambda: False,
    ended: Callable[[Judged], None] = lambda _: None,
) -> Judging:
    """Rate what is missing and return what became of it. One job's failure stops no other."""
    judging = Judging()
    queue = JobQueue(jobs)

    async def work() -> None:
        while (job := queue.take()) is not None:
            try:
                judged = await judge_session(instrument, job, folder, ask, sync=sync)
            except HeldElsewhere as exc:
                if not stopping():
                    await queue.put_back(job)
                    continue
                judged = Judged(job, reason=str(exc))
            except TutorEvalError as exc:
                judged = Judged(job, reason=str(exc))
            judging.add(judged)
            ended(judged)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(work())
    return judging


async def judge_session(
    instrument: Instrument, job: RatingJob, folder: Path, ask: Ask, *, sync: Callable[[int], None] = os.fsync
) -> Judged:
    """Rate one session under one rubric. What is on disk for exactly these requests is not asked again.

    Raises
    ------
    HeldElsewhere, BrokenRatings, BlindingBroken
    """
    header = job.header
    path = folder / ratings_path(header.judge, header.rubric, job.key)
    session = job.read_session()
    check = BlindingCheck(instrument, session)
    requests = list(rating_requests(instrument, session, header.rubric, header.route))
    for request, _ in requests:
        check(request)
    with GrowingFile(
        path, locks=folder / LOCKS, header=header.model_dump(mode="json", exclude_none=True), sync=sync
    ) as file:
        found = {
            (rating.problem, rating.turn, rating.repetition, rating.request): rating
            for rating in recorded_ratings(path, file)
        }
        missing = [(request, dialogue) for request, dialogue in requests if rating_identity(request) not in found]
        given, failures = await _rate_all(missing, job.second_tries, ask, file)
    ratings = [*found.values(), *given]
    return Judged(
        job,
        given=len(given),
        found=len(found),
        unusable=sum(rating.overall is None for rating in ratings),
        second_tries=sum(len(rating.discarded) for rating in given),
        reason=failures[0] if failures else None,
    )


async def _rate_all(
    missing: Sequence[tuple[ModelRequest, str]], second_tries: int, ask: Ask, file: GrowingFile
) -> tuple[list[Rating], list[str]]:
    """Ask for all missing ratings at once, writing each as it comes; return them and why others failed."""
    given: list[Rating] = []
    failures: list[str] = []
    writing = asyncio.Lock()

    async def rate(request: ModelRequest, dialogue: str) -> None:
        try:
            rating = await _rate(request, dialogue, second_tries, ask)
            async with writing:
                await file.keep(rating.compact())
        except TutorEvalError as exc:
            failures.append(str(exc))
        else:
            given.append(rating)

    async with asyncio.TaskGroup() as group:
        for request, dialogue in missing:
            group.create_task(rate(request, dialogue))
    return given, failures


async def _rate(request: ModelRequest, dialogue: str, second_tries: int, ask: Ask) -> Rating:
    """Return a rating; an unparseable reply is asked for again only as often as the judge's registration allows."""
    discarded: list[str] = []
    while True:
        reply = await ask(request)
        usable = parse_rating(reply.text, request.site.rubric or "").overall is not None
        if usable or len(discarded) == second_tries:
            return record_rating(request, dialogue, reply).model_copy(update={"discarded": tuple(discarded)})
        discarded.append(reply.text)


def rating_identity(request: ModelRequest) -> tuple[str, int | None, int | None, str]:
    """Return what a rating answers for: its turn, its repetition, and exactly what was asked.

    Two problems can open with the same words, so the request alone does not name the turn.
    """
    site = request.site
    return site.problem, site.turn, site.repetition, request.digest()


def recorded_ratings(path: Path, file: GrowingFile) -> list[Rating]:
    """Return what a rating file holds already. Raises BrokenRatings."""
    try:
        return [Rating.model_validate(fields) for fields in file.lines]
    except ValidationError as exc:
        raise BrokenRatings(path, f"a rating cannot be read: {exc.errors(include_url=False)[0]['msg']}") from exc
