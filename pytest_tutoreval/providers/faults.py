"""What can go wrong between us and a provider, and what each fault means for the call and for the route.

TutorEvalError
├── ConfigurationError       a route says something its wire format cannot send; raised before sending
│   ├── UnknownProvider      no wire format has this name
│   ├── MissingKey           the environment variable that holds the key is empty or unusable
│   └── UnsentSetting        a configured value was not found in the body about to be sent
├── ProviderFault            one attempt failed
└── CallFailed               a call failed for good; holds every attempt
    └── RouteStopped         a call that was not sent, because an earlier fault stopped the route
"""

import re
from typing import TypeVar

from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.records.attempt import FailedAttempt, FaultKind
from pytest_tutoreval.records.session import Route

__all__ = [
    "CallFailed",
    "ConfigurationError",
    "MissingKey",
    "ProviderFault",
    "RouteStopped",
    "UnknownProvider",
    "UnsentSetting",
    "bare",
    "plain_message",
    "route_name",
]

_RETRYABLE: frozenset[FaultKind] = frozenset(
    ("rate_limit", "overloaded", "server", "timeout", "connection", "malformed")
)
# `blocked` and `tutor_error` are in neither: one prompt was refused or broke the tutor's code, the next may pass.
_STOPPING: frozenset[FaultKind] = frozenset(
    ("authentication", "permission", "missing_model", "quota", "bad_request", "too_large", "wrong_provider")
)
_WAY_OUT: dict[FaultKind, str] = {
    "rate_limit": "Lower the route's requests or tokens per minute, then resume.",
    "overloaded": "The provider is overloaded: resume later.",
    "server": "The provider is failing: resume later.",
    "timeout": "Resume, or allow the route a longer timeout.",
    "connection": "Check the network and the base URL, then resume.",
    "malformed": "The answers are not what this provider's format says: check the base URL.",
    "authentication": "Check the key in the route's environment variable.",
    "permission": "The key may not use this model: check the account's access.",
    "missing_model": "No such model is served on this route: check the model, the pin and the base URL.",
    "quota": "The account's quota or credit is used up: raise it or wait for the next day, then resume.",
    "bad_request": "The provider refuses these settings: correct the route, never the single call.",
    "too_large": "The request exceeds what the model takes: check the model's context size.",
    "blocked": "The provider refused this prompt; other calls may pass.",
    "tutor_error": "The tutor's own code failed: correct it, then resume.",
    "wrong_provider": "The pinned provider did not attest this answer: nothing of it is used. Check the pin.",
}
MAX_MESSAGE = 300
Raised = TypeVar("Raised", bound=BaseException)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_message(text: str) -> str:
    """Return a vendor's message on one line: no control characters or lone surrogates, at most 300 characters."""
    flat = " ".join(_SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text)).split())
    return flat if len(flat) <= MAX_MESSAGE else flat[: MAX_MESSAGE - 1] + "…"


def bare(exc: Raised) -> Raised:
    """Return the exception without tracebacks, its own and its chain's.

    Frames of the HTTP library hold the headers, and `pytest --showlocals` prints what frames hold.
    """
    links: list[BaseException | None] = [exc]
    seen: set[int] = set()
    while links:
        link = links.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            link.__traceback__ = None
            links += [link.__cause__, link.__context__]
    return exc


def route_name(route: Route) -> str:
    """Return how messages name a route."""
    return f"{route.provider} {route.model}"


class ConfigurationError(TutorEvalError):
    """A route cannot be sent as configured; never mended by dropping the key.

    Attributes
    ----------
    key : the setting, such as `sampling.seed`
    route : provider and model
    """

    def __init__(self, route: Route, key: str, problem: str, way_out: str) -> None:
        self.key, self.route = key, route_name(route)
        super().__init__(f"{self.route}: {key} {problem} {way_out}")


class UnknownProvider(ConfigurationError):
    """No wire format has the route's provider name."""


class MissingKey(ConfigurationError):
    """The key's environment variable is empty or holds what no header can carry; `key` names the variable."""


class UnsentSetting(ConfigurationError):
    """What was serialised is not what was configured: the call is not sent."""


class ProviderFault(TutorEvalError):
    """One attempt failed. `kind` alone decides whether it is retried and whether it stops the route.

    Attributes
    ----------
    retryable : the same request may succeed later
    stops_route : no further request on this route can succeed
    retry_after : seconds the server asks to wait, or None
    status, message, request_id : the vendor's; the message is short and holds no key
    """

    def __init__(
        self,
        kind: FaultKind,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        self.kind: FaultKind = kind
        self.message = plain_message(message)
        self.status, self.retry_after, self.request_id = status, retry_after, request_id
        super().__init__(f"{kind}{f' ({status})' if status is not None else ''}: {self.message}")

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in _RETRYABLE

    @property
    def stops_route(self) -> bool:
        """Whether no further request on the route can succeed."""
        return self.kind in _STOPPING

    def record(self, seconds: float | None) -> FailedAttempt:
        """Return the attempt as it is logged."""
        return FailedAttempt(
            kind=self.kind,
            status=self.status,
            message=self.message,
            request_id=self.request_id,
            seconds=seconds,
        )


class CallFailed(TutorEvalError):
    """A call failed for good. `fault` is the last attempt's, `failures` are all of them in order."""

    def __init__(self, route: Route, fault: ProviderFault, failures: tuple[FailedAttempt, ...], *, reason: str) -> None:
        self.route, self.fault, self.failures = route_name(route), fault, failures
        super().__init__(f"{self.route}: {reason} {str(fault).rstrip('.')}. {_WAY_OUT[fault.kind]}")


class RouteStopped(CallFailed):
    """A call that was not sent: an earlier fault has stopped the route."""
