"""OpenRouter chat: the pin, and the proof that it held."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_tutoreval.providers.agent import ModelRequest
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.openai_chat import JSON_HEADERS, ChatFormat
from pytest_tutoreval.providers.wire import HttpAnswer, HttpCall, at, reasoning_level
from pytest_tutoreval.records.session import Route

__all__ = ["OpenRouterChat", "provider_slug"]

_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def provider_slug(name: str) -> str:
    """Return a provider's name as pins spell it: `Google AI Studio` is `google-ai-studio`, `groq/fp8` is `groq`.

    The variant after the slash is not part of what an answer attests.
    """
    return _NOT_SLUG.sub("-", name.split("/")[0].lower()).strip("-")


class OpenRouterChat(ChatFormat):
    """OpenRouter: fails closed when the pinned provider does not attest an answer."""

    name = "openrouter"
    default_base_url: str | None = "https://openrouter.ai/api/v1"
    key_variable: str | None = "OPENROUTER_API_KEY"
    headers = JSON_HEADERS | {"x-openrouter-metadata": "enabled"}

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body.

        The cap is `max_completion_tokens` where reasoning is configured, since it then includes reasoning, else
        `max_tokens`, the only name open-weight hosts know.
        """
        settings: dict[str, Any] = {}
        level = reasoning_level(route)
        if route.sampling is not None:
            cap = "max_tokens" if level is None else "max_completion_tokens"
            settings[cap] = route.sampling.max_tokens
            if route.sampling.temperature is not None:
                settings["temperature"] = route.sampling.temperature
        if level is not None:
            settings["reasoning"] = {"effort": level}
        if route.pin:
            settings["provider"] = {"order": list(route.pin), "allow_fallbacks": False}
        return settings

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return what a call says; a pin that allows fallbacks is none."""
        body = call.sent()
        is_pinned = at(body, "provider", "allow_fallbacks") is False
        return super().read_back(call) | {
            "reasoning": at(body, "reasoning", "effort"),
            "pin": at(body, "provider", "order") if is_pinned else None,
        }

    def request_id(self, answer: HttpAnswer, body_id: str | None) -> str | None:
        """Return the generation id, under which OpenRouter keeps the call."""
        return body_id or answer.header("x-request-id")

    def served_provider(
        self, data: dict[str, Any], answer: HttpAnswer, request: ModelRequest, request_id: str | None
    ) -> str | None:
        """Return who served the answer; raise wrong_provider where a pin is not attested by all that is said."""
        named = list(_attested(data))
        pinned = {provider_slug(name) for name in request.route.pin}
        if pinned and (not named or any(provider_slug(name) not in pinned for name in named)):
            said = f"served by {', '.join(named)}" if named else "nothing in the answer names who served it"
            raise ProviderFault(
                "wrong_provider",
                answer.redact(f"pinned to {', '.join(request.route.pin)}, but {said}"),
                status=answer.status,
                request_id=request_id,
            )
        return named[0] if named else None


def _attested(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield every provider an answer names as its server: the plain field, then the metadata's selected endpoints."""
    if isinstance(name := data.get("provider"), str) and name.strip():
        yield name
    available = at(data, "openrouter_metadata", "endpoints", "available")
    for endpoint in available if isinstance(available, list) else []:
        name = at(endpoint, "provider")
        if at(endpoint, "selected") is True and isinstance(name, str) and name.strip():
            yield name
