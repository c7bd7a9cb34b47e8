"""Keys: in no file, no output, no report, no traceback, not with --showlocals, not when a provider echoes them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.live.running import a_study_file, child_environ, command
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

CANARIES = {
    "ANTHROPIC_API_KEY": "canary+anthropic/5d2f81c0e7",
    "OPENAI_API_KEY": "canary+openai/91ab7730fe",
    "GEMINI_API_KEY": "canary+gemini/c07d5512aa",
    "OPENROUTER_API_KEY": "canary+openrouter/44e9b6d318",
}
ECHO = "your key {key} ({quoted key}) was refused"


def leaks(text: str) -> list[str]:
    """Return the canaries a text holds, whole, quoted, or by their telling end."""
    forms = {form for key in CANARIES.values() for form in (key, quote(key, safe=""), key[-10:])}
    return sorted(form for form in forms if form in text)


def files_with_leaks(folder: Path) -> list[str]:
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and leaks(path.read_bytes().decode("utf-8", "replace"))
    ]


@pytest.fixture(params=["fine", "echoed-500", "echoed-401", "echoed-header", "echoed-in-200", "echoed-garbage"])
def server(request: pytest.FixtureRequest) -> Iterator[LoopbackServer]:
    scripts = {
        "fine": [],
        "echoed-500": [Step(times=4, status=500, body={"error": {"message": ECHO}})],
        "echoed-401": [Step(times=3), Step(times=-1, status=401, body={"error": {"message": ECHO}})],
        "echoed-header": [
            Step(times=2, status=503, headers={"x-request-id": "{key}", "request-id": "{key}"}, body="{}")
        ],
        "echoed-in-200": [Step(times=3, error={"code": 500, "message": ECHO})],
        "echoed-garbage": [Step(times=3, body=f"<html>{ECHO}</html>")],
    }
    with LoopbackServer(scripts[request.param], answer=speak) as server:
        yield server


def test_keys_are_nowhere_after_collecting_and_judging(server: LoopbackServer, tmp_path: Path) -> None:
    study = a_study_file(tmp_path, server.base_urls)
    finished = subprocess.run(
        command(
            *("collect", "--corpus", tmp_path / "corpus", "--base", "sonnet,gpt,gemini", "--condition", "conv"),
            *("--replicates", "1", "--judge", "opus", "--study", study, "--max-retries", "3"),
        ),
        env=child_environ(**CANARIES),
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode in (0, 1)
    assert len(server.journal) > 3
    assert leaks(finished.stdout + finished.stderr) == []
    assert files_with_leaks(tmp_path) == []


CRASHING = """
import pytest
from pytest_tutoreval.providers import client, wire

def crash(*_, **__):
    raise ZeroDivisionError("a bug of ours")

{patch}

@pytest.mark.claim("P1")
def test_p1(decided, base):
    assert decided is None, "shown with locals"
"""


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param("", id="a-failing-test"),
        pytest.param("client.send = crash", id="a-crash-in-sending"),
        pytest.param("client.check_serialised = crash", id="a-crash-before-sending"),
        pytest.param("client.RouteClient._attempt = crash", id="a-crash-in-the-client"),
    ],
)
def test_keys_are_not_shown_with_locals(tmp_path: Path, patch: str) -> None:
    (tmp_path / "test_crash.py").write_text(CRASHING.format(patch=patch))
    unauthorised = [Step(times=40), Step(times=-1, status=401, body={"error": {"message": ECHO}})]
    with LoopbackServer(unauthorised, answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        finished = subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pytest",
                    "test_crash.py",
                    "-p",
                    "no:cacheprovider",
                    "--live",
                    "--base",
                    "sonnet",
                ),
                *("--showlocals", "-vv", "--full-trace", "--corpus", "corpus", "--tutoreval-study", str(study)),
                *("--tutoreval-report", "report", "--junitxml", "junit.xml", "-o", "log_level=DEBUG"),
                *("--log-file", "log.txt", "--log-file-level", "DEBUG"),
            ],
            env={name: value for name, value in child_environ(**CANARIES).items() if name != "PYTEST_ADDOPTS"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert finished.returncode != 0
    assert leaks(finished.stdout + finished.stderr) == []
    assert files_with_leaks(tmp_path) == []
    if patch:
        assert "a bug of ours" in finished.stdout + finished.stderr


def test_a_key_that_is_given_to_a_run_is_not_in_its_repr(tmp_path: Path) -> None:
    from pytest_tutoreval.frozen import load_instrument
    from pytest_tutoreval.live import LiveRun, Needs

    run = LiveRun(load_instrument(), tmp_path, Needs(), environ=CANARIES)
    assert leaks(repr(run)) == []


def test_a_canary_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "leak.txt").write_text(f"x{CANARIES['OPENAI_API_KEY']}x")
    assert files_with_leaks(tmp_path) == [str(tmp_path / "leak.txt")]
