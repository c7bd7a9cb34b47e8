"""Waits, budgets, deadlines, limits: how a route is used. No test waits for a retry."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.client import RetryPolicy
from pytest_tutoreval.providers.faults import ProviderFault, RouteStopped
from pytest_tutoreval.providers.limits import Gate, RouteLimits, estimated_tokens
from pytest_tutoreval.providers.routes import open_client
from pytest_tutoreval.providers.transport import open_http
from pytest_tutoreval.records.attempt import FaultKind
from tests.loopback.asking import KEYS, Outcome, a_request, a_route, ask, ask_all
from tests.loopback.server import FOR_EVER, LoopbackServer, Step

RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "70.5s"}
GEMINI_429 = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m", "details": [RETRY_INFO]}}


def busy(status: int = 429, times: int = 1, **headers: str) -> Step:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Step(status=status, times=times, headers=named, body={"error": {"message": "busy"}})


def run(work: Coroutine[Any, Any, list[Outcome]]) -> list[Outcome]:
    return asyncio.run(work)


@pytest.mark.parametrize(
    ("provider", "step", "wait"),
    [
        pytest.param("anthropic", busy(retry_after="70"), 70.0, id="seconds"),
        pytest.param("openai", busy(retry_after_ms="70250", retry_after="1"), 70.25, id="milliseconds"),
        pytest.param("openrouter", busy(retry_after="Thu, 28 May 2026 20:28:00 GMT"), 80.0, id="date"),
        pytest.param("gemini", Step(status=429, body=GEMINI_429), 70.5, id="retry-info"),
        pytest.param("compatible", busy(503, retry_after="99"), 99.0, id="with-a-503"),
    ],
)
def test_a_servers_wait_is_obeyed_exactly(provider: str, step: Step, wait: float) -> None:
    with LoopbackServer([step]) as server:
        outcome = ask(server, a_request(a_route(provider)))
    assert outcome.slept == [pytest.approx(wait)]
    assert outcome.reply is not None


def test_without_a_hint_waits_are_jittered_under_a_doubling_cap() -> None:
    with LoopbackServer([busy(500, times=5)]) as server:
        outcome = ask(server, a_request(a_route()))
    assert outcome.reply is not None
    rng = Random(1)
    assert outcome.slept == [rng.uniform(0, 2**n) for n in range(5)]


@pytest.mark.parametrize(
    ("kind", "retries", "cap"), [("server", 0, 1), ("server", 3, 8), ("server", 40, 60), ("overloaded", 1, 8)]
)
def test_the_jitter_spans_from_zero_to_the_cap(kind: FaultKind, retries: int, cap: float) -> None:
    rng, policy, fault = Random(3), RetryPolicy(), ProviderFault(kind, "m")
    waits = [policy.backoff(fault, retries, rng) for _ in range(2000)]
    assert 0 <= min(waits) < cap / 100
    assert cap * 0.99 < max(waits) <= cap


def test_a_call_is_tried_six_times_by_default() -> None:
    with LoopbackServer([busy(500, times=FOR_EVER)]) as server:
        outcome = ask(server, a_request(a_route()))
    assert len(server.journal) == 6
    assert outcome.failed is not None
    assert len(outcome.failed.failures) == 6
    assert outcome.failed.__cause__ is outcome.failed.fault
    assert str(outcome.failed) == (
        "openai gpt-5.5-2026-04-23: 6 attempts failed, the last with server (500): busy. "
        "The provider is failing: resume later."
    )


def test_no_retries_means_one_attempt() -> None:
    with LoopbackServer([busy(times=FOR_EVER)]) as server:
        outcome = ask(server, a_request(a_route()), retries=RetryPolicy(max_retries=0))
    assert len(server.journal) == 1
    assert outcome.slept == []
    assert outcome.kinds == ["rate_limit"]
    assert "1 attempt failed" in str(outcome.failed)


def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    with LoopbackServer([busy(retry_after="301")]) as server:
        outcome = ask(server, a_request(a_route()))
    assert outcome.slept == []
    assert len(server.journal) == 1
    assert "the next wait of 301 s exceeds the call's remaining 300 s" in str(outcome.failed)
    assert outcome.client is not None
    assert outcome.client.stopped_by is None


def test_waits_add_up_to_the_budget() -> None:
    with LoopbackServer([busy(times=FOR_EVER, retry_after="90")]) as server:
        outcome = ask(server, a_request(a_route()))
    # 3 x 90 s = 270 s; a fourth would pass 300 s
    assert outcome.slept == [90.0] * 3
    assert len(server.journal) == 4
    assert outcome.kinds == ["rate_limit"] * 4


def test_an_attempt_has_a_deadline() -> None:
    began = time.monotonic()
    with LoopbackServer([Step(delay=5, times=FOR_EVER)]) as server:
        outcome = ask(server, a_request(a_route()), retries=RetryPolicy(max_retries=1, timeout=0.1))
    assert outcome.kinds == ["timeout"] * 2
    assert time.monotonic() - began < 2


def test_the_budget_is_a_deadline_too() -> None:
    with LoopbackServer([Step(delay=5, times=FOR_EVER)]) as server:
        outcome = ask(server, a_request(a_route()), retries=RetryPolicy(budget=0.1))
    assert outcome.kinds == ["timeout"]
    assert outcome.failed is not None


def test_a_reply_tells_when_it_began_and_how_long_its_attempt_took() -> None:
    with LoopbackServer([busy(500), Step(delay=0.05)]) as server:
        outcome = ask(server, a_request(a_route()), now=1_780_000_123.0)
    assert outcome.reply is not None
    assert outcome.reply.started == 1_780_000_123.0
    assert outcome.reply.seconds is not None
    assert 0.05 <= outcome.reply.seconds < 1


def test_a_stopped_route_says_why_and_sends_nothing() -> None:
    step = Step(status=401, body={"error": {"message": "bad key"}})
    with LoopbackServer([step]) as server:
        first, second, third = run(ask_all(server, [a_request(a_route())] * 3))
    assert len(server.journal) == 1
    assert first.failed is not None
    assert isinstance(second.failed, RouteStopped)
    assert isinstance(third.failed, RouteStopped)
    assert third.failed.fault is first.client.stopped_by  # type: ignore[union-attr]
    assert str(second.failed) == (
        "openai gpt-5.5-2026-04-23: not sent, the route was stopped by authentication (401): bad key. "
        "Check the key in the route's environment variable."
    )


def test_a_stop_reaches_calls_that_were_waiting() -> None:
    step = Step(status=402, body={"error": {"message": "no credit"}}, delay=0.05)
    with LoopbackServer([step]) as server:
        requests = [a_request(a_route(), seed=seed) for seed in range(10)]
        outcomes = run(ask_all(server, requests, limits=RouteLimits(concurrency=1), at_once=True))
    assert len(server.journal) == 1
    assert [type(outcome.failed) for outcome in outcomes[1:]] == [RouteStopped] * 9


def test_a_stop_reaches_calls_between_their_attempts() -> None:
    with LoopbackServer() as server:

        async def story() -> tuple[str, ...]:
            async with open_http() as http:

                async def sleep(_: float) -> None:
                    client.stopped_by = ProviderFault("quota", "used up")

                client = open_client(
                    a_route(), http=http, base_url=server.base_urls["openai"], environ=KEYS, sleep=sleep
                )
                server.add(busy(500))
                with pytest.raises(RouteStopped) as raised:
                    await client.complete(a_request(a_route()))
                return tuple(failure.kind for failure in raised.value.failures)

        assert asyncio.run(story()) == ("server",)
    assert len(server.journal) == 1


def test_concurrency_is_a_ceiling_that_is_reached() -> None:
    with LoopbackServer([Step(delay=0.05, times=FOR_EVER)]) as server:
        requests = [a_request(a_route(), seed=seed) for seed in range(9)]
        outcomes = run(ask_all(server, requests, limits=RouteLimits(concurrency=3), at_once=True))
    assert server.most_at_once == 3
    assert len({outcome.reply.text for outcome in outcomes if outcome.reply}) == 9


def test_routes_may_share_a_gate() -> None:
    async def story() -> int:
        gate = Gate(RouteLimits(concurrency=1))
        both = [ask_all(server, [a_request(a_route(provider))], limits=gate) for provider in ("openai", "gemini")]
        await asyncio.gather(*both)
        return server.most_at_once

    with LoopbackServer([Step(delay=0.03, times=FOR_EVER)]) as server:
        assert asyncio.run(story()) == 1


@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        pytest.param(RouteLimits(requests_per_minute=2), 1, id="requests"),
        pytest.param(RouteLimits(tokens_per_minute=100), 50, id="tokens"),
        pytest.param(RouteLimits(tokens_per_minute=50), 10_000, id="larger-than-the-limit"),
    ],
)
def test_a_minutes_worth_passes_at_once_and_the_rest_waits(limits: RouteLimits, tokens: int) -> None:
    async def story() -> list[float]:
        gate, began, times = Gate(limits, period=0.3), time.monotonic(), []
        for _ in range(4):
            async with gate.passed(tokens):
                times.append(time.monotonic() - began)
        return times

    times = asyncio.run(story())
    n_free = 1 if tokens > 1000 else 2
    assert times[n_free - 1] < 0.1
    assert times[n_free] > 0.1
    assert times[3] > 0.25


def test_a_call_is_estimated_with_its_cap() -> None:
    assert estimated_tokens(b"x" * 300, 64) == 164


@pytest.mark.parametrize("given", [{"concurrency": 0}, {"requests_per_minute": 0}, {"tokens_per_minute": float("nan")}])
def test_impossible_limits_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        RouteLimits(**given)


@pytest.mark.parametrize("given", [{"max_retries": -1}, {"budget": 0.0}, {"timeout": float("nan")}])
def test_impossible_retries_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))):
        RetryPolicy(**given)


def test_a_request_of_another_route_is_refused() -> None:
    async def story() -> None:
        async with open_http() as http:
            client = open_client(a_route(), http=http, environ=KEYS)
            await client.complete(replace(a_request(a_route()), route=a_route(temperature=0.1)))

    with pytest.raises(ProtocolError, match="Open a client for each route"):
        asyncio.run(story())


def test_a_cancelled_call_is_cancelled() -> None:
    async def story() -> None:
        async with open_http() as http:
            client = open_client(a_route(), http=http, base_url=server.base_urls["openai"], environ=KEYS)
            task = asyncio.create_task(client.complete(a_request(a_route())))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The slot and the connection are free again.
            assert (await client.complete(a_request(a_route()))).finish == "stop"

    with LoopbackServer([Step(delay=5)]) as server:
        asyncio.run(story())


def test_a_proxy_in_the_environment_does_not_swallow_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with LoopbackServer() as server:
        assert ask(server, a_request(a_route())).reply is not None
