"""`python -m pytest_tutoreval` is the `tutoreval` command."""

from pytest_tutoreval.cli import app

app(prog_name="tutoreval")
