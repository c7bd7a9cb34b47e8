"""Projects that are not about us: left alone, silent, and every way of switching the plugin on and off."""

from pathlib import Path

import pytest

from tests.plugin.runs import document, make_suite, run, verdicts, write_test

FOREIGN = """
@pytest.fixture
def base(): return "theirs"

@pytest.fixture(params=["a", "b"])
def judge(request): return request.param

def test_theirs(base, judge):
    assert (base, judge) in [("theirs", "a"), ("theirs", "b")]

@pytest.mark.parametrize("base", [1, 2])
def test_parametrised(base):
    assert base in (1, 2)
"""


def test_a_foreign_base_and_judge_are_left_alone_and_nothing_is_written(pytester: pytest.Pytester) -> None:
    write_test(pytester, FOREIGN)
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure(config):
            heavy = ("numpy", "pydantic", "scipy", "pandas", "httpx", "pytest_tutoreval.workbench")
            print("LOADED", [name for name in heavy if name in sys.modules])
        """
    )
    result = run(pytester, "-p", "no:cacheprovider", "-s", fresh=True)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*LOADED []"])
    result.stdout.no_fnmatch_line("*tutoreval-recorder*")
    result.stdout.no_fnmatch_line("* claims *")
    of_pytester = {"__pycache__", "runpytest-0", "runpytest-current", "stdout", "stderr"}
    assert {path.name for path in pytester.path.iterdir()} - of_pytester == {"test_own.py", "conftest.py"}


def test_it_works_without_xdist(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    result = run(pytester, "-p", "no:xdist", "--corpus", released, "-m", "P1", fresh=True)
    assert result.ret == 0
    assert len(verdicts(document(pytester))) == 3


def test_it_works_without_autoload_when_it_is_named(
    pytester: pytest.Pytester, released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    make_suite(pytester)
    without = run(pytester, "--corpus", released, fresh=True)
    assert without.ret == 4
    without.stderr.fnmatch_lines(["*unrecognized arguments: --corpus=*"])
    result = run(pytester, "-p", "pytest_tutoreval.plugin", "--corpus", released, "-m", "P1", fresh=True)
    assert result.ret == 0
    assert len(verdicts(document(pytester))) == 3


def test_naming_it_beside_the_entry_point_is_one_plugin(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    pytester.makeconftest("pytest_plugins = ['pytest_tutoreval.plugin']")
    arguments = ("-p", "pytest_tutoreval.plugin", "--corpus", released, "-m", "P1")
    assert run(pytester, *arguments, fresh=True).ret == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--strict-markers"], "*'claim' not found in `markers` configuration option*", id="strict-markers"
        ),
        pytest.param([], "*fixture 'decided' not found*", id="loose-markers"),
    ],
)
def test_a_blocked_plugin_makes_the_suite_fail_clearly(
    pytester: pytest.Pytester, arguments: list[str], message: str
) -> None:
    make_suite(pytester)
    result = run(pytester, "-p", "no:pytest_tutoreval.plugin", *arguments, fresh=True)
    assert result.ret in (1, 2)
    result.stdout.fnmatch_lines([message])
    assert not (pytester.path / "reports").exists()


def test_the_bundled_demo_is_decided_by_default_and_says_it_is_simulated(pytester: pytest.Pytester) -> None:
    make_suite(pytester)
    result = run(pytester, "-m", "P1")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["SIMULATED DATA, scripted agents took part: corpus demo *"])
    written = document(pytester)
    assert written["corpus"]["provenance"] == "simulated"
    assert written["study"]["instrument_sha256"]


def test_two_runs_in_one_process_do_not_share_state(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    run(pytester, "--corpus", released, "-m", "P1")
    first = document(pytester)
    run(pytester, "-m", "P1")
    second = document(pytester)
    assert (first["corpus"]["name"], second["corpus"]["name"]) == ("released-tables", "demo")


def test_the_header_of_pytest_stays_as_it_was(pytester: pytest.Pytester) -> None:
    write_test(pytester, "def test_fine(): pass\n")
    with_us = run(pytester, "-p", "no:cacheprovider").outlines
    assert sum("tutoreval" in line for line in with_us) <= 1, "named among the plugins, and nowhere else"
