"""Commands that write what a corpus or a run says: tables, figures, the replication report, frames, the summary."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_tutoreval.cli.arguments import StudyOption, failing_in_one_line

if TYPE_CHECKING:
    from pytest_tutoreval.analyses.replication_evidence import Evidence
    from pytest_tutoreval.measures import CorpusMeasures
    from pytest_tutoreval.reporting.frames import Frame

__all__ = ["report_figures", "report_frames", "report_markdown", "report_replication", "report_tables"]

Held = Annotated[Path, typer.Option("--corpus", exists=True, file_okay=False, help="Corpus to report on")]
Into = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder the files are written to")]

_FROM = typer.Option("--from", exists=True, dir_okay=False, help="The verdicts.json of a run")


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


def report_markdown(
    source: Annotated[Path, _FROM],
    to: Annotated[Path | None, typer.Option("--to", dir_okay=False, help="File (default: the terminal)")] = None,
) -> None:
    """Write a run's summary again as GitHub-flavoured Markdown, in UTF-8, without running anything."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.markdown import render_summary
        from pytest_tutoreval.reporting.model import read_document

        data = render_summary(read_document(source).model_dump(mode="json")).encode("utf-8")
        if to is None:
            typer.echo(data, nl=False)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(data)
            typer.echo(f"{to}: {len(data)} bytes")


def report_frames(
    corpus: Held,
    to: Into,
    source: Annotated[Path | None, _FROM] = None,
    form: Annotated[str, typer.Option("--format", help="csv, or parquet with the extra `frames`")] = "csv",
    study: StudyOption = None,
) -> None:
    """Write a corpus as frames for notebooks: turns and sessions, and with --from the verdicts decided on it."""
    with failing_in_one_line():
        from pytest_tutoreval.reporting.frames import FORMATS, left_out, session_frame, turn_frame, write_frames
        from pytest_tutoreval.reporting.plain import visible
        from pytest_tutoreval.workbench import Workbench

        known = next((name for name in FORMATS if name == form), None)
        if known is None:
            raise typer.BadParameter(f"--format {form}; one of {', '.join(FORMATS)}")
        measures = Workbench(corpus, study_file=study).measures
        frames = [turn_frame(measures), session_frame(measures)]
        if source is not None:
            frames.append(_verdicts_on(measures, source))
        written = write_frames(frames, to, known)
        for line in left_out(measures):
            typer.echo(visible(f"left out: {line}"), err=True)
        rows = ", ".join(f"{path.name} ({len(frame.rows)} rows)" for path, frame in zip(written, frames, strict=True))
        simulated = "SIMULATED DATA: " if measures.corpus.manifest.provenance == "simulated" else ""
        typer.echo(f"{to}: {simulated}{rows}")


def _verdicts_on(measures: "CorpusMeasures", source: Path) -> "Frame":
    """Return the verdicts of a run that was decided on this corpus and no other."""
    from pytest_tutoreval.errors import BrokenDocument
    from pytest_tutoreval.reporting.frames import verdict_frame
    from pytest_tutoreval.reporting.model import read_document

    document = read_document(source)
    if document.corpus.sha256 != measures.corpus.sha256:
        raise BrokenDocument(
            source,
            f"decided on corpus {document.corpus.name} {document.corpus.sha256[:12]}, this one is "
            f"{measures.corpus.manifest.name} {measures.corpus.sha256[:12]}; run pytest on this corpus first",
        )
    return verdict_frame(document.model_dump(mode="json"))
