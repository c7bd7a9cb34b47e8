"""Signals: the first finishes the calls in flight, the second cancels; both leave a corpus that resumes."""

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from tests.live.running import a_study_file, asked_bodies, bodies_on_disk, child_environ, command, seals_hold, tutoreval
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

COLLECT = ("--base", "sonnet", "--condition", "cold,conv", "--replicates", "3")


def interrupted(
    server: LoopbackServer, arguments: Sequence[str | Path], signals: Sequence[signal.Signals], *, after: int
) -> tuple[int, str]:
    """Return exit code and output of a command that gets signals once `after` requests have arrived."""
    enough = len(server.journal) + after
    with subprocess.Popen(
        command(*arguments), env=child_environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        while len(server.journal) < enough:
            assert child.poll() is None, child.stdout and child.stdout.read()
            time.sleep(0.005)
        for number in signals:
            child.send_signal(number)
            time.sleep(0.3)
        output, _ = child.communicate(timeout=20)
    return child.returncode, output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_loses_no_call(tmp_path: Path, number: signal.Signals) -> None:
    with LoopbackServer([Step(times=-1, delay=0.1)], answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        what = ("collect", *COLLECT, "--judge", "opus", "--corpus", tmp_path / "corpus", "--study", study)
        code, output = interrupted(server, what, [number], after=20)
        assert code == 130, output
        assert "stopping: calls in flight finish" in output
        assert "Traceback" not in output
        assert "sessions: 0 finished, 0 were there, 6 unfinished" in output
        instrument = extend_instrument(load_instrument(), read_study_file(study))
        done, _ = bodies_on_disk(tmp_path / "corpus", instrument)
        assert asked_bodies(server) == done
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        finished = tutoreval("collect", *COLLECT, "--corpus", tmp_path / "corpus", "--study", study)
        assert finished.returncode == 0, finished.stderr
        everything, _ = bodies_on_disk(tmp_path / "corpus", instrument)
        assert asked_bodies(server) == everything - done


def test_a_signal_during_judging_loses_no_rating(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, model="claude-opus-4-8", delay=0.1)], answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls, concurrency=4)
        places = ("--corpus", tmp_path / "corpus", "--study", study)
        assert tutoreval("collect", *COLLECT, *places).returncode == 0
        code, output = interrupted(server, ("judge", "--judge", "opus", *places), [signal.SIGINT], after=12)
        assert code == 130, output
        instrument = extend_instrument(load_instrument(), read_study_file(study))
        assert asked_bodies(server) == bodies_on_disk(tmp_path / "corpus", instrument)[0]
        assert tutoreval("judge", "--judge", "opus", *places).returncode == 0
        done, due = bodies_on_disk(tmp_path / "corpus", instrument)
        assert asked_bodies(server) == done
        assert not due
        assert seals_hold(tmp_path / "corpus")


def test_the_second_signal_cancels_and_what_was_completed_is_kept(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=18), Step(times=-1, delay=60)], answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        what = ("collect", *COLLECT, "--corpus", tmp_path / "corpus", "--study", study)
        started = time.monotonic()
        code, output = interrupted(server, what, [signal.SIGINT, signal.SIGINT], after=22)
        assert time.monotonic() - started < 15
        assert code == 130, output
        assert "cancelled: calls in flight are lost" in output
        assert "Traceback" not in output
        instrument = extend_instrument(load_instrument(), read_study_file(study))
        done, due = bodies_on_disk(tmp_path / "corpus", instrument)
        assert done.total() == 18
        lost = asked_bodies(server) - done
        assert not lost - due
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        assert tutoreval("collect", *COLLECT, "--corpus", tmp_path / "corpus", "--study", study).returncode == 0
        assert asked_bodies(server) == bodies_on_disk(tmp_path / "corpus", instrument)[0] - done
