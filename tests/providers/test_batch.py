"""Batches at the vendors' edge: what is sent, what is read, and which failures leave a question open."""

import asyncio
import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.errors import ConfigurationProblem, ProtocolError
from pytest_tutoreval.providers.agent import ModelReply
from pytest_tutoreval.providers.batch import (
    BATCH_PRICE_FACTOR,
    BatchLimits,
    BatchResult,
    Place,
    batch_prices,
    custom_ids,
    json_lines,
    may_have_arrived,
    parts_within,
)
from pytest_tutoreval.providers.batch_client import BATCH_FORMATS, BatchClient, batch_format, open_batches
from pytest_tutoreval.providers.client import RetryPolicy
from pytest_tutoreval.providers.faults import CallFailed, ConfigurationError, MissingKey, ProviderFault
from pytest_tutoreval.providers.keys import Secret
from pytest_tutoreval.providers.routes import wire_format
from pytest_tutoreval.providers.transport import open_http
from pytest_tutoreval.providers.vendor_error import answer_fault
from pytest_tutoreval.providers.wire import HttpAnswer
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study_file import Price
from tests.loopback.asking import KEYS, a_request, a_route, ask
from tests.loopback.batches import BatchServer, BatchStep

BOTH = ("anthropic", "openai")
PLACE = Place("http://127.0.0.1:1", Secret("test"))


def answered(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    return HttpAnswer(status, headers or {}, body if isinstance(body, bytes) else json.dumps(body).encode())


async def opened(server: BatchServer | None, route: Route, use: Any, **more: Any) -> Any:
    """Return what `use` makes of a client whose waits are noted rather than waited."""

    async def sleep(seconds: float) -> None:
        return

    async with open_http(verify=False) as http:
        client = open_batches(
            route,
            http=http,
            **{
                "retries": RetryPolicy(max_retries=2),
                "base_url": server.base_urls[route.provider] if server else None,
                "environ": KEYS,
                "sleep": sleep,
                "rng": Random(1),
            }
            | more,
        )
        return await use(client)


@pytest.mark.parametrize("provider", BOTH)
def test_a_batch_holds_the_direct_routes_body(provider: str) -> None:
    request = a_request(a_route(provider), said=["été \u2028 \u0085 “2+3”\n?"], system="Räte.")
    direct = wire_format(request.route).build(request, None, "http://127.0.0.1")

    async def line(client: BatchClient) -> bytes:
        return client.line("tag-0", request)

    raw: bytes = asyncio.run(opened(None, request.route, line))
    held = json.loads(raw)
    assert held["custom_id"] == "tag-0"
    assert held["params" if provider == "anthropic" else "body"] == direct.sent()
    if provider == "openai":
        assert (held["method"], held["url"]) == ("POST", "/v1/chat/completions")
        assert len(raw.decode().splitlines()) == 1, "no reader takes a character in a text for a line end"


@pytest.mark.parametrize("provider", BOTH)
def test_a_reply_from_a_batch_is_the_direct_routes(provider: str) -> None:
    request = a_request(a_route(provider))

    async def through_a_batch(client: BatchClient) -> ModelReply:
        lines = [client.line("tag-0", request)]
        view = await client.create(lines, await client.upload(lines), "tag")
        while not view.ended:
            view = await client.look(view.id)
        (result,) = await client.results(view)
        return client.reply(request, result)

    with BatchServer(looks=3) as server:
        reply = asyncio.run(opened(server, request.route, through_a_batch))
        direct = ask(server, request).reply
    assert direct is not None
    names = ("text", "finish", "input_tokens", "output_tokens", "served_model", "served_provider", "failures")
    assert {name: getattr(reply, name) for name in names} == {name: getattr(direct, name) for name in names}


@pytest.mark.parametrize("provider", ["gemini", "openrouter", "compatible"])
def test_other_providers_take_no_batches(provider: str) -> None:
    with pytest.raises(ConfigurationProblem, match=rf"{provider} .*: batches are not supported"):
        batch_format(a_route(provider))


@pytest.mark.parametrize("provider", BOTH)
def test_what_the_direct_route_refuses_is_refused(provider: str) -> None:
    async def nothing(client: BatchClient) -> None:
        return

    with pytest.raises(MissingKey):
        asyncio.run(opened(None, a_route(provider), nothing, environ={}))
    with pytest.raises(ConfigurationError, match="holds more than a place"):
        asyncio.run(opened(None, a_route(provider), nothing, base_url="http://u:p@127.0.0.1"))
    with pytest.raises(ConfigurationError):
        asyncio.run(opened(None, a_route(provider, pin=("groq",)), nothing))


def test_a_batch_costs_half() -> None:
    assert BATCH_PRICE_FACTOR == 0.5
    (price,) = batch_prices({"anthropic": Price(input=5, output=25, source="list")}).values()
    assert (price.input, price.output, price.source) == (2.5, 12.5, "list")


# limits


def test_the_vendors_own_limits() -> None:
    assert BATCH_FORMATS["anthropic"].limits == BatchLimits(100_000, 256_000_000)
    assert BATCH_FORMATS["openai"].limits == BatchLimits(50_000, 200_000_000)


@pytest.mark.parametrize("wrong", [{"requests": 0}, {"bytes": 0}])
def test_a_limit_of_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected at least 1"):
        BatchLimits(**({"requests": 1, "bytes": 1} | wrong))


@given(
    sizes=st.lists(st.integers(1, 50)),
    requests=st.integers(1, 7),
    room=st.integers(0, 100),
    overhead=st.integers(0, 20),
)
def test_parts_hold_everything_once_in_order_and_as_much_as_fits(
    sizes: list[int], requests: int, room: int, overhead: int
) -> None:
    limits = BatchLimits(requests, overhead + 51 + room)
    parts = list(parts_within(sizes, limits, overhead=overhead))
    assert [place for part in parts for place in part] == list(range(len(sizes)))

    def weight(places: range) -> int:
        return overhead + sum(sizes[place] + 1 for place in places)

    for part in parts:
        assert 0 < len(part) <= requests
        assert weight(part) <= limits.bytes
        if part.stop < len(sizes):
            assert len(part) == requests or weight(range(part.start, part.stop + 1)) > limits.bytes


@pytest.mark.parametrize("provider", BOTH)
def test_the_reckoned_size_is_never_below_the_real_one(provider: str) -> None:
    form = BATCH_FORMATS[provider]
    requests = [a_request(a_route(provider), said=[f"What is {number} + é?"]) for number in range(12)]
    lines = [
        form.line(name, wire_format(request.route).build(request, None, "http://x"))
        for name, request in zip(custom_ids("tag", 12), requests, strict=True)
    ]
    reckoned = form.overhead + sum(len(line) + 1 for line in lines)
    real = (
        len(form.create(lines, "file-1", "tag", PLACE).body) if provider == "anthropic" else len(b"\n".join(lines)) + 1
    )
    assert real <= reckoned


# calls


def test_anthropic_calls() -> None:
    form = BATCH_FORMATS["anthropic"]
    assert form.upload([b"{}"], PLACE) is None
    view = form.view(
        answered({"id": "msgbatch_1", "processing_status": "ended", "results_url": "http://evil.invalid/"})
    )
    (results,) = form.results(view, PLACE)
    calls = [
        form.create([b"{}"], None, "tag", PLACE),
        form.look("msgbatch_1", PLACE),
        results,
        form.listing("m", PLACE),
    ]
    assert [(call.method, call.url) for call in calls] == [
        ("POST", "http://127.0.0.1:1/v1/messages/batches"),
        ("GET", "http://127.0.0.1:1/v1/messages/batches/msgbatch_1"),
        ("GET", "http://127.0.0.1:1/v1/messages/batches/msgbatch_1/results"),
        ("GET", "http://127.0.0.1:1/v1/messages/batches?limit=100&after_id=m"),
    ]
    assert all(call.headers["anthropic-version"] == "2023-06-01" for call in calls)
    assert all(call.auth is not None and call.auth.name == "x-api-key" for call in calls)
    assert json.loads(calls[0].body) == {"requests": [{}]}


def test_openai_calls() -> None:
    form = BATCH_FORMATS["openai"]
    upload = form.upload([b'{"a":1}', b'{"b":2}'], PLACE)
    assert upload is not None
    assert upload.url == "http://127.0.0.1:1/files"
    assert upload.headers["content-type"].startswith("multipart/form-data; boundary=")
    assert b'name="purpose"\r\n\r\nbatch\r\n' in upload.body
    assert b'\r\n\r\n{"a":1}\n{"b":2}\n\r\n--' in upload.body
    create = form.create([], "file-1", "a-tag", PLACE)
    assert create.url == "http://127.0.0.1:1/batches"
    assert create.sent() == {
        "input_file_id": "file-1",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {"tutoreval": "a-tag"},
    }
    view = form.view(
        answered({"id": "batch_1", "status": "expired", "output_file_id": "file-o", "error_file_id": "file-e"})
    )
    assert view.ended
    assert [call.url for call in form.results(view, PLACE)] == [
        "http://127.0.0.1:1/files/file-o/content",
        "http://127.0.0.1:1/files/file-e/content",
    ]


def test_keys_are_in_no_call_that_is_printed() -> None:
    for form in BATCH_FORMATS.values():
        calls = [form.create([], "f", "t", PLACE), form.look("b", PLACE), form.upload([b"{}"], PLACE)]
        assert "test" not in repr(calls).replace("tutoreval", "")
    assert repr(PLACE) == "Place(base_url='http://127.0.0.1:1', key=<secret>)"


# answers


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        *((word, False) for word in ("validating", "in_progress", "finalizing", "cancelling", "something_new")),
        *((word, True) for word in ("completed", "failed", "expired", "cancelled")),
    ],
)
def test_openai_statuses(status: str, ended: bool) -> None:
    assert BATCH_FORMATS["openai"].view(answered({"id": "batch_1", "status": status})).ended is ended


@pytest.mark.parametrize(("status", "ended"), [("in_progress", False), ("canceling", False), ("ended", True)])
def test_anthropic_statuses(status: str, ended: bool) -> None:
    counts = {"processing": 1, "succeeded": 2, "errored": 3, "canceled": 4, "expired": 5}
    answer = answered(
        {"id": "m", "processing_status": status, "request_counts": counts, "created_at": "2026-11-30T00:00:00Z"}
    )
    view = BATCH_FORMATS["anthropic"].view(answer)
    assert (view.ended, view.n_requests, view.created) == (ended, 15, 1_795_996_800.0)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a?b", "a b", "é", "x" * 300, None, 7])
@pytest.mark.parametrize("provider", BOTH)
def test_an_id_that_is_none_never_reaches_a_url(provider: str, name: object) -> None:
    body = {"id": name, "processing_status": "ended", "status": "completed"}
    if name == 7:  # a number is read as text, and is as good as another name
        assert BATCH_FORMATS[provider].view(answered(body)).id == "7"
        return
    with pytest.raises(ProviderFault) as raised:
        BATCH_FORMATS[provider].view(answered(body))
    assert raised.value.kind == "malformed"


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "no"}, "bad_request"),
        (401, {"type": "authentication_error", "message": "no"}, "authentication"),
        (404, {"type": "not_found_error", "message": "no"}, "missing_model"),
        (429, {"type": "rate_limit_error", "message": "no"}, "rate_limit"),
        (429, {"type": "x", "code": "insufficient_quota", "message": "no"}, "quota"),
        (500, {"type": "api_error", "message": "no"}, "server"),
        (529, {"type": "overloaded_error", "message": "no"}, "overloaded"),
        (200, {"type": "overloaded_error", "message": "inside a 200"}, "overloaded"),
    ],
)
def test_errors_are_classified_by_the_one_table(provider: str, status: int, error: dict[str, Any], kind: str) -> None:
    form = BATCH_FORMATS[provider]
    answer = answered({"type": "error", "error": error}, status)
    for read in (form.view, form.listed):
        with pytest.raises(ProviderFault) as raised:
            read(answer)
        assert raised.value.kind == kind
    if status != 200:
        assert answer_fault(answer).kind == kind


ANTHROPIC_LINES = [
    ({"custom_id": "a", "result": {"type": "expired"}}, BatchResult("a", unsent="expired")),
    ({"custom_id": "a", "result": {"type": "canceled"}}, BatchResult("a", unsent="canceled")),
    (
        {"custom_id": "a", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "api_error"}}}},
        BatchResult("a", error={"type": "api_error"}),
    ),
    ({"custom_id": "a", "result": {"type": "errored", "error": "no"}}, BatchResult("a", error={"message": "no"})),
]
OPENAI_LINES = [
    ({"custom_id": "a", "error": {"code": "batch_expired"}}, BatchResult("a", unsent="expired")),
    ({"custom_id": "a", "error": {"code": "batch_cancelled"}}, BatchResult("a", unsent="canceled")),
    ({"custom_id": "a", "error": {"code": "x"}, "response": None}, BatchResult("a", error={"code": "x"})),
    ({"custom_id": "a", "error": "no"}, BatchResult("a", error={"message": "no"})),
]


@pytest.mark.parametrize(
    ("provider", "line", "result"),
    [("anthropic", *case) for case in ANTHROPIC_LINES] + [("openai", *case) for case in OPENAI_LINES],
)
def test_result_lines(provider: str, line: dict[str, Any], result: BatchResult) -> None:
    assert BATCH_FORMATS[provider].result(line, answered(b"")) == result


@pytest.mark.parametrize(
    ("provider", "line"),
    [
        ("anthropic", {}),
        ("anthropic", {"custom_id": "a"}),
        ("anthropic", {"custom_id": 1, "result": {"type": "expired"}}),
        ("anthropic", {"custom_id": "a", "result": {"type": "succeeded"}}),
        ("anthropic", {"custom_id": "a", "result": {"type": "postponed"}}),
        ("openai", {}),
        ("openai", {"custom_id": "a"}),
        ("openai", {"custom_id": "a", "response": {"status_code": 200}}),
    ],
)
def test_result_lines_of_another_shape_are_malformed(provider: str, line: dict[str, Any]) -> None:
    with pytest.raises(ProviderFault) as raised:
        BATCH_FORMATS[provider].result(line, answered(b""))
    assert raised.value.kind == "malformed"


def test_an_openai_answer_without_a_status_is_no_success() -> None:
    line = {"custom_id": "a", "response": {"status_code": "200", "body": {}}}
    result = BATCH_FORMATS["openai"].result(line, answered(b""))
    assert result.answer is not None
    assert result.answer.status == 500


def test_only_a_line_feed_ends_a_line() -> None:
    assert json_lines(answered('{"a": "\u2028\x85"}\n\n{"b": 1}\r\n'.encode())) == [{"a": "\u2028\x85"}, {"b": 1}]
    with pytest.raises(ProviderFault, match="line 2 of the results"):
        json_lines(answered(b'{"a": 1}\n{"b": '))


# what may have arrived


@pytest.mark.parametrize(
    ("fault", "open_question"),
    [
        (ProviderFault("rate_limit", "slow down", status=429), False),
        (ProviderFault("bad_request", "no", status=400), False),
        (ProviderFault("authentication", "no", status=401), False),
        (ProviderFault("overloaded", "no", status=529), False),
        (ProviderFault("bad_request", "moved", status=308), False),
        (ProviderFault("connection", "ConnectError: refused"), False),
        (ProviderFault("timeout", "ConnectTimeout"), False),
        (ProviderFault("timeout", "TimeoutError"), True),
        (ProviderFault("connection", "RemoteProtocolError: cut"), True),
        (ProviderFault("connection", "ReadError"), True),
        (ProviderFault("timeout", "no", status=408), True),
        (ProviderFault("server", "no", status=409), True),
        (ProviderFault("server", "no", status=500), True),
        (ProviderFault("overloaded", "no", status=503), True),
        (ProviderFault("timeout", "no", status=504), True),
        (ProviderFault("malformed", "garbage", status=200), True),
    ],
)
def test_which_failures_leave_the_question_open(fault: ProviderFault, open_question: bool) -> None:
    assert may_have_arrived(fault) is open_question


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("step", "n_calls", "n_made"),
    [
        (BatchStep("create", times=2, status=429, body="{}"), 3, 1),
        (BatchStep("create", times=9, status=429, body="{}"), 3, 0),
        (BatchStep("create", times=9, status=401, body="{}"), 1, 0),
        (BatchStep("create", times=9, status=500, body="{}", done=True), 1, 1),
        (BatchStep("create", times=9, cut="before"), 1, 1),
        (BatchStep("create", times=9, cut="body"), 1, 1),
    ],
)
def test_a_batch_that_may_exist_is_not_made_twice(provider: str, step: BatchStep, n_calls: int, n_made: int) -> None:
    request = a_request(a_route(provider))

    async def make(client: BatchClient) -> CallFailed | None:
        lines = [client.line("tag-0", request)]
        upload = await client.upload(lines)
        try:
            await client.create(lines, upload, "tag")
        except CallFailed as exc:
            return exc
        return None

    with BatchServer(steps=[step]) as server:
        failed: CallFailed | None = asyncio.run(opened(server, request.route, make))
        assert failed is None or may_have_arrived(failed.fault) is (n_made == 1)
        assert server.operations.count("create") == n_calls
        assert len(server.made) == n_made


@pytest.mark.parametrize("provider", BOTH)
def test_the_list_is_read_page_by_page_back_to_a_moment(provider: str) -> None:
    request = a_request(a_route(provider))

    async def look(client: BatchClient) -> list[str]:
        for tag in ("a", "b", "c", "d", "e"):
            lines = [client.line(f"{tag}-0", request)]
            await client.create(lines, await client.upload(lines), tag)
        for number, made in enumerate(server.made):
            made.created = 1000.0 + 100 * number
        return [view.id async for view in client.made_since(1150.0)]

    with BatchServer(page=2) as server:
        names = asyncio.run(opened(server, request.route, look))
        assert names == [made.id for made in reversed(server.made[2:])]


def test_an_upload_nobody_made_is_not_read() -> None:
    with pytest.raises(ProtocolError, match="the requests travel with the batch"):
        BATCH_FORMATS["anthropic"].uploaded(HttpAnswer(200, {}, b"{}"))
