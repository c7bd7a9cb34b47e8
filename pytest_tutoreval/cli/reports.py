"""Commands that write what a corpus says: tables, figures, the replication report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_tutoreval.cli.arguments import StudyOption, failing_in_one_line

if TYPE_CHECKING:
    from pytest_tutoreval.analyses.replication_evidence import Evidence

__all__ = ["report_figures", "report_replication", "report_tables"]

Held = Annotated[Path, typer.Option("--corpus", exists=True, file_okay=False, help="Corpus to report on")]
Into = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder the files are written to")]


def report_tables(corpus: Held, to: Into, study: StudyOption = None) -> None:
    """Write Tables 1 to 6 of the study from a corpus, each as CSV, Markdown and LaTeX."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.tables_study import study_tables
        from pytest_tutoreval.reporting.tables_writing import write_tables
        from pytest_tutoreval.workbench import Workbench

        written = write_tables(study_tables(Workbench(corpus, study_file=study).measures), to)
        typer.echo(f"{to}: {len(written)} files, {', '.join(path.name for path in written if path.suffix == '.md')}")


def report_figures(corpus: Held, to: Into, study: StudyOption = None) -> None:
    """Draw Figures 1 to 4 of the study from a corpus, each as SVG and PNG; needs the extra `figures`."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.figures import write_figures
        from pytest_tutoreval.workbench import Workbench

        written = write_figures(Workbench(corpus, study_file=study).measures, to)
        typer.echo(f"{to}: {len(written)} files, {', '.join(path.name for path in written if path.suffix == '.svg')}")


def report_replication(
    corpus: Held,
    to: Annotated[Path | None, typer.Option("--to", help="File, or folder of one (default: the terminal)")] = None,
    form: Annotated[str, typer.Option("--format", help="text, markdown or json (default: as the file's ending)")] = "",
    study: StudyOption = None,
) -> None:
    """Hold every number the study printed against a corpus; exit 0 when nothing is different, 1 otherwise."""
    endings = {"text": "txt", "markdown": "md", "json": "json"}
    by_ending = {f".{ending}": name for name, ending in endings.items()}
    form = form or (by_ending.get(to.suffix, "text") if to else "text")
    if form not in endings:
        raise typer.BadParameter(f"--format {form}; one of {', '.join(endings)}")
    with failing_in_one_line():
        import json

        from pytest_tutoreval.analyses.replication import replicate
        from pytest_tutoreval.analyses.replication_printed import published_entries
        from pytest_tutoreval.reporting.replication import render_markdown, render_text, replication_document

        replication = replicate(_evidence(corpus, study), published_entries())
        document = replication_document(replication)
        match form:
            case "json":
                text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
            case "markdown":
                text = render_markdown(document)
            case _:
                text = render_text(document)
        if to is None:
            typer.echo(text, nl=False)
        else:
            path = to / f"replication.{endings[form]}" if to.is_dir() or not to.suffix else to
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            counts = ", ".join(
                f"{n} {word.replace('_', ' ')}" for word, n in document["counts"]["entries"].items() if n
            )
            simulated = "SIMULATED DATA, nothing is a replication: " if replication.simulated else ""
            typer.echo(f"{path}: {simulated}{len(document['entries'])} entries, {counts}")
        sys.exit(1 if document["counts"]["entries"]["different"] else 0)


def _evidence(corpus: Path, study: Path | None) -> "Evidence":
    """Return what a corpus holds against the printed numbers, with every bundled claim decided or its reason."""
    from pytest_tutoreval.analyses.replication_evidence import Evidence
    from pytest_tutoreval.claims import bundled_claims
    from pytest_tutoreval.collecting.preflight import GateSettings
    from pytest_tutoreval.errors import NotEvaluable
    from pytest_tutoreval.records.verdict import NotEvaluated, Verdict
    from pytest_tutoreval.workbench import ClaimPlace, Workbench

    bench, claims = Workbench(corpus, study_file=study), bundled_claims()
    decided: list[Verdict] = []
    undecided: list[NotEvaluated] = []
    for claim in claims.values():
        for base in bench.bases:
            for judge in bench.judges if claim.judge_bound else [None]:
                try:
                    decided.append(bench.decide(ClaimPlace(claim, claims, base, judge)))
                except NotEvaluable as exc:
                    undecided.append(NotEvaluated(claim=claim.id, base=base, judge=judge, reason=str(exc)))
    return Evidence(bench.measures, decided, undecided, marker_rate_gate=GateSettings().marker_rate)
