"""A route in use: one call in, one reply or one failure out, every failed attempt kept."""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import CallFailed, ProviderFault, RouteStopped, bare, route_name
from pytest_tutoreval.providers.keys import Redactor, Secret
from pytest_tutoreval.providers.limits import Gate, estimated_tokens
from pytest_tutoreval.providers.transport import send
from pytest_tutoreval.providers.wire import HttpCall, WireFormat, check_serialised
from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.records.session import Route

if TYPE_CHECKING:
    import httpx

__all__ = ["Client", "RetryPolicy", "RouteClient", "Tally", "is_retried"]

Sent = TypeVar("Sent")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a call is tried.

    Attributes
    ----------
    max_retries : attempts after the first
    budget : seconds a call may spend in attempts and waits together; waiting for the route's own limits is free
    timeout : seconds one attempt may take
    first_wait, longest_wait : the jittered wait doubles from the one up to the other
    """

    max_retries: int = 5
    budget: float = 300.0
    timeout: float = 120.0
    first_wait: float = 1.0
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise ValueError(f"max_retries = {self.max_retries}, expected 0 or more")
        for name in ("budget", "timeout"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} = {getattr(self, name)}, expected more than 0 seconds")

    def backoff(self, fault: ProviderFault, retries: int, rng: random.Random) -> float:
        """Return the wait before the next attempt: full jitter, the server's hint as its floor."""
        # An overloaded provider is asked more slowly.
        first = self.first_wait * (4 if fault.kind == "overloaded" else 1)
        jitter = rng.uniform(0, min(self.longest_wait, first * 2.0 ** min(retries, 30)))
        return max(fault.retry_after or 0.0, jitter)


class Tally:
    """What one call has spent and suffered."""

    def __init__(self, policy: RetryPolicy, rng: random.Random) -> None:
        self._policy, self._rng = policy, rng
        self._last: ProviderFault | None = None
        self.failures: list[FailedAttempt] = []
        self.spent = 0.0
        self.reason = ""

    @property
    def seconds_left(self) -> float:
        """Seconds the call may still spend."""
        return self._policy.budget - self.spent

    def failed(self, fault: ProviderFault, seconds: float) -> None:
        """Note a failed attempt and how long it took."""
        self._last = fault
        self.spent += seconds
        self.failures.append(fault.record(seconds))

    def wait(self, state: RetryCallState) -> float:
        """Return tenacity's next wait."""
        retries = len(self.failures) - 1
        return self._policy.backoff(self._last, retries, self._rng) if self._last else 0.0

    def is_over(self, state: RetryCallState) -> bool:
        """Return whether tenacity gives up; the wait it would make next is already known."""
        n_attempts = len(self.failures)
        if n_attempts > self._policy.max_retries:
            self.reason = f"{n_attempts} attempt{'s' if n_attempts > 1 else ''} failed, the last with"
        elif state.upcoming_sleep >= self.seconds_left:
            self.reason = (
                f"the next wait of {state.upcoming_sleep:.0f} s exceeds the call's remaining "
                f"{max(self.seconds_left, 0):.0f} s, after"
            )
        else:
            self.spent += state.upcoming_sleep
            return False
        return True


def is_retried(state: RetryCallState) -> bool:
    """Return whether tenacity may try again: only faults that may pass."""
    fault = state.outcome.exception() if state.outcome else None
    return isinstance(fault, ProviderFault) and fault.retryable


class Client(ABC, Generic[Sent]):
    """Calls one route, whatever carries the call. Used in one event loop, by as many tasks as like.

    Attributes
    ----------
    route : every request must carry this one, so that no record can name another
    stopped_by : the fault after which nothing is sent any more, or None
    """

    def __init__(
        self,
        route: Route,
        *,
        gate: Gate,
        retries: RetryPolicy,
        redact: Redactor,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.route = route
        self.stopped_by: ProviderFault | None = None
        self._gate, self._retries, self._redact = gate, retries, redact
        self._sleep, self._rng, self._now = sleep, rng or random.Random(), now
        self._cap = route.sampling.max_tokens if route.sampling else 0

    @abstractmethod
    def _prepared(self, request: ModelRequest) -> tuple[Sent, int]:
        """Return what will be sent and about how many tokens it may be billed; raise what no attempt could mend."""

    @abstractmethod
    async def _answered(self, sent: Sent, request: ModelRequest, timeout: float) -> ModelReply:
        """Return the reply of one attempt, or raise ProviderFault."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply, with the failed attempts that came before it.

        Raises
        ------
        ConfigurationError
            The route's settings cannot be sent, or were not found in the body.
        ProtocolError
            The request carries another route, or a conversation no provider accepts.
        CallFailed
            Every attempt failed, or one failed in a way that no repetition mends.
        RouteStopped
            An earlier call met a fault that stops the route; nothing was sent.
        """
        self._refuse_another_route(request)
        self._refuse_if_stopped(())
        sent, tokens = self._prepared(request)
        tally = Tally(self._retries, self._rng)
        retrying = AsyncRetrying(sleep=self._sleep, stop=tally.is_over, wait=tally.wait, retry=is_retried, reraise=True)
        try:
            reply: ModelReply = await retrying(self._attempt, request, sent, tokens, tally)
        except ProviderFault as exc:
            fault = bare(exc)
        else:
            return replace(reply, failures=tuple(tally.failures)) if tally.failures else reply
        raise CallFailed(
            self.route, fault, tuple(tally.failures), reason=tally.reason or "the call failed with"
        ) from fault

    def _refuse_another_route(self, request: ModelRequest) -> None:
        if request.route is not self.route and request.route != self.route:
            raise ProtocolError(
                f"a request for {route_name(request.route)} reached the client of {route_name(self.route)}, or "
                "their sampling differs. Open a client for each route."
            )

    def _refuse_if_stopped(self, failures: tuple[FailedAttempt, ...]) -> None:
        if self.stopped_by is not None:
            raise RouteStopped(
                self.route, self.stopped_by, failures, reason="not sent, the route was stopped by"
            ) from self.stopped_by

    async def _attempt(self, request: ModelRequest, sent: Sent, tokens: int, tally: Tally) -> ModelReply:
        """Return the reply of one attempt, or raise its fault once it is in the tally."""
        async with self._gate.passed(tokens):
            # Others may have stopped the route while this call waited.
            self._refuse_if_stopped(tuple(tally.failures))
            started, clock = self._now(), time.perf_counter()
            try:
                reply = await self._answered(sent, request, min(self._retries.timeout, tally.seconds_left))
            except ProviderFault as fault:
                if fault.request_id:  # a header or field of the vendor's, which may echo anything
                    fault.request_id = self._redact(fault.request_id)
                tally.failed(fault, time.perf_counter() - clock)
                if fault.stops_route and self.stopped_by is None:
                    self.stopped_by = bare(fault)
                raise
        return replace(self._without_keys(reply), started=started, seconds=time.perf_counter() - clock)

    def _without_keys(self, reply: ModelReply) -> ModelReply:
        """Return the reply with no key in it: an endpoint may echo what it was sent, and replies go to disk."""
        return replace(
            reply,
            text=self._redact.known(reply.text),
            finish=reply.finish and self._redact.known(reply.finish),
            request_id=reply.request_id and self._redact(reply.request_id),
            served_model=reply.served_model and self._redact.known(reply.served_model),
            served_provider=reply.served_provider and self._redact.known(reply.served_provider),
        )


class RouteClient(Client[HttpCall]):
    """Calls one route over HTTP. Made by `open_client`."""

    def __init__(
        self,
        route: Route,
        wire: WireFormat,
        *,
        http: "httpx.AsyncClient",
        key: Secret | None,
        base_url: str,
        gate: Gate,
        retries: RetryPolicy,
        redact: Redactor,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(route, gate=gate, retries=retries, redact=redact, sleep=sleep, rng=rng, now=now)
        self._wire, self._http, self._key, self._base_url = wire, http, key, base_url

    def _prepared(self, request: ModelRequest) -> tuple[HttpCall, int]:
        call = self._wire.build(request, self._key, self._base_url)
        check_serialised(self._wire, request, call)
        return call, estimated_tokens(call.body, self._cap)

    async def _answered(self, call: HttpCall, request: ModelRequest, timeout: float) -> ModelReply:
        answer = await send(self._http, call, timeout=timeout, redact=self._redact, now=self._now)
        return self._wire.parse(answer, request)
