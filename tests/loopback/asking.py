"""Builders for tests of live routes: a route, a request, and one call against a loopback server."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.agent import AgentRole, CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.client import RetryPolicy, RouteClient
from pytest_tutoreval.providers.faults import CallFailed
from pytest_tutoreval.providers.limits import Gate, RouteLimits
from pytest_tutoreval.providers.routes import open_client
from pytest_tutoreval.providers.transport import open_http
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study import Sampling
from tests.loopback.server import LoopbackServer

__all__ = ["KEYS", "Outcome", "a_request", "a_route", "ask", "ask_all", "study_routes"]

# Keys by shape of name only; no vendor has issued them.
KEYS = {
    "ANTHROPIC_API_KEY": "test-anthropic",
    "OPENAI_API_KEY": "test-openai",
    "GEMINI_API_KEY": "test-gemini",
    "OPENROUTER_API_KEY": "test-openrouter",
}


@cache
def study_routes() -> dict[str, Route]:
    """Return the registered roles' routes: every base, every judge, the student; and a compatible one."""
    study = load_instrument().study
    routes = {each.id: Route(provider=each.provider, model=each.model, sampling=each.sampling) for each in study.bases}
    for judge in study.judges:
        routes[judge.id] = Route(provider=judge.provider, model=judge.model, sampling=judge.sampling, pin=judge.pin)
    student = study.student
    routes["student"] = Route(
        provider=student.provider, model=student.model, sampling=student.sampling, pin=student.pin
    )
    routes["compatible"] = a_route("compatible")
    return routes


_MODELS: dict[str, str] = {
    "anthropic": "claude-sonnet-4-6",
    "openai": "gpt-5.5-2026-04-23",
    "gemini": "gemini-3.1-pro-preview",
    "openrouter": "meta-llama/llama-3.1-8b-instruct",
    "compatible": "our-tutor",
}


def a_route(provider: str = "openai", **changes: Any) -> Route:
    """Return a route with a cap alone; `temperature`, `reasoning`, `seed` and `max_tokens` go to its sampling."""
    sampling: dict[str, Any] = {"max_tokens": 64}
    for name in ("temperature", "reasoning", "seed", "max_tokens"):
        if name in changes:
            sampling[name] = changes.pop(name)
    given: dict[str, Any] = {
        "provider": provider,
        "model": _MODELS.get(provider, "a-model"),
        "sampling": Sampling(**sampling),
        "pin": ("groq",) if provider == "openrouter" else (),
    }
    return Route(**given | changes)


def a_request(
    route: Route,
    *,
    system: str = "You tutor.",
    said: Sequence[str] = ("What is 2 + 3?",),
    seed: int | None = None,
    role: AgentRole = "tutor",
) -> ModelRequest:
    """Return a request in which `said` alternates, the user first."""
    return ModelRequest(
        role=role,
        site=CallSite(base="sonnet", condition="conv", replicate=0, problem="train-1", purpose="exchange", turn=0),
        system=system,
        messages=tuple(Message("user" if place % 2 == 0 else "assistant", text) for place, text in enumerate(said)),
        route=route,
        seed=seed,
    )


@dataclass
class Outcome:
    """What became of a call: a reply or a failure, and every wait between its attempts."""

    reply: ModelReply | None = None
    failed: CallFailed | None = None
    slept: list[float] = field(default_factory=list)
    client: RouteClient | None = None

    @property
    def kinds(self) -> list[str]:
        """The kinds of its failed attempts, in order."""
        source = self.reply or self.failed
        return [failure.kind for failure in source.failures] if source else []


@cache
def _no_tls() -> ssl.SSLContext:
    """Return a context that loads no certificates: nothing here is encrypted, and loading them is slow."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def ask_all(
    server: LoopbackServer | None,
    requests: Sequence[ModelRequest],
    *,
    retries: RetryPolicy | None = None,
    limits: RouteLimits | Gate | None = None,
    at_once: bool = False,
    now: float = 1_780_000_000.0,
    base_url: str | None = None,
    **options: Any,
) -> list[Outcome]:
    """Return the outcomes of requests on one route, asked in turn or at once; waits are noted, not waited."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with open_http(verify=_no_tls()) as http:
        route = requests[0].route
        client = open_client(
            route,
            http=http,
            limits=limits,
            retries=retries,
            base_url=server.base_urls[route.provider] if server else base_url,
            sleep=sleep,
            rng=Random(1),
            now=lambda: now,
            **({"environ": KEYS} | options),
        )

        async def one(request: ModelRequest) -> Outcome:
            outcome = Outcome(slept=slept, client=client)
            try:
                outcome.reply = await client.complete(request)
            except CallFailed as exc:
                outcome.failed = exc
            return outcome

        if at_once:
            return list(await asyncio.gather(*(one(request) for request in requests)))
        return [await one(request) for request in requests]


def ask(server: LoopbackServer | None, request: ModelRequest, **options: Any) -> Outcome:
    """Return the outcome of one call in an event loop of its own."""
    return asyncio.run(ask_all(server, [request], **options))[0]
