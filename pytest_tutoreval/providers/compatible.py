"""Any OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, a tutor team's own service."""

from typing import Any

from pytest_tutoreval.providers.openai_chat import ChatFormat
from pytest_tutoreval.providers.wire import reasoning_level, refuse_pin
from pytest_tutoreval.records.session import Route

__all__ = ["CompatibleChat"]


class CompatibleChat(ChatFormat):
    """The common subset: `max_tokens`, a system message, a key only where one is named. Nothing is attested."""

    name = "compatible"
    default_base_url: str | None = None
    key_variable: str | None = None

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body."""
        refuse_pin(route)
        settings: dict[str, Any] = {}
        if route.sampling is not None:
            settings["max_tokens"] = route.sampling.max_tokens
            if route.sampling.temperature is not None:
                settings["temperature"] = route.sampling.temperature
        if (level := reasoning_level(route)) is not None:
            settings["reasoning_effort"] = level
        return settings
