"""A live run from end to end: declare the corpus, collect, judge, seal, and leave a ledger of what it cost."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tutoreval.collecting.engine import Collected, Collection, collect_sessions
from pytest_tutoreval.collecting.preflight import Preflight, run_preflight
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.judging.engine import Judged, Judging, judge_sessions
from pytest_tutoreval.judging.verification import Verified, verify_sessions
from pytest_tutoreval.live.gates import keep_gates, refuse_after_failed_gate
from pytest_tutoreval.live.interrupt import run_anywhere, stopping_gracefully
from pytest_tutoreval.live.jobs import (
    PRODUCER,
    Needs,
    base_route,
    judge_route,
    rating_jobs,
    routes_of,
    same_family,
    session_jobs,
    student_route,
)
from pytest_tutoreval.live.ledger import Ledger
from pytest_tutoreval.live.pending import refuse_while_on_its_way
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.providers.desk import Answerer, Desk, Stop, Stopped
from pytest_tutoreval.providers.limits import Gate, RouteLimits
from pytest_tutoreval.providers.money import Purse, Spending, UnknownPrice, price_of, total_dollars
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.records.study_file import Price, RouteSettings, StudyFile
from pytest_tutoreval.store import Corpus, declare_corpus, keep_reasons, open_corpus, seal_files, session_path

if TYPE_CHECKING:
    import httpx

__all__ = ["LiveOutcome", "LiveRun", "open_desk", "run_gates", "run_live", "run_verification"]

_SHOWN_REASONS = 5

OpenRoute = Callable[[Route], Answerer]


@dataclass(frozen=True)
class LiveRun:
    """Everything a live run is told.

    `budget` is in dollars over all routes, None for no cap. `max_retries` None leaves the default. `at_once` bounds the
    sessions that are open together. `answerer` replaces the network, as a replay does. `pay_for_pending` rates anew
    what is on its way in a batch.
    """

    instrument: Instrument
    folder: Path
    needs: Needs
    study_file: StudyFile = field(default_factory=StudyFile)
    prices: Mapping[str, Price] = field(default_factory=dict)
    budget: float | None = None
    max_retries: int | None = None
    at_once: int = 256
    session_deadline: float | None = None
    replicates: tuple[int, ...] | None = None
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    answerer: OpenRoute | None = None
    pay_for_pending: bool = False
    sync: Callable[[int], None] = os.fsync

    def session_keys(self) -> list[SessionKey]:
        """Return the sessions this run is to have."""
        registered = tuple(self.instrument.study.registered_replicates())
        return list(self.needs.session_keys(registered if self.replicates is None else self.replicates))


@dataclass
class LiveOutcome:
    """What a run came to. `stopped` says that it was asked to stop; `spending` is by provider and model."""

    collection: Collection = field(default_factory=Collection)
    judging: Judging = field(default_factory=Judging)
    spending: Mapping[str, Spending] = field(default_factory=dict)
    stopped: bool = False
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything asked for is on disk."""
        return not self.collection.unfinished and not self.judging.incomplete and not self.stopped

    def lines(self) -> list[str]:
        """Return what came of the run, for people: what is done, what is not and why, what it cost."""
        collection, judging = self.collection, self.judging
        lines = [*self.notes]
        lines.append(
            f"sessions: {collection.finished} finished, {collection.found_finished} were there, "
            f"{len(collection.unfinished)} unfinished ({collection.calls} calls made, {collection.resumed} taken up)"
        )
        if judging.given or judging.found or judging.incomplete:
            lines.append(
                f"ratings: {judging.given} given, {judging.found} were there, {judging.unusable} unusable, "
                f"{judging.second_tries} second tries, {len(judging.incomplete)} files incomplete"
            )
        reasons = Counter([*collection.unfinished.values(), *judging.incomplete.values()])
        lines += [f"  {count} x {reason}" for reason, count in reasons.most_common(_SHOWN_REASONS)]
        for name, spending in self.spending.items():
            cost = "cost unknown" if spending.dollars is None else f"${spending.dollars:.4f}"
            lines.append(
                f"  {name}: {spending.calls} calls, {spending.failed_attempts} failed attempts, "
                f"{spending.input_tokens} + {spending.output_tokens} tokens, {cost}"
            )
        return lines

    def counts(self) -> dict[str, object]:
        """Return what a ledger keeps of a run."""
        return {
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "sessions_finished": self.collection.finished,
            "sessions_unfinished": len(self.collection.unfinished),
            "ratings": self.judging.given,
            "unusable_ratings": self.judging.unusable,
        }

    @property
    def dollars(self) -> float | None:
        """What the run was billed, None where a price is unknown."""
        return total_dollars(self.spending)


def run_live(
    run: LiveRun, progress: Progress | None = None, *, said: Callable[[str], None] = lambda _: None
) -> LiveOutcome:
    """Collect and judge what is missing, and return what came of it.

    Routes, keys and prices are checked before the first call. One failure stops no session that does not need what
    failed; a route stopped by its provider fails the rest of its calls at once.

    Raises
    ------
    ConfigurationProblem, ConfigurationError, UnknownPrice, CorpusError
        Before anything is sent.
    """
    return run_anywhere(lambda: _run(run, progress or Progress(), said))


async def _run(run: LiveRun, progress: Progress, said: Callable[[str], None]) -> LiveOutcome:
    refuse_after_failed_gate(run.folder, run.needs.bases)
    async with open_desk(run, progress) as (desk, ledger):
        outcome = LiveOutcome(spending=desk.purse.routes, notes=same_family(run.instrument, run.needs))
        try:
            with stopping_gracefully(desk.stop, said=said):
                await _collect(run, desk, progress, outcome)
                await _judge(run, desk, progress, outcome)
        except asyncio.CancelledError:
            if not desk.stop.requested:
                raise
            # The second signal: what was completed is counted and on disk.
        finally:
            sessions = {str(key): reason for key, reason in outcome.collection.unfinished.items()}
            keep_reasons(run.folder, sessions | outcome.judging.incomplete)
            outcome.stopped = desk.stop.requested
            outcome.seconds = time.time() - ledger.started
            ledger.close(outcome.counts(), spending=outcome.spending)
    return outcome


def run_gates(run: LiveRun, *, said: Callable[[str], None] = lambda _: None) -> list[Preflight]:
    """Read every gate for every base of a run, and keep the readings in the corpus.

    Raises
    ------
    ConfigurationProblem, ConfigurationError, UnknownPrice, CorpusError
        Before anything is sent.
    """
    return run_anywhere(lambda: _gates(run, said))


async def _gates(run: LiveRun, said: Callable[[str], None]) -> list[Preflight]:
    instrument, preflights = run.instrument, []
    judges = {name: judge_route(instrument, name) for name in run.needs.judges}
    async with open_desk(run, Progress()) as (desk, ledger):
        try:
            with stopping_gracefully(desk.stop, said=said):
                for base in run.needs.bases:
                    preflights.append(
                        await run_preflight(
                            instrument,
                            desk.ask,
                            base=base,
                            student_route=student_route(instrument),
                            tutor_route=base_route(instrument, base),
                            judge_routes=judges,
                        )
                    )
            if desk.stop.requested:
                raise Stopped("the preflight was stopped before its gates were read; run it again")
            keep_gates(run.folder, preflights)
        finally:
            readings = [preflight.as_record() for preflight in preflights]
            ledger.close({"preflight": readings, "stopped": desk.stop.requested}, spending=desk.purse.routes)
    return preflights


def run_verification(
    run: LiveRun, judge: str, progress: Progress | None = None, *, said: Callable[[str], None] = lambda _: None
) -> Verified:
    """Ask a judge for its opinion on every in-window student turn of the run's bases; labels stay the rule's.

    Raises
    ------
    ConfigurationProblem, ConfigurationError, UnknownPrice, CorpusError
        Before anything is sent.
    """
    return run_anywhere(lambda: _verify(run, judge, progress or Progress(), said))


async def _verify(run: LiveRun, judge: str, progress: Progress, said: Callable[[str], None]) -> Verified:
    async with open_desk(run, progress) as (desk, ledger):
        corpus = open_corpus(run.folder, instrument=run.instrument.sha256)
        try:
            with stopping_gracefully(desk.stop, said=said):
                return await verify_sessions(
                    run.instrument,
                    _rated_keys(run, corpus),
                    corpus.session,
                    run.folder,
                    judge,
                    judge_route(run.instrument, judge),
                    desk.ask,
                )
        finally:
            ledger.close({"verification": judge, "stopped": desk.stop.requested}, spending=desk.purse.routes)


@asynccontextmanager
async def open_desk(run: LiveRun, progress: Progress) -> AsyncIterator[tuple[Desk, Ledger]]:
    """Yield the desk of a run and its ledger, once routes, keys, prices and the corpus were found fit."""
    routes = routes_of(run.instrument, run.needs)
    _check_prices(run, routes)
    if run.answerer is None:
        purse = Purse(run.prices, run.budget)
    else:  # a replay pays nobody
        purse = Purse({f"{route.provider}/{route.model}": Price(input=0, output=0) for route in routes.values()})
    progress.spending = purse.routes
    async with AsyncExitStack() as opened:
        open_route = run.answerer or _RouteOpener(run, opened)
        for route in routes.values():
            open_route(route)
        declare_corpus(run.folder, _manifest(run))
        ledger = Ledger(run.folder, time.time())
        yield Desk(open_route, purse, Stop(), done=progress.called, failed=ledger.failed), ledger


async def _collect(run: LiveRun, desk: Desk, progress: Progress, outcome: LiveOutcome) -> None:
    keys = run.session_keys()
    progress.sessions_due = len(keys)
    finished: list[str] = []
    found: list[str] = []

    def ended(collected: Collected) -> None:
        # Counted as they end, so that a cancelled run has its counts too.
        outcome.collection.add(collected)
        progress.session_ended()
        if collected.fate != "unfinished":
            (finished if collected.fate == "finished" else found).append(session_path(collected.key))

    try:
        await collect_sessions(
            session_jobs(run.instrument, keys),
            run.folder,
            desk.ask,
            at_once=run.at_once,
            deadline=run.session_deadline,
            sync=run.sync,
            stopping=lambda: desk.stop.requested,
            ended=ended,
        )
    finally:
        seal_files(run.folder, finished, found=found)


async def _judge(run: LiveRun, desk: Desk, progress: Progress, outcome: LiveOutcome) -> None:
    if not run.needs.ratings or desk.stop.requested:
        return
    if not run.pay_for_pending:
        refuse_while_on_its_way(run.folder, run.needs.judges)
    corpus = open_corpus(run.folder, instrument=run.instrument.sha256)
    keys = [key for key in _rated_keys(run, corpus) if key not in outcome.collection.unfinished]
    progress.ratings_due = sum(1 for _ in rating_jobs(run.instrument, corpus, run.needs, keys))
    rated: list[str] = []

    def ended(judged: Judged) -> None:
        outcome.judging.add(judged)
        progress.file_ended()
        if judged.given and judged.reason is None:
            rated.append(judged.path)

    try:
        await judge_sessions(
            run.instrument,
            rating_jobs(run.instrument, corpus, run.needs, keys),
            run.folder,
            desk.ask,
            sync=run.sync,
            stopping=lambda: desk.stop.requested,
            ended=ended,
        )
    finally:
        seal_files(run.folder, rated, found=outcome.judging.complete)


def _rated_keys(run: LiveRun, corpus: Corpus) -> Iterator[SessionKey]:
    """Yield the sessions to rate: all that the corpus holds of a base, whether this run collected them or not."""
    for base in dict.fromkeys(base for base, *_ in run.needs.ratings):
        for condition in corpus.manifest.conditions:
            yield from corpus.session_keys(base, condition)


def _check_prices(run: LiveRun, routes: Mapping[str, Route]) -> None:
    """Refuse a budgeted run that uses a route without a price, naming all of them."""
    unknown = sorted(
        {f"{route.provider}/{route.model}" for route in routes.values() if not price_of(route, run.prices)}
    )
    if run.budget is not None and unknown and run.answerer is None:
        raise UnknownPrice(
            f"no price is known for {', '.join(unknown)}, so the run cannot be held to a budget; add them to the price "
            "file, or run without a budget"
        )


class _RouteOpener:
    """Opens each route once, with its settings; routes to one model share their limits and their connections.

    Models do not share connections: what a pool does for each request grows with the square of its size.
    """

    def __init__(self, run: LiveRun, opened: AsyncExitStack) -> None:
        from pytest_tutoreval.providers.transport import open_http, tls_context

        self._run, self._opened = run, opened
        self._open_http = partial(open_http, verify=tls_context())
        self._shared: dict[str, tuple[Gate, httpx.AsyncClient]] = {}
        self._clients: dict[Route, Answerer] = {}

    def __call__(self, route: Route) -> Answerer:
        client = self._clients.get(route)
        if client is None:
            client = self._clients[route] = self._open(route)
        return client

    def _open(self, route: Route) -> Answerer:
        from pytest_tutoreval.providers.client import RetryPolicy
        from pytest_tutoreval.providers.routes import open_client

        settings = self._run.study_file.route_settings(route.provider, route.model)
        name = f"{route.provider}/{route.model}"
        if name not in self._shared:
            http = self._open_http(max_connections=settings.concurrency)
            self._opened.push_async_callback(http.aclose)
            self._shared[name] = Gate(_limits(settings)), http
        gate, http = self._shared[name]
        retries = self._run.max_retries
        policy = RetryPolicy(timeout=settings.timeout)
        if retries is not None:
            policy = RetryPolicy(timeout=settings.timeout, max_retries=retries)
        return open_client(
            route,
            http=http,
            limits=gate,
            retries=policy,
            base_url=settings.base_url,
            key_variable=settings.key_variable,
            environ=self._run.environ,
        )


def _limits(settings: RouteSettings) -> RouteLimits:
    return RouteLimits(
        concurrency=settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
    )


def _manifest(run: LiveRun) -> CorpusManifest:
    """Return what the corpus will hold. Judges may be added to any corpus: what is rated stays what it was."""
    if not run.needs.cells:
        there = open_corpus(run.folder, instrument=run.instrument.sha256).manifest
        return there.model_copy(update={"judges": run.needs.judges})
    return CorpusManifest(
        name=run.folder.resolve().name,
        provenance="recorded",
        content="sessions",
        instrument=run.instrument.sha256,
        study=run.instrument.study.name,
        producer=PRODUCER,
        bases=run.needs.bases,
        conditions=run.needs.conditions,
        judges=run.needs.judges,
        notes=run.instrument.amendments,
    )
