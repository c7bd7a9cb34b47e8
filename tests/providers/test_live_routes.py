"""From a route to a client: names, base URLs, and what an import costs. And the server itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_tutoreval
from pytest_tutoreval.providers.faults import ConfigurationError, UnknownProvider
from pytest_tutoreval.providers.routes import FORMATS, open_client, wire_format
from pytest_tutoreval.records.session import Route
from tests.loopback.asking import KEYS, a_request, a_route, ask, study_routes
from tests.loopback.server import LoopbackServer, Step

ROOT = Path(pytest_tutoreval.__file__).parents[1]


def test_every_registered_role_has_a_format() -> None:
    assert {wire_format(route).name for route in study_routes().values()} == set(FORMATS) - {"http"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_registered_under_its_own_name(name: str) -> None:
    assert FORMATS[name].name == name


def test_an_unknown_provider_is_named_with_what_is_near() -> None:
    with pytest.raises(UnknownProvider) as raised:
        wire_format(Route(provider="antropic", model="m"))
    assert str(raised.value) == (
        "antropic m: provider = 'antropic' is not a known provider. "
        "Known: anthropic, compatible, gemini, http, openai, openrouter, python, scripted. Did you mean 'anthropic'?"
    )


def test_a_name_far_from_all_is_not_guessed_at() -> None:
    with pytest.raises(UnknownProvider, match=r"scripted\.$"):
        wire_format(Route(provider="zzz", model="m"))


def test_a_compatible_endpoint_has_no_place_of_its_own() -> None:
    with pytest.raises(ConfigurationError, match="base_url is not set"):
        open_client(a_route("compatible"), http=None, environ={})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "x/v1",
        "",
        "http://",
        "http://x:canary",
        "http://x:99999",
        "http://[::1",
        "http://me:canary@x/v1",
        "https://x/v1?key=canary",
        "https://x#canary",
    ],
)
def test_a_base_url_is_a_place_and_no_more(url: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        open_client(a_route("compatible"), http=None, base_url=url, environ={})  # type: ignore[arg-type]
    assert raised.value.key == "base_url"
    assert "canary" not in str(raised.value)


def test_a_final_slash_of_the_base_url_does_not_matter() -> None:
    with LoopbackServer() as server:
        outcome = ask(None, a_request(a_route()), base_url=server.base_urls["openai"] + "/")
    assert outcome.reply is not None
    assert server.journal[0].path == "/v1/chat/completions"


def test_the_room_imports_no_http_library() -> None:
    script = (
        "import sys, pytest_tutoreval.providers;"
        "print(sorted({'httpx', 'tenacity', 'aiolimiter', 'httpcore', 'anyio'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_server_runs_as_a_process_of_its_own(tmp_path: Path) -> None:
    script, journal = tmp_path / "script.json", tmp_path / "journal.jsonl"
    script.write_text(json.dumps([{"status": 529, "body": {"error": {"message": "busy"}}}, {"text": "As scripted."}]))
    command = [sys.executable, "-m", "tests.loopback.server", "--script", str(script), "--journal", str(journal)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["base_urls"]["anthropic"]
        outcome = ask(None, a_request(a_route("anthropic")), base_url=url)
        process.communicate()
    assert process.returncode == 0
    assert outcome.reply is not None
    assert outcome.reply.text == "As scripted."
    assert outcome.kinds == ["overloaded"]
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["path"] for line in lines] == ["/v1/messages"] * 2
    assert lines[0]["body"]["model"] == "claude-sonnet-4-6"
    assert KEYS["ANTHROPIC_API_KEY"] not in journal.read_text()


def test_a_script_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match="a step has no statsu"):
        Step.read({"statsu": 500})


def test_answers_depend_on_the_request_alone() -> None:
    with LoopbackServer() as server:
        texts = [ask(server, a_request(a_route(), seed=seed)).reply for seed in (1, 1, 2)]
    assert texts[0] is not None
    assert texts[1] is not None
    assert texts[2] is not None
    assert texts[0].text == texts[1].text != texts[2].text


def test_a_callable_may_decide_the_text() -> None:
    with LoopbackServer(answer=lambda shape, body: f"{shape} {body['model']}") as server:
        outcome = ask(server, a_request(a_route()))
    assert outcome.reply is not None
    assert outcome.reply.text == "openai gpt-5.5-2026-04-23"


def test_the_server_refuses_what_the_vendor_would() -> None:
    with LoopbackServer() as server:
        outcome = ask(server, a_request(a_route("anthropic", model="claude-opus-4-8", temperature=0.4)))
    assert outcome.kinds == ["bad_request"]
    assert outcome.failed is not None
    assert "deprecated" in outcome.failed.fault.message
