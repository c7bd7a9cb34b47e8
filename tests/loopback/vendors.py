"""Answers and refusals in the five vendors' shapes: plausible, deterministic, never from a vendor."""

import hashlib
import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Literal

__all__ = ["Answerer", "Shape", "answer_body", "default_text", "refusal", "sent_key", "shape_of"]

Shape = Literal["anthropic", "openai", "gemini", "openrouter", "compatible"]
Body = Mapping[str, Any]
Answerer = Callable[[Shape, Body], str]

KEY_HEADERS: dict[Shape, str] = {
    "anthropic": "x-api-key",
    "openai": "authorization",
    "gemini": "x-goog-api-key",
    "openrouter": "authorization",
    "compatible": "authorization",
}
_SENTENCE = "Let us look at it slowly and see what the question wants before we count anything at all"


def shape_of(path: str) -> Shape | None:
    """Return which vendor a path is spoken to."""
    if path == "/v1/messages":
        return "anthropic"
    if path.startswith("/v1beta/models/") and path.endswith(":generateContent"):
        return "gemini"
    return {
        "/v1/chat/completions": "openai",
        "/api/v1/chat/completions": "openrouter",
        "/compatible/v1/chat/completions": "compatible",
    }.get(path)  # type: ignore[return-value]  # the dict's values are shapes


def default_text(shape: Shape, body: Body) -> str:
    """Return a sentence that differs with the request, and only with it."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    words = _SENTENCE.split()
    n_words = 5 + int(digest[:2], 16) % (len(words) - 5)
    return f"{' '.join(words[:n_words])} ({digest[:8]})."


def sent_key(shape: Shape, headers: Mapping[str, str]) -> str:
    """Return the key a request carries, or nothing."""
    return headers.get(KEY_HEADERS[shape], "").removeprefix("Bearer ")


def _tokens(value: object) -> int:
    return max(1, len(json.dumps(value)) // 4)


def refusal(shape: Shape, headers: Mapping[str, str], body: Body) -> tuple[int, dict[str, Any]] | None:
    """Return the status and body with which the vendor would refuse a request, or None."""
    if shape != "compatible" and not sent_key(shape, headers):
        return _error(shape, 401, "authentication_error", "no key was sent")
    texts = _texts(shape, body)
    if not texts or texts[-1][0] != "user":
        return _error(shape, 400, "invalid_request_error", "The conversation must end with a user message.")
    if any(not text.strip() for _, text in texts):
        return _error(shape, 400, "invalid_request_error", "text content blocks must be non-empty")
    speakers = [speaker for speaker, _ in texts]
    if any(first == second for first, second in pairwise(speakers)):
        return _error(shape, 400, "invalid_request_error", "roles must alternate")
    return _unsupported(shape, body)


def _unsupported(shape: Shape, body: Body) -> tuple[int, dict[str, Any]] | None:
    if shape == "anthropic":
        if "max_tokens" not in body:
            return _error(shape, 400, "invalid_request_error", "max_tokens: Field required")
        if "seed" in body:
            return _error(shape, 400, "invalid_request_error", "seed: Extra inputs are not permitted")
        if "opus" in str(body.get("model")) and "temperature" in body:
            return _error(shape, 400, "invalid_request_error", "`temperature` is deprecated for this model.")
        if "anthropic-version" in body:
            return _error(shape, 400, "invalid_request_error", "anthropic-version is a header")
    if shape == "openai":
        if "max_tokens" in body:
            return _error(shape, 400, "unsupported_parameter", "Unsupported parameter: 'max_tokens'")
        if "temperature" in body and body.get("reasoning_effort") != "none":
            message = "Unsupported value: 'temperature' does not support 0.4 with this model."
            return _error(shape, 400, "unsupported_value", message)
    if shape == "gemini" and "thinkingBudget" in json.dumps(body.get("generationConfig")):
        return _error(shape, 400, "INVALID_ARGUMENT", "thinkingBudget and thinkingLevel exclude each other")
    return None


def _texts(shape: Shape, body: Body) -> list[tuple[str, str]]:
    if shape == "gemini":
        return [
            ("user" if said["role"] == "user" else "assistant", "".join(part["text"] for part in said["parts"]))
            for said in body.get("contents", [])
        ]
    said_all = body.get("messages", [])
    return [(said["role"], said["content"]) for said in said_all if said["role"] in ("user", "assistant")]


def _error(shape: Shape, status: int, word: str, message: str) -> tuple[int, dict[str, Any]]:
    match shape:
        case "anthropic":
            return status, {"type": "error", "error": {"type": word, "message": message}, "request_id": "req_e"}
        case "gemini":
            return status, {"error": {"code": status, "message": message, "status": word, "details": []}}
        case "openrouter":
            return status, {"error": {"code": status, "message": message}}
        case _:
            kind = "invalid_request_error"
            return status, {"error": {"message": message, "type": kind, "param": None, "code": word}}


def answer_body(
    shape: Shape,
    body: Body,
    text: str,
    *,
    model: str,
    finish: str = "stop",
    empty: bool = False,
    served: str | None = None,
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the headers and body of a 200.

    `finish` is stop, length, refusal, content_filter, blocked or error; `empty` leaves out the content blocks,
    candidates or choices; `served` is who OpenRouter says served it: None the pinned one, "" nobody.
    """
    number = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]
    match shape:
        case "anthropic":
            return {"request-id": f"req_{number}"}, _anthropic(number, model, body, text, finish, empty)
        case "gemini":
            return {}, _gemini(number, model, body, text, finish, empty)
        case "openrouter":
            answer = _chat(f"gen-{number}", model, body, text, finish, empty)
            return {}, answer | _attestation(model, body, served)
        case _:
            return {"x-request-id": f"req_{number}"}, _chat(f"chatcmpl-{number}", model, body, text, finish, empty)


def _anthropic(number: str, model: str, body: Body, text: str, finish: str, empty: bool) -> dict[str, Any]:
    word = {"stop": "end_turn", "length": "max_tokens"}.get(finish, finish)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [] if empty or finish == "refusal" else [{"type": "text", "text": text}],
        "stop_reason": word,
        "stop_sequence": None,
        "usage": {
            "input_tokens": _tokens(body.get("messages")),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": _tokens(text),
        },
    }


def _gemini(number: str, model: str, body: Body, text: str, finish: str, empty: bool) -> dict[str, Any]:
    usage = {"promptTokenCount": _tokens(body.get("contents")), "totalTokenCount": 0}
    said: dict[str, Any] = {"usageMetadata": usage, "modelVersion": model, "responseId": number}
    if finish == "blocked":
        return said | {"promptFeedback": {"blockReason": "SAFETY"}}
    if empty:
        return said | {"candidates": []}
    word = {"length": "MAX_TOKENS", "content_filter": "SAFETY", "refusal": "SAFETY"}.get(finish, finish.upper())
    # A model that thought up to the cap sends no parts at all.
    content = {"role": "model"} if finish != "stop" else {"role": "model", "parts": [{"text": text}]}
    usage |= {"candidatesTokenCount": 0 if finish != "stop" else _tokens(text), "thoughtsTokenCount": 7}
    return said | {"candidates": [{"content": content, "finishReason": word, "index": 0}]}


def _chat(number: str, model: str, body: Body, text: str, finish: str, empty: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if finish == "refusal":
        message |= {"content": None, "refusal": "I cannot help with that."}
    word = "stop" if finish == "refusal" else finish
    choice = {"index": 0, "message": message, "finish_reason": word, "logprobs": None}
    n_in, n_out = _tokens(body.get("messages")), _tokens(text)
    return {
        "id": number,
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": model,
        "choices": [] if empty else [choice],
        "usage": {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out},
    }


_NAMES = {"groq": "Groq", "openai": "OpenAI", "anthropic": "Anthropic"}


def _attestation(model: str, body: Body, served: str | None) -> dict[str, Any]:
    if served == "":
        return {}
    pin = (body.get("provider") or {}).get("order") or ["somebody"]
    name = served or _NAMES.get(pin[0], pin[0])
    endpoints = [{"provider": name, "model": model, "selected": True}, {"provider": "Else", "selected": False}]
    return {"provider": name, "openrouter_metadata": {"endpoints": {"available": endpoints}, "attempt": 1}}
