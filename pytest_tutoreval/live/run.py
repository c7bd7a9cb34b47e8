"""Live runs from end to end: collect and judge, read the gates, verify labels; sealed and entered in a ledger."""

import asyncio
import time
from collections.abc import Callable

from pytest_tutoreval.collecting.engine import Collected, collect_sessions
from pytest_tutoreval.collecting.preflight import Preflight, run_preflight
from pytest_tutoreval.judging.engine import Judged, judge_sessions
from pytest_tutoreval.judging.verification import Verified, verify_sessions
from pytest_tutoreval.live.gates import keep_gates, refuse_after_failed_gate
from pytest_tutoreval.live.interrupt import run_anywhere, stopping_gracefully
from pytest_tutoreval.live.jobs import base_route, judge_route, rating_jobs, same_family, session_jobs, student_route
from pytest_tutoreval.live.opening import open_desk
from pytest_tutoreval.live.outcome import LiveOutcome
from pytest_tutoreval.live.pending import refuse_while_on_its_way
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.live.settings import LiveRun
from pytest_tutoreval.providers.desk import Desk, Stopped
from pytest_tutoreval.store import keep_reasons, open_corpus, seal_files, session_path

__all__ = ["run_gates", "run_live", "run_verification"]


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
                    run.needs.rated_keys(corpus),
                    corpus.session,
                    run.folder,
                    judge,
                    judge_route(run.instrument, judge),
                    desk.ask,
                )
        finally:
            ledger.close({"verification": judge, "stopped": desk.stop.requested}, spending=desk.purse.routes)


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
    keys = [key for key in run.needs.rated_keys(corpus) if key not in outcome.collection.unfinished]
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
