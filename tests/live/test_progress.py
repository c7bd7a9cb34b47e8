"""Progress: lines where output is a file, a bar where it is a terminal, and last counts that are right."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.live import Needs, Progress, display, run_live
from pytest_tutoreval.live.display import show_progress
from tests.live.running import ROOT, a_run, a_study_file, child_environ, command
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

NEEDS = Needs.crossed(bases=["sonnet"], conditions=["cold", "conv"], judges=["opus"], rubrics=["helpfulness"])
COUNTS = re.compile(r"(\d+)/(\d+) sessions, (\d+) calls, (\d+) tokens")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer([Step(times=-1, delay=0.01)], answer=speak) as server:
        yield server


def on_a_terminal(arguments: list[str], cwd: Path) -> tuple[int, str]:
    """Return exit code and output of a command whose output is a pseudo-terminal."""
    ours, theirs = pty.openpty()
    environ = child_environ(TERM="xterm-256color", COLUMNS="160", LINES="40")
    with subprocess.Popen(arguments, cwd=cwd, env=environ, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last writer is gone
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    return child.returncode, said.decode("utf-8", "replace")


def test_counts_are_right_at_the_end(server: LoopbackServer, tmp_path: Path) -> None:
    progress = Progress()
    outcome = run_live(a_run(server, tmp_path / "corpus", NEEDS), progress)
    assert outcome.complete
    assert (progress.sessions_done, progress.sessions_due) == (4, 4)
    assert (progress.files_done, progress.ratings_due) == (2, 2)
    assert progress.calls == len(server.journal)
    assert progress.tokens == sum(each.input_tokens + each.output_tokens for each in outcome.spending.values())
    assert progress.seconds_left == 0
    assert progress.line().startswith(f"4/4 sessions, 2/2 rating files, {progress.calls} calls, ")


def test_where_there_is_no_terminal_a_line_is_written_now_and_then(
    server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "_EVERY", 0.05)
    lines: list[str] = []
    with show_progress(lines.append, terminal=None) as progress:
        assert run_live(a_run(server, tmp_path / "corpus", NEEDS), progress).complete
    assert len(lines) > 3
    calls = [int(re.findall(r"(\d+) calls", line)[0]) for line in lines]
    assert calls == sorted(calls)
    assert calls[-1] == len(server.journal)
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_the_command_writes_plain_lines_into_a_pipe(server: LoopbackServer, tmp_path: Path) -> None:
    finished = subprocess.run(
        command(
            *(
                "collect",
                "--corpus",
                tmp_path / "corpus",
                "--base",
                "sonnet",
                "--condition",
                "cold",
                "--replicates",
                "2",
            ),
            *("--study", a_study_file(tmp_path, server.base_urls)),
        ),
        env=child_environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    output = finished.stdout + finished.stderr
    assert finished.returncode == 0
    assert "\x1b" not in output
    done, due, calls, _ = COUNTS.findall(output)[-1]
    assert (done, due, int(calls)) == ("2", "2", len(server.journal))


def test_the_command_draws_a_bar_on_a_terminal(server: LoopbackServer, tmp_path: Path) -> None:
    code, output = on_a_terminal(
        command(
            *(
                "collect",
                "--corpus",
                tmp_path / "corpus",
                "--base",
                "sonnet",
                "--condition",
                "cold",
                "--replicates",
                "4",
            ),
            *("--study", a_study_file(tmp_path, server.base_urls)),
        ),
        tmp_path,
    )
    assert code == 0
    assert "━" in output, "no bar was drawn"
    done, due, calls, _ = COUNTS.findall(output)[-1]
    assert (done, due, int(calls)) == ("4", "4", len(server.journal))


def test_pytest_draws_a_bar_on_a_terminal_and_goes_on_below(server: LoopbackServer, tmp_path: Path) -> None:
    study = a_study_file(tmp_path, server.base_urls)
    code, output = on_a_terminal(
        [
            *(sys.executable, "-m", "pytest", str(ROOT / "suites" / "test_claims.py"), "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), "--live", "--base", "sonnet", "-m", "P1", "-n", "2"),
            *("--corpus", str(tmp_path / "corpus"), "--tutoreval-study", str(study)),
            *("--tutoreval-report", str(tmp_path / "report")),
        ],
        tmp_path,
    )
    assert code == 0, output
    assert "━" in output
    done, due, calls, _ = COUNTS.findall(output)[-1]
    assert (done, due, int(calls)) == ("20", "20", len(server.journal))
    assert "claims" in output.rpartition("sessions: 20 finished")[2]
