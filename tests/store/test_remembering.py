"""What a corpus keeps of what it read: no more than it was told to, and no longer."""

from collections import Counter
from pathlib import Path

import pytest

from pytest_tutoreval.errors import BrokenSession
from pytest_tutoreval.records import SessionKey
from pytest_tutoreval.store import Corpus, open_corpus, ratings_path, session_path
from tests.store.corpora import DEMO, demo_copy

KEY, OTHER = SessionKey("sonnet", "ped", 3), SessionKey("sonnet", "ped", 4)
SIZE = (DEMO / session_path(KEY)).stat().st_size


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file was read, by its path in the corpus."""
    counted: Counter[str] = Counter()
    read_bytes = Path.read_bytes

    def counting(path: Path) -> bytes:
        counted[path.relative_to(DEMO).as_posix() if path.is_relative_to(DEMO) else path.name] += 1
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counting)
    return counted


@pytest.fixture
def corpus() -> Corpus:
    return open_corpus(DEMO)


def test_a_file_is_read_once_while_it_is_remembered(corpus: Corpus, reads: Counter[str]) -> None:
    with corpus.remembering(10_000_000):
        assert corpus.session(KEY) == corpus.session(KEY)
        assert corpus.ratings("sol", "pedagogy", KEY) == corpus.ratings("sol", "pedagogy", KEY)
    assert reads == {session_path(KEY): 1, ratings_path("sol", "pedagogy", KEY): 1}


def test_nothing_is_remembered_unasked_or_afterwards(corpus: Corpus, reads: Counter[str]) -> None:
    corpus.session(KEY)
    with corpus.remembering(10_000_000):
        corpus.session(KEY)
    corpus.session(KEY)
    assert reads == {session_path(KEY): 3}


def test_no_more_than_the_most_is_kept(corpus: Corpus, reads: Counter[str]) -> None:
    with corpus.remembering(SIZE):
        for key in (KEY, OTHER, KEY, OTHER):
            corpus.session(key)
    assert reads == {session_path(KEY): 1, session_path(OTHER): 2}


def test_what_is_kept_cannot_be_changed_by_who_reads_it(corpus: Corpus) -> None:
    with corpus.remembering(10_000_000):
        for _ in range(2):
            first = corpus.ratings("sol", "pedagogy", KEY)
            assert first
            first.clear()


def test_a_file_that_is_broken_is_broken_each_time(tmp_path: Path) -> None:
    corpus = open_corpus(demo_copy(tmp_path))
    (tmp_path / session_path(KEY)).write_bytes(b"")
    with corpus.remembering(10_000_000):
        for _ in range(2):
            with pytest.raises(BrokenSession, match="holds no header line"):
                corpus.session(KEY)
