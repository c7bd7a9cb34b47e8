"""What is read: text, finish and everything that was billed, from hand-written vendor bodies."""

import json
from typing import Any

import pytest

from pytest_tutoreval.providers.agent import ModelReply
from pytest_tutoreval.providers.faults import ProviderFault
from pytest_tutoreval.providers.routes import FORMATS
from pytest_tutoreval.providers.wire import HttpAnswer
from tests.loopback.asking import a_request, a_route


def parsed(provider: str, body: Any, headers: dict[str, str] | None = None, **route: Any) -> ModelReply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = a_request(a_route(provider, **({"pin": ()} | route)))
    return FORMATS[provider].parse(HttpAnswer(200, headers or {}, raw), request)


def anthropic(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": "Try "}, {"type": "text", "text": "again."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 20},
    }
    return plain | changes


def chat(message: dict[str, Any] | None = None, *, finish: str | None = "stop", **changes: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Try again.", "refusal": None} | (message or {})
    plain: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "gpt-5.5-2026-04-23",
        "system_fingerprint": None,
        "choices": [{"index": 0, "message": said, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
    }
    return plain | changes


def gemini(candidate: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    said = {"content": {"role": "model", "parts": [{"text": "Try again."}]}, "finishReason": "STOP"}
    plain: dict[str, Any] = {
        "candidates": [said | (candidate or {})],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30},
        "modelVersion": "gemini-3.1-pro-preview",
        "responseId": "r-1",
    }
    return plain | changes


# provider, body, (input, output, reasoning, cached)
TOKENS = [
    pytest.param("anthropic", anthropic(), (10, 20, 0, 0), id="anthropic-plain"),
    pytest.param(
        "anthropic",
        # 10 uncached + 700 read + 50 written = 760 billed
        anthropic(
            usage={
                "input_tokens": 10,
                "cache_read_input_tokens": 700,
                "cache_creation_input_tokens": 50,
                "output_tokens": 20,
            }
        ),
        (760, 20, 0, 700),
        id="anthropic-cache-is-added-to-input",
    ),
    pytest.param(
        "anthropic",
        anthropic(usage={"input_tokens": 1, "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 15}}),
        (1, 20, 15, 0),
        id="anthropic-thinking-is-within-output",
    ),
    pytest.param(
        "anthropic",
        anthropic(usage={"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None}),
        (1, 2, 0, 0),
        id="anthropic-null-count",
    ),
    pytest.param("openai", chat(), (10, 20, 0, 0), id="openai-plain"),
    pytest.param(
        "openai",
        chat(
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 80,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 70},
            }
        ),
        (100, 80, 70, 64),
        id="openai-details-are-within",
    ),
    pytest.param("openrouter", chat(usage=None, provider="Groq"), (0, 0, 0, 0), id="openrouter-no-usage"),
    pytest.param(
        "openrouter",
        chat(
            provider="OpenAI",
            usage={
                "prompt_tokens": 100,
                "completion_tokens": 80,
                "cost": 0.001,
                "is_byok": False,
                "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
        ),
        (100, 80, 60, 5),
        id="openrouter-as-openai",
    ),
    pytest.param("gemini", gemini(), (10, 20, 0, 0), id="gemini-plain"),
    pytest.param(
        "gemini",
        # output 20 + 300 thoughts = 320; input 10 + 4 of tool use = 14
        gemini(
            usageMetadata={
                "promptTokenCount": 10,
                "toolUsePromptTokenCount": 4,
                "candidatesTokenCount": 20,
                "thoughtsTokenCount": 300,
                "cachedContentTokenCount": 8,
                "totalTokenCount": 334,
            }
        ),
        (14, 320, 300, 8),
        id="gemini-thoughts-are-added-to-output",
    ),
    pytest.param("compatible", chat(usage={"prompt_tokens": 3}), (3, 0, 0, 0), id="compatible-half-a-usage"),
]


@pytest.mark.parametrize(("provider", "body", "counts"), TOKENS)
def test_tokens_are_all_that_is_billed(provider: str, body: Any, counts: tuple[int, ...]) -> None:
    reply = parsed(provider, body)
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens, reply.cached_tokens) == counts
    assert reply.text == "Try again."


FINISHES = [
    *(
        pytest.param("anthropic", anthropic(stop_reason=word), "Try again.", finish, id=f"anthropic-{word}")
        for word, finish in (
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("max_tokens", "length"),
            ("refusal", "refusal"),
            ("pause_turn", "pause_turn"),
            ("model_context_window_exceeded", "model_context_window_exceeded"),
            (None, None),
        )
    ),
    pytest.param(
        "anthropic", anthropic(content=[], stop_reason="refusal"), "", "refusal", id="anthropic-empty-refusal"
    ),
    pytest.param("anthropic", anthropic(content=None), "", "stop", id="anthropic-null-content"),
    pytest.param(
        "anthropic",
        anthropic(content=[{"type": "thinking", "thinking": "5"}, {"type": "text", "text": "Hm."}]),
        "Hm.",
        "stop",
        id="anthropic-thinking-is-no-text",
    ),
    *(
        pytest.param("openai", chat(finish=word), "Try again.", word, id=f"openai-{word}")
        for word in ("stop", "length", "content_filter", "tool_calls", None)
    ),
    pytest.param("openai", chat({"content": None}, finish="length"), "", "length", id="openai-empty-length"),
    pytest.param("openai", chat({"content": None, "refusal": "No."}), "No.", "refusal", id="openai-refusal-text"),
    pytest.param(
        "openrouter", chat({"content": "", "reasoning": "5"}), "", "stop", id="openrouter-reasoning-is-no-text"
    ),
    pytest.param(
        "compatible",
        chat({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]}),
        "ab",
        "stop",
        id="compatible-parts",
    ),
    *(
        pytest.param("gemini", gemini({"finishReason": word}), "Try again.", finish, id=f"gemini-{word}")
        for word, finish in (
            ("STOP", "stop"),
            ("MAX_TOKENS", "length"),
            ("SAFETY", "content_filter"),
            ("PROHIBITED_CONTENT", "content_filter"),
            ("BLOCKLIST", "content_filter"),
            ("SPII", "content_filter"),
            ("RECITATION", "recitation"),
            ("MALFORMED_RESPONSE", "malformed_response"),
            (None, None),
        )
    ),
    pytest.param(
        "gemini",
        gemini({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}),
        "",
        "length",
        id="gemini-thought-up-to-the-cap",
    ),
    pytest.param(
        "gemini", gemini({"content": None, "finishReason": "SAFETY"}), "", "content_filter", id="gemini-no-content"
    ),
    pytest.param(
        "gemini",
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}},
        "",
        "blocked:prohibited_content",
        id="gemini-blocked-prompt",
    ),
    pytest.param(
        "gemini",
        gemini({"content": {"parts": [{"text": "2+3", "thought": True}, {"text": "Hm"}, {"text": "."}]}}),
        "Hm.",
        "stop",
        id="gemini-thoughts-are-no-text",
    ),
]


@pytest.mark.parametrize(("provider", "body", "text", "finish"), FINISHES)
def test_an_empty_cut_or_refused_text_is_data(provider: str, body: Any, text: str, finish: str | None) -> None:
    reply = parsed(provider, body)
    assert (reply.text, reply.finish) == (text, finish)


ODD: list[Any] = [{}, [], "hi", None]
MALFORMED = [
    *(pytest.param(provider, body, id=f"{provider}-{body!r}") for provider in FORMATS for body in ODD),
    *(pytest.param(provider, b"[" * 100_000, id=f"{provider}-too-deep") for provider in FORMATS),
    *(pytest.param(provider, b'{"a":"\xff"}', id=f"{provider}-not-utf8") for provider in FORMATS),
    pytest.param("anthropic", anthropic(content="text"), id="anthropic-content-is-text"),
    pytest.param("anthropic", anthropic(usage={"input_tokens": -1}), id="anthropic-negative-count"),
    pytest.param("openai", chat(choices=[]), id="openai-no-choice"),
    pytest.param("openai", chat(choices=[{}]), id="openai-choice-without-message"),
    pytest.param("gemini", gemini(candidates=[]), id="gemini-no-candidate"),
    pytest.param("gemini", gemini({"content": {"parts": "text"}}), id="gemini-parts-are-text"),
]


@pytest.mark.parametrize(("provider", "body"), MALFORMED)
def test_another_shape_is_a_malformed_answer(provider: str, body: Any) -> None:
    with pytest.raises(ProviderFault) as raised:
        parsed(provider, body, {"request-id": "req_1"})
    assert (raised.value.kind, raised.value.status, raised.value.retryable) == ("malformed", 200, True)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("provider", "body", "headers", "expected"),
    [
        ("anthropic", anthropic(), {"request-id": "req_1"}, ("claude-sonnet-4-6", None, "req_1")),
        ("openai", chat(), {"x-request-id": "req_2"}, ("gpt-5.5-2026-04-23", None, "req_2")),
        ("gemini", gemini(), {"x-request-id": "no"}, ("gemini-3.1-pro-preview", None, "r-1")),
        (
            "openrouter",
            chat(id="gen-1", provider="Groq", model="m"),
            {"x-request-id": "no"},
            ("m", "Groq", "gen-1"),
        ),
        ("compatible", chat(id=12, model="our"), {}, ("our", None, "12")),
    ],
)
def test_the_record_names_who_served(
    provider: str, body: Any, headers: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    reply = parsed(provider, body, headers)
    assert (reply.served_model, reply.served_provider, reply.request_id) == expected


def selected(*names: str) -> dict[str, Any]:
    available = [{"provider": name, "model": "m", "selected": True} for name in names]
    return {"endpoints": {"available": [*available, {"provider": "Azure", "selected": False}]}, "attempt": 1}


ATTESTED = [
    pytest.param({"provider": "Groq"}, ("groq",), "Groq", id="field"),
    pytest.param({"openrouter_metadata": selected("Groq")}, ("groq",), "Groq", id="metadata"),
    pytest.param({"provider": "Groq", "openrouter_metadata": selected("Groq")}, ("groq",), "Groq", id="both"),
    pytest.param({"provider": "Google AI Studio"}, ("google-ai-studio",), "Google AI Studio", id="spaces"),
    pytest.param({"provider": "DeepInfra"}, ("deepinfra/fp8",), "DeepInfra", id="variant"),
    pytest.param({"provider": "Together"}, ("groq", "together"), "Together", id="second-of-two"),
    pytest.param({}, (), None, id="unpinned-silence"),
    pytest.param({"provider": "Azure"}, (), "Azure", id="unpinned"),
]


@pytest.mark.parametrize(("body", "pin", "served"), ATTESTED)
def test_an_attested_provider_is_recorded(body: dict[str, Any], pin: tuple[str, ...], served: str | None) -> None:
    assert parsed("openrouter", chat(**body), pin=pin).served_provider == served


UNATTESTED = [
    pytest.param({}, id="silence"),
    pytest.param({"provider": ""}, id="empty"),
    pytest.param({"provider": None}, id="null"),
    pytest.param({"provider": ["Groq"]}, id="not-a-name"),
    pytest.param({"provider": "Azure"}, id="another"),
    pytest.param({"provider": "Groqqer"}, id="a-longer-name"),
    pytest.param({"openrouter_metadata": selected()}, id="nobody-selected"),
    pytest.param({"openrouter_metadata": {"endpoints": "Groq"}}, id="odd-metadata"),
    pytest.param({"provider": "Groq", "openrouter_metadata": selected("Azure")}, id="they-disagree"),
    pytest.param({"openrouter_metadata": selected("Groq", "Azure")}, id="two-selected"),
]


@pytest.mark.parametrize("body", UNATTESTED)
def test_a_pin_that_nothing_attests_fails_closed(body: dict[str, Any]) -> None:
    with pytest.raises(ProviderFault) as raised:
        parsed("openrouter", chat(id="gen-7", **body), pin=("groq",))
    fault = raised.value
    assert (fault.kind, fault.retryable, fault.stops_route, fault.request_id) == (
        "wrong_provider",
        False,
        True,
        "gen-7",
    )


@pytest.mark.parametrize("escape", [r"\ud83d", r"\uDE00"])
@pytest.mark.parametrize("provider", FORMATS)
def test_a_lone_surrogate_becomes_the_replacement_character(provider: str, escape: str) -> None:
    bodies = {"anthropic": anthropic(), "gemini": gemini(), "http": {"text": "Try again."}}
    plain: dict[str, Any] = bodies.get(provider, chat())
    if provider == "anthropic":
        plain["content"] = [{"type": "text", "text": "Try again."}]
    raw = json.dumps(plain).replace("Try again.", rf"a{escape}b\ud83d\ude00\u0000\u0007")
    text = parsed(provider, raw.encode()).text
    assert text == "a\ufffdb\U0001f600\x00\x07"
    assert text.encode()
