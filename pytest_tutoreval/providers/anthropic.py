"""Anthropic Messages."""

from typing import Any

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ConfigurationError
from pytest_tutoreval.providers.keys import KeyHeader, Secret
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
    refuse_seed,
    vendor_body,
)
from pytest_tutoreval.records.session import Route

__all__ = ["AnthropicMessages"]

_HEADERS = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}


class _Block(VendorBody):
    type: str
    text: str | None = None


class _OutputDetails(VendorBody):
    thinking_tokens: Count = None


class _Usage(VendorBody):
    input_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    output_tokens: Count = None
    output_tokens_details: _OutputDetails | None = None


class _Answer(VendorBody):
    content: tuple[_Block, ...] | None  # required; a refusal may leave it empty
    stop_reason: str | None = None
    usage: _Usage | None = None
    model: str | None = None
    id: str | None = None


class AnthropicMessages:
    """The Messages API: no seed, `max_tokens` required, thinking off only when said so."""

    name = "anthropic"
    default_base_url: str | None = "https://api.anthropic.com"
    key_variable: str | None = "ANTHROPIC_API_KEY"
    takes_seed = False

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body."""
        refuse_pin(route)
        refuse_seed(route)
        sampling = route.sampling
        if sampling is None:
            raise ConfigurationError(
                route, "sampling.max_tokens", "is not set, and the Messages API requires it.", "Set it."
            )
        settings: dict[str, Any] = {"max_tokens": sampling.max_tokens}
        if sampling.temperature is not None:
            if not 0 <= sampling.temperature <= 1:
                raise ConfigurationError(
                    route,
                    "sampling.temperature",
                    f"= {sampling.temperature} is outside what the Messages API takes.",
                    "Choose one from 0 to 1.",
                )
            settings["temperature"] = sampling.temperature
        match reasoning_level(route):
            case None:
                pass
            case "none":
                settings["thinking"] = {"type": "disabled"}
            case "minimal":
                raise ConfigurationError(
                    route,
                    "sampling.reasoning",
                    "= 'minimal' is no effort of the Messages API.",
                    "Choose disabled, low, medium, high, xhigh or max.",
                )
            case level:
                settings |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}
        return settings

    def build(self, request: ModelRequest, key: Secret | None, base_url: str) -> HttpCall:
        """Return the HTTP call of a request."""
        body: dict[str, Any] = {"model": request.route.model, **self.settings(request.route)}
        if request.system.strip():
            body["system"] = clean_text(request.system)
        body["messages"] = [{"role": said.speaker, "content": said.text} for said in conversation(request)]
        return HttpCall(
            url=f"{base_url}/v1/messages",
            headers=_HEADERS,
            body=json_bytes(body),
            auth=KeyHeader("x-api-key", "", key) if key else None,
        )

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return what a call says, in the words of `Route`."""
        body = call.sent()
        thinking = at(body, "thinking", "type")
        return {
            "model": body.get("model"),
            "temperature": body.get("temperature"),
            "max_tokens": body.get("max_tokens"),
            "reasoning": "none" if thinking == "disabled" else at(body, "output_config", "effort"),
        }

    def parse(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        """Return the reply; cached input is added, since `input_tokens` counts the uncached alone."""
        if not answer.is_success:
            raise answer_fault(answer)
        data = json_object(answer)
        if data.get("error"):
            raise embedded_fault(answer, data["error"])
        read = vendor_body(_Answer, data, answer)
        usage = read.usage or _Usage()
        cached = usage.cache_read_input_tokens or 0
        details = usage.output_tokens_details or _OutputDetails()
        return ModelReply(
            text=joined([block.text for block in read.content or () if block.type == "text"]),
            finish=_FINISH.get(read.stop_reason, read.stop_reason.lower()) if read.stop_reason else None,
            input_tokens=(usage.input_tokens or 0) + cached + (usage.cache_creation_input_tokens or 0),
            output_tokens=usage.output_tokens or 0,
            reasoning_tokens=details.thinking_tokens or 0,
            cached_tokens=cached,
            served_model=read.model,
            request_id=answer.header("request-id") or read.id,
        )
