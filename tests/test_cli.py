"""The tutoreval command: what it says, what it writes, how it fails."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.store import open_corpus
from tests.importing.logs import a_session, edit_json, write_log
from tests.store.corpora import fingerprint


@pytest.fixture
def paper_tables(shared: Path) -> Path:
    return shared / "data" / "paper-tables"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200", "TERM": "dumb"})
    return result.exit_code, result.stdout, result.stderr


def test_without_a_command_it_shows_its_help() -> None:
    _, out, err = run()
    assert "simulate" in out + err
    assert "import" in out + err


@pytest.mark.parametrize("command", [["--help"], ["simulate", "--help"], ["import", "--help"]])
def test_help_exits_zero(command: list[str]) -> None:
    code, out, _ = run(*command)
    assert code == 0
    assert "Usage" in out


def test_released_tables_are_imported(paper_tables: Path, tmp_path: Path) -> None:
    code, out, _ = run("import", "released", paper_tables, "--to", tmp_path / "corpus")
    assert code == 0
    assert out == (
        f"{tmp_path / 'corpus'}: tables of sonnet, gpt, gemini, rated by opus, sol; "
        f"decide with: pytest suites --corpus={tmp_path / 'corpus'}\n"
    )
    assert open_corpus(tmp_path / "corpus").manifest.content == "tables"


def test_a_failed_import_is_one_line_and_exit_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = run("import", "released", tmp_path / "empty", "--to", tmp_path / "corpus")
    assert (code, out) == (1, "")
    assert err.startswith(f"tutoreval: {tmp_path / 'empty'}: no released tables there")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("kind", ["released", "calls"])
def test_a_source_that_is_not_there_is_a_usage_error(tmp_path: Path, kind: str) -> None:
    code, _, err = run("import", kind, tmp_path / "nowhere", "--to", tmp_path / "corpus")
    assert code == 2
    assert "does not exist" in err


@pytest.mark.parametrize(
    "command", [["import", "released", "."], ["import", "calls", "."], ["simulate", "--seed", "1"]]
)
def test_a_target_that_is_a_file_is_a_usage_error_and_stays(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run(*command, "--to", tmp_path / "mine.txt")
    assert code == 2
    assert "is a file" in err
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_call_logs_are_imported_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    folder = write_log(a_session("conv", 1), tmp_path / "logs")
    judge = '{"seq": 9999, "role": "judge", "tags": {"component": "helpfulness_judge"}}\n'
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(judge)
    code, out, err = run("import", "calls", tmp_path / "logs", "--to", tmp_path / "corpus")
    assert code == 0
    assert out == f"{tmp_path / 'corpus'}: 1 sessions of sonnet; not rated yet\n"
    assert err == "conf-s0-conv-r1: 1 judge calls left out (they are no part of the session)\n"


def test_a_log_that_contradicts_itself_is_exit_one(tmp_path: Path) -> None:
    folder = write_log(a_session("conv", 1), tmp_path / "logs")
    edit_json(folder / "full_session_result.json", seed=7)
    code, _, err = run("import", "calls", tmp_path / "logs", "--to", tmp_path / "corpus")
    assert code == 1
    assert "full_session_result.json seed is 7" in err


def test_a_simulation_does_not_replace_what_it_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    before = fingerprint(tmp_path)
    code, _, err = run("simulate", "--to", tmp_path, "--seed", "1")
    assert (code, err) == (
        1,
        f"tutoreval: {tmp_path}: not empty; give a new folder, or --force to replace a simulated corpus\n",
    )
    code, _, err = run("simulate", "--to", tmp_path, "--seed", "1", "--force")
    assert code == 1
    assert "not a simulated corpus, so it is not replaced" in err
    assert fingerprint(tmp_path) == before


def test_an_imported_corpus_is_not_replaced_by_force(paper_tables: Path, tmp_path: Path) -> None:
    run("import", "released", paper_tables, "--to", tmp_path / "corpus")
    before = fingerprint(tmp_path)
    code, _, err = run("simulate", "--to", tmp_path / "corpus", "--seed", "1", "--force")
    assert code == 1
    assert "not a simulated corpus" in err
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("command", [[sys.executable, "-m", "pytest_tutoreval"], ["tutoreval"]])
def test_the_command_and_the_module_are_one(command: list[str], tmp_path: Path) -> None:
    start = [str(Path(sys.executable).parent / "tutoreval")] if command == ["tutoreval"] else command
    done = subprocess.run([*start, "--help"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "Usage: tutoreval" in done.stdout
