"""Commands about a study of one's own: begin it, look for weak forms, freeze it."""

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pytest_tutoreval.cli.arguments import StudyOption, failing_in_one_line

if TYPE_CHECKING:
    from pytest_tutoreval.records.lock import StudyLock

__all__ = ["init", "lint", "lock"]

_NEXT = """next, in {folder}:
  python example_tutor.py &                     # your tutor's place: change the base in tutoreval.toml
  tutoreval lock                                # freeze the study before there are data
  tutoreval collect --corpus corpora/first --base mytutor --judge rater
  pytest --corpus=corpora/first                 # verdicts, offline, as often as you like"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", file_okay=False, show_default=False)] = Path(),
) -> None:
    """Write a working example of a study of your own, without a key and without cost; nothing is overwritten."""
    with failing_in_one_line():
        from pytest_tutoreval.cli.example import write_example

        for path in write_example(folder):
            typer.echo(path)
        typer.echo(_NEXT.format(folder=folder.resolve()))


def lint(
    study: StudyOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings too")] = False,
) -> None:
    """Look for declared forms that measure wrongly: the study file's own problems, or else the frozen ones."""
    with failing_in_one_line():
        from pytest_tutoreval.frozen import lint_problems, load_instrument, read_study_file

        own = read_study_file(study).problems if study else ()
        problems = own or load_instrument().problems
        findings = lint_problems(problems)
        for finding in findings:
            typer.echo(str(finding))
        errors = sum(finding.level == "error" for finding in findings)
        warnings = len(findings) - errors
        whose = f"of {study}" if own else "of the frozen study, which are never changed"
        typer.echo(f"{len(problems)} problems {whose}: {errors} errors, {warnings} warnings")
        sys.exit(1 if errors or (strict and warnings) else 0)


def lock(
    study: StudyOption = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 where anything changed")] = False,
    amend: Annotated[
        str | None, typer.Option("--amend", metavar="REASON", help="Record what changed since, with this reason")
    ] = None,
) -> None:
    """Freeze a study: the study file, prompts, claims and policies in Python, by their digests."""
    if check and amend is not None:
        raise typer.BadParameter("--check writes nothing; give one of --check and --amend")
    if amend is not None and not amend.strip():
        raise typer.BadParameter("--amend needs a reason: it is printed in every report")
    with failing_in_one_line():
        from pytest_tutoreval.errors import InstrumentError
        from pytest_tutoreval.frozen import load_instrument, open_study, read_study_file
        from pytest_tutoreval.frozen.lock import amend_lock, lock_path, write_lock
        from pytest_tutoreval.frozen.opening import lay_over

        if study is None:
            raise InstrumentError("no tutoreval.toml here; give --study FILE, or begin with: tutoreval init")
        core, today = load_instrument(), datetime.date.today()
        if amend is not None:
            file = read_study_file(study)
            lay_over(core, study, file)  # what cannot be used is not frozen
            amended = amend_lock(study, file, core=core.sha256, reason=amend.strip(), today=today)
            for change in amended.amendments[-1].changes:
                before, after = ((digest or "absent")[:12] for digest in (change.before, change.after))
                typer.echo(f"{change.name}: {before} -> {after}")
            _say(f"{lock_path(study)}: amended", amended)
            return
        opened = open_study(study)
        if opened.lock is not None:
            _say(f"{lock_path(study)}: locked, unchanged", opened.lock)
        elif check:
            raise InstrumentError(f"{study}: not locked; freeze it before there are data: tutoreval lock")
        else:
            _say(f"{lock_path(study)}: locked", write_lock(study, opened.file, core=core.sha256, today=today))


def _say(what: str, lock: "StudyLock") -> None:
    amended = f", {len(lock.amendments)} amendments since" if lock.amendments else ""
    typer.echo(f"{what}; {len(lock.files)} files, first on {lock.date}{amended}")
