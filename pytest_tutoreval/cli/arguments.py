"""Arguments that several commands share, and how a command ends."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pytest_tutoreval.errors import TutorEvalError

if TYPE_CHECKING:
    from pytest_tutoreval.live import LiveOutcome, LiveRun

__all__ = [
    "Bases",
    "Budget",
    "Corpus",
    "Jobs",
    "Prices",
    "Replicates",
    "Retries",
    "StudyOption",
    "failing_in_one_line",
    "go_live",
    "live_run",
    "split_names",
]

Corpus = Annotated[Path, typer.Option("--corpus", help="Folder that keeps what is collected", show_default=False)]
StudyOption = Annotated[Path | None, typer.Option("--study", help="Study file with further bases, judges and routes")]
Prices = Annotated[Path | None, typer.Option("--prices", help="Price file (default: the bundled one)")]
Budget = Annotated[float | None, typer.Option("--budget", min=0, help="Most dollars the run may spend")]
Retries = Annotated[int | None, typer.Option("--max-retries", min=0, help="Attempts after a call's first")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Most sessions open at once")]
Bases = Annotated[str, typer.Option("--base", help="Bases, comma-separated", callback=lambda names: _named(names))]
Replicates = Annotated[int | None, typer.Option("--replicates", min=1, help="Only the first N registered replicates")]


@contextmanager
def failing_in_one_line() -> Generator[None]:
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


def split_names(names: str) -> list[str]:
    """Return the names of a comma list."""
    return [name.strip() for name in names.split(",") if name.strip()]


def _named(names: str) -> str:
    """Return the names as they are: what nobody named is not run, and does not exit 0."""
    if not split_names(names):
        raise typer.BadParameter("name at least one")
    return names


def live_run(
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


def go_live(run: "LiveRun", by: "Callable[..., LiveOutcome] | None" = None) -> None:
    """Run live and exit 0 if everything asked for is on disk, 1 if not, 130 if the run was stopped."""
    from pytest_tutoreval.live import run_live
    from pytest_tutoreval.live.display import show_progress

    with show_progress(typer.echo, terminal=sys.stdout if sys.stdout.isatty() else None) as progress:
        outcome = (by or run_live)(run, progress, said=typer.echo)
    for line in outcome.lines():
        typer.echo(line)
    sys.exit(130 if outcome.stopped else 0 if outcome.complete else 1)
