"""A run that left something out, or lost something: document, terminal and summary say so, and why."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.reporting.words import run_words
from tests.plugin.runs import document, make_suite, run, write_test
from tests.store.corpora import a_table_corpus

WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])


@pytest.fixture
def suite(pytester: pytest.Pytester, tmp_path: Path) -> pytest.Pytester:
    """The shipped claims on one base of which P1 alone can be decided, so that four of five are errors."""
    a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)
    make_suite(pytester)
    return pytester


def said_everywhere(suite: pytest.Pytester, terminal: str) -> list[str]:
    """Return what the document says of its run, once the terminal and the summary are found to say the same."""
    words = run_words(document(suite)["run"])
    lines, summary = terminal.splitlines(), (suite.path / "reports" / "summary.md").read_text(encoding="utf-8")
    for line in words:
        assert lines.count(line) == 1
        word, _, rest = line.partition(": ")
        assert f"> **{word}** `{rest}`<br>" in summary.splitlines()
    return words


def whole_run(
    suite: pytest.Pytester, tmp_path: Path, *arguments: str, workers: list[str], fresh: bool = False
) -> tuple[int, list[str]]:
    """Return the exit code and what is said; an interrupt needs a fresh process, or it stops this one too."""
    result = run(suite, "--corpus", tmp_path / "c", *arguments, *workers, fresh=fresh or bool(workers))
    return int(result.ret), said_everywhere(suite, result.stdout.str())


@WORKERS
def test_a_run_that_left_nothing_out_says_nothing(suite: pytest.Pytester, tmp_path: Path, workers: list[str]) -> None:
    code, words = whole_run(suite, tmp_path, workers=workers)
    assert (code, words) == (1, [])
    assert (document(suite)["run"]["complete"], document(suite)["run"]["partial"]) == (True, False)


@WORKERS
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["-m", "P1"], ["PARTIAL: 4 items deselected"], id="marker"),
        pytest.param(["-k", "p1 or p3"], ["PARTIAL: 3 items deselected"], id="keyword"),
        pytest.param(["--deselect", "test_claims.py::test_j2"], ["PARTIAL: 1 item deselected"], id="deselect"),
    ],
)
def test_what_was_deselected_is_counted(
    suite: pytest.Pytester, tmp_path: Path, arguments: list[str], words: list[str], workers: list[str]
) -> None:
    assert whole_run(suite, tmp_path, *arguments, workers=workers)[1] == words


@WORKERS
def test_last_failures_only_are_said(suite: pytest.Pytester, tmp_path: Path, workers: list[str]) -> None:
    whole_run(suite, tmp_path, workers=[])
    assert whole_run(suite, tmp_path, "--lf", workers=workers) == (1, ["PARTIAL: last failures only"])
    assert document(suite)["run"]["selected"] == 4


@WORKERS
def test_last_failures_of_a_run_that_had_none_are_everything(
    suite: pytest.Pytester, tmp_path: Path, workers: list[str]
) -> None:
    assert whole_run(suite, tmp_path, "--lf", workers=workers) == (1, [])
    assert document(suite)["run"]["last_failed"] is False


@WORKERS
@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_a_run_that_stops_at_a_failure_says_what_stopped_it(
    suite: pytest.Pytester, tmp_path: Path, option: str, workers: list[str]
) -> None:
    failures = {"-x": 1, "--maxfail=2": 2}[option]
    more = "\n".join(f"def test_more_{n}(): pass" for n in range(40))  # so that no worker is at its end already
    write_test(suite, more, name="test_z_more")
    code, words = whole_run(suite, tmp_path, option, workers=workers)
    assert code in (1, 2)
    (line,) = words
    assert line.startswith("INCOMPLETE: ")
    assert line.endswith(f" of 45 items did not finish (stopping after {failures} failures)")


@pytest.mark.parametrize("restart", [[], ["--max-worker-restart=0"]], ids=["restarted", "not-restarted"])
def test_a_worker_that_died_is_said(suite: pytest.Pytester, tmp_path: Path, restart: list[str]) -> None:
    write_test(suite, "def test_dies():\n    import os\n    os._exit(1)\n", name="test_b_dies")
    code, words = whole_run(suite, tmp_path, *restart, workers=["-n2"])
    assert code == 1
    (line,) = words
    assert line.startswith("INCOMPLETE: ")
    assert line.endswith(" did not finish (1 worker died)")


@WORKERS
def test_an_interrupt_in_a_test_is_said(suite: pytest.Pytester, tmp_path: Path, workers: list[str]) -> None:
    write_test(suite, "def test_stops():\n    raise KeyboardInterrupt\n", name="test_z_stops")
    code, words = whole_run(suite, tmp_path, workers=workers, fresh=True)
    assert code == 2
    stopped = "worker gw? received keyboard-interrupt" if workers else "KeyboardInterrupt"
    pytest.LineMatcher(words).fnmatch_lines([f"INCOMPLETE: * did not finish ({stopped})"])
    assert document(suite)["run"]["interrupted"] is True


def test_pytest_exit_is_said_with_its_reason(suite: pytest.Pytester, tmp_path: Path) -> None:
    write_test(suite, "def test_stops():\n    pytest.exit('enough \\x1b[31m')\n", name="test_z_stops")
    code, words = whole_run(suite, tmp_path, workers=[], fresh=True)
    assert (code, words) == (2, [r"INCOMPLETE: 1 of 6 items did not finish (enough \x1b[31m)"])


@WORKERS
def test_a_signal_from_outside_is_said(suite: pytest.Pytester, tmp_path: Path, workers: list[str]) -> None:
    waiting = "def test_waits():\n    import pathlib, time\n    pathlib.Path('waiting').touch()\n    time.sleep(120)\n"
    write_test(suite, waiting, name="test_z_waits")
    command = [sys.executable, "-m", "pytest", f"--corpus={tmp_path / 'c'}", "-p", "no:cacheprovider", *workers]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    child = subprocess.Popen(command, cwd=suite.path, start_new_session=True, **options)
    try:
        until = time.monotonic() + 100
        while not (suite.path / "waiting").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.5 if workers else 0)  # the other worker's last reports are on their way
        os.killpg(child.pid, signal.SIGINT)  # as Ctrl-C: to all of them
        text, _ = child.communicate(timeout=100)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 2
    assert said_everywhere(suite, text) == ["INCOMPLETE: 1 of 6 items did not finish (KeyboardInterrupt)"]
    assert not list((suite.path / "reports").glob(".tutoreval-*"))
