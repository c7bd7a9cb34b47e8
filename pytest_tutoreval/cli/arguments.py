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
StudyOption = Annotated[
    Path | None,
    typer.Option(
        "--study",
        help="Study file with bases, policies, problems and judges of your own (default: ./tutoreval.toml, if there)",
        callback=lambda named: _study_here(named),
    ),
]
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


def _study_here(named: Path | None) -> Path | None:
    """Return the study file that is named, or else the one of the current folder, or None where there is none."""
    from pytest_tutoreval.frozen import find_study

    return named or find_study(Path())


def live_run(
    corpus: Path,
    *,
    needs: tuple[list[str], list[str] | None, list[str], list[str] | None],
    study: Path | None,
    prices: Path | None,
    budget: float | None,
    max_retries: int | None,
    rated_only: bool = False,
    replicates: int | None = None,
    replay: Path | None = None,
    **more: Any,
) -> "LiveRun":
    """Return a run as the command line says it.

    `needs` are bases, conditions (None for those the study registers), judges and rubrics (None for all); with
    `rated_only` no session is collected. `replicates` None leaves their number to the run.
    """
    from pytest_tutoreval.frozen import open_study
    from pytest_tutoreval.frozen.opening import STUDY_FILE
    from pytest_tutoreval.live import LiveRun, Needs, replay_answerer
    from pytest_tutoreval.providers.money import read_prices

    opened = open_study(study)
    file, instrument = opened.file, opened.instrument
    if study == Path(STUDY_FILE):  # found, not named: what was found is said
        for line in instrument.declared:
            typer.echo(f"study: {line}", err=True)
    bases, conditions, judges, rubrics = needs
    crossed = Needs.crossed(
        bases=bases,
        conditions=instrument.study.protocol.condition_order if conditions is None else conditions,
        judges=judges,
        rubrics=rubrics or instrument.study.rubrics,
        replicates=replicates,
    )
    return LiveRun(
        instrument=instrument,
        folder=corpus,
        needs=Needs(ratings=crossed.ratings) if rated_only else crossed,
        study_file=file,
        study_folder=study.parent if study else Path(),
        prices=read_prices(prices, own=file.prices),
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
