"""The manifest of a corpus, its seal, and the digest that names its data."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tutoreval.errors import BrokenRatings, BrokenSession, BrokenTable, CorpusError, ForeignInstrument
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records import SessionKey
from pytest_tutoreval.store import Corpus, open_corpus, seal_corpus
from tests.store.corpora import DEMO, demo_copy, edit_lines, reseal, stamp

KEY = SessionKey("sonnet", "conv", 0)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return demo_copy(tmp_path / "corpus", sealed=True)


def test_sealing_lists_every_data_file_and_can_be_read_back(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "corpus")
    sealed = seal_corpus(folder, open_corpus(folder).manifest)
    data = {path.relative_to(folder).as_posix() for path in folder.rglob("*.jsonl")}
    assert set(sealed.files) == data
    assert open_corpus(folder).manifest == sealed
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["corpus.toml"]


def test_the_demo_is_sealed_as_it_stands(tmp_path: Path) -> None:
    manifest = open_corpus(DEMO).manifest
    assert len(manifest.files) == sum(path.is_file() for path in DEMO.rglob("*")) - 1


def test_the_corpus_digest_changes_with_any_data_file(corpus: Path) -> None:
    before = open_corpus(corpus).sha256
    edit_lines(corpus / "ratings/opus/helpfulness/sonnet/conv/r0.jsonl", lambda lines: lines[:-1])
    reseal(corpus)
    assert open_corpus(corpus).sha256 != before


def test_the_corpus_digest_covers_files_that_are_not_sealed_yet(corpus: Path) -> None:
    before = open_corpus(corpus).sha256
    (corpus / "sessions/sonnet/conv/r10.jsonl").write_bytes(b"{}\n")
    assert open_corpus(corpus).sha256 != before


def test_sealing_or_not_does_not_change_the_corpus_digest(corpus: Path) -> None:
    sealed = open_corpus(corpus)
    stamp(corpus, sealed.manifest, files={})
    assert open_corpus(corpus).sha256 == sealed.sha256


def a_word(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"producer":"pytest', b'"producer":"Pytest', 1))


@pytest.mark.parametrize(
    ("place", "read", "error"),
    [
        pytest.param(
            "sessions/sonnet/conv/r0.jsonl", lambda corpus: corpus.session(KEY), BrokenSession, id="a-session"
        ),
        pytest.param(
            "ratings/opus/helpfulness/sonnet/conv/r0.jsonl",
            lambda corpus: corpus.ratings("opus", "helpfulness", KEY),
            BrokenRatings,
            id="ratings",
        ),
    ],
)
def test_a_sealed_file_that_changed_and_still_reads_is_refused(
    corpus: Path, place: str, read: Callable[[Corpus], object], error: type[CorpusError]
) -> None:
    a_word(corpus / place)
    with pytest.raises(error, match=rf"{place}: sha256 is \w+, sealed as \w+: changed since; restore the file"):
        read(open_corpus(corpus))


def test_a_sealed_table_and_a_sealed_reference_that_changed_are_refused(released: Path, tmp_path: Path) -> None:
    corpus = open_corpus(released)
    table, reference = released / "tables" / "scores.csv", released / "reference" / "comparison.sol.json"
    kept = table.read_bytes(), reference.read_bytes()
    try:
        table.write_bytes(kept[0].replace(b"5.0", b"4.0", 1))
        reference.write_bytes(kept[1] + b" ")
        with pytest.raises(BrokenTable, match=r"scores\.csv: sha256 is"):
            corpus.tables()
        with pytest.raises(BrokenTable, match=r"comparison\.sol\.json: sha256 is"):
            corpus.reference("comparison.sol.json")
    finally:
        table.write_bytes(kept[0])
        reference.write_bytes(kept[1])


def test_a_reference_that_was_not_kept_is_none(released: Path) -> None:
    assert open_corpus(released).reference("inference.opus.json") is None


def test_a_corpus_under_another_instrument_is_refused_where_something_is_decided(corpus: Path) -> None:
    stamp(corpus, open_corpus(corpus).manifest, instrument="0" * 64)
    assert open_corpus(corpus).manifest.instrument == "0" * 64
    with pytest.raises(ForeignInstrument, match=r"made under instrument 000000000000, this one is .*never mixed"):
        open_corpus(corpus, instrument=load_instrument().sha256)


@pytest.mark.parametrize("place", ["sessions/sonnet/conv/r0.jsonl", "ratings/opus/helpfulness/sonnet/conv/r0.jsonl"])
def test_a_file_stamped_with_another_instrument_is_refused(tmp_path: Path, place: str) -> None:
    folder = demo_copy(tmp_path / "corpus")
    edit_lines(folder / place, lambda lines: [lines[0] | {"instrument": "0" * 64}, *lines[1:]])
    corpus = open_corpus(folder)
    with pytest.raises(ForeignInstrument, match=rf"{place}: made under instrument 000000000000"):
        _ = corpus.session(KEY) if place.startswith("sessions") else corpus.ratings("opus", "helpfulness", KEY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("format = ", "corpus.toml: cannot be read", id="not-toml"),
        pytest.param(b"name = '\xff'", "corpus.toml: cannot be read", id="not-utf-8"),
        pytest.param("surprise = 1", "corpus.toml: .*Field required|Extra inputs", id="fields"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / "corpus.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CorpusError, match=message):
        open_corpus(tmp_path)


def test_a_manifest_with_an_unknown_field_is_refused(corpus: Path) -> None:
    stamp(corpus, open_corpus(corpus).manifest, surprise=1)
    with pytest.raises(CorpusError, match=r"corpus\.toml: surprise: Extra inputs are not permitted"):
        open_corpus(corpus)


def test_a_manifest_without_a_base_is_refused(corpus: Path) -> None:
    stamp(corpus, open_corpus(corpus).manifest, bases=[])
    with pytest.raises(CorpusError, match=r"corpus\.toml: bases is empty, so there is no base"):
        open_corpus(corpus)


@pytest.mark.parametrize("place", ["nowhere", "corpus.toml"])
def test_a_folder_without_manifest_says_what_to_give(corpus: Path, place: str) -> None:
    with pytest.raises(CorpusError, match=r"no corpus\.toml there; give --corpus|cannot be read"):
        open_corpus(corpus / place)


def test_a_file_that_is_not_named_as_a_replicate_is_refused(corpus: Path) -> None:
    cell = corpus / "sessions/sonnet/conv"
    assert [key.replicate for key in open_corpus(corpus).session_keys("sonnet", "conv")] == list(range(10))
    (cell / "r00.jsonl").write_bytes((cell / "r0.jsonl").read_bytes())
    with pytest.raises(BrokenSession, match=r"r00\.jsonl: not a session file's name .*move it out"):
        open_corpus(corpus).session_keys("sonnet", "conv")


def test_replicates_are_listed_by_number_not_by_name(corpus: Path) -> None:
    cell = corpus / "sessions/sonnet/conv"
    (cell / "r10.jsonl").write_bytes((cell / "r9.jsonl").read_bytes())
    assert [key.replicate for key in open_corpus(corpus).session_keys("sonnet", "conv")] == list(range(11))


def test_absent_ratings_are_none_and_an_absent_session_is_an_error(corpus: Path) -> None:
    absent = SessionKey("sonnet", "conv", 99)
    assert open_corpus(corpus).ratings("opus", "helpfulness", absent) is None
    with pytest.raises(BrokenSession, match=r"r99\.jsonl: cannot be read: No such file"):
        open_corpus(corpus).session(absent)


def test_a_folder_where_a_file_should_be_is_an_error(corpus: Path) -> None:
    path = corpus / "ratings/opus/helpfulness/sonnet/conv/r0.jsonl"
    path.unlink()
    path.mkdir()
    with pytest.raises(BrokenRatings, match="cannot be read"):
        open_corpus(corpus).ratings("opus", "helpfulness", KEY)
