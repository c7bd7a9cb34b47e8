"""OpenAI Chat Completions, and the parts its relatives share."""

from abc import ABC, abstractmethod
from typing import Any

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.keys import KeyHeader, Secret
from pytest_tutoreval.providers.vendor_error import answer_fault, embedded_fault
from pytest_tutoreval.providers.wire import (
    Count,
    HttpAnswer,
    HttpCall,
    VendorBody,
    chat_messages,
    joined,
    json_bytes,
    json_object,
    reasoning_level,
    refuse_pin,
    vendor_body,
)
from pytest_tutoreval.records.session import Route

__all__ = ["ChatFormat", "OpenAIChat"]

JSON_HEADERS = {"content-type": "application/json"}


class _Part(VendorBody):
    type: str = "text"
    text: str | None = None


class _Message(VendorBody):
    content: str | tuple[_Part, ...] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The visible text; a refusal where there is nothing else. Reasoning is not text."""
        if isinstance(self.content, tuple):
            return joined([part.text for part in self.content if part.type == "text"])
        return self.content or self.refusal or ""


class _Choice(VendorBody):
    message: _Message | None = None
    finish_reason: str | None = None
    error: Any = None


class _PromptDetails(VendorBody):
    cached_tokens: Count = None


class _CompletionDetails(VendorBody):
    reasoning_tokens: Count = None


class _Usage(VendorBody):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Answer(VendorBody):
    choices: tuple[_Choice, ...] | None = None
    usage: _Usage | None = None
    model: str | None = None
    id: str | None = None
    error: Any = None


class ChatFormat(ABC):
    """What the OpenAI family shares: the messages, the reading of an answer, and faults inside a 200."""

    takes_seed = True
    headers = JSON_HEADERS
    system_role = "system"

    @abstractmethod
    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body."""

    def build(self, request: ModelRequest, key: Secret | None, base_url: str) -> HttpCall:
        """Return the HTTP call of a request."""
        body: dict[str, Any] = {"model": request.route.model, **self.settings(request.route)}
        if request.seed is not None:
            body["seed"] = request.seed
        body["messages"] = chat_messages(request, self.system_role)
        return HttpCall(
            url=f"{base_url}/chat/completions",
            headers=self.headers,
            body=json_bytes(body),
            auth=KeyHeader("authorization", "Bearer ", key) if key else None,
        )

    def read_back(self, call: HttpCall) -> dict[str, Any]:
        """Return what a call says, in the words of `Route`."""
        body = call.sent()
        return {
            "model": body.get("model"),
            "temperature": body.get("temperature"),
            "max_tokens": body.get("max_completion_tokens", body.get("max_tokens")),
            "reasoning": body.get("reasoning_effort"),
            "seed": body.get("seed"),
        }

    def parse(self, answer: HttpAnswer, request: ModelRequest) -> ModelReply:
        """Return the reply; the counts of this family already hold reasoning and cached tokens."""
        if not answer.is_success:
            raise answer_fault(answer)
        data = json_object(answer)
        read = vendor_body(_Answer, data, answer)
        request_id = self.request_id(answer, read.id)
        if read.error:
            raise embedded_fault(answer, read.error, request_id=request_id)
        choice = read.choices[0] if read.choices else _Choice()
        if choice.error or choice.finish_reason == "error":
            raise embedded_fault(answer, choice.error, request_id=request_id)
        if choice.message is None:
            raise ProviderFault("malformed", "no choice holds a message", status=answer.status, request_id=request_id)
        usage = read.usage or _Usage()
        inputs = usage.prompt_tokens_details or _PromptDetails()
        outputs = usage.completion_tokens_details or _CompletionDetails()
        return ModelReply(
            text=choice.message.text,
            finish=_finish(choice.message, choice.finish_reason),
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=usage.completion_tokens or 0,
            reasoning_tokens=outputs.reasoning_tokens or 0,
            cached_tokens=inputs.cached_tokens or 0,
            served_model=read.model,
            served_provider=self.served_provider(data, answer, request, request_id),
            request_id=request_id,
        )

    def request_id(self, answer: HttpAnswer, body_id: str | None) -> str | None:
        """Return the id a support desk asks for."""
        return answer.header("x-request-id") or body_id

    def served_provider(
        self, data: dict[str, Any], answer: HttpAnswer, request: ModelRequest, request_id: str | None
    ) -> str | None:
        """Return who served the answer, where that is said."""
        return None


def _finish(message: _Message, word: str | None) -> str | None:
    if message.refusal:
        return "refusal"
    return word.lower() if word else None


class OpenAIChat(ChatFormat):
    """OpenAI itself: a developer message, `max_completion_tokens`, nothing stored at the vendor."""

    name = "openai"
    default_base_url: str | None = "https://api.openai.com/v1"
    key_variable: str | None = "OPENAI_API_KEY"
    system_role = "developer"

    def settings(self, route: Route) -> dict[str, Any]:
        """Return the sampling part of the body."""
        refuse_pin(route)
        settings: dict[str, Any] = {"store": False}
        if route.sampling is not None:
            settings["max_completion_tokens"] = route.sampling.max_tokens
            if route.sampling.temperature is not None:
                settings["temperature"] = route.sampling.temperature
        if (level := reasoning_level(route)) is not None:
            settings["reasoning_effort"] = level
        return settings
