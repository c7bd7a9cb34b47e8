"""From an empty folder to a gate that stops a tutor which got worse: what somebody new does, in that order."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.test_wheel import call

# Its tutor gives the answer away in few turns at first, and in most after the change.
FIRST = ("--leak-rate", "0.1", "--forbidden-leak-rate", "0.02")
CHANGED = ("--leak-rate", "0.7", "--forbidden-leak-rate", "0.6")


@contextmanager
def tutor(installed: Path, project: Path, port: str, rates: tuple[str, ...]) -> Generator[str]:
    """Serve the example's tutor and yield its port; 0 takes a free one."""
    command = [str(installed / "python"), str(project / "example_tutor.py"), "--port", port, *rates]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip().rpartition(":")[2]
        finally:
            server.kill()


def said(installed: Path, project: Path, command: str, *, exit_code: int = 0) -> str:
    """Run a command line in the project as its user would, and return what was said."""
    name, *arguments = command.split()
    done = call(installed / name, *arguments, cwd=project)
    assert done.returncode == exit_code, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def written(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / "reports" / "verdicts.json").read_bytes())
    return found


def test_from_an_empty_folder_to_a_gate_that_stops_a_worse_tutor(installed: Path, tmp_path: Path) -> None:
    said(installed, tmp_path, "tutoreval init")
    with tutor(installed, tmp_path, "0", FIRST) as port:
        study = tmp_path / "tutoreval.toml"
        text = study.read_text(encoding="utf-8")
        assert "http://127.0.0.1:8765" in text
        study.write_text(text.replace("127.0.0.1:8765", f"127.0.0.1:{port}"), encoding="utf-8")
        assert "0 errors" in said(installed, tmp_path, "tutoreval lint")
        assert "locked" in said(installed, tmp_path, "tutoreval lock")
        assert "40 finished" in said(installed, tmp_path, "tutoreval collect --corpus corpora/first --base mytutor")
    judged = said(installed, tmp_path, "tutoreval judge --corpus corpora/first --judge rater")
    assert re.search(r"ratings: \d+ given, .* 0 files incomplete", judged)
    said(installed, tmp_path, "tutoreval lock --check")

    decided = said(installed, tmp_path, "pytest --corpus=corpora/first")
    assert "SIMULATED DATA" in decided
    verdicts = {row["claim"]: row["verdict"] for row in written(tmp_path)["claims"]}
    assert set(verdicts) == {"P1", "P3", "C1", "C2"}
    for claim, verdict in verdicts.items():
        assert re.search(rf"^{claim} +mytutor +\S+ +{verdict.replace('_', ' ')} ", decided, re.MULTILINE)
    assert not (tmp_path / "baseline.json").exists()

    keeping = "--tutoreval-baseline baseline.json --tutoreval-baseline-update"
    kept = said(installed, tmp_path, f"pytest --corpus=corpora/first {keeping}")
    assert "baseline written to baseline.json" in kept
    gated = "--gate --tutoreval-baseline baseline.json"
    assert "gate: 0 regressed, 0 not decided" in said(installed, tmp_path, f"pytest --corpus=corpora/first {gated}")

    with tutor(installed, tmp_path, port, CHANGED):
        said(installed, tmp_path, "tutoreval collect --corpus corpora/next --base mytutor --judge rater")
    before = (tmp_path / "baseline.json").read_bytes()
    stopped = said(
        installed, tmp_path, f"pytest --corpus=corpora/next {gated} --junitxml=reports/junit.xml", exit_code=1
    )
    assert (tmp_path / "baseline.json").read_bytes() == before

    (row,) = (row for row in written(tmp_path)["gate"]["rows"] if row["guard"] == "leakage")
    assert (row["outcome"], row["failed"], row["condition"]) == ("regressed", True, "candidate")
    assert row["current"] - row["baseline"] > row["margin"] == 0.1
    assert row["margin"] < row["ci_low"] < row["estimate"] < row["ci_high"]
    facts = (
        f"REGRESSION leakage of mytutor/candidate: {row['current']:.3f}, baseline {row['baseline']:.3f} (share of "
        f"tutor turns), difference +{row['estimate']:.3f} [+{row['ci_low']:.3f}, +{row['ci_high']:.3f}], margin 0.100"
    )
    looked_at = f"turns to look at: {', '.join(row['turns'])}"
    assert facts in stopped
    assert looked_at in stopped
    assert len(row["turns"]) == 5
    for turn in row["turns"]:
        assert "answer is" in tutor_turn(tmp_path / "corpora" / "next", turn)

    summary = (tmp_path / "reports" / "summary.md").read_text(encoding="utf-8")
    (line,) = (line for line in summary.splitlines() if line.startswith("| `leakage mytutor candidate` |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "**regressed**"
    shown = [float(number) for number in re.findall(r"[+-]?\d+\.?\d*", " ".join(cells[2:]))]
    expected = [row[name] for name in ("baseline", "current", "estimate", "ci_low", "ci_high", "margin", "n")]
    assert all(abs(one - other) < 5e-4 for one, other in zip(shown, expected, strict=True))
    assert all(turn in summary for turn in row["turns"])

    cases = {case.get("name"): case for case in ET.parse(tmp_path / "reports" / "junit.xml").iter("testcase")}
    case = cases["test_guarded_measure[mytutor-leakage-candidate]"]
    failure = case.find("failure")
    assert failure is not None
    assert facts in str(failure.text)
    assert looked_at in str(failure.text)
    properties = {found.get("name"): found.get("value") for found in case.iter("property")}
    assert properties["gate"] == "regressed"
    for name in ("baseline", "current", "estimate", "margin"):
        assert float(str(properties[name])) == row[name]
    assert json.loads(str(properties["ci"])) == [row["ci_low"], row["ci_high"]]


def tutor_turn(corpus: Path, turn: str) -> str:
    """Return what the tutor said at base/condition/rN/problem/tN, read from the corpus as anyone can."""
    base, condition, replicate, problem, number = turn.split("/")
    lines = (corpus / "sessions" / base / condition / f"{replicate}.jsonl").read_text(encoding="utf-8").splitlines()
    calls = [json.loads(line) for line in lines[1:]]
    (text,) = (
        found["text"]
        for found in calls
        if found.get("role") == "tutor" and found["problem"] == problem and f"t{found['turn']}" == number
    )
    return str(text)
