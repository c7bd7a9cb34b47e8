"""From a route of the study to a client that can be called."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pytest_tutoreval.providers.anthropic import AnthropicMessages
from pytest_tutoreval.providers.client import RetryPolicy, RouteClient
from pytest_tutoreval.providers.compatible import CompatibleChat
from pytest_tutoreval.providers.faults import ConfigurationError, MissingKey, UnknownProvider
from pytest_tutoreval.providers.gemini import GeminiContent
from pytest_tutoreval.providers.keys import KeyRing, Secret, is_sendable
from pytest_tutoreval.providers.limits import Gate, RouteLimits
from pytest_tutoreval.providers.openai_chat import OpenAIChat
from pytest_tutoreval.providers.openrouter import OpenRouterChat
from pytest_tutoreval.providers.wire import WireFormat
from pytest_tutoreval.records.session import Route

if TYPE_CHECKING:
    import httpx

__all__ = ["FORMATS", "open_client", "wire_format"]

FORMATS: dict[str, WireFormat] = {
    "anthropic": AnthropicMessages(),
    "compatible": CompatibleChat(),
    "gemini": GeminiContent(),
    "openai": OpenAIChat(),
    "openrouter": OpenRouterChat(),
}


def wire_format(route: Route) -> WireFormat:
    """Return the wire format of a route's provider."""
    if (wire := FORMATS.get(route.provider)) is not None:
        return wire
    near = get_close_matches(route.provider, FORMATS, n=1)
    raise UnknownProvider(
        route,
        "provider",
        f"= {route.provider!r} is not a known provider.",
        f"Known: {', '.join(sorted(FORMATS))}.{f' Did you mean {near[0]!r}?' if near else ''}",
    )


def open_client(
    route: Route,
    *,
    http: "httpx.AsyncClient",
    limits: RouteLimits | Gate | None = None,
    retries: RetryPolicy | None = None,
    base_url: str | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    rng: random.Random | None = None,
    now: Callable[[], float] = time.time,
) -> RouteClient:
    """Return the client of a route, after everything that can be checked without sending was checked.

    Parameters
    ----------
    http : shared by every route of the event loop; see `transport.open_http`
    limits : a Gate where several routes share an account's limits
    base_url : another place that speaks the vendor's format; required for `compatible`
    key_variable : where the key is, if not in the vendor's variable; `compatible` sends none unless it is named
    environ : where keys are looked up, by default the process environment
    sleep, rng, now : the clock and the chance of retries

    Raises
    ------
    UnknownProvider, MissingKey, ConfigurationError
    """
    keys = KeyRing(environ)
    del environ  # so that a traceback with locals shows no key
    wire = wire_format(route)
    wire.settings(route)
    variable = key_variable or wire.key_variable
    return RouteClient(
        route,
        wire,
        http=http,
        key=_key(route, keys, variable),
        base_url=_base_url(route, base_url or wire.default_base_url),
        gate=limits if isinstance(limits, Gate) else Gate(limits or RouteLimits()),
        retries=retries or RetryPolicy(),
        redact=keys.redactor(variable),
        sleep=sleep,
        rng=rng,
        now=now,
    )


def _key(route: Route, keys: KeyRing, variable: str | None) -> Secret | None:
    if variable is None:
        return None
    key = keys.find(variable)
    if key is None:
        raise MissingKey(route, variable, "is not set or empty.", "Put the key into this environment variable.")
    if not is_sendable(key):
        raise MissingKey(
            route, variable, "holds white space or characters no HTTP header can carry.", "Copy the key again."
        )
    return key


def _base_url(route: Route, base_url: str | None) -> str:
    """Return the base URL without its final slash. One with a password or a query is refused, and not shown."""
    if base_url is None:
        raise ConfigurationError(
            route, "base_url", "is not set, and this provider has none of its own.", "Give the endpoint's."
        )
    if not _is_place(base_url):
        raise ConfigurationError(
            route, "base_url", "is not an http or https URL.", "Write it like http://127.0.0.1:8000/v1."
        )
    parts = urlsplit(base_url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError(
            route, "base_url", "holds more than a place.", "Keys belong in an environment variable."
        )
    return base_url.rstrip("/")


def _is_place(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an address that is none
        return False
