"""The option tables of the reference, written from the code: `python -m tests.docs.reference` writes them anew."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from _pytest.config.argparsing import Parser

from pytest_tutoreval.cli import app
from pytest_tutoreval.running.options import add_options
from tests.docs.pages import DOCS

__all__ = ["TABLED", "cli_commands", "cli_options", "pytest_options", "with_tables"]

TABLED = (DOCS / "reference" / "options.md", DOCS / "reference" / "commands.md")

_TABLE = re.compile(r"^<!-- options of (?P<name>[\w ]+) -->\n(?:\n(?:\|.*\n)+)?", re.MULTILINE)


def cli_commands() -> dict[str, Any]:
    """Return every command of `tutoreval` by its full name; a group that does something alone is one too.

    They are typer's own kind of click's commands, which has no types of its own.
    """
    return dict(_below("tutoreval", typer.main.get_command(app)))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    children: Mapping[str, Any] = getattr(command, "commands", {})
    if not children or command.invoke_without_command:
        yield name, command
    for child, found in children.items():
        yield from _below(f"{name} {child}", found)


def cli_options(command: Any) -> dict[str, str]:
    """Return a command's options, as they are typed, with their help and what holds where they are left out."""
    options = (param for param in command.params if param.param_type_name == "option" and param.name != "help")
    return {", ".join(option.opts): _said(option) for option in options}


def _said(option: Any) -> str:
    said = option.help or ""
    if option.required:
        return f"{said}; required".removeprefix("; ")
    if option.is_flag or option.default in (None, "", []) or "default:" in said:
        return str(said)
    return f"{said} (default: {option.default})"


def pytest_options() -> dict[str, str]:
    """Return the plugin's options of pytest, as they are typed, with their help."""
    parser = Parser(_ispytest=True)
    add_options(parser)
    found = {}
    for option in parser.getgroup("tutoreval").options:
        attrs = option.attrs()
        value = attrs.get("metavar") or " or ".join(attrs.get("choices") or ())
        found[" ".join([*option.names(), *([str(value)] if value else [])])] = str(attrs["help"])
    return found


def with_tables(text: str) -> str:
    """Return a page with the table of each place that is marked for one, as the code has it now."""
    return _TABLE.sub(lambda place: f"{place[0].splitlines()[0]}\n{_table(place['name'])}", text)


def _table(name: str) -> str:
    rows = pytest_options() if name == "pytest" else cli_options(cli_commands()[name])
    if not rows:
        return ""
    cells = [f"| `{typed}` | {said} |" for typed, said in rows.items()]
    return "\n".join(["", "| option | what it does |", "| --- | --- |", *cells, ""])


def main() -> None:
    """Write the tables of the reference."""
    for page in TABLED:
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
