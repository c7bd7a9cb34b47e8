"""Gemini generateContent."""

from typing import Any
from urllib.parse import quote, unquote

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ConfigurationError, ProviderFault
from pytest_tutoreval.providers.keys import KeyHeader, Secret
from pytest_tutoreval.providers.openai_chat import JSON_HEADERS
from pytest_tutoreval.providers.vendor_error import answer_fault, embedded_fault
from pytest_tutoreval.providers.wire import (
    Count,
    HttpAnswer,
    HttpCall,
    VendorBody,
    at,
    clean_text,
    conversation,
    joined,
    json_bytes,
    json_object,
    reasoning_level,
    refuse_pin,
    vendor_body,
)
from pytest_tutoreval.records.session import Route

__all__ = ["GeminiContent"]

_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
}
_LEVELS = ("minimal", "low", "medium", "high")
_METHOD = ":generateContent"


class _Part(VendorBody):
    text: str | None = None
    thought: bool | None = None


class _Content(VendorBody):
    parts: tuple[_Part, ...] | None = None


class _Candidate(VendorBody):
    content: _Content | None = None
    finishReason: str | None = None  # noqa: N815 - the vendor's spelling


class _Feedback(VendorBody):
    blockReason: str | None = None  # noqa: N815


class _Usage(VendorBody):
    promptTokenCount: Count = None  # noqa: N815
    toolUsePromptTokenCount: Count = None  # noqa: N815
    candidatesTokenCount: Count = None  # noqa: N815
    thoughtsTokenCount: Count = None  # noqa: N815
    cachedContentTokenCount: Count = None  # noqa: N815


class _Answer(VendorBody):
    candidates: tuple[_Candidate, ...] | None = None
    promptFeedback: _Feedback | None = None  # noqa: N815
    usageMetadata: _Usage | None = None  # noqa: N815
    modelVersion: str | None = None  # noqa: N815
    responseId: str | None = None  # noqa: N815


class GeminiContent:
    """generateContent: the model stands in the URL, thoughts are billed on top of the candidate's tokens."""

    name = "gemini"
    default_base_url: str | None = "https://generativelanguage.googleapis.com"
    key_variable: str | None = "GEMINI_API_KEY"
    takes_seed = True

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the generationConfig."""
        refuse_pin(route)
        settings: dict[str, Any] = {}
        if route.sampling is not None:
            if route.sampling.temperature is not None:
                settings["temperature"] = route.sampling.temperature
            settings["maxOutputTokens"] = route.sampling.max_tokens
        level = reasoning_level(route)
        if level is not None and level not in _LEVELS:
            raise ConfigurationError(
                route,
                "sampling.reasoning",
                f"= {level!r} is no thinking level of Gemini, whose thinking cannot be switched off.",
                f"Choose {', '.join(_LEVELS)}.",
            )
        if level is not None:
            settings["thinkingConfig"] = {"thinkingLevel": level}
        return settings

    def build(self, request: ModelRequest, key: Secret | None, base_url: str) -> HttpCall:
        """Return the HTTP call of a request."""
        settings = self.settings(request.route)
        if request.seed is not None:
            settings["seed"] = request.seed
        body: dict[str, Any] = {}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": clean_text(request.system)}]}
        body["contents"] = [
            {"role": "user" if said.speaker == "user" else "model", "parts": [{"text": said.text}]}
            for said in conversation(request)
        ]
        body["generationConfig"] = settings
        return HttpCall(
            url=f"{base_url}/v1beta/models/{quote(request.route.model, safe='')}{_METHOD}",
            headers=JSON_HEADERS,
            body=json_bytes(body),
            # Never `?key=`: URLs get logged.
            auth=KeyHeader("x-goog-api-key", "", key) if key else None,
        )

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return what a call says, in the words of `Route`."""
        sent = call.sent().get("generationConfig")
        return {
            "model": unquote(call.url.rpartition("/models/")[2].removesuffix(_METHOD)),
            "temperature": at(sent, "temperature"),
            "max_tokens": at(sent, "maxOutputTokens"),
            "reasoning": at(sent, "thinkingConfig", "thinkingLevel"),
            "seed": at(sent, "seed"),
        }

    def parse(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        """Return the reply; a blocked prompt is an empty one whose finish is `blocked:<reason>`."""
        if not answer.is_success:
            raise answer_fault(answer)
        data = json_object(answer)
        if data.get("error"):
            raise embedded_fault(answer, data["error"])
        read = vendor_body(_Answer, data, answer)
        usage = read.usageMetadata or _Usage()
        thoughts = usage.thoughtsTokenCount or 0
        text, finish = _said(read, answer)
        return ModelReply(
            text=text,
            finish=finish,
            input_tokens=(usage.promptTokenCount or 0) + (usage.toolUsePromptTokenCount or 0),
            output_tokens=(usage.candidatesTokenCount or 0) + thoughts,
            reasoning_tokens=thoughts,
            cached_tokens=usage.cachedContentTokenCount or 0,
            served_model=read.modelVersion,
            request_id=read.responseId,
        )


def _said(read: _Answer, answer: HttpAnswer) -> tuple[str, str | None]:
    """Return the first candidate's text without thoughts, and its finish."""
    if read.candidates:
        candidate = read.candidates[0]
        parts = (candidate.content and candidate.content.parts) or ()
        word = candidate.finishReason
        finish = _FINISH.get(word, word.lower()) if word else None
        return joined([part.text for part in parts if not part.thought]), finish
    if read.promptFeedback is not None and read.promptFeedback.blockReason:
        return "", f"blocked:{read.promptFeedback.blockReason.lower()}"
    raise ProviderFault(
        "malformed",
        "neither a candidate nor a block reason",
        status=answer.status,
        request_id=read.responseId,
    )
