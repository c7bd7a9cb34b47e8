"""The commands about a study of one's own: init, lint, lock; and the study file the others find by themselves."""

import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.frozen import lint_problems, load_instrument, open_study
from pytest_tutoreval.frozen.lock import read_lock
from pytest_tutoreval.resources import data_folder
from tests.studies.writing import write_study

EXAMPLE = data_folder("examples/own_tutor")
TODAY = datetime.date.today().isoformat()


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in arguments], env={"COLUMNS": "200", "TERM": "dumb"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which commands are run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache", "corpora", "reports"} & set(path.parts)
    }


# init


@pytest.mark.parametrize("place", [(), ("new/study",)])
def test_init_writes_the_whole_example_byte_for_byte(here: Path, place: tuple[str, ...]) -> None:
    code, out, _ = run("init", *place)
    folder = here.joinpath(*place)
    assert code == 0
    assert files_of(folder) == files_of(EXAMPLE)
    assert {"tutoreval.toml", "example_tutor.py", ".gitignore", "README.md"} <= set(files_of(folder))
    assert "tutoreval lock" in out


def test_init_says_what_it_wrote_and_what_to_run_next(here: Path) -> None:
    _, out, _ = run("init")
    written = out.partition("next, in")[0].split()
    assert sorted(written) == sorted(files_of(here))
    assert "tutoreval collect --corpus corpora/first --base mytutor --judge rater" in out


def test_init_overwrites_nothing_and_names_what_is_there(here: Path) -> None:
    (here / "tutoreval.toml").write_text("mine", encoding="utf-8")
    (here / "prompts").mkdir()
    (here / "prompts" / "candidate.txt").write_text("mine too", encoding="utf-8")
    before = files_of(here)
    code, out, err = run("init")
    assert (code, out) == (1, "")
    assert err.startswith("tutoreval: .: prompts/candidate.txt, tutoreval.toml is there already, and nothing is")
    assert files_of(here) == before


def test_init_writes_beside_what_it_does_not_know(here: Path) -> None:
    (here / "notes.md").write_text("mine", encoding="utf-8")
    code, *_ = run("init")
    assert code == 0
    assert (here / "notes.md").read_text(encoding="utf-8") == "mine"


def test_init_into_a_file_is_a_usage_error(here: Path) -> None:
    (here / "file").write_text("mine", encoding="utf-8")
    code, _, err = run("init", "file")
    assert code == 2
    assert "is a file" in err


def test_the_example_is_a_usable_study_without_a_lint_error(here: Path) -> None:
    run("init")
    opened = open_study(here / "tutoreval.toml")
    assert opened.instrument.sha256 == load_instrument().sha256
    assert opened.instrument.study.protocol.condition_order == ("conv", "ped", "reference", "candidate")
    assert [guard.measure for guard in opened.file.guards] == ["leakage", "next_turn_independence"]
    assert opened.claims is not None
    assert sorted(path.stem for path in opened.claims.iterdir()) == ["C1", "C2"]


def test_the_example_s_commented_problem_has_no_finding_but_its_product(here: Path) -> None:
    run("init")
    text = (here / "tutoreval.toml").read_text(encoding="utf-8")
    commented = text[text.index("# [[problems]]") :].replace("# ", "")
    (here / "tutoreval.toml").write_text(commented, encoding="utf-8")
    (problem,) = open_study(here / "tutoreval.toml").instrument.problems
    assert [finding.what[:57] for finding in lint_problems([problem])] == [
        "the statement's numbers give it in one step (13 * 17), so"
    ]


# lint


WEAK = """
[[problems]]
id = "own-1"
phase = "training"
statement = "A ticket costs 13 dollars. How many dollars do 17 pairs of tickets cost?"
answer = 442
numeric_forms = ["442", "442.0", "442.00"]
solution_forms = [{forms}]
"""


@pytest.mark.parametrize(
    ("forms", "arguments", "code", "closing"),
    [
        pytest.param("'all of it'", [], 0, "1 problems of tutoreval.toml: 0 errors, 0 warnings", id="sound"),
        pytest.param("'forty'", [], 0, "1 problems of tutoreval.toml: 0 errors, 1 warnings", id="warning"),
        pytest.param("'forty'", ["--strict"], 1, "1 problems of tutoreval.toml: 0 errors, 1 warnings", id="strict"),
        pytest.param("'a ticket'", [], 1, "1 problems of tutoreval.toml: 1 errors, 0 warnings", id="error"),
    ],
)
def test_lint_exits_1_on_errors_and_when_strict_on_warnings(
    here: Path, forms: str, arguments: list[str], code: int, closing: str
) -> None:
    (here / "tutoreval.toml").write_text(WEAK.replace("{forms}", forms), encoding="utf-8")
    found, out, _ = run("lint", *arguments)
    assert (found, out.splitlines()[-1]) == (code, closing)


def test_lint_prints_form_example_and_advice(here: Path) -> None:
    (here / "tutoreval.toml").write_text(WEAK.replace("{forms}", "'forty'"), encoding="utf-8")
    _, out, _ = run("lint")
    assert out.startswith("warning: own-1, form 'forty': a phrase of one word hits inside longer words")
    assert "Example: 'the fortyth'. Declare it with the words around it" in out


@pytest.mark.usefixtures("here")
def test_without_problems_of_ones_own_the_frozen_ones_are_linted() -> None:
    code, out, _ = run("lint")
    assert code == 0
    assert out.splitlines()[-1] == (
        "19 problems of the frozen study, which are never changed: 0 errors, "
        f"{len(lint_problems(load_instrument().problems))} warnings"
    )


# lock


def test_lock_freezes_and_check_finds_it_unchanged(here: Path) -> None:
    write_study(here)
    code, out, _ = run("lock")
    assert (code, out) == (0, f"tutoreval.lock: locked; 4 files, first on {TODAY}\n")
    for arguments in (["lock"], ["lock", "--check"]):
        code, out, _ = run(*arguments)
        assert (code, out) == (0, f"tutoreval.lock: locked, unchanged; 4 files, first on {TODAY}\n")


def test_check_writes_nothing_and_fails_where_nothing_is_locked(here: Path) -> None:
    write_study(here)
    code, _, err = run("lock", "--check")
    assert code == 1
    assert err.startswith("tutoreval: tutoreval.toml: not locked; freeze it before there are data: tutoreval lock")
    assert not (here / "tutoreval.lock").exists()


BREAKABLE = ["claims/X1.toml", "own_policy.py", "prompts/spoken.txt", "tutoreval.toml"]


@pytest.mark.parametrize("command", [["lock"], ["lock", "--check"]])
@pytest.mark.parametrize("name", BREAKABLE)
def test_a_changed_file_is_named_and_exit_1(here: Path, command: list[str], name: str) -> None:
    write_study(here)
    run("lock")
    before = (here / "tutoreval.lock").read_bytes()
    (here / name).write_bytes((here / name).read_bytes() + b"\n")
    code, _, err = run(*command)
    assert code == 1
    assert f"  {name}: sha256 is " in err
    assert 'tutoreval lock --amend "why it was changed"' in err
    assert (here / "tutoreval.lock").read_bytes() == before


@pytest.mark.parametrize("name", BREAKABLE)
def test_amend_records_the_reason_and_the_next_check_passes(here: Path, name: str) -> None:
    write_study(here)
    run("lock")
    (here / name).write_bytes((here / name).read_bytes() + b"\n")
    code, out, _ = run("lock", "--amend", "a new line")
    assert code == 0
    assert out.startswith(f"{name}: ")
    assert out.endswith(f"tutoreval.lock: amended; 4 files, first on {TODAY}, 1 amendments since\n")
    written = read_lock(here / "tutoreval.toml")
    assert written is not None
    assert [amendment.reason for amendment in written.amendments] == ["a new line"]
    assert run("lock", "--check")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--check", "--amend", "why"], "give one of --check and --amend", id="both"),
        pytest.param(["--amend", " "], "--amend needs a reason", id="no-reason"),
    ],
)
def test_a_wrong_option_is_a_usage_error(here: Path, arguments: list[str], message: str) -> None:
    write_study(here)
    code, _, err = run("lock", *arguments)
    assert code == 2
    assert message in err


@pytest.mark.usefixtures("here")
def test_without_a_study_file_lock_says_where_to_begin() -> None:
    code, _, err = run("lock")
    assert (code, err) == (
        1,
        "tutoreval: no tutoreval.toml here; give --study FILE, or begin with: tutoreval init\n",
    )


def test_what_cannot_be_used_is_not_locked(here: Path) -> None:
    write_study(here, more='\n[protocol]\nconditions = ["conv", "nobody"]\n')
    code, _, err = run("lock")
    assert code == 1
    assert "protocol.conditions: nobody is not known" in err
    assert not (here / "tutoreval.lock").exists()


def test_a_claims_folder_that_is_not_there_is_said(here: Path) -> None:
    write_study(here)
    (here / "claims" / "X1.toml").unlink()
    (here / "claims").rmdir()
    code, _, err = run("lock")
    assert code == 1
    assert "claims: there is no folder claims" in err


# found by itself


PLAN = ["plan", "--base", "ours", "--condition", "spoken,asis,coded"]


def test_a_command_finds_the_study_of_its_folder_and_says_whether_it_is_locked(here: Path) -> None:
    write_study(here, module="policy_found_here")
    code, out, err = run(*PLAN)
    assert code == 0, err
    assert "ours  tutor" in out
    assert "study: study file tutoreval.toml is not locked" in err
    run("lock")
    _, _, err = run(*PLAN)
    assert f"study: study file tutoreval.toml locked on {TODAY}" in err


def test_a_command_refuses_a_study_that_is_not_what_was_locked(here: Path) -> None:
    write_study(here, module="policy_changed_since")
    run("lock")
    (here / "policy_changed_since.py").write_text("turn = 1\n", encoding="utf-8")
    code, _, err = run(*PLAN)
    assert code == 1
    assert "  policy_changed_since.py: sha256 is " in err


def test_a_named_study_goes_before_the_one_that_is_there(here: Path) -> None:
    write_study(here, module="policy_of_this_folder")
    other = here / "other.toml"
    other.write_text("", encoding="utf-8")
    code, _, err = run(*PLAN, "--study", other)
    assert code == 1
    assert "condition spoken, asis, coded is not known" in err or "base 'ours' is not in the study" in err


def test_a_folder_that_cannot_be_written_is_said(here: Path) -> None:
    (here / "prompts").write_text("a file where the example has a folder", encoding="utf-8")
    code, _, err = run("init")
    assert code == 1
    assert "cannot be written" in err
    assert "give a folder you may write to" in err
