"""Event loops: a live run works where there is none, where one is running, and where one has been."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_tutoreval.live import Needs, run_live
from tests.live.running import a_run, a_study_file, child_environ, go
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

COLD = Needs.crossed(bases=["sonnet"], conditions=["cold"])


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


def test_inside_a_running_loop(server: LoopbackServer, tmp_path: Path) -> None:
    async def main() -> bool:
        return run_live(a_run(server, tmp_path / "corpus", COLD)).complete

    assert asyncio.run(main())


def test_after_an_earlier_loop(server: LoopbackServer, tmp_path: Path) -> None:
    asyncio.run(asyncio.sleep(0))
    assert go(server, tmp_path / "first", COLD).complete
    assert go(server, tmp_path / "second", COLD).complete


def test_in_a_thread_that_is_not_the_main_one(server: LoopbackServer, tmp_path: Path) -> None:
    outcomes = []
    run = a_run(server, tmp_path / "corpus", COLD)
    thread = threading.Thread(target=lambda: outcomes.append(run_live(run)))
    thread.start()
    thread.join()
    assert outcomes[0].complete


INTERRUPTED = """
import asyncio
from pathlib import Path
from tests.live.running import a_run
from pytest_tutoreval.live import Needs, run_live
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

async def main():
    with LoopbackServer([Step(times=4), Step(times=-1, delay=60)], answer=speak) as server:
        run = a_run(server, Path("corpus"), Needs.crossed(bases=["sonnet"], conditions=["conv"]))
        print("begun", flush=True)
        run_live(run)

asyncio.run(main())
"""


def test_ctrl_c_cancels_a_run_inside_a_running_loop(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        env=child_environ(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        sessions = tmp_path / "corpus" / "sessions"
        until = time.monotonic() + 20
        while sum(path.read_bytes().count(b"\n") for path in sessions.rglob("*.jsonl")) < 6:
            assert time.monotonic() < until
            time.sleep(0.02)
        # The outer loop takes the first as its own, to be seen once it runs again.
        for _ in range(2):
            child.send_signal(signal.SIGINT)
            time.sleep(0.2)
        _, said = child.communicate(timeout=20)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in said


TESTS = """
import asyncio
import pytest
from tests.live.running import a_run
from pytest_tutoreval.live import Needs, run_live
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

COLD = Needs.crossed(bases=["sonnet"], conditions=["cold"])

@pytest.fixture
def outcome(tmp_path):
    with LoopbackServer(answer=speak) as server:
        return run_live(a_run(server, tmp_path / "corpus", COLD))

{mark}
async def test_in_an_async_test(tmp_path):
    with LoopbackServer(answer=speak) as server:
        assert run_live(a_run(server, tmp_path / "corpus", COLD)).complete

{mark}
async def test_with_an_asynchronous_test_around_a_plain_fixture(outcome):
    await asyncio.sleep(0)
    assert outcome.complete

def test_in_a_plain_test(outcome):
    assert outcome.complete
"""


@pytest.mark.parametrize(
    ("plugin", "mark", "options"),
    [
        pytest.param("anyio", "@pytest.mark.anyio", ["-p", "anyio"], id="anyio"),
        pytest.param("pytest_asyncio", "@pytest.mark.asyncio", ["--asyncio-mode=strict"], id="asyncio-strict"),
        pytest.param("pytest_asyncio", "", ["--asyncio-mode=auto"], id="asyncio-auto"),
    ],
)
def test_under_an_async_pytest_plugin(tmp_path: Path, plugin: str, mark: str, options: list[str]) -> None:
    if find_spec(plugin) is None:
        pytest.skip(f"{plugin} is not installed")
    backend = "\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n" if plugin == "anyio" else ""
    (tmp_path / "test_loops.py").write_text(TESTS.format(mark=mark) + backend)
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "test_loops.py", "-q", "-p", "no:cacheprovider", *options],
        env=child_environ(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "3 passed" in finished.stdout


@pytest.mark.parametrize("plugin", ["anyio", "pytest_asyncio"])
def test_live_claims_beside_an_async_pytest_plugin(server: LoopbackServer, tmp_path: Path, plugin: str) -> None:
    if find_spec(plugin) is None:
        pytest.skip(f"{plugin} is not installed")
    mark = "@pytest.mark.anyio" if plugin == "anyio" else "@pytest.mark.asyncio"
    (tmp_path / "test_both.py").write_text(
        f"import pytest\n\n\n@pytest.mark.claim('P1')\ndef test_p1(decided, base):\n    assert decided\n\n\n"
        f"{mark}\nasync def test_async():\n    pass\n\n\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    study = a_study_file(tmp_path, server.base_urls)
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "test_both.py", "-p", "no:cacheprovider", "--live", "--base", "sonnet"),
            *("--corpus", "corpus", "--tutoreval-study", str(study), "--tutoreval-report", "report"),
            *(["-p", "anyio"] if plugin == "anyio" else []),
        ],
        env=child_environ(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "sessions: 20 finished" in finished.stdout
