"""What every wire format keeps: a request becomes an HTTP call, an HTTP answer becomes a reply or a fault."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ConfigurationError, ProviderFault, UnsentSetting, route_name
from pytest_tutoreval.providers.keys import KeyHeader, Redactor, Secret
from pytest_tutoreval.records.session import Route

__all__ = [
    "Count",
    "HttpAnswer",
    "HttpCall",
    "VendorBody",
    "WireFormat",
    "check_serialised",
    "clean_text",
    "conversation",
    "json_bytes",
    "json_object",
    "reasoning_level",
    "refuse_pin",
    "vendor_body",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One HTTP request, without its key: `auth` writes that header when the request leaves."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    auth: KeyHeader | None = None
    method: str = "POST"

    def sent(self) -> dict[str, Any]:
        """Return the body as a receiver reads it."""
        body: dict[str, Any] = json.loads(self.body)
        return body


@dataclass(frozen=True, slots=True, repr=False)
class HttpAnswer:
    """One HTTP answer. `headers` have lower-case names; `at` is when it came, in epoch seconds.

    Its repr names no content, since an error body may echo the key.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    at: float = 0.0
    redact: Redactor = field(default_factory=Redactor)

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str | None:
        """Return a header, without lone surrogates, or None."""
        value = self.headers.get(name)
        return clean_text(value) if value else None

    def __repr__(self) -> str:
        return f"<HttpAnswer {self.status}, {len(self.body)} bytes>"


class WireFormat(Protocol):
    """A vendor's way of asking and answering.

    `takes_seed` says whether the wire has a place for one; `key_variable` names the environment variable, None
    where a key is optional; `default_base_url` is None where there is no vendor to assume.
    """

    name: str
    default_base_url: str | None
    key_variable: str | None
    takes_seed: bool

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body; raise ConfigurationError where the format cannot express it."""

    def build(self, request: ModelRequest, key: Secret | None, base_url: str) -> HttpCall:
        """Return the HTTP call of a request."""

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return model, sampling, seed and pin as found in a call, in the words of `Route`."""

    def parse(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        """Return the reply; raise ProviderFault where there is none. Empty and refused texts are replies."""


class VendorBody(BaseModel):
    """Part of a vendor's answer: what we do not know is ignored, what is null is absent."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=(), coerce_numbers_to_str=True)


Body = TypeVar("Body", bound=VendorBody)

# A vendor may leave a count out or send null; a negative one is no count.
Count = Annotated[int, Field(ge=0)] | None


def clean_text(text: str) -> str:
    """Return the text with lone surrogates, which UTF-8 cannot hold, replaced by U+FFFD; all else is data."""
    return _SURROGATE.sub("\ufffd", text)


def conversation(request: ModelRequest) -> list[Message]:
    """Return the messages as sent: same-role neighbours merged by a blank line, user first and last, none empty.

    Raises
    ------
    ProtocolError
        There is nothing to answer, a text is empty, or the ends are not the user's.
    """
    merged: list[Message] = []
    for message in request.messages:
        if not message.text.strip():
            raise ProtocolError(_refused(request, "a message is empty; send the placeholder of an empty turn"))
        text = clean_text(message.text)
        if merged and merged[-1].speaker == message.speaker:
            text = f"{merged.pop().text}\n\n{text}"
        merged.append(Message(message.speaker, text))
    if not merged or merged[0].speaker != "user" or merged[-1].speaker != "user":
        raise ProtocolError(_refused(request, "a conversation starts and ends with a user message"))
    return merged


def _refused(request: ModelRequest, problem: str) -> str:
    site = request.site
    return (
        f"{site.base}/{site.condition}/r{site.replicate} {site.problem}, {request.role} on "
        f"{route_name(request.route)}: {problem}."
    )


def chat_messages(request: ModelRequest, system_role: str) -> list[dict[str, str]]:
    """Return the messages of the OpenAI family, the system text first."""
    messages = [{"role": system_role, "content": clean_text(request.system)}] if request.system.strip() else []
    return messages + [{"role": said.speaker, "content": said.text} for said in conversation(request)]


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Return a body as it travels."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def json_object(answer: HttpAnswer) -> dict[str, Any]:
    """Return a 2xx answer's JSON object; anything else is a malformed answer."""
    try:
        data = json.loads(answer.body)
        # An escaped surrogate begins "\\ud" or "\\uD"; few texts hold one, so few are walked.
        if b"\\ud" in answer.body or b"\\uD" in answer.body:
            data = _clean(data)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        start = answer.body[:200].decode("utf-8", "replace")
        raise ProviderFault(
            "malformed",
            answer.redact(f"not a JSON object: {start}" if start.strip() else "an empty body"),
            status=answer.status,
            request_id=answer.header("request-id") or answer.header("x-request-id"),
        )
    return data


def _clean(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case list():
            return [_clean(item) for item in value]
        case dict():
            return {clean_text(name): _clean(item) for name, item in value.items()}
        case _:
            return value


def vendor_body(model: type[Body], data: Mapping[str, Any], answer: HttpAnswer) -> Body:
    """Return the parsed body; one of another shape is a malformed answer."""
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        # The places only: the values may hold anything.
        places = ", ".join(".".join(str(part) for part in problem["loc"]) for problem in exc.errors()[:5])
    raise ProviderFault(
        "malformed",
        answer.redact(f"unexpected answer shape at {places}"),
        status=answer.status,
        request_id=answer.header("request-id") or answer.header("x-request-id"),
    )


def reasoning_level(route: Route) -> str | None:
    """Return the configured reasoning: "none" (also said "disabled"), an effort, or None where it is not sent."""
    level = route.sampling.reasoning if route.sampling else None
    if level == "disabled":
        return "none"
    if level is not None and level != "none" and level not in _EFFORTS:
        raise ConfigurationError(
            route,
            "sampling.reasoning",
            f"= {level!r} is not a known level.",
            f"Known: disabled, none, {', '.join(_EFFORTS)}.",
        )
    return level


def refuse_pin(route: Route) -> None:
    """Raise ConfigurationError where a pin is set on a format that cannot send one."""
    if route.pin:
        raise ConfigurationError(
            route, "pin", f"= {list(route.pin)} cannot be sent by this provider.", "Remove it, or use openrouter."
        )


def refuse_seed(route: Route) -> None:
    """Raise ConfigurationError where a seed is configured on a format that takes none."""
    if route.sampling and route.sampling.seed is not None:
        raise ConfigurationError(
            route,
            "sampling.seed",
            f"= {route.sampling.seed!r} cannot be sent: this provider takes no seed.",
            "Remove the key; the route is then recorded as unseeded.",
        )


def check_serialised(wire: WireFormat, request: ModelRequest, call: HttpCall) -> None:
    """Compare what is configured with what was serialised, key by key, in both directions.

    Raises
    ------
    UnsentSetting
        A configured value is missing or changed in the body, or the body holds one that is not configured.
    """
    route, sampling = request.route, request.route.sampling
    asked: dict[str, Any] = {
        "model": route.model,
        "temperature": sampling.temperature if sampling else None,
        "max_tokens": sampling.max_tokens if sampling else None,
        "reasoning": reasoning_level(route),
        "seed": request.seed if wire.takes_seed else None,
        "pin": list(route.pin) or None,
    }
    sent = wire.read_back(call)
    for key, value in asked.items():
        if sent.get(key) != value:
            raise UnsentSetting(
                route,
                key,
                f"is configured as {value!r}, but the body about to be sent holds {sent.get(key)!r}.",
                "Nothing was sent: the wire format must send the key or refuse the route.",
            )
    if sampling is not None and sampling.seed is not None and request.seed is None:
        raise UnsentSetting(
            route,
            "sampling.seed",
            f"= {sampling.seed!r} is configured, but the request carries no seed.",
            "Give the request its seed, or remove the key.",
        )


def at(body: object, *path: str) -> Any:
    """Return the value at a path of nested objects, or None."""
    for name in path:
        body = body.get(name) if isinstance(body, Mapping) else None
    return body


def joined(parts: Sequence[str | None]) -> str:
    """Return text parts as one text."""
    return "".join(part for part in parts if part)
