"""A vendor's batches in use: calls sent and retried, answers read, each step for itself."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tenacity import AsyncRetrying, RetryCallState

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.batch import (
    BatchFormat,
    BatchLimits,
    BatchResult,
    BatchView,
    Place,
    json_lines,
    may_have_arrived,
)
from pytest_tutoreval.providers.batch_anthropic import AnthropicBatches
from pytest_tutoreval.providers.batch_openai import OpenAIBatches
from pytest_tutoreval.providers.client import RetryPolicy, Tally, is_retried
from pytest_tutoreval.providers.faults import CallFailed, ProviderFault, bare
from pytest_tutoreval.providers.keys import KeyRing, Redactor
from pytest_tutoreval.providers.routes import open_client, wire_format
from pytest_tutoreval.providers.transport import send
from pytest_tutoreval.providers.vendor_error import answer_fault, embedded_fault
from pytest_tutoreval.providers.wire import HttpAnswer, HttpCall, WireFormat, check_serialised
from pytest_tutoreval.records.session import Route

if TYPE_CHECKING:
    import httpx

__all__ = ["BATCH_FORMATS", "BatchClient", "batch_format", "open_batches"]

Read = TypeVar("Read")

BATCH_FORMATS: dict[str, BatchFormat] = {"anthropic": AnthropicBatches(), "openai": OpenAIBatches()}


def batch_format(route: Route) -> BatchFormat:
    """Return the batch format of a route's provider. Raises ConfigurationProblem where there is none."""
    if (form := BATCH_FORMATS.get(route.provider)) is not None:
        return form
    raise ConfigurationProblem(
        f"{route.provider} {route.model}: batches are not supported on this provider (supported: "
        f"{', '.join(sorted(BATCH_FORMATS))}); rate without --batch"
    )


def open_batches(
    route: Route,
    *,
    http: "httpx.AsyncClient",
    retries: RetryPolicy,
    base_url: str | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str] | None = None,
    limits: BatchLimits | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    rng: random.Random | None = None,
    now: Callable[[], float] = time.time,
) -> "BatchClient":
    """Return the batch client of a route, after everything that can be checked without sending was checked.

    Raises
    ------
    ConfigurationProblem, MissingKey, ConfigurationError
    """
    form = batch_format(route)
    # Whatever is wrong with the route, its key or its place is wrong for the direct route too.
    open_client(route, http=http, base_url=base_url, key_variable=key_variable, environ=environ)
    keys = KeyRing(environ)
    del environ  # so that a traceback with locals shows no key
    wire = wire_format(route)
    variable = key_variable or wire.key_variable
    place = Place((base_url or wire.default_base_url or "").rstrip("/"), keys.find(variable) if variable else None)
    return BatchClient(
        route,
        wire,
        form,
        place,
        http=http,
        retries=retries,
        redact=keys.redactor(variable),
        limits=limits or form.limits,
        sleep=sleep,
        rng=rng or random.Random(),
        now=now,
    )


class BatchClient:
    """Sends and fetches one route's batches. Every call is tried as the direct route's are, but for `create`."""

    def __init__(
        self,
        route: Route,
        wire: WireFormat,
        form: BatchFormat,
        place: Place,
        *,
        http: "httpx.AsyncClient",
        retries: RetryPolicy,
        redact: Redactor,
        limits: BatchLimits,
        sleep: Callable[[float], Awaitable[None]],
        rng: random.Random,
        now: Callable[[], float],
    ) -> None:
        self.route, self.limits, self.overhead = route, limits, form.overhead
        self._wire, self._form, self._place = wire, form, place
        self._http, self._retries, self._redact = http, retries, redact
        self._sleep, self._rng, self._now = sleep, rng, now

    def line(self, custom_id: str, request: ModelRequest) -> bytes:
        """Return a request as it stands in a batch, once what is configured was found in it.

        Raises
        ------
        ConfigurationError, ProtocolError
        """
        call = self._wire.build(request, self._place.key, self._place.base_url)
        check_serialised(self._wire, request, call)
        return self._form.line(custom_id, call)

    async def upload(self, lines: Sequence[bytes]) -> str | None:
        """Return what the uploaded requests are called, None where they travel with the batch. Nothing is paid yet."""
        call = self._form.upload(lines, self._place)
        return None if call is None else await self._retried(call, self._form.uploaded)

    async def create(self, lines: Sequence[bytes], upload: str | None, tag: str) -> BatchView:
        """Return the batch that was made: from here on it is paid for.

        It is tried again only after an answer that refused it: a batch that may exist is not made twice.

        Raises
        ------
        CallFailed
            `may_have_arrived` of its fault says whether the batch may exist all the same.
        """
        call = self._form.create(lines, upload, tag, self._place)
        return await self._retried(call, self._form.view, once=True)

    async def look(self, batch: str) -> BatchView:
        """Return how a batch is doing."""
        return await self._retried(self._form.look(batch, self._place), self._form.view)

    async def made_since(self, moment: float) -> AsyncIterator[BatchView]:
        """Yield the account's batches that were made since a moment, newest first."""
        after: str | None = None
        while True:
            page, after = await self._retried(self._form.listing(after, self._place), self._form.listed)
            recent = [view for view in page if view.created is None or view.created >= moment]
            for view in recent:
                yield view
            if after is None or not recent:
                return

    async def results(self, view: BatchView) -> list[BatchResult]:
        """Return what became of the requests of an ended batch, in whatever order the vendor names them."""
        results: list[BatchResult] = []
        for call in self._form.results(view, self._place):
            results += await self._retried(call, self._read_results)
        return results

    def reply(self, request: ModelRequest, result: BatchResult) -> ModelReply:
        """Return the reply a result holds, read as the direct route reads it.

        Raises
        ------
        ProviderFault
            There is none.
        """
        if result.answer is not None:
            reply = self._wire.parse(result.answer, request)
            return replace(reply, request_id=reply.request_id and self._redact(reply.request_id))
        whole = HttpAnswer(200, {}, b"", redact=self._redact)
        raise embedded_fault(whole, result.error)

    def _read_results(self, answer: HttpAnswer) -> list[BatchResult]:
        if not answer.is_success:
            raise answer_fault(answer)
        return [self._form.result(fields, answer) for fields in json_lines(answer)]

    async def _retried(self, call: HttpCall, read: Callable[[HttpAnswer], Read], *, once: bool = False) -> Read:
        tally = Tally(self._retries, self._rng)

        def tried_again(state: RetryCallState) -> bool:
            fault = state.outcome.exception() if state.outcome else None
            return is_retried(state) and not (once and isinstance(fault, ProviderFault) and may_have_arrived(fault))

        retrying = AsyncRetrying(
            sleep=self._sleep, stop=tally.is_over, wait=tally.wait, retry=tried_again, reraise=True
        )
        try:
            result: Read = await retrying(self._attempt, call, read, tally)
        except ProviderFault as exc:
            fault = bare(exc)
        else:
            return result
        raise CallFailed(
            self.route, fault, tuple(tally.failures), reason=tally.reason or "the batch's call failed with"
        ) from fault

    async def _attempt(self, call: HttpCall, read: Callable[[HttpAnswer], Read], tally: Tally) -> Read:
        clock = time.perf_counter()
        try:
            answer = await send(
                self._http,
                call,
                timeout=min(self._retries.timeout, tally.seconds_left),
                redact=self._redact,
                now=self._now,
            )
            return read(answer)
        except ProviderFault as fault:
            if fault.request_id:  # a header of the vendor's, which may echo anything
                fault.request_id = self._redact(fault.request_id)
            tally.failed(fault, time.perf_counter() - clock)
            raise
