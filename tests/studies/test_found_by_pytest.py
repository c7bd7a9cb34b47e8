"""pytest finds tutoreval.toml by itself, uses its claims, and refuses what is not as it was locked."""

import datetime
from pathlib import Path

import pytest

from pytest_tutoreval.frozen import load_instrument, read_study_file
from pytest_tutoreval.frozen.lock import write_lock
from tests.plugin.runs import document, run, verdicts
from tests.studies.writing import write_study

TEST = """
import pytest

@pytest.mark.claim("X1")
def test_x1(decided, base):
    decided.registered_as(measure="leakage", direction="conv > ped", kind="live_test")
"""

ALONE = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["n0", "n2"])


@pytest.fixture
def study(pytester: pytest.Pytester) -> Path:
    """A study in the rootdir, with a test whose claim stands in the folder the study file names."""
    (pytester.path / "checks").mkdir()
    (pytester.path / "checks" / "test_x1.py").write_text(TEST, encoding="utf-8")
    pytester.makeini("[pytest]\n")
    return write_study(pytester.path)


def lock(study: Path) -> None:
    write_lock(study, read_study_file(study), core=load_instrument().sha256, today=datetime.date(2026, 12, 1))


@ALONE
def test_a_study_in_the_rootdir_is_found(pytester: pytest.Pytester, study: Path, workers: list[str]) -> None:
    result = run(pytester, "checks", "--base", "sonnet", *workers, fresh=True)
    assert result.ret == 0
    assert verdicts(document(pytester)) == {("X1", "sonnet", None): "supported"}


@ALONE
def test_a_study_in_the_rootdir_is_found_from_a_folder_below(
    pytester: pytest.Pytester, study: Path, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytester.path / "checks")
    result = pytester.runpytest_subprocess("--base", "sonnet", *workers)
    assert result.ret == 0
    assert verdicts(document(pytester)) == {("X1", "sonnet", None): "supported"}


def test_the_study_where_pytest_is_started_goes_before_the_rootdir_s(
    pytester: pytest.Pytester, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = pytester.path / "checks"
    (inner / "tutoreval.toml").write_text('claims = "nowhere"\n', encoding="utf-8")
    monkeypatch.chdir(inner)
    result = pytester.runpytest_subprocess("--base", "sonnet")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*tutoreval.toml: claims: there is no folder *nowhere*"])


def test_a_named_study_goes_before_the_one_that_is_found(pytester: pytest.Pytester, study: Path) -> None:
    (pytester.path / "other.toml").write_text("", encoding="utf-8")
    result = run(pytester, "checks", "--base", "sonnet", "--tutoreval-study", "other.toml")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*X1.toml: no such claim file, and no registered claim 'X1'. *"])


def test_a_run_without_claims_never_looks_at_a_study_file(pytester: pytest.Pytester) -> None:
    (pytester.path / "tutoreval.toml").write_text("this is no toml", encoding="utf-8")
    pytester.makepyfile("def test_something(): pass")
    assert run(pytester).ret == 0


# the lock


def test_a_locked_study_that_did_not_change_is_used(pytester: pytest.Pytester, study: Path) -> None:
    lock(study)
    assert run(pytester, "checks", "--base", "sonnet").ret == 0


@ALONE
@pytest.mark.parametrize("name", ["claims/X1.toml", "own_policy.py", "prompts/spoken.txt", "tutoreval.toml"])
def test_a_change_since_the_lock_stops_the_run_before_anything_is_decided(
    pytester: pytest.Pytester, study: Path, workers: list[str], name: str
) -> None:
    lock(study)
    (study.parent / name).write_bytes((study.parent / name).read_bytes() + b"\n")
    result = run(pytester, "checks", "--base", "sonnet", *workers, fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*tutoreval.toml: not what was locked on 2026-12-01.",
            f"*  {name}: sha256 is *, locked as *",
            '*tutoreval lock --amend "why it was changed"*',
        ]
    )
    assert not (pytester.path / "reports").exists()


def test_claims_may_stand_beside_the_test_and_in_the_study_s_folder(pytester: pytest.Pytester, study: Path) -> None:
    beside = pytester.path / "checks" / "claims"
    beside.mkdir()
    text = (study.parent / "claims" / "X1.toml").read_text(encoding="utf-8")
    (beside / "X2.toml").write_text(text.replace("X1", "X2"), encoding="utf-8")
    (pytester.path / "checks" / "test_x2.py").write_text(TEST.replace("X1", "X2").replace("x1", "x2"), encoding="utf-8")
    assert run(pytester, "checks", "--base", "sonnet").ret == 0
    assert {claim for claim, *_ in verdicts(document(pytester))} == {"X1", "X2"}


def test_one_id_in_both_folders_is_refused(pytester: pytest.Pytester, study: Path) -> None:
    beside = pytester.path / "checks" / "claims"
    beside.mkdir()
    (beside / "X1.toml").write_bytes((study.parent / "claims" / "X1.toml").read_bytes())
    result = run(pytester, "checks", "--base", "sonnet")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*claims: X1.toml: this id is registered already; choose another"])
