"""Error bodies of every vendor, and the fault kind each one is."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_tutoreval.providers.faults import ProviderFault, plain_message
from pytest_tutoreval.providers.hints import retry_hint
from pytest_tutoreval.providers.wire import HttpAnswer
from pytest_tutoreval.records.attempt import FaultKind

__all__ = ["VendorError", "answer_fault", "embedded_fault", "fault_kind", "read_vendor_error"]

# Codes and types are decided on, never words of a message: a per-minute 429 may well mention billing.
_BY_CODE: dict[str, FaultKind] = {
    "insufficient_quota": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "enforced_spend_limit_reached": "quota",
    "api_key_invalid": "authentication",
    "invalid_api_key": "authentication",
    "authentication_error": "authentication",
    "unauthenticated": "authentication",
    "overloaded_error": "overloaded",
    "model_not_found": "missing_model",
    "context_length_exceeded": "too_large",
    "exceed_context_size_error": "too_large",
    "request_too_large": "too_large",
    "content_filter": "blocked",
    "content_policy_violation": "blocked",
    "invalid_prompt": "blocked",
}
_BY_STATUS: dict[int, FaultKind] = {
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "missing_model",
    408: "timeout",
    409: "server",
    410: "missing_model",
    413: "too_large",
    425: "server",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}
# Errors inside a 200 whose code is a word.
_STATUS_OF_WORD = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "resource_exhausted": 429,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "permission_error": 403,
    "permission_denied": 403,
    "not_found_error": 404,
    "not_found": 404,
    "timeout_error": 408,
}
# Long enough for any real error; keeps an endless HTML page out of the regular expressions.
_MAX_BODY_TEXT = 100_000


@dataclass(frozen=True, slots=True)
class VendorError:
    """An error body in one shape. `words` are its codes, types and reasons in lower case."""

    message: str
    code: object = None
    words: frozenset[str] = frozenset()
    details: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None

    @property
    def is_moderation(self) -> bool:
        """Whether a moderation layer refused the prompt (OpenRouter's 403)."""
        return "flagged_input" in self.metadata or "reasons" in self.metadata

    @property
    def is_daily(self) -> bool:
        """Whether a per-day quota is among the violated ones (Gemini's QuotaFailure)."""
        violations = (v for d in self.details for v in _dicts(d.get("violations")))
        return any("perday" in str(v.get("quotaId", "")).lower() for v in violations)


def read_vendor_error(body: bytes) -> VendorError:
    """Return the error a body describes; a body that is not JSON is its own message."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return VendorError(body[:_MAX_BODY_TEXT].decode("utf-8", "replace"))
    if isinstance(data, list) and data:
        data = data[0]  # Gemini may send a list of one
    if not isinstance(data, dict):
        return error_of(data)
    error = error_of(data.get("error", data))
    # Anthropic repeats the id in the body, for edges that strip headers.
    return replace(error, request_id=named) if isinstance(named := data.get("request_id"), str) else error


def error_of(error: object) -> VendorError:
    """Return the error object of a body, whatever its vendor."""
    if not isinstance(error, Mapping):
        return VendorError("" if error is None else str(error))
    raw_details = error.get("details")
    details = tuple(_dicts(raw_details if isinstance(raw_details, list) else [raw_details]))
    raw_metadata = error.get("metadata")
    metadata: Mapping[str, Any] = raw_metadata if isinstance(raw_metadata, Mapping) else {}
    named = [error.get(name) for name in ("code", "type", "status")]
    named += [detail.get(name) for detail in details for name in ("reason", "error_code")]
    return VendorError(
        message=_message(error, metadata),
        code=error.get("code"),
        words=frozenset(word.lower() for word in named if isinstance(word, str)),
        details=details,
        metadata=metadata,
    )


def _message(error: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    """Return the message with the upstream's own words, where a router passes them on."""
    said = error.get("message") or error.get("detail") or json.dumps(dict(error), default=str)
    upstream = [str(metadata[name]) for name in ("provider_name", "raw") if metadata.get(name)]
    return f"{said} [{': '.join(upstream)}]" if upstream else str(said)


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))


def fault_kind(status: int, error: VendorError) -> FaultKind:
    """Return the kind of an error answer; anything 4xx without a row of its own is a refused request."""
    for word in sorted(error.words):
        if word in _BY_CODE:
            return _BY_CODE[word]
    if status == 403 and error.is_moderation:
        return "blocked"
    if status == 429 and error.is_daily:
        return "quota"
    # Anthropic's empty account is a 400 without a code; either way it is not retried.
    if status == 400 and "credit balance is too low" in error.message.lower():
        return "quota"
    return _BY_STATUS.get(status, "server" if status >= 500 else "bad_request")


def answer_fault(answer: HttpAnswer, *, request_id: str | None = None) -> ProviderFault:
    """Return the fault an answer with an error status is."""
    error = read_vendor_error(answer.body)
    kind = fault_kind(answer.status, error)
    message = error.message or f"HTTP {answer.status} with an empty body"
    if 300 <= answer.status < 400:
        message = f"HTTP {answer.status}: redirects are not followed, the base URL must be the final one"
    return _fault(answer, kind, message, error, answer.status, request_id)


def embedded_fault(answer: HttpAnswer, error: object, *, request_id: str | None = None) -> ProviderFault:
    """Return the fault of an error that came inside a 200, by the error's own code."""
    read = error_of(error)
    status = _embedded_status(read)
    message = read.message or "an error without a message inside a 200"
    return _fault(answer, fault_kind(status, read), message, read, status, request_id)


def _embedded_status(error: VendorError) -> int:
    code = error.code
    if isinstance(code, str) and code.isdecimal() and len(code) == 3:
        code = int(code)
    if isinstance(code, int) and 400 <= code < 600:
        return code
    return next((_STATUS_OF_WORD[word] for word in sorted(error.words) if word in _STATUS_OF_WORD), 500)


def _fault(
    answer: HttpAnswer,
    kind: FaultKind,
    message: str,
    error: VendorError,
    status: int,
    request_id: str | None,
) -> ProviderFault:
    named = request_id or answer.header("request-id") or answer.header("x-request-id") or error.request_id
    return ProviderFault(
        kind,
        answer.redact(message),
        status=status,
        retry_after=retry_hint(answer.headers, error.details, now=answer.at),
        request_id=answer.redact(plain_message(named)) if named else None,
    )
