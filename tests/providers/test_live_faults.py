"""Every route against every fault: retried or stopped, how often the server is asked, and what is recorded."""

import asyncio
import json
from typing import Any

import pytest

from pytest_tutoreval.providers.client import RetryPolicy
from pytest_tutoreval.providers.faults import ProviderFault, plain_message
from pytest_tutoreval.providers.hints import retry_hint
from pytest_tutoreval.providers.vendor_error import answer_fault, fault_kind, read_vendor_error
from pytest_tutoreval.providers.wire import HttpAnswer
from pytest_tutoreval.records.attempt import FaultKind
from tests.loopback.asking import a_request, a_route, ask, ask_all
from tests.loopback.server import FOR_EVER, LoopbackServer, Step

PROVIDERS = ("anthropic", "openai", "gemini", "openrouter", "compatible")
SHORT = RetryPolicy(max_retries=2, timeout=20)
HURRIED = RetryPolicy(max_retries=2, timeout=0.25)
HTML = "<html><head><title>502</title></head><body>Bad gateway</body></html>"


def vendor_error(provider: str, status: int, word: str, message: str = "No.") -> dict[str, Any]:
    """Return an error body in a vendor's shape."""
    match provider:
        case "anthropic":
            return {"type": "error", "error": {"type": word, "message": message}, "request_id": "req_9"}
        case "gemini":
            return {"error": {"code": status, "message": message, "status": word.upper(), "details": []}}
        case "openrouter":
            return {"error": {"code": status, "message": message, "metadata": {}}}
        case _:
            return {"error": {"message": message, "type": word, "param": None, "code": None}}


def status_step(provider: str, status: int, word: str = "api_error") -> Step:
    return Step(status=status, body=vendor_error(provider, status, word))


# What passes if it is asked again: the fault, then the kind that is recorded.
PASSING: list[tuple[str, dict[str, Any], FaultKind]] = [
    ("408", {"status": 408}, "timeout"),
    ("409", {"status": 409}, "server"),
    ("429", {"status": 429}, "rate_limit"),
    ("500", {"status": 500}, "server"),
    ("502-html", {"status": 502, "body": HTML}, "server"),
    ("503", {"status": 503}, "overloaded"),
    ("504", {"status": 504}, "timeout"),
    ("520-empty", {"status": 520, "body": ""}, "server"),
    ("524", {"status": 524}, "timeout"),
    ("529", {"status": 529}, "overloaded"),
    ("reset", {"cut": "before"}, "connection"),
    ("cut-after-headers", {"cut": "headers"}, "connection"),
    ("cut-mid-body", {"cut": "body"}, "connection"),
    ("broken-json", {"body": '{"choices": [{"mess'}, "malformed"),
    ("empty-200", {"body": ""}, "malformed"),
    ("html-200", {"body": HTML}, "malformed"),
    ("list-200", {"body": []}, "malformed"),
    ("slow", {"delay": 1.0}, "timeout"),
    ("drip", {"drip": 0.05}, "timeout"),
]
# What no repetition mends.
FINAL: list[tuple[str, dict[str, Any], FaultKind]] = [
    ("400", {"status": 400}, "bad_request"),
    ("401", {"status": 401}, "authentication"),
    ("402", {"status": 402}, "quota"),
    ("403", {"status": 403}, "permission"),
    ("404", {"status": 404}, "missing_model"),
    ("404-html", {"status": 404, "body": HTML}, "missing_model"),
    ("413-html", {"status": 413, "body": HTML}, "too_large"),
    ("422", {"status": 422}, "bad_request"),
    ("redirect", {"status": 307, "headers": {"location": "/elsewhere"}}, "bad_request"),
]


def step_of(provider: str, given: dict[str, Any]) -> Step:
    status = given.get("status", 200)
    body = {} if status == 200 else {"body": vendor_error(provider, status, "api_error")}
    return Step(**body | given)


@pytest.mark.parametrize(
    ("provider", "given", "kind"),
    [pytest.param(p, given, kind, id=f"{p}-{name}") for p in PROVIDERS for name, given, kind in PASSING],
)
def test_a_passing_fault_is_retried_and_recorded(provider: str, given: dict[str, Any], kind: FaultKind) -> None:
    with LoopbackServer([step_of(provider, given)]) as server:
        outcome = ask(
            server, a_request(a_route(provider)), retries=HURRIED if given.keys() & {"delay", "drip"} else SHORT
        )
    assert outcome.reply is not None, outcome.failed
    assert len(server.journal) == 2
    assert server.bodies[0] == server.bodies[1]
    (failure,) = outcome.reply.failures
    responded = "cut" not in given and kind != "timeout"
    assert failure.kind == kind
    assert failure.status == (given.get("status", 200) if responded or "status" in given else None)
    assert failure.message
    assert failure.seconds is not None
    assert len(outcome.slept) == 1


@pytest.mark.parametrize(
    ("provider", "given", "kind"),
    [pytest.param(p, given, kind, id=f"{p}-{name}") for p in PROVIDERS for name, given, kind in PASSING[:17]],
)
def test_a_fault_that_stays_ends_the_call_and_not_the_route(
    provider: str, given: dict[str, Any], kind: FaultKind
) -> None:
    with LoopbackServer([step_of(provider, given | {"times": 3})]) as server:
        outcome = ask(server, a_request(a_route(provider)), retries=SHORT)
    assert outcome.failed is not None
    assert outcome.kinds == [kind] * 3
    assert len(server.journal) == 3
    assert outcome.client is not None
    assert outcome.client.stopped_by is None
    assert "3 attempts failed" in str(outcome.failed)


@pytest.mark.parametrize(
    ("provider", "given", "kind"),
    [pytest.param(p, given, kind, id=f"{p}-{name}") for p in PROVIDERS for name, given, kind in FINAL],
)
def test_a_final_fault_is_asked_once_and_stops_the_route(provider: str, given: dict[str, Any], kind: FaultKind) -> None:
    with LoopbackServer([step_of(provider, given)]) as server:
        first, second = asyncio.run(ask_all(server, [a_request(a_route(provider))] * 2, retries=SHORT))
    assert len(server.journal) == 1
    assert first.failed is not None
    assert first.kinds == [kind]
    assert first.slept == []
    assert first.failed.fault.status == given["status"]
    assert type(second.failed).__name__ == "RouteStopped"
    assert second.kinds == []


DAILY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "250"}],
}
MINUTELY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateContentInputTokensPerModelPerMinute"}],
}
RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17.5s"}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


def gemini_error(status: int, word: str, *details: dict[str, Any], message: str = "No.") -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": word, "details": list(details)}}


def openai_error(code: str | None, kind: str = "invalid_request_error", message: str = "No.") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic_error(kind: str, message: str = "No.", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "req_9"}


SPEND = {"error_code": "enforced_spend_limit_reached"}
SENSE_OF_BILLING = "Rate limit reached: 3 requests per min. See https://platform.example/account/billing"
# provider, status, body, kind, whether it is retried, whether it stops the route
VENDOR = [
    ("anthropic", 429, anthropic_error("rate_limit_error"), "rate_limit"),
    ("anthropic", 429, anthropic_error("rate_limit_error", details=SPEND), "quota"),
    ("anthropic", 400, anthropic_error("invalid_request_error", details=SPEND), "quota"),
    ("anthropic", 400, anthropic_error("invalid_request_error", "Your credit balance is too low to"), "quota"),
    ("anthropic", 402, anthropic_error("billing_error"), "quota"),
    ("anthropic", 400, anthropic_error("invalid_request_error", "`temperature` is deprecated"), "bad_request"),
    ("anthropic", 404, anthropic_error("not_found_error", "model: claude-x"), "missing_model"),
    ("anthropic", 413, anthropic_error("request_too_large"), "too_large"),
    ("anthropic", 529, anthropic_error("overloaded_error", "Overloaded"), "overloaded"),
    ("openai", 429, openai_error("rate_limit_exceeded", "requests", SENSE_OF_BILLING), "rate_limit"),
    ("openai", 429, openai_error("insufficient_quota", "insufficient_quota"), "quota"),
    ("openai", 400, openai_error("billing_hard_limit_reached"), "quota"),
    ("openai", 400, openai_error("unsupported_value"), "bad_request"),
    ("openai", 400, openai_error("context_length_exceeded"), "too_large"),
    ("openai", 400, openai_error("invalid_prompt"), "blocked"),
    ("openai", 401, openai_error("invalid_api_key"), "authentication"),
    ("openai", 404, openai_error("model_not_found"), "missing_model"),
    ("gemini", 400, gemini_error(400, "INVALID_ARGUMENT", BAD_KEY), "authentication"),
    ("gemini", 400, gemini_error(400, "INVALID_ARGUMENT"), "bad_request"),
    ("gemini", 400, [gemini_error(400, "FAILED_PRECONDITION")], "bad_request"),
    ("gemini", 403, gemini_error(403, "PERMISSION_DENIED"), "permission"),
    ("gemini", 404, gemini_error(404, "NOT_FOUND"), "missing_model"),
    ("gemini", 429, gemini_error(429, "RESOURCE_EXHAUSTED", MINUTELY, RETRY_INFO), "rate_limit"),
    ("gemini", 429, gemini_error(429, "RESOURCE_EXHAUSTED", MINUTELY, DAILY, RETRY_INFO), "quota"),
    ("gemini", 429, [gemini_error(429, "RESOURCE_EXHAUSTED", DAILY)], "quota"),
    ("gemini", 503, gemini_error(503, "UNAVAILABLE"), "overloaded"),
    ("openrouter", 402, {"error": {"code": 402, "message": "Insufficient credits"}}, "quota"),
    (
        "openrouter",
        403,
        {"error": {"code": 403, "message": "flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}},
        "blocked",
    ),
    (
        "openrouter",
        404,
        {
            "error": {
                "message": "No allowed providers are available for the selected model.",
                "code": 404,
                "metadata": {"available_providers": ["deepinfra"], "requested_providers": ["groq"]},
            }
        },
        "missing_model",
    ),
    ("openrouter", 503, {"error": {"code": 503, "message": "no provider meets routing"}}, "overloaded"),
    ("compatible", 400, {"error": {"type": "exceed_context_size_error", "message": "6031 > 4096"}}, "too_large"),
    ("compatible", 404, {"error": "model 'our-tutor' not found"}, "missing_model"),
    ("compatible", 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
    ("compatible", 500, "Internal Server Error", "server"),
]
RETRIED = {"rate_limit", "overloaded", "server", "timeout", "connection", "malformed"}


@pytest.mark.parametrize(
    ("provider", "status", "body", "kind"),
    [pytest.param(*case, id=f"{place}-{case[0]}-{case[1]}-{case[3]}") for place, case in enumerate(VENDOR)],
)
def test_a_vendors_own_words_decide(provider: str, status: int, body: Any, kind: str) -> None:
    with LoopbackServer([Step(status=status, body=body, times=FOR_EVER)]) as server:
        outcome = ask(server, a_request(a_route(provider)), retries=SHORT)
    assert outcome.failed is not None
    assert set(outcome.kinds) == {kind}
    assert len(server.journal) == (3 if kind in RETRIED else 1)
    assert outcome.client is not None
    assert (outcome.client.stopped_by is not None) == (kind not in RETRIED | {"blocked"})
    assert outcome.failed.fault.status == status


def embedded(code: object, **more: Any) -> dict[str, Any]:
    return {"code": code, "message": "Provider returned error", **more}


RAW = {"metadata": {"raw": "upstream said no", "provider_name": "Groq"}}
INSIDE_200 = [
    pytest.param(Step(error=embedded(429)), "rate_limit", 429, id="429"),
    pytest.param(Step(error=embedded(502, **RAW)), "server", 502, id="502"),
    pytest.param(Step(error=embedded(400)), "bad_request", 400, id="400"),
    pytest.param(Step(error=embedded("402")), "quota", 402, id="402-as-text"),
    pytest.param(Step(error=embedded(403, metadata={"reasons": ["x"]})), "blocked", 403, id="moderation"),
    pytest.param(Step(error=embedded("rate_limit_exceeded")), "rate_limit", 429, id="word"),
    pytest.param(Step(error=embedded("something_new")), "server", 500, id="unknown-word"),
    pytest.param(Step(error=embedded(None)), "server", 500, id="no-code"),
    pytest.param(Step(finish="error"), "server", 500, id="finish-error"),
    pytest.param(
        Step(body={"id": "gen-1", "provider": "Groq", "choices": [{"error": embedded(529), "message": None}]}),
        "overloaded",
        529,
        id="error-in-choice",
    ),
    pytest.param(Step(empty=True), "malformed", 200, id="empty-choices"),
    pytest.param(Step(served="Azure"), "wrong_provider", 200, id="another-provider"),
    pytest.param(Step(served=""), "wrong_provider", 200, id="silent-provider"),
]


@pytest.mark.parametrize(("step", "kind", "status"), INSIDE_200)
def test_an_openrouter_200_can_be_a_fault(step: Step, kind: str, status: int) -> None:
    with LoopbackServer([step]) as server:
        outcome = ask(server, a_request(a_route("openrouter")), retries=SHORT)
    assert outcome.kinds == [kind]
    assert len(server.journal) == (2 if kind in RETRIED else 1)
    assert (outcome.reply is not None) == (kind in RETRIED)
    failure = (outcome.reply or outcome.failed).failures[0]  # type: ignore[union-attr]
    assert failure.status == status


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_error_inside_a_200_is_a_fault_everywhere(provider: str) -> None:
    with LoopbackServer([Step(error=embedded(500))]) as server:
        outcome = ask(server, a_request(a_route(provider)), retries=SHORT)
    assert outcome.kinds == ["server"]
    assert outcome.reply is not None


def test_the_upstreams_own_words_are_kept() -> None:
    with LoopbackServer([Step(error=embedded(502, **RAW))]) as server:
        outcome = ask(server, a_request(a_route("openrouter")), retries=SHORT)
    assert outcome.reply is not None
    assert outcome.reply.failures[0].message == "Provider returned error [Groq: upstream said no]"


DATA = [
    *(
        pytest.param(provider, Step(finish="length", text=""), "length", id=f"{provider}-length")
        for provider in PROVIDERS
    ),
    *(
        pytest.param(p, Step(finish="refusal"), "content_filter" if p == "gemini" else "refusal", id=f"{p}-refusal")
        for p in PROVIDERS
    ),
    *(
        pytest.param(p, Step(finish="content_filter"), "content_filter", id=f"{p}-filter")
        for p in ("openai", "gemini", "openrouter", "compatible")
    ),
    pytest.param("gemini", Step(finish="blocked"), "blocked:safety", id="gemini-blocked"),
    pytest.param("anthropic", Step(empty=True), "stop", id="anthropic-empty"),
]


@pytest.mark.parametrize(("provider", "step", "finish"), DATA)
def test_a_poor_answer_is_not_asked_again(provider: str, step: Step, finish: str) -> None:
    with LoopbackServer([step]) as server:
        outcome = ask(server, a_request(a_route(provider)), retries=SHORT)
    assert len(server.journal) == 1
    assert outcome.reply is not None
    assert outcome.reply.finish == finish
    assert outcome.reply.failures == ()


def test_gemini_without_candidate_or_block_is_retried() -> None:
    with LoopbackServer([Step(empty=True)]) as server:
        outcome = ask(server, a_request(a_route("gemini")), retries=SHORT)
    assert outcome.kinds == ["malformed"]
    assert outcome.reply is not None


@pytest.mark.parametrize(
    ("provider", "headers", "body", "expected"),
    [
        ("anthropic", {"request-id": "req_1"}, anthropic_error("api_error"), "req_1"),
        ("anthropic", {}, anthropic_error("api_error"), "req_9"),
        ("openai", {"x-request-id": "req_2"}, openai_error(None), "req_2"),
        ("gemini", {}, gemini_error(500, "INTERNAL"), None),
    ],
)
def test_a_failed_attempt_keeps_the_vendors_request_id(
    provider: str, headers: dict[str, str], body: Any, expected: str | None
) -> None:
    with LoopbackServer([Step(status=500, headers=headers, body=body)]) as server:
        outcome = ask(server, a_request(a_route(provider)), retries=SHORT)
    assert outcome.reply is not None
    assert outcome.reply.failures[0].request_id == expected


def test_nobody_listening_is_a_connection_fault() -> None:
    with LoopbackServer() as server:
        pass
    outcome = ask(server, a_request(a_route()), retries=SHORT)
    assert outcome.kinds == ["connection"] * 3
    assert outcome.failed is not None
    assert outcome.failed.fault.message.startswith("ConnectError")


@pytest.mark.parametrize("url", ["http://exämple..x/v1", "http://xn--/v1"])
def test_a_place_that_is_no_place_stops_the_route(url: str) -> None:
    outcome = ask(None, a_request(a_route()), base_url=url)
    assert outcome.kinds == ["bad_request"]


def test_a_broken_encoding_is_malformed() -> None:
    step = Step(body="not gzip", headers={"content-encoding": "gzip"})
    with LoopbackServer([step]) as server:
        outcome = ask(server, a_request(a_route()), retries=SHORT)
    assert outcome.kinds == ["malformed"]


NOW = 1_780_000_000.0  # Thu, 28 May 2026 20:26:40 GMT
HINTS = [
    pytest.param({"retry-after": "2"}, [], 2.0, id="seconds"),
    pytest.param({"retry-after": "2.5"}, [], 2.5, id="fraction"),
    pytest.param({"retry-after": "0"}, [], 0.0, id="at-once"),
    pytest.param({"retry-after": "Thu, 28 May 2026 20:27:10 GMT"}, [], 30.0, id="date"),
    pytest.param({"retry-after": "Thu, 28 May 2026 20:20:00 GMT"}, [], 0.0, id="past-date"),
    pytest.param({"retry-after-ms": "1500", "retry-after": "9"}, [], 1.5, id="milliseconds-win"),
    pytest.param({"retry-after": "soon"}, [], None, id="illegible"),
    pytest.param({"retry-after": "-3"}, [], None, id="negative"),
    pytest.param({"retry-after": "inf"}, [], None, id="infinite"),
    pytest.param({"retry-after": "nan"}, [RETRY_INFO], 17.5, id="nan-then-retry-info"),
    pytest.param({}, [DAILY, RETRY_INFO], 17.5, id="retry-info"),
    pytest.param({}, [{"retryDelay": "x"}, {"retryDelay": 4}], None, id="illegible-retry-info"),
    pytest.param({}, [], None, id="nothing"),
]


@pytest.mark.parametrize(("headers", "details", "seconds"), HINTS)
def test_a_servers_hint_is_read(headers: dict[str, str], details: list[Any], seconds: float | None) -> None:
    assert retry_hint(headers, details, now=NOW) == seconds


@pytest.mark.parametrize("status", [*range(400, 600)])
def test_every_error_status_has_a_kind(status: int) -> None:
    fault = ProviderFault(fault_kind(status, read_vendor_error(b"")), "")
    assert fault.retryable == (status in (408, 409, 425, 429) or status >= 500)
    assert fault.retryable != fault.stops_route


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"3", b'"x"', b'{"error":null}', b'{"error":{"details":3}}', b"\xff"]
)
def test_no_error_body_is_too_odd(body: bytes) -> None:
    fault = answer_fault(HttpAnswer(500, {}, body))
    assert fault.kind == "server"
    assert fault.message


def test_a_message_is_one_short_line_that_utf8_can_hold() -> None:
    message = plain_message("a\r\n\x00\x1b[31mb\ud83d " + "x" * 500)
    assert message.startswith("a [31mb\ufffd xxx")
    assert len(message) == 300
    assert message.encode()


def test_a_huge_error_page_is_shortened() -> None:
    fault = answer_fault(HttpAnswer(502, {}, b"<html>" + b"key=" * 500_000))
    assert len(fault.message) <= 300


def test_a_failed_attempt_can_be_stored_whatever_the_vendor_said() -> None:
    body = json.dumps({"error": {"message": "\ud83d \x00", "code": "x"}}).encode()
    attempt = answer_fault(HttpAnswer(500, {"request-id": "a\udc80"}, body)).record(0.1)
    assert attempt.model_dump_json()
