"""Tables of an imported corpus: rendered, read back, non-finite values counted, nothing overwritten."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.errors import BrokenTable
from pytest_tutoreval.store import TableSet, open_corpus, parse_tables, render_table
from pytest_tutoreval.store.tables import COLUMNS
from tests.store.corpora import Row, edited

SESSION = [*("sonnet", "conv", 0, 0, 0.1, 0.5), *(1.0, 1.0, 1.0), *(1, 7, 24, 43, 67), *(9, 8, 7, 6)]
TURN = ["sonnet", "conv", 0, "train-1", 0, True, False, 1, 507, None]
SCORE = ["opus", "helpfulness", "sonnet", "conv", 0, "train-1", 0, 4.5]
SESSION_SCORE = ["opus", "helpfulness", "sonnet", "conv", 0, 4.5]


def tables(
    sessions: Iterable[list[object]] = (SESSION,),
    turns: Iterable[list[object]] = (TURN,),
    scores: Iterable[list[object]] = (SCORE,),
    session_scores: Iterable[list[object]] = (SESSION_SCORE,),
) -> TableSet:
    rows = {"sessions.csv": sessions, "turns.csv": turns, "scores.csv": scores, "session_scores.csv": session_scores}
    return parse_tables({name: (Path(name), render_table(COLUMNS[name], rows[name])) for name in COLUMNS})


def changed(row: list[object], table: str, **cells: object) -> list[object]:
    return [cells.get(name, cell) for name, cell in zip(COLUMNS[table], row, strict=True)]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_every_digit_on_its_way_through_a_table(number: float) -> None:
    read = tables(scores=[changed(SCORE, "scores.csv", score=number)])["sonnet"].scores[0].score
    assert read is not None
    assert math.copysign(1.0, read) == math.copysign(1.0, number)
    assert read == number


def test_a_rendered_table_has_lf_ends_and_empty_cells_for_none() -> None:
    assert render_table(("a", "b"), [(None, 0.1), (True, "x,y")]) == 'a,b\n,0.1\nTrue,"x,y"\n'


def test_the_imported_tables_round_trip(released: Path, tmp_path: Path) -> None:
    names = [name.removesuffix(".csv") for name in COLUMNS]
    copy = edited(released, tmp_path / "copy", **{name: lambda rows: rows for name in names})
    for name in COLUMNS:
        assert (copy / "tables" / name).read_bytes() == (released / "tables" / name).read_bytes()
    assert open_corpus(copy).sha256 == open_corpus(released).sha256


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "NaN", "Infinity", "1e999"])
def test_a_non_finite_number_is_excluded_and_counted(number: str) -> None:
    read = tables(
        sessions=[changed(SESSION, "sessions.csv", leakage=number)], scores=[changed(SCORE, "scores.csv", score=number)]
    )["sonnet"]
    assert [row.leakage for row in read.sessions.values()] == [None]
    assert [cell.score for cell in read.scores] == [None]
    assert read.excluded == [
        ("conv", f"sessions.csv conv/0: leakage is {number}, excluded"),
        ("conv", f"scores.csv opus/helpfulness/conv/0/train-1/0: score is {number}, excluded"),
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param({"sessions": [SESSION, SESSION]}, "sessions.csv: line 3: session sonnet/conv/r0 stands twice"),
        pytest.param({"turns": [TURN, TURN]}, "turns.csv: line 3: turn conv/r0/train-1/t0 stands twice"),
        pytest.param(
            {"scores": [SCORE, changed(SCORE, "scores.csv", score=1.0)]},
            "scores.csv: line 3: the score of turn conv/r0/train-1/t0 by opus under helpfulness stands twice",
        ),
        pytest.param(
            {"session_scores": [SESSION_SCORE, SESSION_SCORE]},
            "session_scores.csv: line 3: the score of session sonnet/conv/r0 by opus under helpfulness stands twice",
        ),
        pytest.param(
            {"turns": [changed(TURN, "turns.csv", leaky="maybe")]},
            "turns.csv: line 2: leaky is 'maybe', expected True, False or empty",
        ),
        pytest.param(
            {"turns": [changed(TURN, "turns.csv", leaky="nan")]}, "line 2: leaky is 'nan', expected True, False"
        ),
        pytest.param({"turns": [changed(TURN, "turns.csv", leaky="")]}, "line 2: leaky is '', expected True or False"),
        pytest.param(
            {"turns": [changed(TURN, "turns.csv", n_calls="nan")]}, "n_calls is 'nan', expected a whole number"
        ),
        pytest.param(
            {"sessions": [changed(SESSION, "sessions.csv", leakage="high")]},
            "sessions.csv: line 2: leakage is 'high', expected a number or empty",
        ),
        pytest.param({"scores": [SCORE[:-1]]}, "scores.csv: line 2: not 8 cells"),
        pytest.param({"scores": [[*SCORE, 1]]}, "scores.csv: line 2: not 8 cells"),
    ],
)
def test_a_broken_table_says_where_and_what(rows: dict[str, list[list[object]]], message: str) -> None:
    with pytest.raises(BrokenTable, match=message):
        tables(**rows)


def test_other_columns_than_ours_are_refused() -> None:
    files = {name: (Path(name), render_table(columns, [])) for name, columns in COLUMNS.items()}
    files["turns.csv"] = (Path("turns.csv"), "base,condition\n")
    with pytest.raises(BrokenTable, match=r"turns\.csv: columns are \['base', 'condition'\], expected \['base'"):
        parse_tables(files)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(lambda path: path.unlink(), "turns.csv: cannot be read: .*No such file", id="missing"),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes() + b"\xff"), "turns.csv: cannot be read", id="bytes"
        ),
    ],
)
def test_a_table_that_is_missing_or_no_text_is_named(
    released: Path, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    copy = edited(released, tmp_path / "copy")
    damage(copy / "tables" / "turns.csv")
    with pytest.raises(BrokenTable, match=message):
        open_corpus(copy).tables()


def test_ablation_conditions_stand_apart(released: Path) -> None:
    corpus = open_corpus(released)
    main = {key.condition for tables in corpus.tables().values() for key in tables.sessions}
    ablation = {key.condition for key in corpus.tables("ablation")["sonnet"].sessions}
    assert main == {"cold", "conv", "ped"}
    assert len(ablation) == 5
    assert not ablation & main


def test_editing_helper_reseals(released: Path, tmp_path: Path) -> None:
    def without_first(rows: list[Row]) -> list[Row]:
        return rows[1:]

    copy = edited(released, tmp_path / "copy", scores=without_first)
    before, after = open_corpus(released).tables(), open_corpus(copy).tables()
    assert len(after["sonnet"].scores) == len(before["sonnet"].scores) - 1
