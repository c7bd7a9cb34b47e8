"""Judging by batch from end to end: take up what is on its way, hand over what is missing, wait, write ratings."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.judging.batch import DueRating
from pytest_tutoreval.live.gates import refuse_after_failed_gate
from pytest_tutoreval.live.interrupt import run_anywhere, stopping_gracefully
from pytest_tutoreval.live.jobs import judge_route, same_family
from pytest_tutoreval.live.judge_batches import BatchOptions, JudgeBatches
from pytest_tutoreval.live.opening import open_desk
from pytest_tutoreval.live.outcome import LiveOutcome
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.live.settings import LiveRun
from pytest_tutoreval.providers.batch import batch_prices
from pytest_tutoreval.providers.desk import Stopped
from pytest_tutoreval.providers.money import BudgetSpent, Purse
from pytest_tutoreval.store import seal_files
from pytest_tutoreval.store.corpus import LOCKS
from pytest_tutoreval.store.growing import HeldElsewhere
from pytest_tutoreval.store.sealing import keep_reasons

if TYPE_CHECKING:
    from ssl import SSLContext

    from pytest_tutoreval.providers.batch_client import BatchClient

__all__ = ["BatchOptions", "run_batch"]

# One call may carry hundreds of megabytes.
_LEAST_TIMEOUT, _CALL_BUDGET = 600.0, 1800.0


def run_batch(
    run: LiveRun,
    progress: Progress | None = None,
    *,
    said: Callable[[str], None] = lambda _: None,
    options: BatchOptions | None = None,
) -> LiveOutcome:
    """Rate what is missing through the vendors' batch endpoints, at half price, and return what came of it.

    What an earlier run handed over is fetched, never handed over again. A stop leaves the batches running at the
    vendor; run again to fetch them. A batch makes no second try: an unusable reply is kept raw and stands.

    Raises
    ------
    ConfigurationProblem, ConfigurationError, UnknownPrice, CorpusError
        Before anything is sent.
    """
    return run_anywhere(lambda: _run(run, progress or Progress(), said, options or BatchOptions()))


async def _run(run: LiveRun, progress: Progress, said: Callable[[str], None], options: BatchOptions) -> LiveOutcome:
    from pytest_tutoreval.providers.batch_client import batch_format
    from pytest_tutoreval.providers.transport import tls_context

    if run.answerer is not None:
        raise ConfigurationProblem("a replay makes no batches; run it without --batch")
    for judge in run.needs.judges:
        batch_format(judge_route(run.instrument, judge))
    refuse_after_failed_gate(run.folder, run.needs.bases)
    # At half the prices, the purse of a run is the purse of its batches.
    priced = replace(run, prices=batch_prices(run.prices))
    tls = tls_context()
    async with open_desk(priced, progress) as (desk, ledger), AsyncExitStack() as opened:
        outcome = LiveOutcome(spending=desk.purse.routes, notes=same_family(run.instrument, run.needs))
        batches = [
            JudgeBatches(
                run, judge, await _open_client(run, judge, options, opened, tls), desk, progress, said, options
            )
            for judge in run.needs.judges
        ]
        for each in batches:
            opened.enter_context(_held(run.folder, each.judge))
            each.note_failure = ledger.failed
        try:
            with stopping_gracefully(desk.stop, said=said):
                await _work(run, batches)
        except Stopped as exc:
            outcome.notes.append(str(exc))
        except asyncio.CancelledError:
            if not desk.stop.requested:
                raise
        finally:
            _count(run, batches, outcome)
            outcome.stopped = desk.stop.requested
            outcome.seconds = time.time() - ledger.started
            ledger.close(outcome.counts(), spending=outcome.spending)
    return outcome


async def _work(run: LiveRun, batches: Sequence["JudgeBatches"]) -> None:
    for each in batches:
        await each.take_up()
        await each.look_for_missing()
    due = {each.judge: each.due() for each in batches}
    try:
        _reserve(batches, due)
    except BudgetSpent as exc:
        for each in batches:
            each.fail(due[each.judge], str(exc))
    else:
        for each in batches:
            await each.submit(due[each.judge])
    # A full disk met by one batch must not cut off another in the middle of being fetched.
    ends = await asyncio.gather(
        *(each.finish(name) for each in batches for name in list(each.open)), return_exceptions=True
    )
    for end in ends:
        if end is not None:
            raise end


def _reserve(batches: Sequence["JudgeBatches"], due: dict[str, list[DueRating]]) -> None:
    """Put aside what everything about to be handed over could cost, or raise and put nothing aside."""
    taken: list[tuple[JudgeBatches, DueRating, float]] = []
    for each in batches:
        for rating in due[each.judge]:
            try:
                most = each.purse.reserve(rating.request)
                if most is None:
                    raise BudgetSpent("what is put aside already leaves too little of it")
            except BudgetSpent as exc:
                free = Purse(each.purse.prices)
                costs = [free.reserve(other.request) or 0.0 for ratings in due.values() for other in ratings]
                for holder, _, amount in taken:
                    holder.purse.reserved -= amount
                raise BudgetSpent(
                    f"{len(costs)} ratings could cost {sum(costs):.4f} dollars in batches, at half price, and of the "
                    f"budget of {each.purse.budget:.2f} dollars {each.purse.spent + each.purse.reserved:.4f} are spent "
                    "or put aside; nothing was sent, raise it or name fewer bases or rubrics"
                ) from exc
            taken.append((each, rating, most))
    for each, rating, most in taken:
        each.reserved[rating.request.site, each.judge] = most


async def _open_client(
    run: LiveRun, judge: str, options: BatchOptions, opened: AsyncExitStack, tls: "SSLContext"
) -> "BatchClient":
    from pytest_tutoreval.providers.batch_client import open_batches
    from pytest_tutoreval.providers.client import RetryPolicy
    from pytest_tutoreval.providers.transport import open_http

    route = judge_route(run.instrument, judge)
    settings = run.study_file.route_settings(route.provider, route.model)
    retries = RetryPolicy(timeout=max(settings.timeout, _LEAST_TIMEOUT), budget=_CALL_BUDGET)
    if run.max_retries is not None:
        retries = replace(retries, max_retries=run.max_retries)
    return open_batches(
        route,
        http=await opened.enter_async_context(open_http(max_connections=settings.concurrency, verify=tls)),
        retries=retries,
        base_url=settings.base_url,
        key_variable=settings.key_variable,
        environ=run.environ,
        limits=options.limits,
    )


@contextmanager
def _held(folder: Path, judge: str) -> Iterator[None]:
    """Hold a judge's batches: two processes would hand over the same ratings."""
    path = folder / LOCKS / "batches" / f"{judge}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as exc:
        raise HeldElsewhere(f"{folder}: another process makes batches of {judge}; wait for it to end") from exc
    try:
        yield
    finally:
        lock.release()


def _count(run: LiveRun, batches: Sequence["JudgeBatches"], outcome: LiveOutcome) -> None:
    """Add up the files, seal those that are whole, and leave word of the others."""
    rated: list[str] = []
    for each in batches:
        outcome.notes += [*each.notes, *each.second_tries()]
        outcome.judging.incomplete |= each.unreadable
        for path, state in each.states.items():
            if state.given or path in each.needed or path in each.reasons:
                outcome.judging.add(state.judged(each.reasons.get(path, "not handed over yet; run again")))
            if state.given and not state.due:
                rated.append(path)
    keep_reasons(run.folder, outcome.judging.incomplete)
    seal_files(run.folder, rated, found=outcome.judging.complete)
