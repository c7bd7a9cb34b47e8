"""Two processes on one corpus: the work is divided, nothing is asked twice, a dead holder blocks nobody."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from tests.live.running import a_study_file, asked_bodies, bodies_on_disk, child_environ, command, seals_hold, tutoreval
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

WHAT = ("--base", "sonnet", "--condition", "cold,conv", "--replicates", "4", "--judge", "opus")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer([Step(times=-1, delay=0.003)], answer=speak) as server:
        yield server


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command(*arguments), env=child_environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def first_calls(server: LoopbackServer, n_calls: int = 5) -> None:
    """Wait until a client is at work."""
    until = time.monotonic() + 30
    while len(server.journal) < n_calls:
        assert time.monotonic() < until
        time.sleep(0.005)


@pytest.mark.parametrize("jobs", ["256", "2"])
def test_two_processes_divide_the_work_without_a_duplicate(server: LoopbackServer, tmp_path: Path, jobs: str) -> None:
    study = a_study_file(tmp_path, server.base_urls)
    places = ("--corpus", tmp_path / "corpus", "--study", study, "--jobs", jobs)
    pair = [start("collect", *WHAT, *places) for _ in range(2)]
    outputs = [child.communicate(timeout=120)[0] for child in pair]
    assert [child.returncode for child in pair] == [0, 0], outputs
    instrument = extend_instrument(load_instrument(), read_study_file(study))
    done, due = bodies_on_disk(tmp_path / "corpus", instrument)
    assert not due
    assert asked_bodies(server) == done
    assert seals_hold(tmp_path / "corpus")
    if jobs == "2":
        finished = [int(output.rpartition("sessions: ")[2].split()[0]) for output in outputs]
        assert sum(finished) == 8
        assert min(finished) > 0, "one process only waited for the other"


def test_a_killed_holder_blocks_nobody(server: LoopbackServer, tmp_path: Path) -> None:
    study = a_study_file(tmp_path, server.base_urls)
    places = ("--corpus", tmp_path / "corpus", "--study", study)
    holder = start("collect", *WHAT, *places)
    first_calls(server)
    waiting = start("collect", *WHAT, *places)
    time.sleep(1.0)
    holder.kill()
    holder.communicate()
    output, _ = waiting.communicate(timeout=120)
    assert waiting.returncode == 0, output


def test_a_process_that_waits_for_another_stops_at_once_when_asked(server: LoopbackServer, tmp_path: Path) -> None:
    server.add(Step(times=-1, delay=30))
    slow = LoopbackServer([Step(times=-1, delay=30)], answer=speak)
    with slow:
        study = a_study_file(tmp_path, slow.base_urls)
        places = ("--corpus", tmp_path / "corpus", "--study", study)
        holder = start("collect", *WHAT, *places)
        first_calls(slow)
        waiting = start("collect", *WHAT, *places)
        time.sleep(1.5)
        waiting.send_signal(signal.SIGINT)
        output, _ = waiting.communicate(timeout=10)
        holder.kill()
        holder.communicate()
    assert waiting.returncode == 130, output
    assert "another process is writing it" in output


def test_a_second_run_pays_nothing(server: LoopbackServer, tmp_path: Path) -> None:
    study = a_study_file(tmp_path, server.base_urls)
    what = ("--base", "sonnet", "--condition", "cold", "--replicates", "2", "--corpus", tmp_path / "corpus")
    assert tutoreval("collect", *what, "--study", study).returncode == 0
    before = len(server.journal)
    again = tutoreval("collect", *what, "--study", study)
    assert again.returncode == 0
    assert "0 finished, 2 were there" in again.stdout
    assert len(server.journal) == before
