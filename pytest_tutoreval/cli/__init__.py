"""The `tutoreval` command: what is not a test."""

import typer

from pytest_tutoreval.cli.arguments import failing_in_one_line
from pytest_tutoreval.cli.corpora import import_calls, import_released, simulate
from pytest_tutoreval.cli.paid import collect, judge_sessions, preflight, verify
from pytest_tutoreval.cli.planning import plan_cost_of, plan_power
from pytest_tutoreval.cli.rendering import report_allure, report_html
from pytest_tutoreval.cli.reports import (
    report_figures,
    report_frames,
    report_markdown,
    report_replication,
    report_tables,
)
from pytest_tutoreval.cli.studies import init, lint, lock

__all__ = ["app"]

app = typer.Typer(
    help="Make and import corpora for pre-registered claims about LLM tutors; pytest decides them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _extended(context: typer.Context) -> None:
    """Let every command use what installed packages register."""
    with failing_in_one_line():
        from pytest_tutoreval.extending import load_extensions

        context.with_resource(load_extensions())


for command in (simulate, preflight, collect):
    app.command()(command)
for about_studies in (init, lint, lock):
    app.command()(about_studies)
app.command("judge")(judge_sessions)
app.command()(verify)

planning = typer.Typer(invoke_without_command=True)
planning.callback()(plan_cost_of)
planning.command("power")(plan_power)
app.add_typer(planning, name="plan")

importing = typer.Typer(help="Turn a foreign format into a corpus.", no_args_is_help=True)
importing.command("released")(import_released)
importing.command("calls")(import_calls)
app.add_typer(importing, name="import")

reporting = typer.Typer(help="Write what a corpus says as tables, figures and reports.", no_args_is_help=True)
reporting.command("tables")(report_tables)
reporting.command("figures")(report_figures)
reporting.command("replication")(report_replication)
reporting.command("frames")(report_frames)
reporting.command("markdown")(report_markdown)
reporting.command("html")(report_html)
reporting.command("allure")(report_allure)
app.add_typer(reporting, name="report")
