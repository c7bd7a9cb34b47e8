"""Torn files: cut anywhere in its last line, a file is taken up where it was whole; a foreign one is refused."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.live import Needs
from tests.live.running import asked_bodies, corpus_facts, go, seals_hold, whole_lines
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

NEEDS = Needs.crossed(bases=["sonnet"], conditions=["conv"], judges=["opus"], rubrics=["helpfulness"])
SESSION = "sessions/sonnet/conv/r0.jsonl"
RATINGS = "ratings/opus/helpfulness/sonnet/conv/r0.jsonl"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


@pytest.fixture(scope="module")
def whole(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "corpus"
    assert go(server, folder, NEEDS, replicates=(0,)).complete
    return folder


def cut(whole: Path, target: Path, name: str, *, lines: int, spare: int) -> None:
    """Copy a corpus without seals, one of its files ending `spare` bytes into the line after its first `lines`."""
    shutil.copytree(whole, target, dirs_exist_ok=True)
    manifest = (target / "corpus.toml").read_text(encoding="utf-8")
    (target / "corpus.toml").write_text(manifest.partition("[files]")[0], encoding="utf-8")
    data = (whole / name).read_bytes().split(b"\n")
    (target / name).write_bytes(b"".join(line + b"\n" for line in data[:lines]) + data[lines][:spare])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param(SESSION, 0, id="session-header"),
        pytest.param(SESSION, 1, id="session-first-call"),
        pytest.param(SESSION, -1, id="session-closing-line"),
        pytest.param(RATINGS, 0, id="rating-header"),
        pytest.param(RATINGS, 2, id="rating"),
        pytest.param(RATINGS, -1, id="last-rating"),
    ],
)
def test_every_torn_end_resumes_to_the_same_corpus(
    server: LoopbackServer, whole: Path, tmp_path: Path, name: str, line: int
) -> None:
    data = (whole / name).read_bytes().split(b"\n")[:-1]
    number = line % len(data)
    expected = corpus_facts(whole)
    # Byte by byte at both ends of the line and through its middle in larger steps: parsing never sees a torn line.
    length = len(data[number])
    places = sorted({*range(min(40, length + 1)), *range(40, length, 37), *range(max(0, length - 12), length + 1)})
    for spare in places:
        cut(whole, tmp_path / "torn", name, lines=number, spare=spare)
        before = len(server.journal)
        assert go(server, tmp_path / "torn", NEEDS, replicates=(0,)).complete, f"cut after {spare} bytes"
        assert corpus_facts(tmp_path / "torn") == expected, f"cut after {spare} bytes"
        lost = max(0, len(data) - max(number, 1)) - (name == SESSION)
        assert len(server.journal) - before == lost, f"cut after {spare} bytes"
        assert seals_hold(tmp_path / "torn")


def test_a_file_begun_with_other_settings_is_refused_and_nothing_is_sent(
    server: LoopbackServer, whole: Path, tmp_path: Path
) -> None:
    cut(whole, tmp_path / "other", SESSION, lines=5, spare=0)
    path = tmp_path / "other" / SESSION
    header, *calls = path.read_text(encoding="utf-8").splitlines()
    changed = json.loads(header)
    changed["routes"]["tutor"]["model"] = "another-model"
    path.write_text("\n".join([json.dumps(changed), *calls]) + "\n", encoding="utf-8")
    before = len(server.journal)
    outcome = go(server, tmp_path / "other", Needs.crossed(bases=["sonnet"], conditions=["conv"]), replicates=(0,))
    (reason,) = outcome.collection.unfinished.values()
    assert "was begun with other settings (routes)" in reason
    assert len(server.journal) == before


def test_a_recorded_call_that_was_asked_otherwise_is_refused_and_nothing_is_sent(
    server: LoopbackServer, whole: Path, tmp_path: Path
) -> None:
    cut(whole, tmp_path / "edited", SESSION, lines=7, spare=0)
    path = tmp_path / "edited" / SESSION
    lines = path.read_text(encoding="utf-8").splitlines()
    edited = json.loads(lines[2]) | {"text": "What somebody would rather have said."}
    lines[2] = json.dumps(edited)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = len(server.journal)
    outcome = go(server, tmp_path / "edited", Needs.crossed(bases=["sonnet"], conditions=["conv"]), replicates=(0,))
    (reason,) = outcome.collection.unfinished.values()
    assert "call 3 was asked otherwise" in reason
    assert len(server.journal) == before


def test_a_finished_session_changed_after_its_seal_is_not_sealed_again(
    server: LoopbackServer, whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path / "changed")
    path = tmp_path / "changed" / SESSION
    path.write_text(path.read_text(encoding="utf-8").replace('"text":"', '"text":"Well. ', 1), encoding="utf-8")
    before = asked_bodies(server)
    outcome = go(server, tmp_path / "changed", NEEDS, replicates=(0,))
    assert not outcome.complete
    assert "changed since" in next(iter(outcome.judging.incomplete.values()))
    assert not seals_hold(tmp_path / "changed")
    assert asked_bodies(server) == before


def test_lines_are_whole_after_a_resumed_run(server: LoopbackServer, whole: Path) -> None:
    assert whole_lines(whole / SESSION)[-1]["end"] is True
