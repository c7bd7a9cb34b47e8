"""The `tutoreval` command: what is not a test."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pytest_tutoreval.errors import TutorEvalError

if TYPE_CHECKING:
    from pytest_tutoreval.analyses.replication_evidence import Evidence
    from pytest_tutoreval.live import LiveOutcome, LiveRun

__all__ = ["app"]

app = typer.Typer(
    help="Make and import corpora for pre-registered claims about LLM tutors; pytest decides them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
importing = typer.Typer(help="Turn a foreign format into a corpus.", no_args_is_help=True)
app.add_typer(importing, name="import")
reporting = typer.Typer(help="Write what a corpus says as tables, figures and reports.", no_args_is_help=True)
app.add_typer(reporting, name="report")

To = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder of the new corpus", show_default=False)]
Source = Annotated[Path, typer.Argument(exists=True, file_okay=False, show_default=False)]


@contextmanager
def _failing_in_one_line() -> Generator[None]:
    """Turn an error of ours into its message and exit code 1; anything else is a bug and keeps its traceback."""
    from pytest_tutoreval.providers.desk import Stopped

    try:
        yield
    except Stopped as exc:
        typer.echo(f"tutoreval: {exc}", err=True)
        sys.exit(130)
    except TutorEvalError as exc:
        typer.echo(f"tutoreval: {exc}", err=True)
        sys.exit(1)


@app.command()
def simulate(
    to: To,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes")],
    force: Annotated[bool, typer.Option("--force", help="Replace a simulated corpus that is there")] = False,
) -> None:
    """Write a simulated corpus: scripted students, tutors and judges play the whole study offline."""
    with _failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.simulating import simulate_corpus

        manifest = simulate_corpus(to, load_instrument(), seed=seed, replace_existing=force)
        typer.echo(f"{to}: simulated corpus, {len(manifest.files)} files; decide with: pytest suites --corpus={to}")


Corpus = Annotated[Path, typer.Option("--corpus", help="Folder that keeps what is collected", show_default=False)]
StudyOption = Annotated[Path | None, typer.Option("--study", help="Study file with further bases, judges and routes")]
Prices = Annotated[Path | None, typer.Option("--prices", help="Price file (default: the bundled one)")]
Budget = Annotated[float | None, typer.Option("--budget", min=0, help="Most dollars the run may spend")]
Retries = Annotated[int | None, typer.Option("--max-retries", min=0, help="Attempts after a call's first")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Most sessions open at once")]
Bases = Annotated[str, typer.Option("--base", help="Bases, comma-separated", callback=lambda names: _named(names))]
Replicates = Annotated[int | None, typer.Option("--replicates", min=1, help="Only the first N registered replicates")]


@app.command()
def collect(
    corpus: Corpus,
    base: Bases,
    condition: Annotated[str, typer.Option(help="Conditions, comma-separated")] = "cold,conv,ped",
    judge: Annotated[str, typer.Option(help="Judges that rate what was collected, comma-separated")] = "",
    replicates: Replicates = None,
    study: StudyOption = None,
    prices: Prices = None,
    budget: Budget = None,
    max_retries: Retries = None,
    jobs: Jobs = 256,
    replay: Annotated[Path | None, typer.Option(help="Answer from this corpus instead of the network")] = None,
) -> None:
    """Collect the sessions a corpus lacks, with paid calls; run again to resume. Optionally judge them."""
    with _failing_in_one_line():
        _go_live(
            _live_run(
                corpus,
                needs=(_split(base), _split(condition), _split(judge), None),
                study=study,
                prices=prices,
                budget=budget,
                max_retries=max_retries,
                replay=replay,
                at_once=jobs,
                replicates=None if replicates is None else tuple(range(replicates)),
            )
        )


@app.command("judge")
def judge_command(
    corpus: Corpus,
    judge: Annotated[str, typer.Option(help="Judges, comma-separated")],
    base: Annotated[str, typer.Option(help="Bases, comma-separated (default: all the corpus holds)")] = "",
    rubric: Annotated[str, typer.Option(help="Rubrics, comma-separated (default: all)")] = "",
    study: StudyOption = None,
    prices: Prices = None,
    budget: Budget = None,
    max_retries: Retries = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="At half price, within a day: Anthropic and OpenAI only")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Pay anew for ratings of a batch that cannot be found")
    ] = False,
) -> None:
    """Rate every in-window turn a corpus holds; what is rated already is not asked again."""
    with _failing_in_one_line():
        from pytest_tutoreval.live.batch import BatchOptions, run_batch
        from pytest_tutoreval.store import open_corpus

        bases = _split(base) or list(open_corpus(corpus).manifest.bases)
        run = _live_run(
            corpus,
            needs=(bases, [], _split(judge), _split(rubric) or None),
            study=study,
            prices=prices,
            budget=budget,
            max_retries=max_retries,
            pay_for_pending=force,
        )
        if batch:
            _go_live(run, partial(run_batch, options=BatchOptions(force=force)))
        else:
            _go_live(run)


@app.command()
def preflight(
    corpus: Corpus,
    base: Bases,
    judge: Annotated[str, typer.Option(help="Judges whose routes are tried too, comma-separated")] = "",
    study: StudyOption = None,
    prices: Prices = None,
    budget: Budget = None,
    max_retries: Retries = None,
) -> None:
    """Read the gates before a registered run, with paid calls; a failed blocking gate stops the run."""
    with _failing_in_one_line():
        from pytest_tutoreval.live import run_gates

        run = _live_run(
            corpus,
            needs=(_split(base), ["conv"], _split(judge), None),
            study=study,
            prices=prices,
            budget=budget,
            max_retries=max_retries,
        )
        preflights = run_gates(run, said=typer.echo)
        for reading in preflights:
            typer.echo(f"{reading.base}: {'passed' if reading.passed else 'FAILED'}")
            for gate in reading.gates:
                word = "passed" if gate.passed else "FAILED" if gate.blocking else "advisory, not reached"
                typer.echo(f"  {gate.name}: {word}; {gate.reading} ({gate.limit}; {gate.context})")
        sys.exit(0 if all(reading.passed for reading in preflights) else 1)


@app.command()
def plan(
    base: Bases,
    condition: Annotated[str, typer.Option(help="Conditions, comma-separated")] = "cold,conv,ped",
    judge: Annotated[str, typer.Option(help="Judges, comma-separated")] = "",
    rubric: Annotated[str, typer.Option(help="Rubrics, comma-separated (default: all)")] = "",
    replicates: Replicates = None,
    study: StudyOption = None,
    prices: Prices = None,
    jobs: Jobs = 256,
) -> None:
    """Price a run before its first call: calls, tokens, dollars and hours per base and role."""
    with _failing_in_one_line():
        from pytest_tutoreval.planning import plan_cost

        run = _live_run(
            Path(),
            needs=(_split(base), _split(condition), _split(judge), _split(rubric) or None),
            study=study,
            prices=prices,
            budget=None,
            max_retries=None,
        )
        cost = plan_cost(run.instrument, run.needs, run.prices, run.study_file, replicates=replicates, at_once=jobs)
        for role in cost.roles:
            money = "price unknown" if role.dollars is None else f"${role.dollars:.2f}"
            typer.echo(
                f"{role.base}  {role.role:<24} {role.route.provider}/{role.route.model}: {role.calls} calls, "
                f"{role.input_tokens / 1e6:.2f} M + {role.output_tokens / 1e6:.2f} M tokens, {money}, "
                f"largest request {role.largest_request} tokens"
            )
            if role.exceeds:
                typer.echo(f"  LIMIT: {role.exceeds}")
        money = "price unknown" if cost.dollars is None else f"${cost.dollars:.2f}"
        assumed = ", ".join(f"{role} {tokens}" for role, tokens in cost.assumptions.reply_tokens.items())
        typer.echo(f"in all: {cost.calls} calls, {money}, about {cost.hours:.1f} hours")
        every = ", ".join(f"{number} in {name}" for name, number in cost.assumptions.elicited_every.items())
        typer.echo(
            f"assumed: replies of {assumed} tokens, an elicitation every n-th probe (n = {every}), "
            f"{cost.assumptions.seconds:g} s a call, every tutor turn in the window; prices from the price file"
        )
        sys.exit(1 if any(role.exceeds for role in cost.roles) else 0)


def _named(names: str) -> str:
    """Return the names as they are: what nobody named is not run, and does not exit 0."""
    if not _split(names):
        raise typer.BadParameter("name at least one")
    return names


@app.command()
def verify(
    corpus: Corpus,
    judge: Annotated[str, typer.Option(help="The judge that is asked for its opinion")],
    base: Annotated[str, typer.Option(help="Bases, comma-separated (default: all the corpus holds)")] = "",
    study: StudyOption = None,
    prices: Prices = None,
    budget: Budget = None,
    max_retries: Retries = None,
) -> None:
    """Ask a model whether student turns attempt a step; disagreements are logged, the rule's labels stand."""
    with _failing_in_one_line():
        from pytest_tutoreval.live import run_verification
        from pytest_tutoreval.store import open_corpus

        bases = _split(base) or list(open_corpus(corpus).manifest.bases)
        run = _live_run(
            corpus,
            needs=(bases, [], [judge], ["helpfulness"]),
            study=study,
            prices=prices,
            budget=budget,
            max_retries=max_retries,
        )
        verified = run_verification(run, judge, said=typer.echo)
        for line in (*verified.disagreements, *verified.failures[:5]):
            typer.echo(line)
        typer.echo(
            f"{verified.given} opinions given, {verified.found} were there, {verified.unreadable} unreadable, "
            f"{len(verified.disagreements)} disagree with the rule, {len(verified.failures)} calls failed"
        )
        sys.exit(1 if verified.failures else 0)


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _live_run(
    corpus: Path,
    *,
    needs: tuple[list[str], list[str], list[str], list[str] | None],
    study: Path | None,
    prices: Path | None,
    budget: float | None,
    max_retries: int | None,
    replay: Path | None = None,
    **more: Any,
) -> "LiveRun":
    """Return a run as the command line says it; `needs` are bases, conditions, judges and rubrics (None for all)."""
    from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
    from pytest_tutoreval.live import LiveRun, Needs, replay_answerer
    from pytest_tutoreval.providers.money import read_prices
    from pytest_tutoreval.records.study_file import StudyFile

    file = read_study_file(study) if study else StudyFile()
    instrument = extend_instrument(load_instrument(), file)
    bases, conditions, judges, rubrics = needs
    return LiveRun(
        instrument=instrument,
        folder=corpus,
        needs=Needs.crossed(
            bases=bases, conditions=conditions, judges=judges, rubrics=rubrics or instrument.study.rubrics
        ),
        study_file=file,
        prices={**read_prices(prices), **file.prices},
        budget=budget,
        max_retries=max_retries,
        answerer=replay_answerer(replay, instrument.sha256) if replay else None,
        **more,
    )


def _go_live(run: "LiveRun", by: "Callable[..., LiveOutcome] | None" = None) -> None:
    """Run live and exit 0 if everything asked for is on disk, 1 if not, 130 if the run was stopped."""
    from pytest_tutoreval.live import run_live
    from pytest_tutoreval.live.display import show_progress

    with show_progress(typer.echo, terminal=sys.stdout if sys.stdout.isatty() else None) as progress:
        outcome = (by or run_live)(run, progress, said=typer.echo)
    for line in outcome.lines():
        typer.echo(line)
    sys.exit(130 if outcome.stopped else 0 if outcome.complete else 1)


@importing.command("released")
def import_released(source: Source, to: To) -> None:
    """Import the study's released tables (the results tree, or a flat copy) as a table-only corpus."""
    with _failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.importing import import_released_tables

        manifest = import_released_tables(source, to, load_instrument())
        bases, judges = ", ".join(manifest.bases), ", ".join(manifest.judges)
        typer.echo(f"{to}: tables of {bases}, rated by {judges}; decide with: pytest suites --corpus={to}")


@importing.command("calls")
def import_calls(source: Source, to: To) -> None:
    """Import released raw session folders (calls.jsonl and its side files) as sessions."""
    with _failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.importing import import_released_calls

        manifest, left_out = import_released_calls(source, to, load_instrument())
        for line in left_out:
            typer.echo(line, err=True)
        typer.echo(f"{to}: {len(manifest.files)} sessions of {', '.join(manifest.bases)}; not rated yet")


Held = Annotated[Path, typer.Option("--corpus", exists=True, file_okay=False, help="Corpus to report on")]
Into = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder the files are written to")]


@reporting.command("tables")
def report_tables(corpus: Held, to: Into, study: StudyOption = None) -> None:
    """Write Tables 1 to 6 of the study from a corpus, each as CSV, Markdown and LaTeX."""
    with _failing_in_one_line():
        from pytest_tutoreval.reporting.tables_study import study_tables
        from pytest_tutoreval.reporting.tables_writing import write_tables
        from pytest_tutoreval.workbench import Workbench

        written = write_tables(study_tables(Workbench(corpus, study_file=study).measures), to)
        typer.echo(f"{to}: {len(written)} files, {', '.join(path.name for path in written if path.suffix == '.md')}")


@reporting.command("figures")
def report_figures(corpus: Held, to: Into, study: StudyOption = None) -> None:
    """Draw Figures 1 to 4 of the study from a corpus, each as SVG and PNG; needs the extra `figures`."""
    with _failing_in_one_line():
        from pytest_tutoreval.reporting.figures import write_figures
        from pytest_tutoreval.workbench import Workbench

        written = write_figures(Workbench(corpus, study_file=study).measures, to)
        typer.echo(f"{to}: {len(written)} files, {', '.join(path.name for path in written if path.suffix == '.svg')}")


@reporting.command("replication")
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
    with _failing_in_one_line():
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
