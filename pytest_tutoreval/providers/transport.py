"""The one place that imports httpx: bytes out, bytes in, and faults instead of its exceptions."""

import asyncio
import logging
import time
from collections.abc import Callable
from ssl import SSLContext

import httpx

from pytest_tutoreval.providers.faults import ProviderFault, bare
from pytest_tutoreval.providers.keys import Redactor
from pytest_tutoreval.providers.wire import HttpAnswer, HttpCall
from pytest_tutoreval.records.attempt import FaultKind

__all__ = ["open_http", "send", "tls_context"]

_CONNECT_SECONDS = 10.0


def _holds_no_headers(record: logging.LogRecord) -> bool:
    """Return whether a log line may pass: those with an answer's headers may echo the key that was sent."""
    return not str(record.msg).startswith("receive_response_headers")


# httpcore logs them at level DEBUG, which `pytest --log-level=DEBUG` writes into files.
for _name in ("httpcore.http11", "httpcore.http2", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_holds_no_headers)


def tls_context() -> SSLContext:
    """Return a context that several clients share: loading the certificates takes tens of milliseconds."""
    return httpx.create_ssl_context()


def open_http(*, max_connections: int = 100, verify: SSLContext | bool = True) -> httpx.AsyncClient:
    """Return the client that every route of an event loop shares; close it with `async with` or `aclose`.

    Proxies of the environment are used, but never for loopback, or a local model could not be reached. Reading
    has no timeout here: an attempt's deadline is its caller's.
    """
    return httpx.AsyncClient(
        verify=verify,
        timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
        limits=httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
        headers={"user-agent": "pytest-tutoreval", "accept": "application/json"},
        mounts={"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None},
    )


async def send(
    http: httpx.AsyncClient,
    call: HttpCall,
    *,
    timeout: float,
    redact: Redactor,
    now: Callable[[], float] = time.time,
) -> HttpAnswer:
    """Return the answer, whatever its status.

    Raises
    ------
    ProviderFault
        No whole answer came. The httpx exception is named in the message rather than kept as the cause: frames in
        its traceback hold the key's header.
    """
    try:
        async with asyncio.timeout(timeout):
            response = await http.request(
                call.method, call.url, headers=call.headers, content=call.body, auth=call.auth
            )
            return HttpAnswer(response.status_code, response.headers, response.content, now(), redact)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as exc:  # a timeout is an OSError
        kind, message = _transport_kind(exc), redact(f"{type(exc).__name__}: {exc}".rstrip(": "))
    except BaseException as exc:
        # A cancellation or a bug, raised on without the frames of httpx.
        raise bare(exc)  # noqa: B904 - it is the same exception
    raise ProviderFault(kind, message)


def _transport_kind(exc: Exception) -> FaultKind:
    if isinstance(exc, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError | UnicodeError):
        return "bad_request"
    if isinstance(exc, httpx.DecodingError):
        return "malformed"
    return "timeout" if isinstance(exc, httpx.TimeoutException | TimeoutError) else "connection"
