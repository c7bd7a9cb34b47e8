"""kill -9 at seeded moments: nothing completed is asked for again or lost, and the corpus ends up the same."""

import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from tests.live.running import (
    a_study_file,
    asked_bodies,
    bodies_on_disk,
    child_environ,
    command,
    corpus_facts,
    seals_hold,
    tutoreval,
)
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

COLLECT = ("--base", "sonnet", "--condition", "cold,conv,ped")
JUDGE = ("--judge", "opus", "--rubric", "helpfulness")


def quiet(server: LoopbackServer) -> None:
    """Wait until a killed client's last requests have arrived."""
    seen = -1
    while seen != len(server.journal):
        seen = len(server.journal)
        time.sleep(0.05)


class Killer:
    """Runs one command again and again, killing it at random moments, and holds the server's journal against disk."""

    def __init__(self, server: LoopbackServer, corpus: Path, study: Path, rng: Random) -> None:
        self.server, self.corpus, self.rng = server, corpus, rng
        self.instrument = extend_instrument(load_instrument(), read_study_file(study))
        self.kills = 0
        self.lost: Counter[str] = Counter()
        self._log = corpus.parent / "child.log"

    def run(self, arguments: Sequence[str | Path], *, kills: int, n_calls: int) -> None:
        """Kill the command `kills` times, then let it end. `n_calls` is what it has to make in all.

        A moment is a number of requests, drawn so that the work lasts for all kills, and some milliseconds more; one
        in eight is while the process starts.
        """
        before = len(self.server.journal) - self.lost.total()
        for left in range(kills, 0, -1):
            with self._log.open("w") as log:
                child = subprocess.Popen(command(*arguments), env=child_environ(), stdout=log, stderr=log)
            if self.rng.random() < 0.125:
                time.sleep(self.rng.uniform(0, 0.6))
            else:
                remaining = n_calls - (len(self.server.journal) - self.lost.total() - before)
                self._wait(child, 1 + int(self.rng.uniform(0, 1.4 * remaining / (left + 1))))
            child.kill()
            assert child.wait() == -9, self._log.read_text()
            self.kills += 1
            self._account()
        finished = tutoreval(*arguments)
        assert finished.returncode == 0, finished.stdout + finished.stderr

    def _wait(self, child: "subprocess.Popen[bytes]", n_requests: int) -> None:
        enough = len(self.server.journal) + n_requests
        while child.poll() is None and len(self.server.journal) < enough:
            time.sleep(0.001)
        time.sleep(self.rng.uniform(0, 0.015))

    def _account(self) -> None:
        """Every body that arrived is on disk, was lost in an earlier kill, or was just then due and in flight."""
        quiet(self.server)
        asked = asked_bodies(self.server)
        done, due = bodies_on_disk(self.corpus, self.instrument) if self.corpus.is_dir() else (Counter(), Counter())
        assert not done - asked, "a call is on disk that was never asked"
        lost_now = asked - done - self.lost
        assert not lost_now - due, "a call was asked that was on disk already, or was not due"
        self.lost += lost_now


@pytest.mark.parametrize(
    ("collecting_kills", "judging_kills"),
    [
        pytest.param(9, 6, id="15-kills"),
        pytest.param(120, 80, id="200-kills", marks=pytest.mark.endurance),
    ],
)
def test_kill_9_loses_nothing_and_repeats_only_what_was_in_flight(
    tmp_path: Path, collecting_kills: int, judging_kills: int
) -> None:
    calls = []
    with LoopbackServer([Step(times=-1, delay=0.002)], answer=speak) as whole:
        study = a_study_file(tmp_path / "whole-study", whole.base_urls)
        calm = tmp_path / "whole" / "corpus"
        for arguments in (("collect", *COLLECT), ("judge", *JUDGE)):
            finished = tutoreval(*arguments, "--corpus", calm, "--study", study)
            assert finished.returncode == 0, finished.stdout + finished.stderr
            calls.append(len(whole.journal))
        asked_calmly = asked_bodies(whole)
    with LoopbackServer([Step(times=-1, delay=0.002)], answer=speak) as server:
        study = a_study_file(tmp_path / "study", server.base_urls)
        corpus = tmp_path / "killed" / "corpus"
        corpus.parent.mkdir()
        killer = Killer(server, corpus, study, Random(20261130))
        places = ("--corpus", corpus, "--study", study)
        killer.run(["collect", *COLLECT, *places], kills=collecting_kills, n_calls=calls[0])
        assert len(list((corpus / "sessions").rglob("*.jsonl"))) == 30
        assert seals_hold(corpus)
        killer.run(["judge", *JUDGE, *places], kills=judging_kills, n_calls=calls[1] - calls[0])
        asked = asked_bodies(server)
    assert killer.kills == collecting_kills + judging_kills
    assert asked - killer.lost == asked_calmly
    # Calls in flight were lost, so the kills met the run at work.
    assert killer.lost.total() > killer.kills
    assert corpus_facts(corpus) == corpus_facts(calm)
    assert seals_hold(corpus)
    assert seals_hold(calm)
