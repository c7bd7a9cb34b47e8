"""A canary key: it reaches the server and nothing else."""

import asyncio
import pickle
import traceback
from typing import Any

import httpx
import pytest

from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.providers.client import RetryPolicy
from pytest_tutoreval.providers.faults import MissingKey
from pytest_tutoreval.providers.keys import KEY_VARIABLES, KeyHeader, KeyRing, Redactor, Secret
from pytest_tutoreval.providers.routes import open_client
from pytest_tutoreval.providers.transport import open_http
from pytest_tutoreval.providers.wire import HttpAnswer
from tests.loopback.asking import a_request, a_route
from tests.loopback.server import FOR_EVER, LoopbackServer, Step

# At module level: a local of a test would stand in the traceback of its own frame.
CANARY = "canary/7f3a+key=="
PROVIDERS = ("anthropic", "openai", "gemini", "openrouter", "compatible")


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEY_VARIABLES, "OUR_TUTOR_KEY"):
        monkeypatch.setenv(name, CANARY)


def everything_said(exc: BaseException) -> str:
    """Return all that a report could print of an exception: the chain, every frame's locals, args and attributes."""
    lines = [*traceback.TracebackException.from_exception(exc, capture_locals=True, compact=False).format()]
    link: BaseException | None = exc
    while link is not None:
        lines += [str(link), repr(link), repr(link.args), repr(vars(link))]
        link = link.__cause__ or link.__context__
    return "\n".join(lines)


async def _call(server: LoopbackServer, provider: str, *, timeout: float = 20) -> Any:
    async def sleep(_: float) -> None:
        return None

    async with open_http() as http:
        client = open_client(
            a_route(provider),
            http=http,
            base_url=server.base_urls[provider],
            key_variable="OUR_TUTOR_KEY" if provider == "compatible" else None,
            retries=RetryPolicy(max_retries=1, timeout=timeout),
            sleep=sleep,
        )
        return await client.complete(a_request(a_route(provider)))


ECHOES = [
    pytest.param(Step(status=401, body={"error": {"message": "Incorrect API key: {key}"}}), id="401"),
    pytest.param(Step(status=500, body="<html>{key} {key}</html>"), id="html"),
    pytest.param(Step(status=400, body=[{"error": {"code": 400, "message": "key={key}"}}]), id="list"),
    pytest.param(Step(status=429, body={"error": {"message": "m", "code": "{key}"}}), id="in-the-code"),
    pytest.param(Step(error={"code": 502, "message": "m", "metadata": {"raw": "Bearer {key}"}}), id="in-a-200"),
    pytest.param(Step(body="{key} is no JSON"), id="malformed"),
    pytest.param(Step(body={"choices": "{key}", "content": "{key}", "candidates": "{key}"}), id="another-shape"),
    pytest.param(
        Step(status=500, body={"error": {"message": "m"}}, headers={"request-id": "{key}", "x-request-id": "{key}"}),
        id="in-a-header",
    ),
    pytest.param(Step(status=500, body={"error": {"message": "at {quoted key}"}}), id="quoted"),
    pytest.param(Step(status=500, body="x" * 280 + " {key}"), id="across-the-cut"),
    pytest.param(Step(cut="before"), id="reset"),
    pytest.param(Step(cut="body"), id="half-a-body"),
    pytest.param(Step(delay=1), id="timeout"),
]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("step", ECHOES)
def test_a_failure_shows_no_key(provider: str, step: Step) -> None:
    with LoopbackServer([Step(**vars(step) | {"times": FOR_EVER})]) as server:
        try:
            asyncio.run(_call(server, provider, timeout=0.2 if step.delay else 20))
        except TutorEvalError as exc:
            said = everything_said(exc)
            failures = "".join(failure.model_dump_json() for failure in exc.failures)  # type: ignore[attr-defined]
        else:
            pytest.fail("the call succeeded")
    assert any(CANARY in value for value in server.journal[0].headers.values())
    for text in (said, failures):
        assert "canary" not in text
        assert "7f3a" not in text
    assert len(failures) > 20


def test_a_cancelled_call_shows_no_key() -> None:
    async def story() -> str:
        task = asyncio.create_task(_call(server, "anthropic"))
        await asyncio.sleep(0.1)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError as exc:
            return everything_said(exc)
        return CANARY

    with LoopbackServer([Step(delay=5)]) as server:
        said = asyncio.run(story())
    assert "canary" not in said


class Broken(Exception):
    pass


class LeakyHttp:
    """An HTTP library that fails while a frame of its own holds the header."""

    def __init__(self, failure: type[BaseException]) -> None:
        self.failure = failure

    async def request(self, *_: Any, **options: Any) -> None:
        request = httpx.Request("POST", "http://127.0.0.1:9")
        written = options["auth"](request).headers.raw
        try:
            raise Broken(f"{len(written)} headers")
        except Broken as exc:
            raise self.failure(CANARY if issubclass(self.failure, OSError | httpx.HTTPError) else "") from exc


@pytest.mark.parametrize(
    "failure", [asyncio.CancelledError, RuntimeError, httpx.WriteError, httpx.LocalProtocolError, OSError, TimeoutError]
)
def test_frames_of_the_http_library_are_not_shown(failure: type[BaseException]) -> None:
    async def story() -> str:
        client = open_client(
            a_route("anthropic"),
            http=LeakyHttp(failure),  # type: ignore[arg-type]
            retries=RetryPolicy(max_retries=0),
        )
        try:
            await client.complete(a_request(a_route("anthropic")))
        except (asyncio.CancelledError, RuntimeError, TutorEvalError) as exc:
            return everything_said(exc)
        return CANARY

    said = asyncio.run(story())
    assert "written" not in said
    assert "canary" not in said


def test_a_missing_key_is_named_and_no_other_key_shown() -> None:
    keys = KeyRing()
    try:
        open_client(a_route("openai"), http=None, environ={"ANTHROPIC_API_KEY": CANARY})  # type: ignore[arg-type]
    except MissingKey as exc:
        said, message, key = everything_said(exc), str(exc), exc.key
    else:
        pytest.fail("a client was opened")
    assert key == "OPENAI_API_KEY"
    assert message == (
        "openai gpt-5.5-2026-04-23: OPENAI_API_KEY is not set or empty. Put the key into this environment variable."
    )
    assert "canary" not in said
    assert "canary" not in repr(keys)


@pytest.mark.parametrize("value", ["can ary", "canary\nx", "canäry", "canary\x00"])
def test_a_key_no_header_can_carry_is_refused_unseen(value: str) -> None:
    with pytest.raises(MissingKey) as raised:
        open_client(a_route("gemini"), http=None, environ={"GEMINI_API_KEY": value})  # type: ignore[arg-type]
    assert raised.value.key == "GEMINI_API_KEY"
    assert "can" not in str(raised.value).replace("can carry", "")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_missing_key_is_noticed_before_the_first_call(provider: str) -> None:
    with pytest.raises(MissingKey):
        open_client(
            a_route(provider),
            http=None,  # type: ignore[arg-type]
            base_url="http://127.0.0.1:9",
            key_variable="OUR_TUTOR_KEY" if provider == "compatible" else None,
            environ={},
        )


def test_a_secret_prints_and_pickles_as_nothing() -> None:
    secret = Secret("canary")
    header = KeyHeader("x-api-key", "", secret)
    answer = HttpAnswer(401, {"x": "canary"}, b"canary")
    for each in (secret, header, answer, KeyRing({"A": "canary"}), KeyRing({"A": "canary"}).redactor("A")):
        assert "canary" not in f"{each!r} {each} {[each]}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Incorrect API key provided: sk-ab12****************wxyz.", "Incorrect API key provided: <redacted>"),
        ("GET https://x/v1?key=AIzaSyA1234567890&alt=json", "GET https://x/v1?key=<redacted>&alt=json"),
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer <redacted>"),
        ('{"api_key": "0123456789"}', '{"api_key": "<redacted>"}'),
        ("x-api-key: 0123456789", "x-api-key: <redacted>"),
        ("gsk_0123456789 is revoked", "<redacted> is revoked"),
        ("API key not valid. Please pass a valid API key.", "API key not valid. Please pass a valid API key."),
        ("Limit 30000 tokens per min: used 29000", "Limit 30000 tokens per min: used 29000"),
        ("ask the tutor", "ask the tutor"),
    ],
)
def test_what_looks_like_a_key_is_removed(text: str, kept: str) -> None:
    assert Redactor()(text) == kept
