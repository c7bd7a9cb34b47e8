"""What is sent: exactly the registered bodies, and a refusal to send anything else."""

import json
from typing import Any

import pytest

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import Message, ModelRequest
from pytest_tutoreval.providers.faults import ConfigurationError, UnsentSetting
from pytest_tutoreval.providers.keys import Secret
from pytest_tutoreval.providers.routes import FORMATS, wire_format
from pytest_tutoreval.providers.wire import HttpCall, check_serialised
from pytest_tutoreval.records.session import Route
from tests.loopback.asking import a_request, a_route, ask, study_routes
from tests.loopback.server import LoopbackServer

SAID = ("What is 2 + 3?", "What do you think?", "Five?")
TURNS = [
    {"role": "user", "content": "What is 2 + 3?"},
    {"role": "assistant", "content": "What do you think?"},
    {"role": "user", "content": "Five?"},
]
SYSTEM = {"role": "system", "content": "You tutor."}

BODIES: dict[str, dict[str, Any]] = {
    "sonnet": {
        "model": "claude-sonnet-4-6",
        "max_tokens": 1024,
        "temperature": 0.4,
        "system": "You tutor.",
        "thinking": {"type": "disabled"},
        "messages": TURNS,
    },
    "opus": {"model": "claude-opus-4-8", "max_tokens": 512, "system": "You tutor.", "messages": TURNS},
    "gpt": {
        "model": "gpt-5.5-2026-04-23",
        "max_completion_tokens": 1024,
        "temperature": 0.4,
        "reasoning_effort": "none",
        "seed": 7,
        "store": False,
        "messages": [{"role": "developer", "content": "You tutor."}, *TURNS],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "You tutor."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "What is 2 + 3?"}]},
            {"role": "model", "parts": [{"text": "What do you think?"}]},
            {"role": "user", "parts": [{"text": "Five?"}]},
        ],
        "generationConfig": {
            "temperature": 0.4,
            "maxOutputTokens": 1024,
            "seed": 7,
            "thinkingConfig": {"thinkingLevel": "low"},
        },
    },
    "student": {
        "model": "meta-llama/llama-3.1-8b-instruct",
        "max_tokens": 512,
        "temperature": 0.8,
        "seed": 7,
        "provider": {"order": ["groq"], "allow_fallbacks": False},
        "messages": [SYSTEM, *TURNS],
    },
    "sol": {
        "model": "openai/gpt-5.6-sol",
        "max_completion_tokens": 2048,
        "reasoning": {"effort": "medium"},
        "seed": 7,
        "provider": {"order": ["openai"], "allow_fallbacks": False},
        "messages": [SYSTEM, *TURNS],
    },
    "compatible": {"model": "our-tutor", "max_tokens": 64, "messages": [SYSTEM, *TURNS]},
}
PATHS = {
    "sonnet": "/v1/messages",
    "opus": "/v1/messages",
    "gpt": "/v1/chat/completions",
    "gemini": "/v1beta/models/gemini-3.1-pro-preview:generateContent",
    "student": "/api/v1/chat/completions",
    "sol": "/api/v1/chat/completions",
    "compatible": "/compatible/v1/chat/completions",
}
KEY_HEADER = {
    "sonnet": ("x-api-key", "test-anthropic"),
    "opus": ("x-api-key", "test-anthropic"),
    "gpt": ("authorization", "Bearer test-openai"),
    "gemini": ("x-goog-api-key", "test-gemini"),
    "student": ("authorization", "Bearer test-openrouter"),
    "sol": ("authorization", "Bearer test-openrouter"),
    "compatible": ("authorization", None),
}
BASE = "http://127.0.0.1:9"


def built(request: ModelRequest) -> HttpCall:
    return wire_format(request.route).build(request, Secret("test"), BASE)


def body_of(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(built(request).body)
    return body


@pytest.mark.parametrize("role", BODIES)
def test_the_registered_body_is_what_arrives(role: str) -> None:
    route = study_routes()[role]
    seed = 7 if route.sampling and route.sampling.seed else None
    with LoopbackServer() as server:
        outcome = ask(server, a_request(route, said=SAID, seed=seed))
    (entry,) = server.journal
    assert entry.body == BODIES[role]
    assert (entry.method, entry.path) == ("POST", PATHS[role])
    name, value = KEY_HEADER[role]
    assert entry.headers.get(name) == value
    assert entry.headers["content-type"] == "application/json"
    assert outcome.reply is not None
    assert outcome.reply.finish == "stop"
    assert outcome.reply.failures == ()


def test_anthropic_names_its_version() -> None:
    with LoopbackServer() as server:
        ask(server, a_request(a_route("anthropic")))
    assert server.journal[0].headers["anthropic-version"] == "2023-06-01"


def test_openrouter_is_asked_to_attest() -> None:
    with LoopbackServer() as server:
        ask(server, a_request(a_route("openrouter")))
    assert server.journal[0].headers["x-openrouter-metadata"] == "enabled"


def test_no_key_stands_in_a_url() -> None:
    with LoopbackServer() as server:
        for route in study_routes().values():
            ask(server, a_request(route, seed=1))
    assert not any("test-" in entry.path for entry in server.journal)


def test_a_compatible_endpoint_gets_the_key_that_is_named_for_it() -> None:
    with LoopbackServer() as server:
        ask(server, a_request(a_route("compatible")), key_variable="OUR_TUTOR_KEY", environ={"OUR_TUTOR_KEY": " abc\n"})
    assert server.journal[0].headers["authorization"] == "Bearer abc"


SETTINGS = [
    pytest.param("anthropic", {}, {"max_tokens": 64}, id="anthropic-cap-alone"),
    pytest.param(
        "anthropic",
        {"reasoning": "medium"},
        {"max_tokens": 64, "thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
        id="anthropic-medium",
    ),
    pytest.param(
        "anthropic",
        {"reasoning": "none"},
        {"max_tokens": 64, "thinking": {"type": "disabled"}},
        id="anthropic-none-is-disabled",
    ),
    pytest.param("anthropic", {"temperature": 0.0}, {"max_tokens": 64, "temperature": 0.0}, id="anthropic-zero"),
    pytest.param("openai", {}, {"store": False, "max_completion_tokens": 64}, id="openai-cap-alone"),
    pytest.param(
        "openai",
        {"reasoning": "disabled"},
        {"store": False, "max_completion_tokens": 64, "reasoning_effort": "none"},
        id="openai-disabled-is-none",
    ),
    pytest.param(
        "openai",
        {"reasoning": "low"},
        {"store": False, "max_completion_tokens": 64, "reasoning_effort": "low"},
        id="openai-low",
    ),
    pytest.param("gemini", {}, {"maxOutputTokens": 64}, id="gemini-cap-alone"),
    pytest.param(
        "gemini",
        {"reasoning": "medium"},
        {"maxOutputTokens": 64, "thinkingConfig": {"thinkingLevel": "medium"}},
        id="gemini-medium",
    ),
    pytest.param(
        "openrouter",
        {"reasoning": "disabled", "pin": ()},
        {"max_completion_tokens": 64, "reasoning": {"effort": "none"}},
        id="openrouter-none",
    ),
    pytest.param("openrouter", {"pin": ()}, {"max_tokens": 64}, id="openrouter-unpinned"),
    pytest.param(
        "compatible", {"temperature": 1.5}, {"max_tokens": 64, "temperature": 1.5}, id="compatible-temperature"
    ),
    pytest.param(
        "compatible", {"reasoning": "low"}, {"max_tokens": 64, "reasoning_effort": "low"}, id="compatible-low"
    ),
]


@pytest.mark.parametrize(("provider", "sampling", "expected"), SETTINGS)
def test_a_sampling_key_has_one_place(provider: str, sampling: dict[str, Any], expected: dict[str, Any]) -> None:
    route = a_route(provider, **sampling)
    assert wire_format(route).settings(route) == expected
    request = a_request(route)
    check_serialised(wire_format(route), request, built(request))


@pytest.mark.parametrize("provider", ["openai", "gemini", "openrouter", "compatible"])
def test_a_route_without_sampling_sends_none(provider: str) -> None:
    body = body_of(a_request(a_route(provider, sampling=None)))
    sent = json.dumps(body)
    assert not any(word in sent for word in ("okens", "temperature", "reasoning", "seed", "think"))


UNSENDABLE = [
    pytest.param(a_route("anthropic", seed="replicate"), "sampling.seed", id="anthropic-seed"),
    pytest.param(a_route("anthropic", sampling=None), "sampling.max_tokens", id="anthropic-without-cap"),
    pytest.param(a_route("anthropic", temperature=1.2), "sampling.temperature", id="anthropic-hot"),
    pytest.param(a_route("anthropic", reasoning="minimal"), "sampling.reasoning", id="anthropic-minimal"),
    pytest.param(a_route("gemini", reasoning="none"), "sampling.reasoning", id="gemini-cannot-stop-thinking"),
    pytest.param(a_route("gemini", reasoning="max"), "sampling.reasoning", id="gemini-max"),
    pytest.param(a_route("openai", reasoning="mediun"), "sampling.reasoning", id="a-typo"),
    *(
        pytest.param(a_route(provider, pin=("groq",)), "pin", id=f"{provider}-pin")
        for provider in ("anthropic", "openai", "gemini", "compatible")
    ),
]


@pytest.mark.parametrize(("route", "key"), UNSENDABLE)
def test_a_key_that_cannot_be_sent_is_an_error_before_sending(route: Route, key: str) -> None:
    with LoopbackServer() as server, pytest.raises(ConfigurationError) as raised:
        ask(server, a_request(route))
    assert server.journal == []
    assert raised.value.key == key
    assert str(raised.value).startswith(f"{route.provider} {route.model}: {key} ")


def test_a_seed_is_never_sent_to_anthropic() -> None:
    assert "seed" not in body_of(a_request(a_route("anthropic"), seed=3))


@pytest.mark.parametrize("provider", ["openai", "gemini", "openrouter", "compatible"])
def test_a_seed_is_sent_only_where_there_is_one(provider: str) -> None:
    assert '"seed"' not in json.dumps(body_of(a_request(a_route(provider))))
    assert '"seed": 0' in json.dumps(body_of(a_request(a_route(provider), seed=0)))


def test_a_configured_seed_that_the_request_lacks_is_not_forgotten() -> None:
    request = a_request(a_route("openai", seed="replicate"))
    with LoopbackServer() as server, pytest.raises(UnsentSetting, match="carries no seed"):
        ask(server, request)
    assert server.journal == []


LOST = [
    pytest.param("sonnet", ("temperature",), "temperature", id="anthropic-temperature"),
    pytest.param("sonnet", ("thinking",), "reasoning", id="anthropic-thinking"),
    pytest.param("opus", ("max_tokens",), "max_tokens", id="anthropic-cap"),
    pytest.param("gpt", ("reasoning_effort",), "reasoning", id="openai-effort"),
    pytest.param("gpt", ("seed",), "seed", id="openai-seed"),
    pytest.param("gpt", ("model",), "model", id="openai-model"),
    pytest.param("gemini", ("generationConfig", "thinkingConfig"), "reasoning", id="gemini-level"),
    pytest.param("gemini", ("generationConfig", "seed"), "seed", id="gemini-seed"),
    pytest.param("student", ("provider",), "pin", id="openrouter-pin"),
    pytest.param("student", ("provider", "allow_fallbacks"), "pin", id="openrouter-fallbacks"),
    pytest.param("sol", ("reasoning",), "reasoning", id="openrouter-effort"),
    pytest.param("compatible", ("max_tokens",), "max_tokens", id="compatible-cap"),
]


@pytest.mark.parametrize(("role", "lost", "key"), LOST)
def test_a_configured_value_missing_from_the_body_is_noticed(role: str, lost: tuple[str, ...], key: str) -> None:
    route = study_routes()[role]
    request = a_request(route, seed=7 if route.sampling and route.sampling.seed else None)
    call = built(request)
    body = json.loads(call.body)
    inner = body
    for name in lost[:-1]:
        inner = inner[name]
    del inner[lost[-1]]
    broken = HttpCall(call.url, call.headers, json.dumps(body).encode())
    with pytest.raises(UnsentSetting) as raised:
        check_serialised(wire_format(route), request, broken)
    assert raised.value.key == key


def test_a_value_in_the_body_that_nobody_configured_is_noticed() -> None:
    route = study_routes()["opus"]
    request = a_request(route)
    call = built(request)
    body = json.loads(call.body) | {"temperature": 1.0}
    with pytest.raises(UnsentSetting, match="temperature is configured as None"):
        check_serialised(wire_format(route), request, HttpCall(call.url, call.headers, json.dumps(body).encode()))


def said(route: Route, *messages: Message) -> ModelRequest:
    plain = a_request(route)
    return ModelRequest(plain.role, plain.site, plain.system, messages, route)


@pytest.mark.parametrize("provider", FORMATS)
def test_neighbours_of_one_role_are_merged(provider: str) -> None:
    request = said(a_route(provider), Message("user", "one"), Message("user", "two"))
    assert "one\\n\\ntwo" in built(request).body.decode()


@pytest.mark.parametrize("provider", FORMATS)
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param((), id="nothing"),
        pytest.param((Message("user", "a"), Message("assistant", "b")), id="assistant-last"),
        pytest.param((Message("assistant", "a"), Message("user", "b")), id="assistant-first"),
        pytest.param((Message("user", " \n"),), id="empty"),
    ],
)
def test_a_conversation_no_provider_accepts_is_not_sent(provider: str, messages: tuple[Message, ...]) -> None:
    with pytest.raises(ProtocolError, match="sonnet/conv/r0 train-1, tutor on "):
        built(said(a_route(provider), *messages))


@pytest.mark.parametrize("provider", sorted(set(FORMATS) - {"http"}))  # its contract always holds the field
def test_an_empty_system_text_is_left_out(provider: str) -> None:
    assert "ystem" not in json.dumps(body_of(a_request(a_route(provider), system=" ")))
    assert "developer" not in json.dumps(body_of(a_request(a_route(provider), system="")))


@pytest.mark.parametrize("provider", FORMATS)
def test_control_characters_travel_and_lone_surrogates_do_not(provider: str) -> None:
    sent = json.dumps(body_of(a_request(a_route(provider), said=("a\x00b\x07 ½ 𝒙 \ud83d!",))), ensure_ascii=False)
    assert "a\\u0000b\\u0007 ½ 𝒙 \ufffd!" in sent


def test_a_model_name_is_quoted_in_a_gemini_url() -> None:
    call = built(a_request(a_route("gemini", model="tuned/one two")))
    assert call.url == f"{BASE}/v1beta/models/tuned%2Fone%20two:generateContent"
