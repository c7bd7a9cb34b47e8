"""Commands that make a corpus without a network: simulate and import."""

from pathlib import Path
from typing import Annotated

import typer

from pytest_tutoreval.cli.arguments import failing_in_one_line

__all__ = ["import_calls", "import_released", "simulate"]

To = Annotated[Path, typer.Option("--to", file_okay=False, help="Folder of the new corpus", show_default=False)]
Source = Annotated[Path, typer.Argument(exists=True, file_okay=False, show_default=False)]


def simulate(
    to: To,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes")],
    force: Annotated[bool, typer.Option("--force", help="Replace a simulated corpus that is there")] = False,
) -> None:
    """Write a simulated corpus: scripted students, tutors and judges play the whole study offline."""
    with failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.simulating import simulate_corpus

        manifest = simulate_corpus(to, load_instrument(), seed=seed, replace_existing=force)
        typer.echo(f"{to}: simulated corpus, {len(manifest.files)} files; decide with: pytest suites --corpus={to}")


def import_released(source: Source, to: To) -> None:
    """Import the study's released tables (the results tree, or a flat copy) as a table-only corpus."""
    with failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.importing import import_released_tables

        manifest = import_released_tables(source, to, load_instrument())
        bases, judges = ", ".join(manifest.bases), ", ".join(manifest.judges)
        typer.echo(f"{to}: tables of {bases}, rated by {judges}; decide with: pytest suites --corpus={to}")


def import_calls(source: Source, to: To) -> None:
    """Import released raw session folders (calls.jsonl and its side files) as sessions."""
    with failing_in_one_line():
        from pytest_tutoreval.frozen import load_instrument
        from pytest_tutoreval.importing import import_released_calls

        manifest, left_out = import_released_calls(source, to, load_instrument())
        for line in left_out:
            typer.echo(line, err=True)
        typer.echo(f"{to}: {len(manifest.files)} sessions of {', '.join(manifest.bases)}; not rated yet")
