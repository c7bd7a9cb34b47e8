"""From a route of the study to a client that can be called."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_tutoreval.errors import ExtensionError, did_you_mean
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.anthropic import AnthropicMessages
from pytest_tutoreval.providers.client import Client, RetryPolicy, RouteClient
from pytest_tutoreval.providers.compatible import CompatibleChat
from pytest_tutoreval.providers.faults import ConfigurationError, MissingKey, UnknownProvider
from pytest_tutoreval.providers.gemini import GeminiContent
from pytest_tutoreval.providers.keys import KeyRing, Secret, is_sendable
from pytest_tutoreval.providers.limits import Gate, RouteLimits
from pytest_tutoreval.providers.openai_chat import OpenAIChat
from pytest_tutoreval.providers.openrouter import OpenRouterChat
from pytest_tutoreval.providers.python_tutor import PythonTutor, import_tutor
from pytest_tutoreval.providers.scripted_route import ScriptedRoute
from pytest_tutoreval.providers.tutor_endpoint import TutorEndpoint
from pytest_tutoreval.providers.tutor_turn import refuse_settings_of_others
from pytest_tutoreval.providers.wire import WireFormat
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.registering import add_entry

if TYPE_CHECKING:
    import httpx

__all__ = [
    "FORMATS",
    "IN_PROCESS",
    "InProcess",
    "Provider",
    "Surroundings",
    "open_client",
    "open_in_process",
    "register_provider",
    "wire_format",
]

FORMATS: dict[str, WireFormat] = {
    "anthropic": AnthropicMessages(),
    "compatible": CompatibleChat(),
    "gemini": GeminiContent(),
    "http": TutorEndpoint(),
    "openai": OpenAIChat(),
    "openrouter": OpenRouterChat(),
}


@dataclass(frozen=True)
class Surroundings:
    """What a route that answers in this process may need: the study's problems, and the folder of the study file."""

    instrument: Instrument
    folder: Path


def _open_python(route: Route, surroundings: Surroundings, **given: Any) -> Client[Any]:
    refuse_settings_of_others(route)
    return PythonTutor(route, import_tutor(route, surroundings.folder, given["redact"]), **given)


def _open_scripted(route: Route, surroundings: Surroundings, **given: Any) -> Client[Any]:
    return ScriptedRoute(route, surroundings.instrument, **given)


# Makes the client of a route that sends nothing, from what the run surrounds it with and what every client is given.
InProcess = Callable[..., Client[Any]]

IN_PROCESS: dict[str, InProcess] = {"python": _open_python, "scripted": _open_scripted}

Provider = WireFormat | InProcess

_WIRE_METHODS = ("settings", "build", "read_back", "parse")
_WIRE_FACTS = ("name", "default_base_url", "key_variable", "takes_seed")


def register_provider(name: str, provider: Provider, *, by: str) -> Callable[[], None]:
    """Add a package's provider, and return how it is taken out again.

    Parameters
    ----------
    provider : a wire format, for what is reached over HTTP; or what makes the client of a route that is answered in
        this process, from the route, its Surroundings and, by name, all that a Client is given

    Raises
    ------
    ExtensionError
        It is neither of the two, its name is taken, or a wire format calls itself something else.
    """
    where, known = f"{by}: provider {name!r}", (*FORMATS, *IN_PROCESS)
    if all(hasattr(provider, method) for method in _WIRE_METHODS):
        wire: Any = provider
        if isinstance(provider, type):
            raise ExtensionError(f"{where} is the class {provider.__name__}; give a wire format made of it")
        if lacking := [fact for fact in _WIRE_FACTS if not hasattr(provider, fact)]:
            raise ExtensionError(f"{where} is a wire format without {', '.join(lacking)}")
        if wire.name != name:
            raise ExtensionError(f"{where} is a wire format named {wire.name!r}; give both one name")
        return add_entry(FORMATS, "provider", name, wire, known, by=by)
    if not callable(provider):
        raise ExtensionError(
            f"{where} is neither a WireFormat ({', '.join(_WIRE_METHODS)}) nor a function that opens a Client: "
            f"{provider!r:.80}"
        )
    return add_entry(IN_PROCESS, "provider", name, provider, known, by=by)


def wire_format(route: Route) -> WireFormat:
    """Return the wire format of a route's provider."""
    if (wire := FORMATS.get(route.provider)) is not None:
        return wire
    known = sorted((*FORMATS, *IN_PROCESS))
    raise UnknownProvider(
        route,
        "provider",
        f"= {route.provider!r} is not a known provider.",
        f"Known: {', '.join(known)}.{did_you_mean(route.provider, known)}",
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


def open_in_process(
    route: Route,
    surroundings: Surroundings,
    *,
    limits: RouteLimits | Gate | None = None,
    retries: RetryPolicy | None = None,
    key_variable: str | None = None,
    environ: Mapping[str, str] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    rng: random.Random | None = None,
    now: Callable[[], float] = time.time,
) -> Client[Any]:
    """Return the client of a route that sends nothing, after everything that can be checked beforehand was checked.

    Parameters
    ----------
    key_variable : a variable whose key is taken out of what comes back; the client itself is given none
    limits, retries, environ, sleep, rng, now : as for `open_client`

    Raises
    ------
    ConfigurationError
    """
    keys = KeyRing(environ)
    del environ  # so that a traceback with locals shows no key
    client = IN_PROCESS[route.provider](
        route,
        surroundings,
        gate=limits if isinstance(limits, Gate) else Gate(limits or RouteLimits()),
        retries=retries or RetryPolicy(),
        redact=keys.redactor(key_variable),
        sleep=sleep,
        rng=rng,
        now=now,
    )
    if not isinstance(client, Client):
        raise ConfigurationError(
            route, "provider", f"= {route.provider!r} opened a {type(client).__name__}.", "It has to open a Client."
        )
    return client


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
