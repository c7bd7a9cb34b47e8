"""Judging by batch: which ratings are missing, which are on their way, and how results become ratings."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pytest_tutoreval.errors import CorpusError, TutorEvalError
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.judging.blinding import BlindingCheck
from pytest_tutoreval.judging.engine import Judged, RatingJob, rating_identity, recorded_ratings
from pytest_tutoreval.judging.rating import rating_requests, record_rating
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.base import Name, Record, Sha256
from pytest_tutoreval.records.rating import Rating
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.store.corpus import LOCKS
from pytest_tutoreval.store.growing import GrowingFile
from pytest_tutoreval.store.ratings import ratings_path

__all__ = [
    "BatchFolder",
    "BatchItem",
    "BatchRecord",
    "DisputedBatch",
    "DueRating",
    "FileState",
    "match_results",
    "survey",
    "write_ratings_of",
]

FOLDER = "batches"

Identity = tuple[str, int | None, int | None, str]


class DisputedBatch(TutorEvalError):
    """A batch's results name requests it does not hold, or one twice: none of them is used."""


class BatchItem(Record):
    """One request of a batch: the rating it is for."""

    rubric: Name
    base: Name
    condition: Name
    replicate: int = Field(ge=0)
    problem: Name
    turn: int = Field(ge=0)
    repetition: int = Field(ge=0)
    request: Sha256

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return SessionKey(self.base, self.condition, self.replicate)

    def path(self, judge: str) -> str:
        """Return where the rating's file stands in the corpus."""
        return ratings_path(judge, self.rubric, self.key)

    @property
    def identity(self) -> Identity:
        """What the rating answers for, within its file."""
        return self.problem, self.turn, self.repetition, self.request

    def __str__(self) -> str:
        return f"{self.key}/{self.problem}/t{self.turn}/{self.rubric}/{self.repetition}"


class BatchRecord(Record):
    """What is known about a batch, one file each, written before the call that is paid for.

    `state` is `submitting` from before that call until its answer is on disk, then `submitted`, and `settled` once all
    it gave is in rating files; `given-up` after `--force`. `tag` begins the custom ids, which are the keys of `items`;
    `upload` is the vendor's id of the uploaded requests, `batch` the batch's. `problem` is why the results of a
    submitted batch could not be used.
    """

    format: Literal["tutoreval-batch/1"] = "tutoreval-batch/1"
    judge: Name
    state: Literal["submitting", "submitted", "settled", "given-up"]
    route: Route
    tag: str
    created: float
    upload: str | None = None
    batch: str | None = None
    problem: str | None = None
    failed: dict[str, str] = Field(default_factory=dict)
    items: dict[str, BatchItem]

    @property
    def is_open(self) -> bool:
        """Whether its ratings may be on their way."""
        return self.state in ("submitting", "submitted")


class BatchFolder:
    """The batches of a corpus, `batches/<judge>-<n>.json`; each file is replaced whole, or not at all."""

    def __init__(self, corpus: Path, *, sync: Callable[[int], None] = os.fsync) -> None:
        self.path, self._sync = corpus / FOLDER, sync

    def records(self, judge: str) -> dict[str, BatchRecord]:
        """Return a judge's batches by name, oldest first.

        Raises
        ------
        CorpusError
            One cannot be read: what may be on its way is then not known.
        """
        numbered = sorted((self._number(path, judge), path) for path in self.path.glob(f"{judge}-*.json"))
        return {path.stem: self._read(path) for number, path in numbered if number > 0}

    def _number(self, path: Path, judge: str) -> int:
        number = path.stem.removeprefix(f"{judge}-")
        return int(number) if number.isdecimal() and number.isascii() else 0

    def _read(self, path: Path) -> BatchRecord:
        try:
            return BatchRecord.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as exc:  # a ValidationError is a ValueError
            why = exc.errors(include_url=False)[0]["msg"] if isinstance(exc, ValidationError) else exc
            raise CorpusError(
                f"{path}: cannot be read as a batch's record ({why}); restore it, or nobody knows which ratings are "
                "on their way"
            ) from exc

    def add(self, record: BatchRecord) -> str:
        """Write a new batch's record and return its name."""
        numbers = [self._number(path, record.judge) for path in self.path.glob(f"{record.judge}-*.json")]
        name = f"{record.judge}-{max([0, *numbers]) + 1}"
        self.write(name, record)
        return name

    def write(self, name: str, record: BatchRecord) -> None:
        """Replace a batch's record; it is on disk when this returns."""
        path = self.path / f"{name}.json"
        fresh = path.with_suffix(".new")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with fresh.open("w", encoding="utf-8", newline="\n") as file:
                file.write(json.dumps(record.model_dump(mode="json", exclude_defaults=True), indent=1) + "\n")
                file.flush()
                self._sync(file.fileno())
            os.replace(fresh, path)
            self._sync_folder()
        except OSError as exc:
            raise CorpusError(f"{path}: cannot be written ({exc.strerror}); make room, then run again") from exc

    def remove(self, name: str) -> None:
        """Forget a batch that was certainly never made."""
        (self.path / f"{name}.json").unlink(missing_ok=True)

    def _sync_folder(self) -> None:
        """Bring the new name to the disk too, or a power cut could take a paid batch's record back."""
        if os.name != "posix":
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            self._sync(handle)
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class DueRating:
    """A rating that a file lacks, with the request that gives it."""

    job: RatingJob
    request: ModelRequest
    dialogue: str

    def item(self) -> BatchItem:
        """Return what a batch's record keeps of it."""
        site, header = self.request.site, self.job.header
        return BatchItem(
            rubric=header.rubric,
            base=header.base,
            condition=header.condition,
            replicate=header.replicate,
            problem=site.problem,
            turn=site.turn or 0,
            repetition=site.repetition or 0,
            request=self.request.digest(),
        )


@dataclass(slots=True)
class FileState:
    """A rating file and the requests it is for: `asked` are all of them, `due` those that are not on disk."""

    job: RatingJob
    asked: frozenset[Identity] = frozenset()
    due: dict[Identity, DueRating] = field(default_factory=dict)
    found: int = 0
    unusable: int = 0
    given: int = 0

    @property
    def path(self) -> str:
        """Where the file stands in the corpus."""
        return ratings_path(self.job.header.judge, self.job.header.rubric, self.job.key)

    def judged(self, reason: str | None) -> Judged:
        """Return what became of the job; a file is complete once nothing is due."""
        return Judged(
            self.job,
            given=self.given,
            found=self.found,
            unusable=self.unusable,
            reason=reason if self.due else None,
        )


def survey(instrument: Instrument, job: RatingJob, folder: Path) -> FileState:
    """Return what a session lacks under one rubric, after every request of it passed the blinding check.

    Raises
    ------
    HeldElsewhere, BrokenRatings, BlindingBroken, CorpusError
    """
    session = job.read_session()
    check = BlindingCheck(instrument, session)
    requests = list(rating_requests(instrument, session, job.header.rubric, job.header.route))
    for request, _ in requests:
        check(request)
    state = FileState(job)
    found: dict[Identity, Rating] = {}
    if (folder / state.path).exists():  # a batch that is refused leaves no empty file behind
        with _open(job, folder, lambda _: None) as file:
            found = _ratings_in(file)
    state.found, state.unusable = len(found), sum(rating.overall is None for rating in found.values())
    state.asked = frozenset(rating_identity(request) for request, _ in requests)
    state.due = {
        identity: DueRating(job, request, dialogue)
        for request, dialogue in requests
        if (identity := rating_identity(request)) not in found
    }
    return state


def match_results(record: BatchRecord, ids: Sequence[str]) -> None:
    """Hold the custom ids of the results against those of the batch. A missing one is no dispute: it has no result.

    Raises
    ------
    DisputedBatch
        Naming what is unknown or stands twice.
    """
    unknown = sorted(set(ids) - record.items.keys())
    seen: set[str] = set()
    twice = sorted({name for name in ids if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
    if unknown or twice:
        problems = [
            f"{len(names)} custom ids {what}: {_some(names)}"
            for names, what in ((unknown, "it does not hold"), (twice, "with more than one result"))
            if names
        ]
        raise DisputedBatch(
            f"batch {record.batch}: the results name {' and '.join(problems)}. Nothing of it was used; look at it at "
            "the vendor, then run again, or pass --force to give it up and pay for its ratings anew"
        )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:64]) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def write_ratings_of(
    state: FileState,
    replies: Iterable[tuple[DueRating, ModelReply]],
    folder: Path,
    *,
    sync: Callable[[int], None] = os.fsync,
) -> Iterator[tuple[ModelRequest, ModelReply]]:
    """Append the ratings of one file, yielding each once it is on disk; what is there by now is left as it is.

    Raises
    ------
    HeldElsewhere, BrokenRatings, CorpusError
    """
    with _open(state.job, folder, sync) as file:
        there = _ratings_in(file)
        for due, reply in replies:
            identity = rating_identity(due.request)
            if identity in there:
                state.found += 1
                state.unusable += there[identity].overall is None
            else:
                rating = record_rating(due.request, due.dialogue, reply)
                file.append(rating.compact())
                state.given += 1
                state.unusable += rating.overall is None
            state.due.pop(identity, None)
            yield due.request, reply


def _open(job: RatingJob, folder: Path, sync: Callable[[int], None]) -> GrowingFile:
    header = job.header
    path = folder / ratings_path(header.judge, header.rubric, job.key)
    return GrowingFile(path, locks=folder / LOCKS, header=header.model_dump(mode="json", exclude_none=True), sync=sync)


def _ratings_in(file: GrowingFile) -> dict[Identity, Rating]:
    return {
        (rating.problem, rating.turn, rating.repetition, rating.request): rating
        for rating in recorded_ratings(file.path, file)
    }
