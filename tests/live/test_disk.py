"""A disk that is full, a folder that cannot be written, a corpus that is somebody else's."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.errors import CorpusError, ForeignInstrument
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.live import Needs
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS
from pytest_tutoreval.simulating import simulate_corpus
from pytest_tutoreval.store.growing import GrowingFile
from pytest_tutoreval.store.lines import LineWriter
from tests.live.running import (
    a_study_file,
    asked_bodies,
    bodies_on_disk,
    corpus_facts,
    go,
    seals_hold,
    short_instrument,
    tutoreval,
)
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

NEEDS = Needs.crossed(bases=["sonnet"], conditions=["conv", "ped"], judges=["opus"], rubrics=["helpfulness"])


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 160 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.decode()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def remount(place: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)


class FullAfter:
    """Stands for fsync on a disk that is full from the n-th line on."""

    def __init__(self, lines: int) -> None:
        self.left = lines

    def __call__(self, descriptor: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("part", ["sessions", "ratings"])
def test_a_full_disk_says_so_and_loses_nothing_that_was_completed(
    server: LoopbackServer, small_disk: Path, tmp_path: Path, part: str
) -> None:
    corpus = small_disk / "corpus"
    calm = tmp_path / "calm" / "corpus"
    assert go(server, calm, NEEDS).complete
    sessions_only = Needs(NEEDS.cells)
    if part == "ratings":
        assert go(server, corpus, sessions_only).complete
    asked_before = asked_bodies(server)
    used = sum(path.stat().st_blocks * 512 for path in small_disk.rglob("*"))
    (small_disk / "ballast").write_bytes(bytes(160 * 1024 - used - (40 if part == "sessions" else 12) * 1024))
    with_room = None
    try:
        outcome = go(server, corpus, NEEDS)
    except CorpusError as exc:
        said = [str(exc)]
    else:
        with_room = outcome
        said = [*outcome.collection.unfinished.values(), *outcome.judging.incomplete.values()]
    assert any("cannot be written (No space left on device)" in reason for reason in said), (said, with_room)
    assert any("make room" in reason or "may write to" in reason for reason in said)
    done, _ = bodies_on_disk(corpus, short_instrument())
    (small_disk / "ballast").unlink()
    remount(small_disk, "size=4m")
    before = asked_bodies(server)
    assert go(server, corpus, NEEDS).complete
    assert corpus_facts(corpus) == corpus_facts(calm)
    assert seals_hold(corpus)
    assert asked_bodies(server) - before == bodies_on_disk(corpus, short_instrument())[0] - done
    assert before.total() >= asked_before.total()


@pytest.mark.parametrize("lines", [0, 1, 2, 7, 30, 41])
def test_a_write_that_fails_anywhere_is_resumed(server: LoopbackServer, tmp_path: Path, lines: int) -> None:
    assert go(server, tmp_path / "calm" / "corpus", NEEDS).complete
    corpus = tmp_path / "corpus"
    outcome = go(server, corpus, NEEDS, sync=FullAfter(lines))
    assert not outcome.complete
    assert all("No space left" in reason for reason in outcome.collection.unfinished.values())
    assert go(server, corpus, NEEDS).complete
    assert corpus_facts(corpus) == corpus_facts(tmp_path / "calm" / "corpus")
    assert seals_hold(corpus)


def test_a_second_failed_write_leaves_no_hole(tmp_path: Path) -> None:
    sync = FullAfter(1)
    with LineWriter(tmp_path / "lines.jsonl", sync=sync) as writer:
        writer.append({"line": 1})
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                writer.append({"line": 2, "text": "x" * 100})
        sync.left = 1
        writer.append({"line": 3})
    assert (tmp_path / "lines.jsonl").read_bytes() == b'{"line":1}\n{"line":3}\n'


def test_a_file_whose_header_cannot_be_written_is_closed_and_unlocked(tmp_path: Path) -> None:
    path = tmp_path / "corpus" / "a.jsonl"
    with pytest.raises(CorpusError, match="No space left"):
        GrowingFile(path, locks=tmp_path / "corpus" / ".locks", header={"a": 1}, sync=FullAfter(0))
    with GrowingFile(path, locks=tmp_path / "corpus" / ".locks", header={"a": 1}) as file:
        assert file.lines == []


def test_a_read_only_corpus_is_refused_before_anything_is_sent(server: LoopbackServer, small_disk: Path) -> None:
    remount(small_disk, "ro")
    finished = tutoreval(
        *("collect", "--corpus", small_disk / "corpus", "--base", "sonnet"),
        *("--study", a_study_file(small_disk.parent / "study", server.base_urls)),
    )
    assert finished.returncode == 1
    assert "cannot be written (Read-only file system)" in finished.stderr
    assert len(finished.stderr.splitlines()) == 1
    assert server.journal == []


def test_a_file_in_place_of_the_corpus_is_refused_before_anything_is_sent(
    server: LoopbackServer, tmp_path: Path
) -> None:
    (tmp_path / "corpus").write_text("mine")
    with pytest.raises(CorpusError, match="cannot be written"):
        go(server, tmp_path / "corpus", NEEDS)
    assert (tmp_path / "corpus").read_text() == "mine"
    assert server.journal == []


def test_a_corpus_under_another_instrument_is_refused_before_anything_is_sent(
    server: LoopbackServer, tmp_path: Path
) -> None:
    go(server, tmp_path / "corpus", Needs.crossed(bases=["sonnet"], conditions=["cold"]))
    before = len(server.journal)
    with pytest.raises(ForeignInstrument, match="never mixed"):
        go(server, tmp_path / "corpus", NEEDS, instrument=short_instrument(2))
    assert len(server.journal) == before


def test_a_simulated_corpus_is_refused_before_anything_is_sent(server: LoopbackServer, tmp_path: Path) -> None:
    simulate_corpus(
        tmp_path / "corpus",
        load_instrument(),
        seed=1,
        scripts={"sonnet": SCRIPTS["sonnet"]},
        judge_scripts={"opus": JUDGE_SCRIPTS["opus"]},
        replicates=[0],
    )
    with pytest.raises(CorpusError, match="a corpus of simulated sessions; recorded sessions are not mixed"):
        go(server, tmp_path / "corpus", NEEDS, instrument=load_instrument())
    assert server.journal == []
