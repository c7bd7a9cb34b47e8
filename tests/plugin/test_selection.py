"""Which claims run: marks, names, --lf, -x, and what an unknown name says."""

from pathlib import Path

import pytest

from tests.plugin.runs import document, make_suite, run, verdicts
from tests.store.corpora import a_table_corpus


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    make_suite(pytester)
    return pytester


def collected(result: pytest.RunResult) -> list[str]:
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


@pytest.mark.parametrize(
    ("arguments", "items"),
    [
        pytest.param(["-m", "P1"], ["test_p1[sonnet]", "test_p1[gpt]", "test_p1[gemini]"], id="a-claim"),
        pytest.param(
            ["-m", "J2 and not sonnet"],
            ["test_j2[gpt-opus]", "test_j2[gpt-sol]", "test_j2[gemini-opus]", "test_j2[gemini-sol]"],
            id="a-claim-without-a-base",
        ),
        pytest.param(
            ["-m", "judge(name='sol') and P2"],
            ["test_p2[sonnet-sol]", "test_p2[gpt-sol]", "test_p2[gemini-sol]"],
            id="a-judge",
        ),
        pytest.param(["-m", "judge(name='sol')", "--base", "gpt"], [f"test_{c}[gpt-sol]" for c in ("p2", "j1", "j2")]),
        pytest.param(["-m", "base(name='gpt') and P1"], ["test_p1[gpt]"], id="a-base-by-name"),
        pytest.param(["-m", "claim('P3') and gpt", "--base", "all"], None, id="not-a-valid-expression"),
        pytest.param(["-k", "p1 and gem"], ["test_p1[gemini]"], id="a-word"),
        pytest.param(
            ["--base", "gemini,sonnet", "-m", "P3"], ["test_p3[sonnet]", "test_p3[gemini]"], id="a-comma-list"
        ),
        pytest.param(
            ["--base", "gemini", "--base", "gpt", "-m", "P3"], ["test_p3[gpt]", "test_p3[gemini]"], id="repeated"
        ),
        pytest.param(
            ["--base", "gpt", "--judge", "sol"],
            ["test_p1[gpt]", "test_p2[gpt-sol]", "test_p3[gpt]", "test_j1[gpt-sol]", "test_j2[gpt-sol]"],
            id="one-base-one-judge",
        ),
        pytest.param(["-m", "confirmatory and P1 and gpt"], ["test_p1[gpt]"], id="a-role"),
        pytest.param(["-m", "sensitivity"], [], id="a-role-nobody-has"),
    ],
)
def test_what_is_selected_is_what_was_said(
    suite: pytest.Pytester, released: Path, arguments: list[str], items: list[str] | None
) -> None:
    result = run(suite, "--collect-only", "-q", "--strict-markers", "--corpus", released, *arguments)
    if items is None:
        assert result.ret == 4
    else:
        assert collected(result) == items
        assert result.ret == (0 if items else 5)
    assert not (suite.path / "reports").exists(), "--collect-only writes nothing"


def test_everything_is_selected_by_default(suite: pytest.Pytester, released: Path) -> None:
    items = collected(run(suite, "--collect-only", "-q", "--corpus", released))
    assert len(items) == len(set(items)) == 24
    assert items == collected(
        run(suite, "--collect-only", "-q", "--corpus", released, "--base", "all", "--judge", "all")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "claude"], "--base: unknown claude (the corpus holds: sonnet, gpt, gemini; or all)"),
        (["--base", "gpt,b,a"], "--base: unknown a, b (the corpus holds: sonnet, gpt, gemini; or all)"),
        (["--judge", "me"], "--judge: unknown me (the corpus holds: opus, sol; or all)"),
        (["--base", "gpt,"], "'gpt,': empty name in a comma list"),
    ],
)
def test_an_unknown_name_is_one_line_and_exit_four(
    suite: pytest.Pytester, released: Path, arguments: list[str], message: str
) -> None:
    result = run(suite, "--corpus", released, *arguments)
    assert result.ret == 4
    assert sum(message in line for line in result.errlines) == 1
    assert not (suite.path / "reports").exists()


def test_an_unknown_name_stops_before_any_worker(suite: pytest.Pytester, released: Path) -> None:
    result = run(suite, "-n2", "--corpus", released, "--base", "claude", fresh=True)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --base: unknown claude (the corpus holds: sonnet, gpt, gemini; or all)"])
    result.stdout.no_fnmatch_line("*created: *")


def test_a_corpus_that_is_not_there_is_one_line_and_exit_four(suite: pytest.Pytester) -> None:
    result = run(suite, "--corpus", "nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: nowhere: no corpus.toml there; give --corpus a folder made by tutoreval"])


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
def test_last_failed_runs_what_was_not_evaluable_and_says_it_is_partial(
    suite: pytest.Pytester, tmp_path: Path, workers: list[str]
) -> None:
    corpus = a_table_corpus(tmp_path / "c", [0.5] * 10, [0.25] * 10)
    first = run(suite, "--corpus", corpus, fresh=bool(workers))
    assert first.ret == 1
    whole = document(suite)["run"]
    assert (whole["evaluated"], whole["not_evaluable"], whole["partial"]) == (1, 4, False)
    again = run(suite, "--corpus", corpus, "--lf", *workers, fresh=bool(workers))
    assert again.ret == 1
    part = document(suite)["run"]
    assert (part["evaluated"], part["not_evaluable"], part["selected"]) == (0, 4, 4)
    assert part["partial"]
    again.stdout.fnmatch_lines(["0 claims decided, 4 not evaluable", "PARTIAL: last failures only"])


def test_exitfirst_stops_and_says_it_is_incomplete(suite: pytest.Pytester, tmp_path: Path) -> None:
    corpus = a_table_corpus(tmp_path / "c", [0.5] * 10, [0.25] * 10)
    result = run(suite, "--corpus", corpus, "-x")
    assert result.ret == 1
    written = document(suite)["run"]
    assert (written["evaluated"], written["not_evaluable"], written["complete"]) == (1, 1, False)
    assert len(written["unfinished"]) == 3
    result.stdout.fnmatch_lines(["1 claims decided, 1 not evaluable", "INCOMPLETE: 3 of 5 items did not finish *"])


def test_a_partial_run_says_so(suite: pytest.Pytester, released: Path) -> None:
    result = run(suite, "--corpus", released, "-m", "P1")
    assert result.ret == 0
    written = document(suite)
    assert set(verdicts(written)) == {("P1", base, None) for base in ("sonnet", "gpt", "gemini")}
    assert (written["run"]["partial"], written["run"]["deselected"], written["run"]["complete"]) == (True, 21, True)
    result.stdout.fnmatch_lines(["3 claims decided, 0 not evaluable", "PARTIAL: 21 items deselected"])


def test_a_partial_run_says_so_with_workers(suite: pytest.Pytester, released: Path) -> None:
    result = run(suite, "--corpus", released, "-m", "P1", "-n2", fresh=True)
    assert result.ret == 0
    assert document(suite)["run"]["deselected"] == 21


def test_choosing_a_base_is_not_a_partial_run_of_it(suite: pytest.Pytester, released: Path) -> None:
    run(suite, "--corpus", released, "--base", "gpt", "-k", "p1 or p3 or p2 or j")
    written = document(suite)["run"]
    assert (written["partial"], written["bases"], written["judges"]) == (False, ["gpt"], ["opus", "sol"])


def test_everything_deselected_exits_five_and_writes_nothing(suite: pytest.Pytester, released: Path) -> None:
    assert run(suite, "--corpus", released, "-k", "nothing").ret == 5
    assert not (suite.path / "reports").exists()


def test_the_report_goes_where_it_was_told(suite: pytest.Pytester, released: Path) -> None:
    result = run(suite, "--corpus", released, "-m", "P1", "--tutoreval-report", "elsewhere/deep")
    result.stdout.fnmatch_lines(["verdicts written to elsewhere/deep/verdicts.json"])
    assert (suite.path / "elsewhere" / "deep" / "verdicts.json").is_file()
    assert not (suite.path / "reports").exists()


def test_the_document_stays_here_wherever_the_corpus_is(suite: pytest.Pytester, released: Path) -> None:
    result = suite.runpytest_inprocess("--corpus", str(released), "-m", "P1")
    assert result.ret == 0
    assert (suite.path / "reports" / "verdicts.json").is_file()


def test_the_document_stands_at_the_root_of_a_project(suite: pytest.Pytester, released: Path) -> None:
    suite.makeini("[pytest]\n")
    (suite.path / "below").mkdir()
    suite.chdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(suite.path / "below")
        assert suite.runpytest_inprocess(f"--corpus={released}", "-m", "P1", str(suite.path)).ret == 0
    assert (suite.path / "reports" / "verdicts.json").is_file()


def test_addopts_work(suite: pytest.Pytester, released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--base gpt -m P1")
    run(suite, "--corpus", released)
    assert set(verdicts(document(suite))) == {("P1", "gpt", None)}


def test_strict_markers_and_strict_config_accept_the_suite(suite: pytest.Pytester, released: Path) -> None:
    suite.makeini("[pytest]\naddopts = --strict-markers --strict-config\n")
    assert run(suite, "--corpus", released, "-m", "P1 and gpt").ret == 0


def test_markers_are_documented(suite: pytest.Pytester) -> None:
    result = run(suite, "--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.claim(id): *", "@pytest.mark.judge(name): *"])
