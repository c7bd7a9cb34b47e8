import asyncio
import json
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers import (
    CallFailed,
    CallSite,
    ConfigurationError,
    Message,
    ModelReply,
    ModelRequest,
    RouteStopped,
    TutorTurnReply,
    TutorTurnRequest,
)
from pytest_tutoreval.providers.client import RetryPolicy
from pytest_tutoreval.providers.money import Purse, UnknownPrice, price_of
from pytest_tutoreval.providers.routes import Surroundings, open_client, open_in_process
from pytest_tutoreval.providers.transport import open_http
from pytest_tutoreval.providers.tutor_turn import BrokenContract, read_turn_reply
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study import Sampling
from tests.loopback.tutor import Answer, TutorServer

SAMPLING = Sampling(max_tokens=64, seed="replicate")
HTTP = Route(provider="http", model="mine-1", sampling=SAMPLING)
KEY = "canary+mine/77ab31c2d9"
SYSTEM = "The student is working on this problem:\nHow many liters?"


def a_request(route: Route, **changes: Any) -> ModelRequest:
    site = CallSite("base-id", "condition-id", 3, "train-1", "exchange", turn=1, node="node-id", route="route-id")
    said = (Message("user", "Hm."), Message("assistant", "What is known?"), Message("user", "48 liters."))
    given: dict[str, Any] = {"role": "tutor", "site": site, "system": SYSTEM, "messages": said, "seed": 3}
    return ModelRequest(**given | changes, route=route)


def ask(
    server: TutorServer, request: ModelRequest, *, key: bool = False, waits: list[float] | None = None
) -> ModelReply:
    async def call() -> ModelReply:
        async def sleep(seconds: float) -> None:
            if waits is not None:
                waits.append(seconds)

        async with open_http() as http:
            client = open_client(
                request.route,
                http=http,
                base_url=server.base_url,
                key_variable="MY_KEY" if key else None,
                environ={"MY_KEY": KEY} if key else {},
                retries=RetryPolicy(max_retries=2, timeout=5),
                sleep=sleep,
            )
            return await client.complete(request)

    return asyncio.run(call())


# http


def test_an_endpoint_is_sent_the_documented_contract_and_nothing_more() -> None:
    with TutorServer(lambda body, key: Answer()) as server:
        ask(server, a_request(HTTP))
    assert server.journal == [
        {
            "format": "tutoreval-tutor/1",
            "model": "mine-1",
            "problem": "train-1",
            "turn": 1,
            "replicate": 3,
            "seed": 3,
            "max_tokens": 64,
            "system": SYSTEM,
            "messages": [
                {"role": "user", "content": "Hm."},
                {"role": "assistant", "content": "What is known?"},
                {"role": "user", "content": "48 liters."},
            ],
        }
    ]
    assert server.headers == [""]
    assert server.paths == ["/tutor"]


def test_a_tutor_is_not_told_its_base_condition_or_node() -> None:
    with TutorServer(lambda body, key: Answer()) as server:
        ask(server, a_request(HTTP))
    text = json.dumps(server.journal)
    assert [name for name in ("base-id", "condition-id", "node-id", "route-id") if name in text] == []


def test_the_documentation_shows_the_fields_that_are_sent() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tutor-endpoint.md").read_text(encoding="utf-8")
    shown = json.loads(page.split("```json\n")[1].partition("```")[0])
    with TutorServer(lambda body, key: Answer()) as server:
        ask(server, a_request(HTTP))
    assert list(shown) == list(server.journal[0])


def test_an_answer_that_reports_all_is_kept_as_reported() -> None:
    body = {"text": "Go on.", "input_tokens": 212, "output_tokens": 9, "model": "mine-1.2", "finish": "length", "x": 1}
    with TutorServer(lambda *_: Answer(body)) as server:
        reply = ask(server, a_request(HTTP))
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Go on.", 212, 9)
    assert (reply.served_model, reply.finish, reply.usage_estimated) == ("mine-1.2", "length", False)


def test_tokens_nobody_reported_are_estimated_and_marked() -> None:
    # Sent: the system text of 56 characters, and 3 + 14 + 10 of messages: 83 // 4 + 4 = 24. Said: 6 // 4 + 1 = 2.
    assert len(SYSTEM) == 56
    with TutorServer(lambda *_: Answer({"text": "Go on."})) as server:
        reply = ask(server, a_request(HTTP))
    assert (reply.input_tokens, reply.output_tokens, reply.usage_estimated) == (24, 2, True)
    assert reply.finish is None
    assert reply.facts(HTTP)["served_model"] == ""


def test_one_missing_count_marks_the_call_and_keeps_the_other() -> None:
    with TutorServer(lambda *_: Answer({"text": "Go on.", "input_tokens": 0, "output_tokens": None})) as server:
        reply = ask(server, a_request(HTTP))
    assert (reply.input_tokens, reply.output_tokens, reply.usage_estimated) == (0, 2, True)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param({"reply": "Hi"}, ['no field "text"', "found: reply", 'expected {"text"'], id="no-text"),
        pytest.param({"text": None}, ["text is null", "expected a string"], id="null-text"),
        pytest.param({"text": "a", "input_tokens": -1}, ["input_tokens is a negative number"], id="negative"),
        pytest.param({"text": "a", "output_tokens": True}, ["output_tokens is true or false"], id="bool"),
        pytest.param({"text": "a", "output_tokens": 1.5}, ["output_tokens is a number with a fraction"], id="fraction"),
        pytest.param({"text": "a", "model": ["m"]}, ["model is a list"], id="model"),
        pytest.param({"text": 1, "finish": 2}, ["text is a number", "finish is a number"], id="all-at-once"),
        pytest.param([], ["not a JSON object"], id="list"),
        pytest.param(b"<html>", ["not a JSON object", "<html>"], id="html"),
        pytest.param(b"", ["an empty body"], id="empty"),
    ],
)
def test_a_malformed_answer_says_what_was_found_and_expected(body: Any, words: list[str]) -> None:
    with TutorServer(lambda *_: Answer(body)) as server, pytest.raises(CallFailed) as failed:
        ask(server, a_request(HTTP))
    assert [word for word in words if word not in str(failed.value)] == []
    assert "check the base URL" in str(failed.value)
    assert [failure.kind for failure in failed.value.failures] == ["malformed"] * 3


def test_a_malformed_answer_is_tried_again() -> None:
    answers = [Answer({"txt": "?"}), Answer({"text": "Go on."})]
    with TutorServer(lambda *_: answers.pop(0)) as server:
        reply = ask(server, a_request(HTTP))
    assert reply.text == "Go on."
    assert [failure.kind for failure in reply.failures] == ["malformed"]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_kept(status: int) -> None:
    answers = [Answer({"error": "slow down"}, status, {"retry-after": "17"}), Answer()]
    waits: list[float] = []
    with TutorServer(lambda *_: answers.pop(0)) as server:
        reply = ask(server, a_request(HTTP), waits=waits)
    assert waits == [17.0]
    assert [(failure.status, failure.message) for failure in reply.failures] == [(status, "slow down")]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, "bad_request"), (401, "authentication"), (402, "quota"), (403, "permission"), (404, "missing_model")],
)
def test_a_refusal_is_not_tried_again_and_says_why(status: int, kind: str) -> None:
    with (
        TutorServer(lambda *_: Answer({"error": "no such lesson"}, status)) as server,
        pytest.raises(CallFailed, match="no such lesson") as failed,
    ):
        ask(server, a_request(HTTP))
    assert [failure.kind for failure in failed.value.failures] == [kind]
    assert len(server.journal) == 1


def test_a_key_goes_into_the_header_and_comes_back_in_nothing() -> None:
    def echo(body: Any, key: str) -> Answer:
        return Answer({"text": f"I was sent {key}", "model": key, "finish": key})

    with TutorServer(echo) as server:
        reply = ask(server, a_request(HTTP), key=True)
        assert server.headers == [f"Bearer {KEY}"]
    assert KEY not in repr(reply)

    with TutorServer(lambda body, key: Answer({key: 1})) as server, pytest.raises(CallFailed) as failed:
        ask(server, a_request(HTTP), key=True)
    assert KEY not in f"{failed.value} {failed.value.failures}"


@pytest.mark.parametrize(
    ("sampling", "pin", "key"),
    [
        pytest.param(Sampling(max_tokens=9, temperature=0.4), (), "sampling.temperature", id="temperature"),
        pytest.param(Sampling(max_tokens=9, reasoning="low"), (), "sampling.reasoning", id="reasoning"),
        pytest.param(SAMPLING, ("groq",), "pin", id="pin"),
    ],
)
@pytest.mark.parametrize("provider", ["http", "python"])
def test_settings_only_the_tutor_could_keep_are_refused(
    provider: str, sampling: Sampling, pin: tuple[str, ...], key: str
) -> None:
    route = Route(provider=provider, model="json:dumps", sampling=sampling, pin=pin)

    async def opened() -> None:
        if provider == "python":
            open_in_process(route, Surroundings(load_instrument(), Path()))
        async with open_http() as http:
            open_client(route, http=http, base_url="http://127.0.0.1:1/")

    with pytest.raises(ConfigurationError) as refused:
        asyncio.run(opened())
    assert refused.value.key == key


def test_a_connection_check_without_a_turn_is_turn_0() -> None:
    site = CallSite("b", "preflight", 0, "capability", "probe")
    with TutorServer(lambda *_: Answer()) as server:
        ask(server, a_request(HTTP, site=site, messages=(Message("user", "Reply: ready"),)))
    assert (server.journal[0]["problem"], server.journal[0]["turn"]) == ("capability", 0)


def test_an_http_tutor_costs_what_nobody_knows_until_a_price_is_stated() -> None:
    assert price_of(HTTP, {}) is None
    with pytest.raises(UnknownPrice, match="http/mine-1"):
        Purse({}, budget=1.0).reserve(a_request(HTTP))


@pytest.mark.parametrize("route", [Route(provider="python", model="a:b"), Route(provider="scripted", model="default")])
def test_what_answers_in_this_process_is_free(route: Route) -> None:
    price = price_of(route, {})
    assert price is not None
    assert (price.input, price.output) == (0, 0)
    assert price.source


# python


def a_module(folder: Path, name: str, source: str) -> None:
    """Write a module for one test alone: a process imports a name once."""
    (folder / f"{name}.py").write_text(f"from pytest_tutoreval.providers import TutorTurnReply\n{source}")


def call(
    folder: Path, model: str, *, n: int = 1, timeout: float = 5, environ: dict[str, str] | None = None, **changes: Any
) -> list[ModelReply]:
    route = Route(provider="python", model=model, sampling=SAMPLING)

    async def calls() -> list[ModelReply]:
        async def sleep(_: float) -> None:
            return

        client = open_in_process(
            route,
            Surroundings(load_instrument(), folder),
            retries=RetryPolicy(max_retries=2, timeout=timeout),
            key_variable="MY_KEY",
            environ=environ or {},
            sleep=sleep,
        )
        request = a_request(route, **changes)
        return list(await asyncio.gather(*(client.complete(request) for _ in range(n))))

    return asyncio.run(calls())


def test_a_function_is_told_what_an_endpoint_is_told(tmp_path: Path) -> None:
    a_module(tmp_path, "told_tutor", "heard = []\ndef tutor(turn):\n    heard.append(turn)\n    return 'Go on.'\n")
    (reply,) = call(tmp_path, "told_tutor:tutor")
    heard: list[TutorTurnRequest] = sys.modules["told_tutor"].heard
    said = (Message("user", "Hm."), Message("assistant", "What is known?"), Message("user", "48 liters."))
    assert heard == [TutorTurnRequest("told_tutor:tutor", "train-1", 1, 3, 3, 64, SYSTEM, said)]
    assert (reply.text, reply.usage_estimated, reply.served_model) == ("Go on.", True, "told_tutor:tutor")


def test_a_whole_reply_is_kept(tmp_path: Path) -> None:
    a_module(tmp_path, "whole_tutor", "async def tutor(turn):\n    return TutorTurnReply('Hi.', 5, 2, 'llm', 'stop')\n")
    (reply,) = call(tmp_path, "whole_tutor:tutor")
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.served_model) == ("Hi.", 5, 2, "llm")
    assert not reply.usage_estimated


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def tutor(turn):\n    return 'x'\n", id="plain"),
        pytest.param("async def tutor(turn):\n    return 'x'\n", id="async"),
        pytest.param(
            "class T:\n    async def __call__(self, turn):\n        return 'x'\ntutor = T()\n", id="async-object"
        ),
        pytest.param("async def t(turn):\n    return 'x'\ntutor = lambda turn: t(turn)\n", id="returns-an-awaitable"),
    ],
)
def test_functions_of_every_kind_answer(tmp_path: Path, source: str, request: pytest.FixtureRequest) -> None:
    name = f"kind_{abs(hash(request.node.name))}"
    a_module(tmp_path, name, source)
    assert call(tmp_path, f"{name}:tutor")[0].text == "x"


def test_plain_functions_run_side_by_side(tmp_path: Path) -> None:
    # Each waits for the other two: one after another they would break the barrier.
    a_module(
        tmp_path,
        "side_tutor",
        "import threading\nbarrier = threading.Barrier(3)\ndef tutor(turn):\n    barrier.wait(5)\n    return 'x'\n",
    )
    assert [reply.text for reply in call(tmp_path, "side_tutor:tutor", n=3)] == ["x"] * 3


@pytest.mark.parametrize(
    ("raised", "kind", "attempts"),
    [
        pytest.param("ZeroDivisionError('a bug')", "tutor_error", 1, id="a-bug-is-not-repeated"),
        pytest.param("ConnectionResetError('gone')", "connection", 3, id="a-network-may-recover"),
        pytest.param("TimeoutError('slow')", "timeout", 3, id="so-may-a-slow-one"),
        pytest.param("SystemExit(3)", "tutor_error", 1, id="an-exit-ends-no-run"),
        pytest.param("StopIteration(1)", "tutor_error", 1, id="nor-does-a-StopIteration"),
    ],
)
def test_an_exception_is_a_fault_with_type_and_message(tmp_path: Path, raised: str, kind: str, attempts: int) -> None:
    name = f"raising_{raised.partition('(')[0].lower()}"
    a_module(tmp_path, name, f"def tutor(turn):\n    secret = 'a local'\n    raise {raised}\n")
    with pytest.raises(CallFailed) as failed:
        call(tmp_path, f"{name}:tutor")
    assert [failure.kind for failure in failed.value.failures] == [kind] * attempts
    assert raised.partition("(")[0] in str(failed.value)
    assert not isinstance(failed.value, RouteStopped)


def test_a_fault_of_a_tutor_holds_no_frame_of_it(tmp_path: Path) -> None:
    a_module(tmp_path, "framed_tutor", f"def tutor(turn):\n    held = {KEY!r}\n    raise ValueError('no ' + held)\n")
    with pytest.raises(CallFailed) as failed:
        call(tmp_path, "framed_tutor:tutor", environ={"MY_KEY": KEY})
    link: BaseException | None = failed.value
    while link is not None:
        frame = link.__traceback__
        while frame is not None:
            assert "framed_tutor.py" not in frame.tb_frame.f_code.co_filename
            frame = frame.tb_next
        assert KEY not in str(link)
        link = link.__cause__ or link.__context__
    assert "ValueError: no <redacted>" in str(failed.value)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        pytest.param("None", "returned NoneType, expected a str or a TutorTurnReply", id="none"),
        pytest.param("{'text': 'x'}", "returned dict", id="dict"),
        pytest.param("TutorTurnReply(5)", "text is a number, expected a string", id="text"),
        pytest.param("TutorTurnReply('x', -1)", "input_tokens is a negative number", id="tokens"),
    ],
)
def test_a_function_that_returns_something_else_is_told_so(
    tmp_path: Path, returned: str, words: str, request: pytest.FixtureRequest
) -> None:
    name = f"returning_{request.node.callspec.id}"
    a_module(tmp_path, name, f"def tutor(turn):\n    return {returned}\n")
    with pytest.raises(CallFailed, match=words):
        call(tmp_path, f"{name}:tutor")


@pytest.mark.parametrize("how", ["def", "async def"])
def test_a_turn_has_a_timeout(tmp_path: Path, how: str) -> None:
    name = f"slow_{how.replace(' ', '_')}"
    wait = "await asyncio.sleep(60)" if "async" in how else "over.wait(60)"
    a_module(
        tmp_path,
        name,
        f"import asyncio, threading\nover = threading.Event()\n{how} tutor(turn):\n    {wait}\n    return 'x'\n",
    )
    began = time.perf_counter()
    with pytest.raises(CallFailed, match=r"TimeoutError.*may take") as failed:
        call(tmp_path, f"{name}:tutor", timeout=0.05)
    assert [failure.kind for failure in failed.value.failures] == ["timeout"] * 3
    assert time.perf_counter() - began < 30
    sys.modules[name].over.set()  # lets the threads go
    for thread in threading.enumerate():
        if thread.name == "tutoreval-tutor":
            thread.join(5)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        pytest.param("tutor", "is not module:function", id="no-colon"),
        pytest.param("not_there_tutor:tutor", "no module not_there_tutor", id="no-module"),
        pytest.param("broken_tutor:tutor", "ZeroDivisionError: division by zero", id="breaks-on-import"),
        pytest.param("exiting_tutor:tutor", "SystemExit: 3", id="exits-on-import"),
        pytest.param("fine_tutor:tuter", "no function 'tuter'", id="no-function"),
        pytest.param("fine_tutor:number", "no function 'number'", id="no-callable"),
    ],
)
def test_a_function_that_cannot_be_had_is_refused_before_any_call(tmp_path: Path, model: str, words: str) -> None:
    a_module(tmp_path, "broken_tutor", "1 / 0\n")
    a_module(tmp_path, "exiting_tutor", "raise SystemExit(3)\n")
    a_module(tmp_path, "fine_tutor", "number = 1\ndef tutor(turn):\n    return 'x'\n")
    sys.modules.pop("fine_tutor", None)
    with pytest.raises(ConfigurationError, match=words) as refused:
        open_in_process(
            Route(provider="python", model=model, sampling=SAMPLING), Surroundings(load_instrument(), tmp_path)
        )
    assert refused.value.key == "model"


def test_a_reply_record_without_text_cannot_be_read() -> None:
    with pytest.raises(BrokenContract, match="found: none"):
        read_turn_reply({})


def test_a_client_takes_no_request_of_another_route(tmp_path: Path) -> None:
    a_module(tmp_path, "lone_tutor", "def tutor(turn):\n    return 'x'\n")
    route = Route(provider="python", model="lone_tutor:tutor", sampling=SAMPLING)
    client = open_in_process(route, Surroundings(load_instrument(), tmp_path), environ={})
    with pytest.raises(ProtocolError, match="Open a client for each route"):
        asyncio.run(client.complete(a_request(replace_model(route))))


def replace_model(route: Route) -> Route:
    return route.model_copy(update={"model": "another:tutor"})


def test_the_reply_of_the_documentation_can_be_made() -> None:
    assert replace(TutorTurnReply("And how much acid is that?", input_tokens=180), output_tokens=6).output_tokens == 6
