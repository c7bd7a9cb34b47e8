"""Opening a live run: routes, keys, prices and corpus found fit before the first call, then one desk for all of it."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_tutoreval.live.jobs import PRODUCER, routes_of, run_provenance, scripted_parts
from pytest_tutoreval.live.ledger import Ledger
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.live.settings import LiveRun
from pytest_tutoreval.providers.desk import Answerer, Desk, Stop
from pytest_tutoreval.providers.limits import Gate, RouteLimits
from pytest_tutoreval.providers.money import Purse, UnknownPrice, price_of
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study_file import Price, RouteSettings
from pytest_tutoreval.store import declare_corpus, open_corpus

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

__all__ = ["open_desk"]


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
        self._run, self._opened = run, opened
        self._gates: dict[str, Gate] = {}
        self._connections: dict[str, httpx.AsyncClient] = {}
        self._clients: dict[Route, Answerer] = {}

    @cached_property
    def _tls(self) -> "SSLContext":
        """Made for the first route that needs it: a run that answers itself opens no connection."""
        from pytest_tutoreval.providers.transport import tls_context

        return tls_context()

    def __call__(self, route: Route) -> Answerer:
        client = self._clients.get(route)
        if client is None:
            client = self._clients[route] = self._open(route)
        return client

    def _open(self, route: Route) -> Answerer:
        from pytest_tutoreval.providers.client import RetryPolicy
        from pytest_tutoreval.providers.routes import IN_PROCESS, Surroundings, open_client, open_in_process

        settings = self._run.study_file.route_settings(route.provider, route.model)
        name = f"{route.provider}/{route.model}"
        gate = self._gates.setdefault(name, Gate(_limits(settings)))
        policy = RetryPolicy(timeout=settings.timeout)
        if self._run.max_retries is not None:
            policy = replace(policy, max_retries=self._run.max_retries)
        if route.provider in IN_PROCESS:
            return open_in_process(
                route,
                Surroundings(self._run.instrument, self._run.study_folder),
                limits=gate,
                retries=policy,
                key_variable=settings.key_variable,
                environ=self._run.environ,
            )
        return open_client(
            route,
            http=self._connected(name, settings),
            limits=gate,
            retries=policy,
            base_url=settings.base_url,
            key_variable=settings.key_variable,
            environ=self._run.environ,
        )

    def _connected(self, name: str, settings: RouteSettings) -> "httpx.AsyncClient":
        from pytest_tutoreval.providers.transport import open_http

        if name not in self._connections:
            http = open_http(max_connections=settings.concurrency, verify=self._tls)
            self._opened.push_async_callback(http.aclose)
            self._connections[name] = http
        return self._connections[name]


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
        run_provenance(run.instrument, run.needs, there=there.provenance)
        return there.model_copy(update={"judges": run.needs.judges, "notes": _notes(run)})
    return CorpusManifest(
        name=run.folder.resolve().name,
        provenance=run_provenance(run.instrument, run.needs),
        content="sessions",
        instrument=run.instrument.sha256,
        study=run.instrument.study.name,
        producer=PRODUCER,
        bases=run.needs.bases,
        conditions=run.needs.conditions,
        judges=run.needs.judges,
        notes=run.instrument.amendments + _notes(run),
    )


def _notes(run: LiveRun) -> tuple[str, ...]:
    parts = scripted_parts(run.instrument, run.needs)
    return (f"simulated: a script plays {', '.join(parts)}",) if parts else ()
