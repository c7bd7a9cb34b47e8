"""Commands that render a finished run's document again: nothing is run, decided or averaged anew."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pytest_tutoreval.cli.arguments import StudyOption, failing_in_one_line

if TYPE_CHECKING:
    from pytest_tutoreval.measures import CorpusMeasures

__all__ = ["report_allure", "report_html"]

From = Annotated[Path, typer.Option("--from", exists=True, dir_okay=False, help="A verdicts.json that pytest wrote")]
Into = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder the files are written to")]


def report_allure(from_: From, to: Into) -> None:
    """Write a run as Allure results, for `npx allure awesome` or Allure 2; histories follow a claim, base and judge."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.allure_results import write_allure_results

        names = write_allure_results(_document(from_), to)
        results = sum(name.endswith("-result.json") for name in names)
        typer.echo(f"{to}: {results} results; render with: npx allure awesome {to} --single-file")


def report_html(
    from_: From,
    to: Into,
    corpus: Annotated[
        Path | None,
        typer.Option(
            "--corpus",
            exists=True,
            file_okay=False,
            help="Corpus the transcripts are read from (default: the run's own)",
        ),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Put the study's figures in; needs the corpus and the extra 'figures'")
    ] = False,
    study: StudyOption = None,
) -> None:
    """Write a run as one HTML page, with transcripts where the corpus it was decided from is still there."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.html.page import write_html

        document = _document(from_)
        measures, missing = _measures(document, corpus, study)
        if missing:
            typer.echo(f"no transcripts: {missing}", err=True)
        to.mkdir(parents=True, exist_ok=True)
        names = write_html(document, measures, to, figures=_figures(measures, missing) if figures else None)
        typer.echo(f"{to}: {', '.join(names)}")


def _figures(measures: "CorpusMeasures | None", missing: str | None) -> dict[str, str]:
    """Return the study's figures of a corpus, title and SVG text."""
    from pytest_tutoreval.errors import ConfigurationProblem
    from pytest_tutoreval.reporting.figures import write_figures

    if measures is None:
        raise ConfigurationProblem(f"--figures: {missing}")
    with TemporaryDirectory() as folder:
        drawn = write_figures(measures, Path(folder))
        return {path.stem: path.read_text(encoding="utf-8") for path in drawn if path.suffix == ".svg"}


def _document(path: Path) -> dict[str, Any]:
    from pytest_tutoreval.reporting.model import read_document

    return read_document(path).model_dump(mode="json")


def _measures(
    document: dict[str, Any], corpus: Path | None, study: Path | None
) -> "tuple[CorpusMeasures | None, str | None]":
    """Return the corpus a document was decided from, or why it cannot be had.

    Raises
    ------
    TutorEvalError
        A corpus that was asked for cannot be opened, or is another one: its transcripts would not be the evidence.
    """
    from pytest_tutoreval.errors import ConfigurationProblem, TutorEvalError
    from pytest_tutoreval.workbench import Workbench

    kept = document["run"].get("corpus_folder")
    folder = corpus or (Path(kept) if kept else None)
    if folder is None:
        return None, "the document does not say where its corpus is; name it with --corpus"
    if not folder.is_dir():
        return None, f"{folder}: the corpus of the run is not there; name its folder with --corpus"
    try:
        measures = Workbench(folder, study_file=study).measures
        found, decided = measures.corpus.sha256, document["corpus"]["sha256"]
        if found != decided:
            raise ConfigurationProblem(
                f"{folder}: digest {found[:12]}, but the verdicts were decided from {decided[:12]}; "
                "name that corpus with --corpus"
            )
    except TutorEvalError as exc:
        if corpus is not None:
            raise
        return None, str(exc)
    return measures, None
