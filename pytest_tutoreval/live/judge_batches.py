"""One judge's batches: what is on its way, what is missing, handing it over, and fetching what came of it."""

import asyncio
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_tutoreval.errors import ConfigurationProblem, TutorEvalError
from pytest_tutoreval.judging.batch import (
    BatchFolder,
    BatchItem,
    BatchRecord,
    DisputedBatch,
    DueRating,
    FileState,
    match_results,
    survey,
    write_ratings_of,
)
from pytest_tutoreval.judging.engine import RatingJob
from pytest_tutoreval.live.jobs import Needs, rating_jobs
from pytest_tutoreval.live.pending import moment
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.live.settings import LiveRun
from pytest_tutoreval.providers.agent import ModelReply
from pytest_tutoreval.providers.batch import (
    BatchLimits,
    BatchResult,
    BatchView,
    custom_ids,
    may_have_arrived,
    parts_within,
)
from pytest_tutoreval.providers.desk import Desk, Stopped
from pytest_tutoreval.providers.faults import CallFailed, ProviderFault
from pytest_tutoreval.providers.money import Purse
from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.store.growing import HeldElsewhere

if TYPE_CHECKING:
    from pytest_tutoreval.providers.batch_client import BatchClient

__all__ = ["BatchOptions", "JudgeBatches", "UncertainBatch"]

# A vendor's clock may differ from ours by this many seconds at most.
_CLOCK_SLACK = 900.0
# A fresh batch may be missing from the vendor's list for a moment.
_LOOKS = 3
_SHOWN_FAILURES = 20
_STOP_SLICE = 0.2


class UncertainBatch(TutorEvalError):
    """A batch may have been submitted, and nobody on this side knows: nothing of it is paid for again unasked."""


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How batches are made and waited for.

    Attributes
    ----------
    force : give up batches of which nobody knows whether they were made, or whose results cannot be used
    limits : the most of one batch; None is the vendor's own
    first_wait, longest_wait : seconds between two looks at a batch, doubling from the one to the other
    new_tag : what a batch's custom ids begin with; no two batches may share it
    """

    force: bool = False
    limits: BatchLimits | None = None
    first_wait: float = 5.0
    longest_wait: float = 120.0
    new_tag: Callable[[], str] = lambda: secrets.token_hex(8)


@dataclass
class JudgeBatches:
    """One judge's batches: those on their way (`open`, by name), and the files they are for (`states`, by path)."""

    run: LiveRun
    judge: str
    client: "BatchClient"
    desk: Desk
    progress: Progress
    said: Callable[[str], None]
    options: BatchOptions
    note_failure: Callable[[str, tuple[FailedAttempt, ...], str], None] = lambda *_: None
    open: dict[str, BatchRecord] = field(default_factory=dict)
    states: dict[str, FileState] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reserved: dict[object, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = BatchFolder(self.run.folder, sync=self.run.sync)

    @property
    def purse(self) -> Purse:
        """The run's purse, at the prices of batches."""
        return self.desk.purse

    # what is on its way

    async def take_up(self) -> None:
        """Read which batches are on their way, and what they are for."""
        records = self.folder.records(self.judge)
        self.open = {name: record for name, record in records.items() if record.is_open}
        self._known = {record.batch for record in records.values() if record.batch}
        if self.options.force:
            for name, record in list(self.open.items()):
                await self._give_up(name, record)
        for name, record in self.open.items():
            if record.route != self.client.route:
                raise ConfigurationProblem(
                    f"{self.folder.path / name}.json: was handed over under another route of {self.judge}; fetch it "
                    "with that, or pass --force to give it up"
                )
            cells = dict.fromkeys((item.base, item.rubric, item.key) for item in record.items.values())
            for base, rubric, key in cells:
                needs = Needs.crossed(bases=[base], conditions=[key.condition], judges=[self.judge], rubrics=[rubric])
                for job in self._jobs(needs, [key]):
                    await self._look_at(job)
            for item in record.items.values():
                if (due := self._due(item)) is not None:
                    # It is paid for already: the budget hears of it, and cannot refuse it.
                    most = Purse(self.purse.prices).reserve(due.request) or 0.0
                    self.reserved[due.request.site, self.judge] = most
                    self.purse.reserved += most

    async def _give_up(self, name: str, record: BatchRecord) -> None:
        """Do what --force asks for, unless the batch can be found after all."""
        if record.state == "submitting" and record.route == self.client.route:
            try:
                await self._found_again(name, record)
            except UncertainBatch as exc:
                self.said(f"{name}: given up; {exc}")
            else:
                return
        elif record.problem is None and record.route == self.client.route:
            return  # nothing is wrong with it
        self.folder.write(name, record.model_copy(update={"state": "given-up"}))
        del self.open[name]

    def _jobs(self, needs: Needs, keys: Iterable[object]) -> Iterator[RatingJob]:
        corpus = open_corpus(self.run.folder, instrument=self.run.instrument.sha256)
        yield from rating_jobs(self.run.instrument, corpus, needs, keys)  # type: ignore[arg-type]

    async def _look_at(self, job: RatingJob) -> str:
        """Read what a file lacks, once; return its path."""
        path = FileState(job).path
        while path not in self.states and path not in self.unreadable:
            try:
                self.states[path] = survey(self.run.instrument, job, self.run.folder)
            except HeldElsewhere:  # another process is rating it: what it leaves is what is missing
                await self._pause(_STOP_SLICE)
            except TutorEvalError as exc:
                self.unreadable[path] = str(exc)
            await asyncio.sleep(0)  # signals are heard between two files
        return path

    def _due(self, item: BatchItem) -> DueRating | None:
        state = self.states.get(item.path(self.judge))
        return state.due.get(item.identity) if state else None

    # what is missing

    async def look_for_missing(self) -> None:
        """Read every file the run needs of this judge."""
        corpus = open_corpus(self.run.folder, instrument=self.run.instrument.sha256)
        needs = self.run.needs.of_judge(self.judge)
        for job in self._jobs(needs, needs.rated_keys(corpus)):
            self._refuse_if_stopped()
            self.needed.add(await self._look_at(job))
        self.progress.ratings_due += sum(bool(self.states[path].due) for path in self.needed & self.states.keys())

    def due(self) -> list[DueRating]:
        """Return what is neither on disk nor on its way."""
        on_its_way = {
            (item.path(self.judge), item.identity) for record in self.open.values() for item in record.items.values()
        }
        for path, _ in on_its_way:
            self.reasons.setdefault(path, "ratings are on their way in a batch; run again with --batch to fetch them")
        return [
            due
            for path, state in self.states.items()
            if path in self.needed
            for identity, due in state.due.items()
            if (path, identity) not in on_its_way
        ]

    def fail(self, ratings: Iterable[DueRating], reason: str) -> None:
        """Leave word of why these ratings were not handed over."""
        for rating in ratings:
            self.reasons[FileState(rating.job).path] = reason

    # handing over

    async def submit(self, due: Sequence[DueRating]) -> None:
        """Hand over what is due, in as many batches as the vendor's limits ask for; a refusal ends it."""
        widest = custom_ids(self.options.new_tag(), 1)[0] + "0" * 8
        try:
            sizes = [len(self.client.line(widest, rating.request)) for rating in due]
            parts = list(parts_within(sizes, self.client.limits, overhead=self.client.overhead))
        except TutorEvalError as exc:
            self._not_handed_over(due, str(exc))
            return
        for number, part in enumerate(parts):
            self._refuse_if_stopped()
            try:
                await self._submit(due[part.start : part.stop])
            except CallFailed as exc:
                left = [rating for later in parts[number:] for rating in due[later.start : later.stop]]
                self._not_handed_over(left, str(exc))
                self.note_failure(f"batch of {self.judge}", exc.failures, str(exc))
                return

    async def _submit(self, ratings: Sequence[DueRating]) -> None:
        tag = self.options.new_tag()
        ids = custom_ids(tag, len(ratings))
        lines = [self.client.line(name, rating.request) for name, rating in zip(ids, ratings, strict=True)]
        upload = await self.client.upload(lines)
        record = BatchRecord(
            judge=self.judge,
            state="submitting",
            route=self.client.route,
            tag=tag,
            created=time.time(),
            upload=upload,
            items=dict(zip(ids, (rating.item() for rating in ratings), strict=True)),
        )
        # From here to the answer a crash leaves this record, and with it the question whether the batch was made.
        name = self.folder.add(record)
        self.fail(ratings, "ratings are on their way in a batch; run again with --batch to fetch them")
        try:
            view = await self.client.create(lines, upload, tag)
        except CallFailed as exc:
            if not may_have_arrived(exc.fault):
                self.folder.remove(name)
                raise
            self.open[name] = record
            self.note_failure(f"batch {name}", exc.failures, str(exc))
            self.said(f"{name}: no answer tells whether the batch was made ({exc.fault}); looking for it")
            return
        self._adopt(name, record, view)
        self.said(f"{name}: handed over as {view.id}, {len(ratings)} requests")

    def _adopt(self, name: str, record: BatchRecord, view: BatchView) -> None:
        self.open[name] = record.model_copy(update={"state": "submitted", "batch": view.id})
        self._known.add(view.id)
        self.folder.write(name, self.open[name])

    def _not_handed_over(self, ratings: Iterable[DueRating], reason: str) -> None:
        ratings = list(ratings)
        for rating in ratings:
            self.purse.reserved -= self.reserved.pop((rating.request.site, self.judge), 0.0)
        self.fail(ratings, reason)

    # fetching

    async def finish(self, name: str) -> None:
        """Wait for a batch and write its ratings; what stops that is kept as the reason, and costs nothing."""
        try:
            if self.open[name].state == "submitting":
                await self._found_again(name, self.open[name])
            view = await self._ended(name, self.open[name])
            results = await self.client.results(view)
            record = self.open[name]
            match_results(record, [result.custom_id for result in results])
            await self._take_in(name, record, view, {result.custom_id: result for result in results})
        except Stopped as exc:
            self.notes.append(f"{name}: {exc}")
        except TutorEvalError as exc:
            self._disappointed(name, exc)

    async def _found_again(self, name: str, record: BatchRecord) -> None:
        """Adopt the vendor's batch that was made of this record, or raise UncertainBatch where none can be told to be.

        OpenAI repeats our tag and the uploaded file. Anthropic tells custom ids only with the results, so a batch of
        the right size and time is waited for, and adopted if it holds our ids and no other.
        """
        wait, looks = self.options.first_wait, 0
        strangers, waited_for = set(self._known), set[str]()
        while looks < _LOOKS:
            looks += 1
            async for view in self.client.made_since(record.created - _CLOCK_SLACK):
                if view.id in strangers:
                    continue
                match await self._is_made_of(view, record):
                    case True:
                        self._adopt(name, record, view)
                        self.said(f"{name}: found at the vendor as {view.id}")
                        return
                    case False:
                        strangers.add(view.id)
                    case None:
                        looks = 0
                        if view.id not in waited_for:
                            waited_for.add(view.id)
                            self.said(f"{name}: {view.id} may be it; its custom ids are told once it has ended")
            if looks < _LOOKS:
                await self._pause(wait)
                wait = min(wait * 2, self.options.longest_wait)
        raise UncertainBatch(
            f"{name}: a batch of {len(record.items)} ratings may have been submitted at {moment(record.created)} "
            f"(custom ids {record.tag}-…), and the vendor's list shows none that is it. Look it up at the vendor, or "
            "pass --force to give it up and pay for its ratings anew"
        )

    async def _is_made_of(self, view: BatchView, record: BatchRecord) -> bool | None:
        """Return whether a batch is the record's, None where that cannot be told before it ends."""
        if record.upload is not None:
            return view.tag == record.tag or view.upload == record.upload
        if view.n_requests not in (None, len(record.items)):
            return False
        if not view.ended:
            return None
        try:
            ids = {result.custom_id for result in await self.client.results(view)}
        except CallFailed as exc:
            if exc.fault.kind == "missing_model":  # its results are gone, so it was made long ago or deleted
                return False
            raise
        return bool(ids) and ids <= record.items.keys()

    async def _ended(self, name: str, record: BatchRecord) -> BatchView:
        wait, status = self.options.first_wait, ""
        while True:
            self._refuse_if_stopped()
            view = await self.client.look(record.batch or "")
            if view.ended:
                return view
            if view.status != status:
                status = view.status
                self.said(f"{name}: {view.id} is {status}")
            self.progress.shown(self.progress)
            await self._pause(wait)
            wait = min(wait * 2, self.options.longest_wait)

    async def _take_in(self, name: str, record: BatchRecord, view: BatchView, results: dict[str, BatchResult]) -> None:
        """Write the ratings of a batch file by file, then settle it; a crash before that only fetches it again."""
        failed: dict[str, str] = {}
        homeless: list[BatchItem] = []
        replies: dict[str, list[tuple[DueRating, ModelReply]]] = defaultdict(list)
        for custom_id, item in record.items.items():
            due, result = self._due(item), results.get(custom_id)
            if due is None:
                state = self.states.get(item.path(self.judge))
                if state is None or item.identity not in state.asked:
                    homeless.append(item)
            elif (why := _why_unanswered(result, view)) is not None:
                failed[custom_id] = why
                self._forfeit(due, item, why)
            elif result is not None:
                try:
                    reply = self.client.reply(due.request, result)
                except ProviderFault as fault:
                    failed[custom_id] = str(fault)
                    # An answer that was given but cannot be read counts in full.
                    billed = result.answer is not None and result.answer.is_success
                    self._forfeit(due, item, str(fault), fault, billed=billed)
                else:
                    replies[item.path(self.judge)].append((due, replace(reply, started=record.created)))
        given = 0
        for path, some in replies.items():
            given += await self._write(path, some)
        self._tell(name, record, view, given, failed)
        if homeless:
            raise DisputedBatch(
                f"{len(homeless)} of its ratings have no place ({homeless[0]}, for one): their sessions are gone, "
                "unreadable or changed since. Restore them and run again, or pass --force to give these ratings up"
            )
        self.folder.write(name, record.model_copy(update={"state": "settled", "problem": None, "failed": failed}))
        del self.open[name]

    def _forfeit(
        self, due: DueRating, item: BatchItem, why: str, fault: ProviderFault | None = None, *, billed: bool = False
    ) -> None:
        """Release what was put aside for a rating that did not come, and leave word of it."""
        most = self.reserved.pop((due.request.site, self.judge), 0.0)
        self.purse.forfeit(due.request, most, failed_attempts=1, billed=int(billed))
        self.note_failure(str(item), () if fault is None else (fault.record(None),), why)
        self.reasons[item.path(self.judge)] = why

    async def _write(self, path: str, replies: Sequence[tuple[DueRating, ModelReply]]) -> int:
        """Write one file's ratings and return their number; another process that holds it is waited for."""
        state, before = self.states[path], self.states[path].given
        while True:
            try:
                for request, reply in write_ratings_of(state, replies, self.run.folder, sync=self.run.sync):
                    most = self.reserved.pop((request.site, self.judge), 0.0)
                    self.purse.settle(request, most, reply)
                    self.progress.called(request, reply)
            except HeldElsewhere:
                await self._pause(_STOP_SLICE)
            else:
                break
        if not state.due:
            self.progress.file_ended()
        await asyncio.sleep(0)
        return state.given - before

    def _tell(self, name: str, record: BatchRecord, view: BatchView, given: int, failed: dict[str, str]) -> None:
        self.notes.append(f"{name}: {view.id} {view.status}, {len(record.items)} requests, {given} ratings written")
        shown = list(failed.items())[:_SHOWN_FAILURES]
        self.notes += [f"  {record.items[custom_id]}: {reason}" for custom_id, reason in shown]
        if len(failed) > len(shown):
            self.notes.append(f"  and {len(failed) - len(shown)} more, all in {self.folder.path / name}.json")
        if failed:
            self.notes.append(f"  {len(failed)} ratings stay missing; run again to hand them over anew")

    def second_tries(self) -> list[str]:
        """Return what there is to say of the second tries that a batch does not make."""
        judge = self.run.instrument.study.judge(self.judge)
        unusable = sum(state.unusable for state in self.states.values() if state.given)
        if not unusable or judge is None or not judge.second_tries:
            return []
        return [
            f"{self.judge}: {unusable} unusable replies stand as they are, kept raw: a batch makes none of the "
            f"{judge.second_tries} second tries this judge is registered with"
        ]

    def _disappointed(self, name: str, exc: TutorEvalError) -> None:
        """Keep why a batch's ratings could not be had; what --force may give up is noted in its record."""
        record = self.open[name]
        is_hopeless = isinstance(exc, CallFailed) and exc.fault.kind == "missing_model"
        if isinstance(exc, DisputedBatch) or is_hopeless:
            self.open[name] = record.model_copy(update={"problem": str(exc)})
            self.folder.write(name, self.open[name])
        self.note_failure(f"batch {name}", exc.failures if isinstance(exc, CallFailed) else (), str(exc))
        self.notes.append(f"{name}: {exc}")
        for item in record.items.values():
            if self._due(item) is not None:
                self.reasons[item.path(self.judge)] = str(exc)

    # stopping

    def _refuse_if_stopped(self) -> None:
        if self.desk.stop.requested:
            raise Stopped("the run was asked to stop; batches run on at the vendor, run again to fetch them")

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until the run is asked to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._refuse_if_stopped()
            await asyncio.sleep(min(left, _STOP_SLICE))


def _why_unanswered(result: BatchResult | None, view: BatchView) -> str | None:
    """Return why a request was not run, None where it was."""
    if result is None:
        return view.problem or f"the batch is {view.status}, and no result of this request came"
    return f"{result.unsent} at the vendor before it was run" if result.unsent is not None else None
