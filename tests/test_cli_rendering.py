"""`tutoreval report html` and `report allure`: from a document alone, with transcripts where its corpus is there."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pytest_tutoreval.cli import app
from pytest_tutoreval.store import open_corpus
from tests.reporting.documents import a_document
from tests.store.corpora import DEMO, a_table_corpus


@pytest.fixture(scope="module")
def demo_digest() -> str:
    return open_corpus(DEMO).sha256


def write_verdicts(folder: Path, *, corpus: Path | None, sha256: str) -> Path:
    document: dict[str, Any] = a_document(run={"corpus_folder": None if corpus is None else str(corpus)})
    document["corpus"]["sha256"] = sha256
    path = folder / "verdicts.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def report(kind: str, verdicts: Path, to: Path, *more: str) -> Result:
    return CliRunner().invoke(app, ["report", kind, "--from", str(verdicts), "--to", str(to), *more])


def test_the_page_has_the_transcripts_of_the_runs_own_corpus(tmp_path: Path, demo_digest: str) -> None:
    verdicts = write_verdicts(tmp_path, corpus=DEMO, sha256=demo_digest)
    result = report("html", verdicts, tmp_path / "to")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{tmp_path / 'to'}: report.html\n"
    named = report(
        "html", write_verdicts(tmp_path, corpus=None, sha256=demo_digest), tmp_path / "on", f"--corpus={DEMO}"
    )
    assert (named.exit_code, named.stderr) == (0, "")
    for folder in ("to", "on"):
        assert (tmp_path / folder / "report.html").stat().st_size > 1_000_000, "every turn of the demo"


@pytest.mark.parametrize(
    ("corpus", "reason"),
    [
        (None, "the document does not say where its corpus is; name it with --corpus"),
        ("gone", "the corpus of the run is not there; name its folder with --corpus"),
        ("other", "but the verdicts were decided from dddddddddddd; name that corpus with --corpus"),
        ("broken", "corpus.toml"),
    ],
)
def test_without_its_corpus_the_page_has_no_transcripts_and_says_why(
    tmp_path: Path, corpus: str | None, reason: str
) -> None:
    a_table_corpus(tmp_path / "other", [0.5] * 10, [0.25] * 10)
    (tmp_path / "broken").mkdir()
    verdicts = write_verdicts(tmp_path, corpus=tmp_path / corpus if corpus else None, sha256="d" * 64)
    result = report("html", verdicts, tmp_path / "to")
    assert result.exit_code == 0
    assert result.stderr.startswith("no transcripts: ")
    assert reason in result.stderr
    assert (tmp_path / "to" / "report.html").stat().st_size < 1_000_000


def test_transcripts_of_other_data_are_refused_where_they_were_asked_for(tmp_path: Path) -> None:
    other = a_table_corpus(tmp_path / "other", [0.5] * 10, [0.25] * 10)
    verdicts = write_verdicts(tmp_path, corpus=None, sha256="d" * 64)
    result = report("html", verdicts, tmp_path / "to", f"--corpus={other}")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"tutoreval: {other}: digest ")
    assert not (tmp_path / "to").exists()


def test_allure_results_are_written_and_counted(tmp_path: Path) -> None:
    verdicts = write_verdicts(tmp_path, corpus=None, sha256="d" * 64)
    result = report("allure", verdicts, tmp_path / "to")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{tmp_path / 'to'}: 10 results; render with: npx allure awesome")
    assert len(list((tmp_path / "to").glob("*-result.json"))) == 10


@pytest.mark.parametrize("kind", ["html", "allure"])
def test_what_is_no_document_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    (tmp_path / "verdicts.json").write_text("{}", encoding="utf-8")
    result = report(kind, tmp_path / "verdicts.json", tmp_path / "to")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "expected 'tutoreval-verdicts/1'" in result.stderr
    assert not (tmp_path / "to").exists()
