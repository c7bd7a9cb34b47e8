"""Frames for notebooks: every turn, session and verdict, and nothing a spreadsheet would run."""

import csv
import io
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.reporting.frames import (
    Frame,
    left_out,
    session_frame,
    turn_frame,
    verdict_frame,
    write_frames,
)
from tests.reporting.documents import HOSTILE, a_document, a_leg, a_verdict, poisoned
from tests.store.corpora import DEMO, demo_copy, edit_lines, measures_of


@pytest.fixture(scope="module")
def demo() -> CorpusMeasures:
    return measures_of(DEMO)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def test_the_rates_of_the_turns_are_those_of_the_sessions(demo: CorpusMeasures, tmp_path: Path) -> None:
    turns, sessions = map(rows_of, write_frames([turn_frame(demo), session_frame(demo)], tmp_path, "csv"))
    assert len(sessions) == 90
    checked = 0
    for session in sessions:
        mine = [row for row in turns if all(row[name] == session[name] for name in ("base", "condition", "replicate"))]
        assert len(mine) == int(session["n_tutor_turns"])
        if mine:
            leaky = sum(row["leaky"] == "true" for row in mine) / len(mine)
            scores = [float(row["opus_helpfulness"]) for row in mine if row["opus_helpfulness"]]
            assert float(session["leakage"]) == leaky
            assert float(session["opus_helpfulness"]) == math.fsum(scores) / len(scores)
            checked += 1
        else:
            assert session["leakage"] == session["opus_helpfulness"] == ""
    assert checked == 60, "conv and ped of three bases; cold has no tutor"


def test_rows_come_as_registered_and_say_what_they_are(demo: CorpusMeasures) -> None:
    frame = turn_frame(demo)
    places = [row[1:4] for row in frame.rows]
    assert {row[0] for row in frame.rows} == {"simulated"}
    assert list(dict.fromkeys(base for base, *_ in places)) == ["sonnet", "gpt", "gemini"]
    sonnet = [(condition, replicate) for base, condition, replicate in places if base == "sonnet"]
    expected = [(condition, replicate) for condition in ("conv", "ped") for replicate in range(10)]
    assert list(dict.fromkeys(sonnet)) == expected
    assert all(len(row) == len(frame.columns) for row in frame.rows)


def test_what_is_undefined_is_empty_in_csv_and_null_in_parquet(demo: CorpusMeasures, tmp_path: Path) -> None:
    frames = [turn_frame(demo), session_frame(demo), verdict_frame(a_document())]
    as_csv, as_parquet = write_frames(frames, tmp_path, "csv"), write_frames(frames, tmp_path, "parquet")
    for frame, text, binary in zip(frames, as_csv, as_parquet, strict=True):
        assert "nan" not in text.read_text(encoding="utf-8").lower().split(",")
        table = parquet.read_table(binary)
        assert table.column_names == list(frame.columns)
        assert [tuple(row.values()) for row in table.to_pylist()] == [tuple(row) for row in frame.rows]
        empty = sum(value is None for row in frame.rows for value in row)
        assert sum(value == "" for row in rows_of(text) for value in row.values()) == empty > 0


def test_numbers_read_back_as_the_same_doubles(demo: CorpusMeasures, tmp_path: Path) -> None:
    frame = session_frame(demo)
    (path,) = write_frames([frame], tmp_path, "csv")
    column = list(frame.columns).index("leakage")
    assert [row["leakage"] and float(row["leakage"]) for row in rows_of(path)] == [
        "" if row[column] is None else row[column] for row in frame.rows
    ]


def test_the_same_corpus_gives_the_same_bytes(demo: CorpusMeasures, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        one, two = (
            write_frames([turn_frame(measures_of(DEMO))], tmp_path / str(number), form)[0].read_bytes()
            for number in range(2)
        )
        assert one == two


def test_tables_alone_make_frames(released: Path) -> None:
    measures = measures_of(released)
    assert len(turn_frame(measures).rows) == 1179
    assert {row[0] for row in session_frame(measures).rows} == {"imported"}
    assert left_out(measures) == []


def test_sessions_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "copy")
    (folder / "sessions" / "sonnet" / "conv" / "r3.jsonl").write_text("not a session\n", encoding="utf-8")
    edit_lines(folder / "ratings" / "opus" / "helpfulness" / "sonnet" / "ped" / "r0.jsonl", lambda rows: rows[:-1])
    measures = measures_of(folder)
    assert len(session_frame(measures).rows) == 19
    lines = left_out(measures)
    assert any(line.startswith("sonnet/conv/r3: ") for line in lines)
    assert any(line.startswith("sonnet/ped opus helpfulness: 1 missing, the first: turn ped/r0/") for line in lines)


# verdicts


def named(frame: Frame, *names: str) -> list[tuple[Any, ...]]:
    columns = [list(frame.columns).index(name) for name in names]
    return [tuple(row[column] for column in columns) for row in frame.rows]


def test_parts_and_reasons_are_rows_of_their_own() -> None:
    frame = verdict_frame(a_document())
    assert named(frame, "claim", "judge", "part", "verdict", "holds", "estimate", "reason") == [
        ("P1", None, None, "supported", None, 0.365, None),
        ("P2", "opus", None, "not_supported", None, 0.365, None),
        ("J2", "opus", None, "inconclusive", None, None, None),
        ("J2", "opus", "helpfulness", None, True, 0.3, None),
        ("P3", None, None, None, None, None, "no sessions in cell sonnet/conv"),
    ]


def test_a_member_of_a_joint_claim_keeps_its_verdict() -> None:
    joint = a_verdict("J1", components=[a_leg("P1", verdict="supported")], notes=["one", "two"])
    frame = verdict_frame(a_document(claims=[joint], not_evaluable=[]))
    assert named(frame, "claim", "part", "verdict", "notes") == [
        ("J1", None, "supported", "one; two"),
        ("J1", "P1", "supported", None),
    ]


# hostile text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r="])
def test_no_text_is_a_formula(tmp_path: Path, start: str) -> None:
    reason = {"claim": f"{start}1+1", "base": "a", "judge": None, "reason": f'{start}HYPERLINK("http://evil.example")'}
    (path,) = write_frames([verdict_frame(a_document(claims=[], not_evaluable=[reason]))], tmp_path, "csv")
    (row,) = rows_of(path)
    assert not row["claim"].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert row["reason"].endswith('HYPERLINK("http://evil.example")'), "nothing is lost"


def test_negative_numbers_are_no_formulas(tmp_path: Path) -> None:
    claim = a_verdict(estimate=-0.25, ci_low=-1e-05, notes=["-0.25"])
    (path,) = write_frames([verdict_frame(a_document(claims=[claim], not_evaluable=[]))], tmp_path, "csv")
    (row,) = rows_of(path)
    assert (row["estimate"], row["ci_low"], row["notes"]) == ("-0.25", "-1e-05", "'-0.25")


@pytest.mark.parametrize("text", [*HOSTILE.values(), "\ud800", 'a","b\r\n"c"'], ids=[*HOSTILE, "surrogate", "quotes"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_hostile_text_stays_in_its_cell(tmp_path: Path, text: str, form: Any) -> None:
    document = poisoned(a_document(), text)
    (path,) = write_frames([verdict_frame(document)], tmp_path, form)
    rows: Sequence[dict[str, Any]] = rows_of(path) if form == "csv" else parquet.read_table(path).to_pylist()
    assert len(rows) == 5
    assert len({row["claim"] for row in rows}) == 1
    assert all(set(row) == set(rows[0]) for row in rows)
    assert "\x1b" not in rows[0]["claim"]


# on disk


def test_an_old_frame_stays_where_the_new_one_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = write_frames([verdict_frame(a_document())], tmp_path, "csv")
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ConfigurationProblem, match="No space left on device"):
        write_frames([verdict_frame(a_document(claims=[]))], tmp_path, "csv")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_without_pyarrow_there_is_one_line_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigurationProblem) as caught:
        write_frames([verdict_frame(a_document())], tmp_path / "to", "parquet")
    assert str(caught.value) == (
        "parquet: pyarrow is not installed; pip install 'pytest-tutoreval[frames]', or take --format csv"
    )
    assert not (tmp_path / "to").exists()
