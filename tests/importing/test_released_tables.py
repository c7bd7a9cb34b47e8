"""The released tables as a corpus, from either layout; what they contradict is refused."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tutoreval.errors import ImportFailure
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.importing import import_released_tables
from pytest_tutoreval.store import open_corpus
from tests.importing.layout import results_tree
from tests.store.corpora import fingerprint

INSTRUMENT = load_instrument()


@pytest.fixture
def flat(paper_tables: Path, tmp_path: Path) -> Path:
    """A copy of the flat layout to damage; the originals are read-only."""
    folder = tmp_path / "flat"
    folder.mkdir()
    for path in paper_tables.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_every_released_row_is_taken_over(released: Path) -> None:
    tables = open_corpus(released).tables()
    assert list(tables) == ["sonnet", "gpt", "gemini"]
    assert [len(tables[base].turns) for base in tables] == [358, 379, 442]
    assert [len(tables[base].sessions) for base in tables] == [30, 30, 30]
    # two judges, two rubrics; the cold sessions have no means
    assert [len(tables[base].scores) for base in tables] == [4 * 358, 4 * 379, 4 * 442]
    assert [len(tables[base].session_scores) for base in tables] == [40, 40, 40]
    assert all(not tables[base].excluded for base in tables)


def test_the_manifest_says_what_it_is(released: Path) -> None:
    manifest = open_corpus(released).manifest
    assert (manifest.provenance, manifest.content) == ("imported", "tables")
    assert (manifest.bases, manifest.judges) == (("sonnet", "gpt", "gemini"), ("opus", "sol"))
    assert manifest.instrument == INSTRUMENT.sha256


def test_the_released_results_are_kept_byte_for_byte(released: Path, paper_tables: Path) -> None:
    kept = {path.name: path.read_bytes() for path in (released / "reference").iterdir()}
    assert kept == {path.name: path.read_bytes() for path in paper_tables.glob("*.json")}


def test_the_released_tree_gives_the_same_corpus(released: Path, paper_tables: Path, tmp_path: Path) -> None:
    results_tree(paper_tables, tmp_path / "study" / "results")
    import_released_tables(tmp_path / "study" / "results", tmp_path / "a", INSTRUMENT)
    import_released_tables(tmp_path / "study", tmp_path / "b", INSTRUMENT)
    assert fingerprint(tmp_path / "a") == fingerprint(tmp_path / "b") == fingerprint(released)


def test_importing_twice_gives_the_same_bytes(paper_tables: Path, released: Path, tmp_path: Path) -> None:
    import_released_tables(paper_tables, tmp_path / "again", INSTRUMENT)
    assert fingerprint(tmp_path / "again") == fingerprint(released)


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def replace(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new, 1)


def drop_line(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda folder: (folder / "per_turn.gpt.csv").unlink(),
            "per_turn.gpt.csv: missing among the released tables; the import needs all of them",
            id="a-missing-table",
        ),
        pytest.param(
            edit("per_session.gpt.csv", lambda data: data.splitlines(keepends=True)[0]),
            "per_session.gpt.csv: holds no rows",
            id="an-empty-table",
        ),
        pytest.param(edit("per_turn.gpt.csv", replace(b"leaks", b"leeks")), "no column 'leaks'", id="a-missing-column"),
        pytest.param(
            edit("per_turn.gpt.csv", lambda data: data + b"\xff\xfe"),
            "per_turn.gpt.csv: cannot be read",
            id="not-utf-8",
        ),
        pytest.param(
            edit("per_turn.gpt.csv", lambda data: data[:-9]), "per_turn.gpt.csv: row 379: not 11 cells", id="torn-row"
        ),
        pytest.param(
            edit("per_session.gpt.csv", lambda data: data[:-2] + b",7\r\n"),
            "per_session.gpt.csv: row 30: not 25 cells",
            id="a-cell-too-many",
        ),
        pytest.param(
            edit("per_turn.gpt.sol.csv", replace(b",True,", b",False,")),
            r"per_turn\.gpt\.sol\.csv: row \d+: \w+ is 'False', the base's own table has 'True'",
            id="second-judge-differs",
        ),
        pytest.param(
            edit("per_turn.gpt.sol.csv", drop_line),
            "per_turn.gpt.sol.csv: 378 rows, the base's own table has 379",
            id="second-judge-is-short",
        ),
        pytest.param(
            edit("per_turn.ablation.csv", drop_line),
            "per_turn.ablation.csv: 357 rows, the base's own table has 358",
            id="ablation-is-short",
        ),
    ],
)
def test_tables_that_are_refused_say_why(
    flat: Path, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(flat)
    with pytest.raises(ImportFailure, match=message):
        import_released_tables(flat, tmp_path / "corpus", INSTRUMENT)
    assert not (tmp_path / "corpus").exists()


def test_a_folder_without_tables_names_both_layouts(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"per_turn\.sonnet\.csv and results/confirmatory/per_turn\.csv"):
        import_released_tables(tmp_path, tmp_path / "corpus", INSTRUMENT)


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_a_target_that_is_taken_is_refused_and_left_as_it_was(paper_tables: Path, tmp_path: Path, taken: str) -> None:
    target = tmp_path / "target"
    kept = target if taken == "file" else target / "mine.txt"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("mine")
    with pytest.raises(ImportFailure, match="target: not empty; give a new folder"):
        import_released_tables(paper_tables, target, INSTRUMENT)
    assert kept.read_text() == "mine"


def test_the_source_is_left_as_it_was(flat: Path, tmp_path: Path) -> None:
    before = fingerprint(flat)
    import_released_tables(flat, tmp_path / "corpus", INSTRUMENT)
    assert fingerprint(flat) == before


def test_ablation_rows_keep_their_branch_and_their_own_place(released: Path) -> None:
    with (released / "tables" / "ablation" / "turns.csv").open(newline="", encoding="utf-8") as file:
        conditions = {row["condition"] for row in csv.DictReader(file)}
    assert len(conditions) == 5
    assert not conditions & {"conv", "ped", "cold"}


def test_only_comparison_files_may_be_absent(flat: Path, tmp_path: Path) -> None:
    for path in flat.glob("*.json"):
        path.unlink()
    import_released_tables(flat, tmp_path / "corpus", INSTRUMENT)
    assert list((tmp_path / "corpus" / "reference").iterdir()) == []
    shutil.rmtree(tmp_path / "corpus")
