"""The `tutoreval` command: what is not a test."""

import typer

from pytest_tutoreval.cli.corpora import import_calls, import_released, simulate
from pytest_tutoreval.cli.paid import collect, judge_sessions, plan, preflight, verify
from pytest_tutoreval.cli.reports import report_figures, report_replication, report_tables

__all__ = ["app"]

app = typer.Typer(
    help="Make and import corpora for pre-registered claims about LLM tutors; pytest decides them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (simulate, plan, preflight, collect):
    app.command()(command)
app.command("judge")(judge_sessions)
app.command()(verify)

importing = typer.Typer(help="Turn a foreign format into a corpus.", no_args_is_help=True)
importing.command("released")(import_released)
importing.command("calls")(import_calls)
app.add_typer(importing, name="import")

reporting = typer.Typer(help="Write what a corpus says as tables, figures and reports.", no_args_is_help=True)
reporting.command("tables")(report_tables)
reporting.command("figures")(report_figures)
reporting.command("replication")(report_replication)
app.add_typer(reporting, name="report")
