"""Commands around paid calls: preflight, collect, judge and verify."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pytest_tutoreval.cli.arguments import (
    Bases,
    Budget,
    Corpus,
    Jobs,
    Prices,
    Replicates,
    Retries,
    StudyOption,
    failing_in_one_line,
    go_live,
    live_run,
    split_names,
)

__all__ = ["collect", "judge_sessions", "preflight", "verify"]


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
    with failing_in_one_line():
        from pytest_tutoreval.live import run_gates

        run = live_run(
            corpus,
            needs=(split_names(base), ["conv"], split_names(judge), None),
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


def collect(
    corpus: Corpus,
    base: Bases,
    condition: Annotated[str, typer.Option(help="Conditions, comma-separated (default: the study's)")] = "",
    judge: Annotated[str, typer.Option(help="Judges that rate what was collected, comma-separated")] = "",
    replicates: Replicates = None,
    study: StudyOption = None,
    prices: Prices = None,
    budget: Budget = None,
    max_retries: Retries = None,
    jobs: Jobs = 256,
    session_deadline: Annotated[
        float | None, typer.Option(min=1, help="Seconds a session may take in this run before it is left to be resumed")
    ] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from this corpus instead of the network")] = None,
) -> None:
    """Collect the sessions a corpus lacks, with paid calls; run again to resume. Optionally judge them."""
    with failing_in_one_line():
        go_live(
            live_run(
                corpus,
                needs=(split_names(base), split_names(condition) or None, split_names(judge), None),
                study=study,
                prices=prices,
                budget=budget,
                max_retries=max_retries,
                replay=replay,
                at_once=jobs,
                session_deadline=session_deadline,
                replicates=replicates,
            )
        )


def judge_sessions(
    corpus: Corpus,
    judge: Annotated[str, typer.Option(help="Judges, comma-separated")],
    base: Annotated[str, typer.Option(help="Bases, comma-separated (default: all the corpus holds)")] = "",
    condition: Annotated[
        str, typer.Option(help="Conditions, comma-separated (default: all tutored ones the corpus holds)")
    ] = "",
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
    with failing_in_one_line():
        from pytest_tutoreval.live.batch import BatchOptions, run_batch

        bases, conditions = _held(corpus, base, condition)
        run = live_run(
            corpus,
            needs=(bases, conditions, split_names(judge), split_names(rubric) or None),
            rated_only=True,
            study=study,
            prices=prices,
            budget=budget,
            max_retries=max_retries,
            pay_for_pending=force,
        )
        if batch:
            go_live(run, partial(run_batch, options=BatchOptions(force=force)))
        else:
            go_live(run)


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
    with failing_in_one_line():
        from pytest_tutoreval.live import run_verification

        bases, conditions = _held(corpus, base)
        run = live_run(
            corpus,
            needs=(bases, conditions, [judge], ["helpfulness"]),
            rated_only=True,
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


def _held(corpus: Path, base: str, condition: str = "") -> tuple[list[str], list[str]]:
    """Return the bases and conditions that are named, or else all that a corpus holds.

    Raises
    ------
    ConfigurationProblem
        A condition of which the corpus holds nothing.
    """
    from pytest_tutoreval.errors import ConfigurationProblem
    from pytest_tutoreval.store import open_corpus

    manifest, conditions = open_corpus(corpus).manifest, split_names(condition)
    if unknown := [name for name in conditions if name not in manifest.conditions]:
        raise ConfigurationProblem(
            f"--condition: unknown {', '.join(unknown)} (the corpus holds: {', '.join(manifest.conditions)})"
        )
    return split_names(base) or list(manifest.bases), conditions or list(manifest.conditions)
