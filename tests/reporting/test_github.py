"""Annotations and the step summary of GitHub Actions."""

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.reporting.github import annotations, append_step_summary
from tests.reporting.documents import HOSTILE, HOSTILE_TEXT, a_document, a_guard, poisoned

# As the runner reads a command (actions/runner, ActionCommand.TryParseV2): properties end at the first `::`.
COMMAND = re.compile(r"::(?P<level>\w+) title=(?P<title>[^:,\r\n]*)::(?P<message>[^\r\n]*)")
NUMBERS = "0.210 -> 0.450, difference +0.240 [+0.120, +0.360], margin 0.050, n 10. "


def unescape(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def read(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = [COMMAND.fullmatch(line) for line in annotations(document)]
    assert all(found)
    return [
        (match["level"], unescape(match["title"]), unescape(match["message"])) for match in found if match is not None
    ]


def test_failures_are_errors_and_what_remains_open_is_a_warning() -> None:
    assert read(a_document()) == [
        (
            "error",
            "regressed: leakage mine conv",
            f"{NUMBERS}leakage is worse by more than the margin",
        ),
        ("error", "regressed: P3 mine", "was supported, now inconclusive"),
        ("error", "not evaluable: P3 sonnet", "no sessions in cell sonnet/conv"),
        (
            "warning",
            "not decided: pedagogy mine opus conv",
            f"{NUMBERS}n is too small",
        ),
        ("warning", "tutoreval run", "PARTIAL: 3 items deselected"),
        ("warning", "tutoreval run", "INCOMPLETE: 2 of 9 items did not finish (1 worker died)"),
    ]


def test_a_run_without_a_fault_says_nothing() -> None:
    whole = {"partial": False, "deselected": 0, "complete": True, "unfinished": [], "lost_workers": 0}
    assert annotations(a_document(gate=None, not_evaluable=[], run=whole)) == []


def test_an_undecided_guard_that_fails_the_run_is_an_error() -> None:
    gate = a_document()["gate"] | {"rows": [a_guard(outcome="not_decided")]}
    assert read(a_document(gate=gate))[0][:2] == ("error", "not decided: leakage mine conv")


@pytest.mark.parametrize("text", [*HOSTILE.values(), HOSTILE_TEXT, "100%, a: b\nc%0Ad"])
def test_hostile_text_opens_no_command_and_ends_none(text: str) -> None:
    lines = annotations(poisoned(a_document(), text))
    assert len(lines) == 6
    for line in lines:
        assert len(line.splitlines()) == 1
        assert COMMAND.fullmatch(line), line
        assert len(line) < 6_000


def test_what_is_escaped_reads_back() -> None:
    reason = {"claim": "P1", "base": "a,b:c", "judge": None, "reason": "50%, 1::2\nnext"}
    (found,) = [row for row in read(a_document(not_evaluable=[reason])) if row[1].startswith("not evaluable")]
    assert found == ("error", "not evaluable: P1 a,b:c", "50%, 1::2\nnext")


def test_more_than_github_shows_are_counted() -> None:
    reasons = [{"claim": f"X{n}", "base": "a", "judge": None, "reason": "r"} for n in range(25)]
    errors = [row for row in read(a_document(not_evaluable=reasons, gate=None)) if row[0] == "error"]
    assert len(errors) == 10
    assert errors[-1] == ("error", "tutoreval", "16 more, see the summary")
    exactly = [row for row in read(a_document(not_evaluable=reasons[:10], gate=None)) if row[0] == "error"]
    assert [row[1] for row in exactly] == [f"not evaluable: X{n} a" for n in range(10)]


def test_a_summary_is_added_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_text("before\n", encoding="utf-8")
    append_step_summary("### π\n", path)
    append_step_summary("### again\n", path)
    assert path.read_text(encoding="utf-8") == "before\n### π\n\n### again\n\n"
