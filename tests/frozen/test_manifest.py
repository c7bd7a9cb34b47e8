import hashlib
import shutil
from pathlib import Path

import pytest

from pytest_tutoreval.errors import InstrumentError, TamperedInstrument
from pytest_tutoreval.frozen import (
    Instrument,
    instrument_digest,
    load_instrument,
    read_instrument,
    text_digest,
    verify_files,
    write_manifest,
)
from pytest_tutoreval.frozen.manifest import MANIFEST

ONE_OF_EACH_KIND = [
    "problems.csv",
    "forms.csv",
    "router.toml",
    "study.toml",
    "claims/J2.toml",
    "prompts/student.txt",
    "prompts/pedtutor_tracker.txt",
    "rubrics/helpfulness.txt",
    "wording/judge_request.txt",
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the bundled instrument, to be harmed."""
    return Path(shutil.copytree(load_instrument().folder, tmp_path / "instrument"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def flip(path: Path, at: int, bit: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= bit
    path.write_bytes(bytes(data))


def refusal(folder: Path) -> TamperedInstrument:
    with pytest.raises(TamperedInstrument) as caught:
        read_instrument(folder)
    return caught.value


def test_copy_loads_with_the_same_digest(copy: Path) -> None:
    assert read_instrument(copy).sha256 == load_instrument().sha256


def test_copy_holds_the_same_instrument(copy: Path) -> None:
    read, bundled = read_instrument(copy), load_instrument()
    parts = ("study", "problems", "prompts", "rubrics", "wording", "router")
    assert [getattr(read, part) for part in parts] == [getattr(bundled, part) for part in parts]


def test_bundled_instrument_is_read_once_a_process() -> None:
    assert load_instrument() is load_instrument()


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_one_flipped_byte_is_named_with_both_digests(copy: Path, name: str) -> None:
    path = copy / name
    frozen = sha256(path)
    flip(path, path.stat().st_size // 2)
    error = refusal(copy)
    assert (error.path, error.expected, error.found) == (path, frozen, sha256(path))
    assert all(part in str(error) for part in (str(path), frozen, sha256(path)))


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_missing_file_is_named(copy: Path, name: str) -> None:
    frozen = sha256(copy / name)
    (copy / name).unlink()
    error = refusal(copy)
    assert (error.path, error.expected, error.found) == (copy / name, frozen, None)
    assert "absent" in str(error)


@pytest.mark.parametrize("name", ["notes.txt", "prompts/extra.txt", "new/folder/file"])
def test_extra_file_is_named(copy: Path, name: str) -> None:
    path = copy / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("new", encoding="utf-8")
    error = refusal(copy)
    assert (error.path, error.expected, error.found) == (path, None, sha256(path))
    assert "not listed" in str(error)


def test_changed_line_ends_are_named(copy: Path) -> None:
    path = copy / "prompts" / "student.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert refusal(copy).path == path


def test_missing_manifest_is_named(copy: Path) -> None:
    (copy / MANIFEST).unlink()
    assert refusal(copy).path == copy / MANIFEST


def test_missing_folder_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere").path == tmp_path / "nowhere" / MANIFEST


@pytest.mark.parametrize("bit", [1, 0x80], ids=["last-bit", "no-longer-utf-8"])
@pytest.mark.parametrize("at", [0, 40, 70], ids=["digest", "digest-middle", "name"])
def test_flipped_byte_of_the_manifest_is_refused(copy: Path, at: int, bit: int) -> None:
    flip(copy / MANIFEST, at, bit)
    refusal(copy)


def test_message_names_the_way_out(copy: Path) -> None:
    flip(copy / "forms.csv", 0)
    assert "Restore the file, or register the change" in str(refusal(copy))


def test_change_that_is_frozen_anew_has_another_digest(copy: Path) -> None:
    path = copy / "prompts" / "student.txt"
    path.write_text("You are a student.\n", encoding="utf-8", newline="\n")
    assert write_manifest(copy) == verify_files(copy) != load_instrument().sha256


def test_freezing_again_changes_nothing(copy: Path) -> None:
    before = (copy / MANIFEST).read_bytes()
    write_manifest(copy)
    assert (copy / MANIFEST).read_bytes() == before


def test_digest_is_the_manifest_s(copy: Path) -> None:
    assert instrument_digest(copy) == sha256(copy / MANIFEST)


def test_digest_of_a_text_is_that_of_its_utf_8() -> None:
    assert text_digest("½") == hashlib.sha256(b"\xc2\xbd").hexdigest()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("problems.csv", b"24.0,", b"four,", id="answer"),
        pytest.param("problems.csv", b"statement", b"words", id="column"),
        pytest.param("problems.csv", b",training,", b",practice,", id="phase"),
        pytest.param("study.toml", b"replicates = 10", b"replicates = 0", id="study-value"),
        pytest.param("study.toml", b"[protocol]", b"[protocol", id="toml"),
        pytest.param("router.toml", b"attempts_threshold", b"threshold", id="router-key"),
        pytest.param("forms.csv", b"kind", b"sort", id="forms-column"),
    ],
)
def test_frozen_nonsense_is_no_readable_instrument(copy: Path, name: str, old: bytes, new: bytes) -> None:
    path = copy / name
    path.write_bytes(path.read_bytes().replace(old, new))
    write_manifest(copy)
    with pytest.raises(InstrumentError, match="not a readable instrument"):
        read_instrument(copy)


def test_frozen_problem_list_that_breaks_a_constraint_is_refused(copy: Path) -> None:
    path = copy / "problems.csv"
    path.write_bytes(path.read_bytes().replace(b",26.0,", b",24.0,"))
    write_manifest(copy)
    with pytest.raises(InstrumentError, match="delayed-1: answer 24 is also the answer of train-1"):
        read_instrument(copy)


def test_texts_are_sent_without_their_final_line_end() -> None:
    instrument: Instrument = load_instrument()
    path = instrument.folder / "prompts" / "convtutor.txt"
    assert instrument.prompts["convtutor"] + "\n" == path.read_text(encoding="utf-8")
