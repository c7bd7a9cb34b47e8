"""The main job, as a user does it: import, run, read the same verdicts in any mode."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from tests.importing.layout import results_tree
from tests.plugin.runs import claims_lines, document, junit, make_suite, run, verdicts
from tests.store.corpora import fingerprint

EVERYTHING = ("--base", "all", "--judge", "all")


def without_run(written: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in written.items() if name != "run"}


@pytest.fixture
def expected(paper_tables: Path, released: Path) -> dict[tuple[str, str, str | None], str]:
    """The published verdicts, and the second judge's headline from its released files."""
    entries = json.loads((paper_tables.parent.parent / "paper" / "published.json").read_text(encoding="utf-8"))
    found: dict[tuple[str, str, str | None], str] = {}
    for entry in entries["entries"]:
        if entry["id"].startswith("verdict/"):
            _, claim, base, judge = entry["id"].split("/")
            found[claim, base, None if claim in ("P1", "P3") else judge] = entry["value"]
    for base in ("sonnet", "gpt", "gemini"):
        released_file = json.loads((paper_tables / f"inference.{base}.sol.json").read_text(encoding="utf-8"))
        holds = released_file["j2_full"]["J2_supported"]
        found["J2", base, "sol"] = "supported" if holds else "not_supported"
    return found


def test_importing_and_running_gives_every_published_verdict(
    pytester: pytest.Pytester, paper_tables: Path, expected: dict[tuple[str, str, str | None], str]
) -> None:
    results_tree(paper_tables, pytester.path / "study" / "results")
    imported = CliRunner().invoke(app, ["import", "released", "study/results", "--to", "corpus"])
    assert imported.exit_code == 0
    make_suite(pytester)
    result = run(pytester, "--corpus", "corpus", *EVERYTHING, "--junitxml", "junit.xml")
    assert result.ret == 0
    assert len(expected) == 24
    assert verdicts(document(pytester)) == expected
    result.stdout.fnmatch_lines(["24 claims decided, 0 not evaluable", "verdicts written to reports/verdicts.json"])
    said = {name: verdict for name, (_, verdict) in junit(pytester.path / "junit.xml").items()}
    assert said["test_p2[sonnet-opus]"] == "not supported"
    assert len(said) == 24
    assert None not in said.values()


def test_the_document_is_the_same_at_any_number_of_workers_in_any_order_and_under_any_hash_seed(
    pytester: pytest.Pytester, released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_suite(pytester)
    before = fingerprint(released)
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    plain = run(pytester, "--corpus", released, *EVERYTHING, "-n0", fresh=True)
    first = document(pytester)
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    split = run(pytester, "--corpus", released, *EVERYTHING, "-n2", fresh=True)
    second = document(pytester)
    assert (plain.ret, split.ret) == (0, 0)
    assert without_run(first) == without_run(second)
    assert claims_lines(plain) == claims_lines(split)
    assert all(line.isascii() for line in claims_lines(plain))
    assert {name: first["run"][name] for name in ("selected", "evaluated", "complete", "partial")} == {
        name: second["run"][name] for name in ("selected", "evaluated", "complete", "partial")
    }
    pytester.makeconftest(
        """
        import random

        def pytest_collection_modifyitems(items):
            random.Random(3).shuffle(items)
        """
    )
    shuffled = run(pytester, "--corpus", released, *EVERYTHING)
    assert shuffled.ret == 0
    assert without_run(document(pytester)) == without_run(first)
    assert claims_lines(shuffled) == claims_lines(plain)
    assert fingerprint(released) == before, "deciding writes nothing into the corpus"


def test_results_do_not_depend_on_an_earlier_error(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    pytester.makepyfile(
        test_a_first="""
        import pytest

        @pytest.mark.claim("P1")
        def test_broken(decided, base):
            decided.registered_as(measure="helpfulness")
        """
    )
    result = run(pytester, "--corpus", released, *EVERYTHING)
    assert result.ret == 1
    with_errors = document(pytester)
    (pytester.path / "test_a_first.py").unlink()
    run(pytester, "--corpus", released, *EVERYTHING)
    assert with_errors["claims"] == document(pytester)["claims"]
    assert len(with_errors["not_evaluable"]) == 3


def test_a_run_can_be_read_from_its_terminal_alone(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    result = run(pytester, "--corpus", released, "--base", "gpt", "--judge", "opus", "-v")
    result.stdout.fnmatch_lines(
        [
            "*test_claims.py::test_p1[[]gpt] SUPPORTED*",
            "*test_claims.py::test_p2[[]gpt-opus] NOT SUPPORTED*",
            "imported data: corpus released-tables *",
            "P2    gpt    opus  not supported (rev) -0.376 [[]-0.613, -0.169]   .0020  -.74  10",
            "judge opus     gpt",
            "  P2           not supported",
            "  J2 gpt opus: helpfulness: released -0.3134 is not the maximum -0.3119*",
            "5 claims decided, 0 not evaluable",
        ]
    )
