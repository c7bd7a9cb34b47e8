"""The recipes for CI: they parse, what is ours in them runs in a study of one's own, and it says what CI shows."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import ROOT, Command
from tests.docs.shell import Ran, Shell

CI = ROOT / "examples" / "ci"
RECIPES = sorted(CI.glob("*.yml"))

# What a recipe runs besides, as CI does it and no test can: installing, and a comment on a pull request.
NOT_OURS = (
    re.compile(r'python -m pip install "pytest-tutoreval\[allure\]"'),
    re.compile(r"gh pr comment .* --body-file reports/summary\.md"),
)


def recipe(name: str) -> dict[str, Any]:
    # YAML 1.1 reads the key `on` as true; as a text it is what GitHub reads.
    loaded: dict[str, Any] = yaml.load((CI / name).read_text(encoding="utf-8"), yaml.BaseLoader)
    return loaded


def steps_of(job: dict[str, Any]) -> Iterator[str]:
    """Yield the command lines of a job of either kind."""
    if "steps" in job:
        yield from (step["run"] for step in job["steps"] if "run" in step)
    else:
        yield from job["script"]


def ours(job: dict[str, Any]) -> list[str]:
    """Return the commands of a job that are run here; one that is neither ours nor known fails the test."""
    lines = [line.strip() for step in steps_of(job) for line in step.splitlines() if line.strip()]
    kept = [line for line in lines if not any(known.fullmatch(line) for known in NOT_OURS)]
    assert [line for line in kept if not re.match(r"(tutoreval|pytest|python example_tutor\.py)\b", line)] == []
    return kept


def run_all(lines: list[str], shell: Shell) -> list[Ran]:
    """Run a job's commands up to the first that fails, as CI does."""
    done: list[Ran] = []
    for line in lines:
        done.append(shell.run(Command(line, ())))
        if done[-1].code:
            break
    return done


@pytest.fixture
def project(tutorial: Path, tmp_path: Path) -> Path:
    """A repository with a study of its own, a baseline, and recorded sessions of the tutor as it was."""
    return Path(shutil.copytree(tutorial, tmp_path / "project", ignore=shutil.ignore_patterns("reports", "corpora")))


def record(project: Path, tutorial: Path, corpus: str) -> None:
    shutil.copytree(tutorial / "corpora" / corpus, project / "corpora" / "recorded")


@pytest.mark.parametrize("name", [path.name for path in RECIPES])
def test_a_recipe_parses_and_hides_no_command(name: str) -> None:
    loaded = recipe(name)
    jobs = loaded["jobs"] if "jobs" in loaded else {key: loaded[key] for key in loaded if key != "default"}
    assert jobs
    for job in jobs.values():
        assert [line for line in ours(job) if line.startswith("pytest ")]


def test_a_pull_request_that_holds_passes_and_writes_the_steps_summary(
    project: Path, tutorial: Path, package: Path, tmp_path: Path
) -> None:
    record(project, tutorial, "first")
    summary = tmp_path / "step.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    with Shell(project, package=package, variables=github) as shell:
        done = run_all(ours(recipe("github-pull-request.yml")["jobs"]["gate"]), shell)
    assert [ran.code for ran in done] == [0, 0, 0], done[-1].said
    assert "::error" not in done[-1].said
    assert "gate: 0 regressed, 0 not decided, 6 held; passed" in summary.read_text(encoding="utf-8")
    assert summary.read_text(encoding="utf-8").startswith("<!-- tutoreval summary -->")


def test_a_pull_request_that_leaks_more_fails_with_annotations(
    project: Path, tutorial: Path, package: Path, tmp_path: Path
) -> None:
    record(project, tutorial, "second")
    summary = tmp_path / "step.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    with Shell(project, package=package, variables=github) as shell:
        done = run_all(ours(recipe("github-pull-request.yml")["jobs"]["gate"]), shell)
    assert [ran.code for ran in done] == [0, 0, 1]
    assert re.search(r"^::error title=regressed%3A leakage mytutor candidate::0\.188 -> 0\.682, ", done[-1].said, re.M)
    assert "gate: 6 regressed, 0 not decided, 0 held; FAILED" in summary.read_text(encoding="utf-8")
    assert (project / "reports" / "summary.md").is_file()
    assert 'name="verdict"' in (project / "reports" / "junit.xml").read_text(encoding="utf-8")
    assert list((project / "reports" / "allure-results").glob("*-result.json"))


def test_a_merge_request_on_gitlab_is_decided_alike(project: Path, tutorial: Path, package: Path) -> None:
    record(project, tutorial, "second")
    loaded = recipe("gitlab.yml")
    with Shell(project, package=package) as shell:
        done = run_all(ours(loaded["tutor-gate"]), shell)
    assert [ran.code for ran in done] == [0, 0, 1]
    assert "::error" not in done[-1].said
    assert (project / loaded["default"]["artifacts"]["reports"]["junit"]).is_file()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        pytest.param("github-nightly.yml", ("jobs", "night"), id="github"),
        pytest.param("gitlab.yml", ("tutor-nightly",), id="gitlab"),
    ],
)
def test_a_night_collects_within_its_budget_and_is_decided(
    name: str, path: tuple[str, ...], tutorial: Path, package: Path, tmp_path: Path
) -> None:
    job: Any = recipe(name)
    for key in path:
        job = job[key]
    project = tmp_path / "project"
    project.mkdir()
    # A study of its own on a port of its own: nights of two recipes may be tested at once.
    with Shell(project, package=package, variables={"CORPUS": "corpora/night-7"}) as shell:
        for line in ("tutoreval init", "tutoreval lock"):
            assert shell.run(Command(line, ())).code == 0
        shutil.copy(tutorial / "baseline.json", project)
        done = run_all(ours(job), shell)
    assert [ran.code for ran in done] == [0] * len(done), done[-1].said
    assert "gate: 0 regressed, 0 not decided, 6 held; passed" in done[-1].said
    assert (project / "corpora" / "night-7" / "corpus.toml").is_file()
    assert any("--tutoreval-budget" in line for line in ours(job))
