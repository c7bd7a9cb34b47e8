"""One run, told by terminal, JSON, Markdown, HTML, JUnit and Allure: all of them count the same."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from tests.plugin.runs import ROOT, claims_lines, document, make_suite, run, write_test
from tests.store.corpora import a_table_corpus

Counts = Counter[str]
Arguments = list[str | Path]

VERDICTS = ("supported", "not supported", "inconclusive")
GATE = ("regressed", "not decided", "held")
WORDS = (*VERDICTS, "not evaluable", *GATE)

OWN = """
@pytest.fixture
def broken_after():
    yield
    raise ValueError("afterwards")

@pytest.mark.claim("P1")
def test_fine(decided, base):
    pass

@pytest.mark.claim("P1")
def test_raises(decided, base):
    raise RuntimeError("the machine")

@pytest.mark.claim("P1")
def test_skips(decided, base):
    pytest.skip("not today")

@pytest.mark.claim("P1")
def test_breaks_afterwards(decided, base, broken_after):
    pass

def test_no_claim():
    assert 0
"""


# what is run; a new kind of run is a function here and a line in RUNS


def verdicts(pytester: pytest.Pytester, released: Path) -> Arguments:
    make_suite(pytester)
    return ["--corpus", released, "--base", "sonnet,gpt"]


def not_evaluable(pytester: pytest.Pytester, released: Path) -> Arguments:
    """Leakage alone is defined: P1 is decided, and nothing that needs anything else."""
    make_suite(pytester)
    return ["--corpus", a_table_corpus(pytester.path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)]


def errors(pytester: pytest.Pytester, released: Path) -> Arguments:
    write_test(pytester, OWN)
    return ["--corpus", released, "--base", "sonnet"]


def gate(pytester: pytest.Pytester, released: Path) -> Arguments:
    """The demo's sonnet held against its gemini: some guards are worse, some hold, some cannot be told at this n."""
    make_suite(pytester)
    pytester.makepyfile(test_gate=(ROOT / "suites" / "test_gate.py").read_text(encoding="utf-8"))
    baseline = ["--tutoreval-baseline", "baseline.json"]
    assert run(pytester, "--base", "gemini", *baseline, "--tutoreval-baseline-update", fresh=True).ret == 0
    return ["--base", "sonnet", "--gate", *baseline]


Run = Callable[[pytest.Pytester, Path], Arguments]
# a run, and the words of which it must have some: a comparison of zeros shows nothing
RUNS: dict[Run, set[str]] = {
    verdicts: set(VERDICTS),
    not_evaluable: {"supported", "not evaluable"},
    errors: {"supported", "not evaluable"},
    gate: {"supported", "not supported", *GATE},
}


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
@pytest.mark.parametrize("kind", RUNS, ids=lambda kind: kind.__name__)
def test_every_report_counts_the_same(
    pytester: pytest.Pytester, released: Path, monkeypatch: pytest.MonkeyPatch, kind: Run, workers: list[str]
) -> None:
    arguments = kind(pytester, released)
    monkeypatch.delenv("PYTEST_ADDOPTS")  # allure-pytest is let in
    result = run(pytester, *arguments, "--junitxml", "junit.xml", "--alluredir", "allure", *workers, fresh=True)
    reports = pytester.path / "reports"
    expected = in_json(document(pytester))
    assert set(expected) == RUNS[kind]
    assert {
        "terminal": in_terminal(result),
        "summary.md": in_markdown(reports / "summary.md"),
        "HTML": in_html(reports),
        "JUnit": in_junit(pytester.path / "junit.xml"),
        "JUnit, the suite": in_junit_suite(pytester.path / "junit.xml"),
        "Allure": in_allure(pytester.path / "allure"),
        "Allure, rendered again": in_allure(rendered("allure", reports / "verdicts.json")),
    } == dict.fromkeys(READERS, expected)
    assert failures_in_junit(pytester.path / "junit.xml") == failures_in_allure(pytester.path / "allure")


READERS = ("terminal", "summary.md", "HTML", "JUnit", "JUnit, the suite", "Allure", "Allure, rendered again")


def counted(words: Iterable[str | None]) -> Counts:
    return Counter(word for word in words if word in WORDS)


def in_json(written: dict[str, Any]) -> Counts:
    words = [row["verdict"] for row in written["claims"]]
    words += [row["outcome"] for row in (written["gate"] or {"rows": []})["rows"]]
    return counted(word.replace("_", " ") for word in words) + Counter({"not evaluable": len(written["not_evaluable"])})


def in_terminal(result: pytest.RunResult) -> Counts:
    text = "\n".join(claims_lines(result))
    rows = re.findall(r"^\S+ +\S+ +\S+ +(not supported|supported|inconclusive)\b.*", text, re.MULTILINE)
    evaluable = re.search(r"^(\d+) claims decided, (\d+) not evaluable", text, re.MULTILINE)
    assert evaluable is not None
    assert int(evaluable[1]) == len(rows)
    return counted(rows) + Counter({"not evaluable": int(evaluable[2])}) + headline(text, r"^gate: (.*);")


def headline(text: str, pattern: str) -> Counts:
    """Return the counts of a line such as `3 held, 1 not decided`; none where there is no such line."""
    line = re.search(pattern, text, re.MULTILINE)
    found = re.findall(r"(\d+) ([a-z ]+)", line[1] if line else "")
    return Counter({word: int(count) for count, word in found if word in WORDS and int(count)})


def in_markdown(path: Path) -> Counts:
    return headline(path.read_text(encoding="utf-8"), r"^### (.*)")


def in_html(reports: Path) -> Counts:
    """Count the cards of the page; it is rendered here where the run does not."""
    page = reports / "report.html"
    if not page.exists():
        page = rendered("html", reports / "verdicts.json") / "report.html"
    cards = Cards()
    cards.feed(page.read_text(encoding="utf-8"))
    return counted(cards.words)


class Cards(HTMLParser):
    """The first outcome each card shows, and each reason of the section on what is not evaluable."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._wanted = self._in_verdict = False
        self._section: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kinds = (dict(attrs).get("class") or "").split()
        if tag == "section":
            self._section = dict(attrs).get("id")
        elif tag == "dt" and self._section == "not-evaluable":
            self.words.append("not evaluable")
        elif tag == "article" and "card" in kinds:
            self._wanted = True
        elif self._wanted and "verdict" in kinds:
            self._in_verdict = True

    def handle_data(self, data: str) -> None:
        if self._wanted and self._in_verdict and data.strip():
            self.words.append(data.strip().removesuffix(" (reversed)"))
            self._wanted = self._in_verdict = False


def rendered(kind: str, verdicts: Path) -> Path:
    to = verdicts.parent.parent / f"rendered-{kind}"
    outcome = CliRunner().invoke(app, ["report", kind, "--from", str(verdicts), "--to", str(to)])
    assert outcome.exit_code == 0, outcome.output
    return to


def in_junit(path: Path) -> Counts:
    """Count cases; a claim's case without a verdict is one that is not evaluable."""
    found: Counts = Counter()
    for case in ET.parse(path).getroot().iter("testcase"):
        stated = {str(each.get("name")): each.get("value") for each in case.iter("property")}
        found += counted([stated.get("verdict"), stated.get("gate")])
        found["not evaluable"] += "claim" in stated and "verdict" not in stated
    return +found


def in_junit_suite(path: Path) -> Counts:
    (suite,) = ET.parse(path).getroot().iter("testsuite")
    stated = {str(each.get("name")): str(each.get("value")) for each in suite.findall("properties/property")}
    words = {name.removeprefix("tutoreval.").partition("_")[2].replace("_", " "): name for name in stated}
    return Counter({word: int(stated[words[word]]) for word in WORDS if word in words and int(stated[words[word]])})


def in_allure(folder: Path) -> Counts:
    stated = [labels(result) for result in allure_results(folder)]
    return counted(told.get(name) for told in stated for name in ("verdict", "gate"))


def allure_results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in folder.glob("*-result.json")]


def labels(result: dict[str, Any]) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


def failures_in_junit(path: Path) -> int:
    """Return how many cases failed; what the suite says of itself must be what its cases say."""
    (suite,) = ET.parse(path).getroot().iter("testsuite")
    failing = [
        case for case in suite.iter("testcase") if case.find("failure") is not None or case.find("error") is not None
    ]
    assert len(failing) == int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return len(failing)


def failures_in_allure(folder: Path) -> int:
    return sum(result["status"] in ("failed", "broken") for result in allure_results(folder))
