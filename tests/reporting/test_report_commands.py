"""`tutoreval report markdown` and `report frames`: a finished run rendered again, nothing run."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.reporting.markdown import render_summary
from tests.reporting.documents import HOSTILE_TEXT, a_document, poisoned
from tests.store.corpora import DEMO, measures_of


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})
    return result.exit_code, result.stdout_bytes.decode("utf-8"), result.stderr


def saved(document: dict[str, Any], folder: Path) -> Path:
    path = folder / "verdicts.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_the_summary_goes_to_the_terminal_or_a_file(tmp_path: Path) -> None:
    document = a_document()
    source, to = saved(document, tmp_path), tmp_path / "deep" / "summary.md"
    assert run("markdown", "--from", source) == (0, render_summary(document), "")
    code, out, _ = run("markdown", "--from", source, "--to", to)
    assert (code, to.read_text(encoding="utf-8")) == (0, render_summary(document))
    assert out == f"{to}: {to.stat().st_size} bytes\n"


def test_a_hostile_document_is_rendered_in_utf_8(tmp_path: Path) -> None:
    source = saved(poisoned(a_document(), HOSTILE_TEXT), tmp_path)
    code, out, _ = run("markdown", "--from", source)
    assert code == 0
    assert "שלום" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("command", [["markdown"], ["frames", "--corpus", DEMO, "--to", "out"]])
def test_a_file_of_another_format_is_one_line(tmp_path: Path, command: list[str]) -> None:
    source = saved({"format": "junit"}, tmp_path)
    code, out, err = run(*command, "--from", source)
    assert (code, out) == (1, "")
    assert err == (
        f"tutoreval: {source}: format is 'junit', expected 'tutoreval-verdicts/1'; give the verdicts.json a run of "
        "pytest wrote\n"
    )


def decided_on(sha256: str) -> dict[str, Any]:
    document = a_document()
    return document | {"corpus": document["corpus"] | {"sha256": sha256}}


def test_frames_of_a_corpus_and_the_verdicts_on_it(tmp_path: Path) -> None:
    source = saved(decided_on(measures_of(DEMO).corpus.sha256), tmp_path)
    code, out, err = run("frames", "--corpus", DEMO, "--from", source, "--to", tmp_path / "to")
    assert (code, err) == (0, "")
    assert out == (
        f"{tmp_path / 'to'}: SIMULATED DATA: turns.csv (1166 rows), sessions.csv (90 rows), verdicts.csv (5 rows)\n"
    )
    with (tmp_path / "to" / "turns.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 1166


def test_without_a_run_there_are_turns_and_sessions(tmp_path: Path) -> None:
    code, _, _ = run("frames", "--corpus", DEMO, "--to", tmp_path, "--format", "parquet")
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sessions.parquet", "turns.parquet"]


def test_verdicts_on_another_corpus_are_refused(tmp_path: Path) -> None:
    source = saved(decided_on("a" * 64), tmp_path)
    code, out, err = run("frames", "--corpus", DEMO, "--from", source, "--to", tmp_path / "to")
    assert (code, out) == (1, "")
    assert "decided on corpus made-up aaaaaaaaaaaa, this one is demo" in err
    assert not (tmp_path / "to").exists()


def test_another_format_is_a_usage_error(tmp_path: Path) -> None:
    code, _, err = run("frames", "--corpus", DEMO, "--to", tmp_path, "--format", "xlsx")
    assert code == 2
    assert "--format xlsx; one of csv, parquet" in err
