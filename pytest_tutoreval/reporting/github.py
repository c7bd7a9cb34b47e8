"""What GitHub Actions shows of a run: annotations in its log, and the summary of the step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_tutoreval.reporting.gate_words import guard_numbers, guard_place, outcome_words
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.reporting.words import place_words, run_words

__all__ = ["annotations", "append_step_summary"]

Row = Mapping[str, Any]

# GitHub shows ten of each level a step; the last one of ours says how many there are more.
_MOST_SHOWN = 10
_MOST_OF_A_TEXT = 400


def annotations(document: Row) -> list[str]:
    """Return workflow commands: an error a guard that fails and a claim that is not evaluable, a warning for the rest.

    A command is one line that starts with `::`; whatever could end it or open another is escaped.
    """
    errors = [*_guards(document, failed=True), *_not_evaluable(document)]
    warnings = [*_guards(document, failed=False), *(("tutoreval run", line) for line in run_words(document["run"]))]
    return [*_commands("error", errors), *_commands("warning", warnings)]


def _guards(document: Row, *, failed: bool) -> Iterator[tuple[str, str]]:
    for row in (document.get("gate") or {"rows": ()})["rows"]:
        if row["outcome"] != "held" and row["failed"] is failed:
            yield f"{outcome_words(row)}: {guard_place(row)}", f"{_numbers(row)}{row['reason']}"


def _numbers(row: Row) -> str:
    """Return both values, the interval and the margin as the head of a message; a verdict says it in its reason."""
    if row["kind"] == "verdict":
        return ""
    numbers = guard_numbers(row)
    difference = f"difference {numbers.difference} {numbers.interval}, margin {numbers.margin}"
    return f"{numbers.before} -> {numbers.now}, {difference}, n {numbers.n}. "


def _not_evaluable(document: Row) -> Iterator[tuple[str, str]]:
    for row in document["not_evaluable"]:
        yield f"not evaluable: {place_words(row)}", row["reason"]


def _commands(level: str, found: list[tuple[str, str]]) -> Iterator[str]:
    shown = found if len(found) <= _MOST_SHOWN else found[: _MOST_SHOWN - 1]
    for title, message in shown:
        yield f"::{level} title={_property(title)}::{_data(message)}"
    if len(found) > len(shown):
        yield f"::{level} title=tutoreval::{len(found) - len(shown)} more, see the summary"


def _data(text: str) -> str:
    shown = visible(text, lines=True, limit=_MOST_OF_A_TEXT)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def append_step_summary(summary: str, path: Path) -> None:
    """Add the Markdown to the file `$GITHUB_STEP_SUMMARY` names; other steps of the job may have written to it."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(f"{summary}\n")
