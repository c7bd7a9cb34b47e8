"""kill -9 at seeded moments: nothing completed is asked for again, nothing is lost, the corpus is the same in the end."""

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
        self.kills = self.completed_when_killed = 0
        self.lost: Counter[str] = Counter()
        self._log = corpus.parent / "child.log"

    def run(self, arguments: Sequence[str | Path], *, kills: int, spread: float) -> None:
        """Kill the command `kills` times, within `spread` seconds of its first request or while it starts, then let
        it end."""
        for _ in range(kills):
            with self._log.open("w") as log:
                child = subprocess.Popen(command(*arguments), env=child_environ(), stdout=log, stderr=log)
            self._wait_for_a_moment(child, spread)
            child.kill()
            if child.wait() == -9:
                self.kills += 1
                self._account()
            else:
                self.completed_when_killed += 1
                assert child.returncode == 0, self._log.read_text()
                return
        finished = tutoreval(*arguments[1:]) if arguments[0] == "tutoreval" else tutoreval(*arguments)
        assert finished.returncode == 0, finished.stdout + finished.stderr

    def _wait_for_a_moment(self, child: "subprocess.Popen[bytes]", spread: float) -> None:
        if self.rng.random() < 0.15:
            time.sleep(self.rng.uniform(0, 1.0))
            return
        before = len(self.server.journal)
        while child.poll() is None and len(self.server.journal) == before:
            time.sleep(0.002)
        time.sleep(self.rng.uniform(0, spread))

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
    ("collecting_kills", "judging_kills", "spreads"),
    [
        pytest.param(9, 6, (0.9, 0.5), id="15-kills"),
        pytest.param(120, 80, (0.2, 0.12), id="200-kills", marks=pytest.mark.slow),
    ],
)
def test_kill_9_loses_nothing_and_repeats_only_what_was_in_flight(
    tmp_path: Path, collecting_kills: int, judging_kills: int, spreads: tuple[float, float]
) -> None:
    with LoopbackServer([Step(times=-1, delay=0.002)], answer=speak) as whole:
        study = a_study_file(tmp_path / "whole-study", whole.base_urls)
        calm = tmp_path / "whole" / "corpus"
        for arguments in (("collect", *COLLECT), ("judge", *JUDGE)):
            finished = tutoreval(*arguments, "--corpus", calm, "--study", study)
            assert finished.returncode == 0, finished.stdout + finished.stderr
        asked_calmly = asked_bodies(whole)
    with LoopbackServer([Step(times=-1, delay=0.002)], answer=speak) as server:
        study = a_study_file(tmp_path / "study", server.base_urls)
        corpus = tmp_path / "killed" / "corpus"
        corpus.parent.mkdir()
        killer = Killer(server, corpus, study, Random(20261130))
        places = ("--corpus", corpus, "--study", study)
        killer.run(["collect", *COLLECT, *places], kills=collecting_kills, spread=spreads[0])
        assert len(list((corpus / "sessions").rglob("*.jsonl"))) == 30
        assert seals_hold(corpus)
        killer.run(["judge", *JUDGE, *places], kills=judging_kills, spread=spreads[1])
        asked = asked_bodies(server)
    assert killer.kills + killer.completed_when_killed * 1000 >= collecting_kills + judging_kills
    assert asked - killer.lost == asked_calmly
    assert 0 < killer.lost.total()
    assert corpus_facts(corpus) == corpus_facts(calm)
    assert seals_hold(corpus)
    assert seals_hold(calm)
