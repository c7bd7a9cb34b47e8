"""What a run leaves behind: one set of files that agree, in the words any console can show."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.reporting.markdown import render_summary
from pytest_tutoreval.reporting.outputs import RENDERERS, Renderer
from tests.plugin.runs import ROOT, claims_lines, document, make_suite, reasons, run, write_test
from tests.store.corpora import DEMO, a_table_corpus

SCHEMA = ROOT / "docs" / "reference" / "verdicts-schema.json"
OUT_OF_RUN = (
    "format",
    "study",
    "corpus",
    "registrations",
    "claims",
    "not_evaluable",
    "analyses",
    "not_analysed",
    "cost",
)


@pytest.fixture
def suite(pytester: pytest.Pytester, tmp_path: Path) -> pytest.Pytester:
    """The shipped claims on one base of which P1 alone can be decided."""
    a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)
    make_suite(pytester)
    return pytester


def summary(suite: pytest.Pytester) -> str:
    return (suite.path / "reports" / "summary.md").read_text(encoding="utf-8")


def test_the_demos_document_satisfies_the_schema_and_registers_its_claims(pytester: pytest.Pytester) -> None:
    make_suite(pytester)
    assert run(pytester, "--corpus", DEMO, "--base", "sonnet").ret == 0
    written = document(pytester)
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_bytes())).validate(written)
    assert [entry["claim"] for entry in written["registrations"]] == list(bundled_claims())
    assert written["registrations"][0]["rule"].startswith(
        "Supported if mean conv - ped of leakage over paired replicates"
    )
    assert written["run"]["corpus_folder"] == str(DEMO)
    assert {"summary.md"} <= set(written["run"]["outputs"])
    assert summary(pytester) == render_summary(written), "re-rendered, it is the same"


def test_everything_but_the_run_is_the_same_with_workers(suite: pytest.Pytester, tmp_path: Path) -> None:
    run(suite, "--corpus", tmp_path / "c")
    alone = document(suite)
    run(suite, "--corpus", tmp_path / "c", "-n2", fresh=True)
    shared = document(suite)
    assert set(alone) == {*OUT_OF_RUN, "gate", "run"}
    assert [json.dumps(alone[name]) for name in OUT_OF_RUN] == [json.dumps(shared[name]) for name in OUT_OF_RUN]
    assert alone["run"]["id"] != shared["run"]["id"]
    assert len(alone["registrations"]) == 5, "those of claims that are not evaluable, too"


@pytest.mark.parametrize("flags", [["-q"], ["-qq"], ["-qq", "--tb=no", "--no-header"], ["--color=yes"], ["-v"]])
def test_the_claims_section_is_the_same_at_any_verbosity(
    suite: pytest.Pytester, tmp_path: Path, flags: list[str]
) -> None:
    plain = claims_lines(run(suite, "--corpus", tmp_path / "c"))
    shown = run(suite, "--corpus", tmp_path / "c", *flags).stdout.str().replace("\x1b", "<")
    for line in plain:
        assert line in shown


# consoles

HOSTILE = r"raise RuntimeError('π \x1b[2J\x07 \u202e \ud800 ##[add-mask]x \r::error::')"
HOSTILE_TEST = f'@pytest.mark.claim("P1")\ndef test_own(decided, base):\n    {HOSTILE}\n'


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
def test_no_console_breaks_and_none_is_steered(
    suite: pytest.Pytester, tmp_path: Path, encoding: str, workers: list[str]
) -> None:
    write_test(suite, HOSTILE_TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", f"--corpus={tmp_path / 'c'}", "-m", "P1", "--color=no", *workers],
        env={**os.environ, "PYTHONIOENCODING": encoding, "GITHUB_ACTIONS": "true"},
        cwd=suite.path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    text = done.stdout.decode(encoding)
    claims = text[text.index("= claims =") :]
    assert "P1    sonnet -     supported           +0.320 [+0.292, +0.348]" in claims
    greek = "π" if encoding == "utf-8" else r"\u03c0"
    assert rf"RuntimeError: {greek} \x1b[2J\x07 \u202e \ud800 #\x23[add-mask]x \r::error::" in claims
    assert not {"\x1b", "\x07", "\u202e"} & set(claims)
    assert "INTERNALERROR" not in text
    assert "\\ud800" in reasons(document(suite))["P1", "sonnet", None], "the document holds it spelled out, too"


def test_a_reason_of_two_megabytes_is_cut_wherever_it_is_shown(suite: pytest.Pytester, tmp_path: Path) -> None:
    write_test(suite, '@pytest.mark.claim("P1")\ndef test_own(decided, base):\n    pytest.fail("x" * 2_000_000)\n')
    result = run(suite, "--corpus", tmp_path / "c", "-m", "P1", "--tb=no", "-q", "-rN")
    assert max(map(len, claims_lines(result))) < 3_000
    assert "characters more)" in summary(suite)
    assert (suite.path / "reports" / "verdicts.json").stat().st_size < 200_000


# GitHub


def test_github_gets_annotations_and_a_step_summary(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step.md"
    step.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    result = run(suite, "--corpus", tmp_path / "c", "-qq")
    errors = [line for line in result.outlines if line.startswith("::error title=not evaluable%3A ")]
    assert len(errors) == 4
    assert errors[1].startswith("::error title=not evaluable%3A P3 sonnet::independence is defined in 0 of 10 pairs")
    assert step.read_text(encoding="utf-8") == f"before\n{summary(suite)}\n"


def test_elsewhere_there_are_none(suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert not any(line.startswith("::") for line in run(suite, "--corpus", tmp_path / "c").outlines)


def test_a_step_summary_that_cannot_be_written_is_said(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "such" / "folder"))
    result = run(suite, "--corpus", tmp_path / "c", "-m", "P1")
    result.stdout.fnmatch_lines(["NOT WRITTEN: $GITHUB_STEP_SUMMARY: *"])
    assert document(suite)["run"]["evaluated"] == 1


# what cannot be written


def test_a_renderer_that_fails_loses_no_verdict_and_the_run_does_not_exit_zero(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(written: Any, folder: Path) -> list[str]:
        raise ValueError("no template")

    assert run(suite, "--corpus", tmp_path / "c", "-m", "P1").ret == 0
    broken = (Renderer("page.html", ("page.html",), fails), *RENDERERS)
    monkeypatch.setattr("pytest_tutoreval.workbench.Workbench.renderers", broken)
    result = run(suite, "--corpus", tmp_path / "c", "-m", "P1")
    assert result.ret == 1
    assert document(suite)["run"]["not_written"] == [{"output": "page.html", "reason": "ValueError: no template"}]
    result.stdout.fnmatch_lines(["P1    sonnet *", "NOT WRITTEN: page.html: ValueError: no template"])
    assert "> **NOT WRITTEN** `page.html: ValueError: no template`<br>" in summary(suite)


def test_a_folder_that_cannot_be_written_is_said_beside_the_verdicts(suite: pytest.Pytester, tmp_path: Path) -> None:
    (suite.path / "taken").write_text("a file", encoding="utf-8")
    result = run(suite, "--corpus", tmp_path / "c", "-m", "P1", "--tutoreval-report", "taken")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["P1    sonnet *", "NOT WRITTEN: taken: *"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert (suite.path / "taken").read_text(encoding="utf-8") == "a file"


def test_a_move_that_fails_leaves_the_last_runs_set(
    suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(suite, "--corpus", tmp_path / "c", "-m", "P1")
    before, replace = document(suite), os.replace

    def full(source: Any, target: Any) -> None:
        if Path(source).name == "summary.md" and "new" in Path(source).parts:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    result = run(suite, "--corpus", tmp_path / "c", "-m", "P1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["NOT WRITTEN: reports: * No space left on device"])
    assert document(suite) == before
    assert summary(suite) == render_summary(before)
