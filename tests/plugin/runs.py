"""Pytest in pytest: the shipped suite, run in a folder of its own."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Loaded here, outside, so that an inner run in this process does not load (and then forget) numpy and our rooms again.
import pytest_tutoreval.inference
import pytest_tutoreval.live
import pytest_tutoreval.reporting
import pytest_tutoreval.workbench

__all__ = ["ROOT", "claims_lines", "document", "junit", "make_suite", "reasons", "run", "verdicts", "write_test"]

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = (ROOT / "suites" / "test_claims.py").read_text(encoding="utf-8")
_LOADED = (np, pytest_tutoreval.inference, pytest_tutoreval.live, pytest_tutoreval.reporting)
_LOADED_TOO = pytest_tutoreval.workbench


def make_suite(pytester: pytest.Pytester) -> None:
    """Put the shipped claims into the inner run's folder."""
    pytester.makepyfile(test_claims=SUITE)


def write_test(pytester: pytest.Pytester, body: str, *, name: str = "test_own") -> None:
    """Write a test file that can name claims."""
    pytester.makepyfile(**{name: f"import pytest\n\n{body}"})


def run(pytester: pytest.Pytester, *arguments: str | Path, fresh: bool = False) -> pytest.RunResult:
    """Run the inner pytest: in this process, or in a fresh one where workers or module state matter."""
    # `--corpus=DIR`: pytest takes a DIR after a space for a test path too when it looks for its rootdir.
    shown = [str(argument) for argument in arguments]
    if "--corpus" in shown:
        at = shown.index("--corpus")
        shown[at : at + 2] = [f"--corpus={shown[at + 1]}"]
    return pytester.runpytest_subprocess(*shown) if fresh else pytester.runpytest_inprocess(*shown)


def document(pytester: pytest.Pytester) -> dict[str, Any]:
    """Return what the inner run wrote."""
    parsed: dict[str, Any] = json.loads((pytester.path / "reports" / "verdicts.json").read_bytes())
    return parsed


def verdicts(written: dict[str, Any]) -> dict[tuple[str, str, str | None], str]:
    """Return the verdict words by claim, base and judge."""
    return {(row["claim"], row["base"], row["judge"]): row["verdict"] for row in written["claims"]}


def reasons(written: dict[str, Any]) -> dict[tuple[str, str, str | None], str]:
    """Return why claims could not be evaluated, by claim, base and judge."""
    return {(row["claim"], row["base"], row["judge"]): row["reason"] for row in written["not_evaluable"]}


def claims_lines(result: pytest.RunResult) -> list[str]:
    """Return the claims section of the terminal, without where the document was written."""
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if line.strip("= ") == "claims" and line.startswith("="))
    end = next(number for number, line in enumerate(lines) if line.startswith("verdicts written to"))
    return lines[start + 1 : end]


def junit(path: Path) -> dict[str, tuple[str, str | None]]:
    """Return the outcome and the verdict property of each test case in a JUnit file."""
    found = {}
    for case in ET.parse(path).getroot().iter("testcase"):
        outcome = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        stated = [prop.get("value") for prop in case.iter("property") if prop.get("name") == "verdict"]
        assert len(stated) <= 1
        found[str(case.get("name"))] = (outcome, stated[0] if stated else None)
    return found
