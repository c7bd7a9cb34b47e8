"""Allure results of a run: what allure-pytest writes of our items, with and without workers, and the page of them."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, sync_playwright
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from tests.plugin.runs import ROOT, document, make_suite, run, write_test
from tests.store.corpora import a_table_corpus

Row = dict[str, Any]
WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])

P1 = """
@pytest.mark.claim("P1")
def test_p1(decided, base{more}):
    {body}
"""

# Everything a message may hold that would break a file, a channel or a terminal.
HOSTILE = r'"\x00\x1b[2J<script>alert(1)</script>\ud800]]>"'


@pytest.fixture(autouse=True)
def with_allure(without_allure: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let allure-pytest into the inner runs."""
    monkeypatch.delenv("PYTEST_ADDOPTS")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One base whose leakage differs; nothing else is defined, so P1 alone can be decided."""
    return a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)


def run_allure(pytester: pytest.Pytester, *arguments: str | Path) -> pytest.RunResult:
    """Run in a process of its own: allure keeps what it knows in its module."""
    return run(pytester, "--alluredir", "allure", *arguments, fresh=True)


def results(folder: Path) -> dict[str, Row]:
    """Return the results of a folder by title."""
    found = [json.loads(path.read_bytes()) for path in folder.glob("*-result.json")]
    assert len({result["name"] for result in found}) == len(found)
    return {result["name"]: result for result in found}


def labels(result: Row) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


def tags(result: Row) -> list[str]:
    return sorted(label["value"] for label in result["labels"] if label["name"] == "tag")


def attached(folder: Path, result: Row) -> dict[str, bytes]:
    return {file["name"]: (folder / file["source"]).read_bytes() for file in result["attachments"]}


@WORKERS
def test_a_run_tells_allure_its_verdicts(pytester: pytest.Pytester, released: Path, workers: list[str]) -> None:
    make_suite(pytester)
    result = run_allure(pytester, "--corpus", released, "--base", "sonnet", "--judge", "opus", *workers)
    assert result.ret == 0
    folder = pytester.path / "allure"
    found = results(folder)
    rows = {(row["claim"], row["base"], row["judge"]): row for row in document(pytester)["claims"]}
    assert len(found) == len(rows) == 5
    told = found["P2 sonnet, opus: not supported"]
    assert (told["status"], labels(told)["severity"], labels(told)["verdict"]) == (
        "passed",
        "critical",
        "not supported",
    )
    assert labels(told)["feature"] == "P2: A judge finds conv more helpful than ped."
    assert labels(told)["story"] == "sonnet"
    assert tags(told) == ["P2", "confirmatory", "not supported", "opus", "sonnet"], "each of them once"
    assert "<strong>Registered rule</strong>: Supported if mean conv - ped of helpfulness" in told["descriptionHtml"]
    assert "p &lt; .05" in told["descriptionHtml"]
    files = attached(folder, told)
    assert json.loads(files["row"]) == rows["P2", "sonnet", "opus"]
    assert files["forest"].startswith(b"<svg ")
    assert {parameter["name"] for parameter in told["parameters"]} == {"base", "judge"}


def test_histories_survive_verdicts_workers_and_what_breaks(
    pytester: pytest.Pytester, tmp_path: Path, corpus: Path
) -> None:
    equal = a_table_corpus(tmp_path / "equal", [0.25] * 10, [0.25] * 10)
    histories: dict[str, str] = {}
    for folder, body, workers in (
        (corpus, "pass", []),
        (equal, "pass", ["-n2"]),
        (corpus, "raise RuntimeError", []),
        (corpus, "assert 0", []),
    ):
        write_test(pytester, P1.format(more="", body=body))
        shutil.rmtree(pytester.path / "allure", ignore_errors=True)
        run_allure(pytester, "--corpus", folder, *workers)
        ((title, result),) = results(pytester.path / "allure").items()
        histories[f"{title} {result['status']}"] = result["historyId"]
    assert list(histories) == [
        "P1 sonnet: supported passed",
        "P1 sonnet: inconclusive passed",
        "P1 sonnet: not evaluable broken",
        "P1 sonnet: not evaluable failed",
    ]
    assert len(set(histories.values())) == 1


def test_what_is_not_evaluable_shows_its_reason(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    run_allure(pytester, "--corpus", corpus, "-n2")
    result = results(pytester.path / "allure")["P3 sonnet: not evaluable"]
    reason = "independence is defined in 0 of 10 pairs"
    assert (result["status"], labels(result)["severity"]) == ("failed", "critical")
    assert result["statusDetails"]["message"].startswith(f"Not evaluable: {reason}")
    assert reason in result["descriptionHtml"]
    assert reason in json.loads(attached(pytester.path / "allure", result)["row"])["reason"]


@pytest.mark.parametrize(
    ("more", "body", "status"),
    [
        pytest.param("", 'raise RuntimeError("later")', "broken", id="raises"),
        pytest.param("", "assert base == 'gpt'", "failed", id="asserts"),
        pytest.param("", 'pytest.skip("not today")', "skipped", id="skips"),
        pytest.param(", broken_after", "pass", "broken", id="breaks-in-teardown"),
    ],
)
def test_a_claim_whose_test_does_not_pass_has_no_verdict_in_allure(
    pytester: pytest.Pytester, corpus: Path, more: str, body: str, status: str
) -> None:
    fixture = "\n@pytest.fixture\ndef broken_after():\n    yield\n    raise ValueError\n"
    write_test(pytester, P1.format(more=more, body=body) + fixture)
    run_allure(pytester, "--corpus", corpus)
    (result,) = results(pytester.path / "allure").values()
    assert (result["name"], result["status"]) == ("P1 sonnet: not evaluable", status)
    assert [label["value"] for label in result["labels"] if label["name"] == "verdict"] == ["not evaluable"]
    assert result["statusDetails"]["message"].startswith("Not evaluable: ")


@pytest.mark.parametrize(
    ("way", "workers"),
    [
        pytest.param("raise RuntimeError({})", [], id="raises"),
        pytest.param("raise RuntimeError({})", ["-n2"], id="raises-two-workers"),
        pytest.param("pytest.fail({})", ["-n2"], id="fails-two-workers"),
        pytest.param("pytest.skip({})", ["-n2"], id="skips-two-workers"),
    ],
)
def test_a_hostile_message_ends_no_run(pytester: pytest.Pytester, corpus: Path, workers: list[str], way: str) -> None:
    write_test(pytester, P1.format(more="", body=way.format(HOSTILE)) + "\ndef test_fine(): pass\n")
    result = run_allure(pytester, "--corpus", corpus, *workers)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    told = results(pytester.path / "allure")["P1 sonnet: not evaluable"]
    assert r"\x00\x1b[2J<script>alert(1)</script>\ud800]]>" in told["statusDetails"]["message"]
    assert "<script" not in told["descriptionHtml"]
    assert "\x1b[2J" not in result.stdout.str()


def test_analyses_and_instrument_checks_have_their_severity(pytester: pytest.Pytester) -> None:
    write_test(
        pytester,
        """
@pytest.mark.analysis("exposure")
def test_exposure(analysed):
    assert analysed

@pytest.mark.analysis("holm_added")
def test_holm_added(analysed):
    assert analysed

@pytest.mark.instrument
def test_lock():
    pass
""",
    )
    run_allure(pytester, "--base", "gpt")
    found = results(pytester.path / "allure")
    rows = len(document(pytester)["analyses"])
    assert {title: (result["status"], labels(result)["severity"]) for title, result in found.items()} == {
        f"exposure gpt: {rows} rows": ("passed", "minor"),
        "holm_added: not run": ("skipped", "normal"),
        "test_lock": ("passed", "blocker"),
    }
    files = attached(pytester.path / "allure", found[f"exposure gpt: {rows} rows"])
    assert json.loads(files["row"])["rows"] == document(pytester)["analyses"]
    assert "SIMULATED DATA" in found["holm_added: not run"]["descriptionHtml"]


def test_a_guard_is_a_result_that_says_where_and_by_how_much(pytester: pytest.Pytester) -> None:
    make_suite(pytester)
    pytester.makepyfile(test_gate=(ROOT / "suites" / "test_gate.py").read_text(encoding="utf-8"))
    baseline = ("--tutoreval-baseline", "baseline.json", "--judge", "opus")
    run_allure(pytester, "--base", "gemini", *baseline, "--tutoreval-baseline-update")
    shutil.rmtree(pytester.path / "allure")
    assert run_allure(pytester, "--base", "sonnet", *baseline, "--gate").ret == 1
    result = results(pytester.path / "allure")["gate leakage sonnet, conv: regressed"]
    assert (result["status"], labels(result)["severity"], labels(result)["gate"]) == ("failed", "critical", "regressed")
    assert result["statusDetails"]["message"].startswith("REGRESSION leakage of sonnet/conv")
    assert result["parameters"] == [{"name": "guarded", "value": "'gate leakage sonnet, conv'"}]
    assert "sonnet/conv/r1/train-4/t0" in result["descriptionHtml"]


def test_the_controller_describes_the_run(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    run_allure(pytester, "--corpus", corpus, "-m", "P1 or P3", "-n2")
    facts = (pytester.path / "allure" / "environment.properties").read_text(encoding="ascii")
    assert "Provenance=SIMULATED DATA, scripted agents took part\n" in facts
    assert "Run=PARTIAL: 3 items deselected\n" in facts
    assert "Claims=1 decided, 1 not evaluable\n" in facts
    named = [row["name"] for row in json.loads((pytester.path / "allure" / "categories.json").read_bytes())]
    assert named[0] == "Gate: regressed"
    assert named[-1] == "Errors of the machine"


def test_without_alluredir_nothing_of_allure_is_imported_by_us(pytester: pytest.Pytester, corpus: Path) -> None:
    write_test(
        pytester,
        P1.format(more="", body="import sys; assert 'pytest_tutoreval.running.allure_emitter' not in sys.modules"),
    )
    assert run(pytester, "--corpus", corpus, fresh=True).ret == 0
    write_test(
        pytester, P1.format(more="", body="import sys; assert not {'allure', 'allure_commons'} & {*sys.modules}")
    )
    assert run(pytester, "--corpus", corpus, "-p", "no:allure_pytest", fresh=True).ret == 0


def test_rendering_a_document_says_what_the_run_said(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    write_test(
        pytester, P1.replace("P1", "J2").format(more=", judge", body="raise RuntimeError('later')"), name="test_z"
    )
    shutil.copy(ROOT / "suites" / "test_analyses.py", pytester.path / "test_analyses.py")
    run_allure(pytester, "--corpus", corpus)
    verdicts = pytester.path / "reports" / "verdicts.json"
    rendered = CliRunner().invoke(
        app, ["report", "allure", "--from", str(verdicts), "--to", str(pytester.path / "again")]
    )
    assert rendered.exit_code == 0, rendered.output
    live, again = (told(pytester.path / folder) for folder in ("allure", "again"))
    assert again == live
    assert f"{again.total()} results" in rendered.output


def told(folder: Path) -> Counter[tuple[Any, ...]]:
    """Return what a reader is told of each result, whatever file it stands in."""
    return Counter(
        (
            result["name"],
            result["descriptionHtml"],
            *(labels(result)[name] for name in ("epic", "feature", "story", "verdict", "severity")),
            *tags(result),
        )
        for path in folder.glob("*-result.json")
        for result in [json.loads(path.read_bytes())]
    )


# the page: Allure's npm package and Chromium, used where they are, required where TUTOREVAL_REQUIRE_SHARED says so

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


def find_allure() -> str | None:
    """Return the npm package's command: TUTOREVAL_ALLURE, or where it is installed under the project."""
    known = [os.environ.get("TUTOREVAL_ALLURE"), str(ROOT / "build" / "npm" / "node_modules" / ".bin" / "allure")]
    return next((command for command in known if command and shutil.which(command)), None)


@pytest.fixture(scope="session")
def allure() -> str:
    command = find_allure()
    if command is None or not Path(CHROMIUM).exists():
        message = "npm's allure or Chromium is missing: npm install --prefix build/npm allure@3; apt install chromium"
        if os.environ.get("TUTOREVAL_REQUIRE_SHARED") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return command


@pytest.fixture
def page() -> Iterator[Page]:
    """A page that fetches nothing: Allure's own page asks for a statistics script, which is refused here."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        opened = browser.new_page(viewport={"width": 1400, "height": 1600})
        opened.route("**/*", lambda route, request: route.continue_() if is_local(request) else route.abort())
        yield opened
        browser.close()


def is_local(request: Request) -> bool:
    return request.url.startswith(("file:", "data:", "blob:"))


def render(command: str, results: Path, to: Path, *, theme: str = "awesome") -> Path:
    arguments = [command, theme, str(results), "--output", str(to), "--single-file"]
    subprocess.run(arguments, check=True, capture_output=True, timeout=120, cwd=to.parent)
    return to / "index.html"


def test_the_page_shows_verdicts_reasons_and_drawings(
    pytester: pytest.Pytester, corpus: Path, allure: str, page: Page
) -> None:
    make_suite(pytester)
    write_test(pytester, P1.format(more="", body=f"raise RuntimeError({HOSTILE})"), name="test_z")
    run_allure(pytester, "--corpus", corpus, "-n2")
    alerts: list[str] = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message))
    page.goto(render(allure, pytester.path / "allure", pytester.path / "page").as_uri())
    page.get_by_test_id("metadata-item-passed").wait_for()
    assert "SIMULATED DATA" in page.get_by_test_id("metadata-list").inner_text()
    counts = {name: page.get_by_test_id(f"metadata-item-{name}").inner_text().split()[-1] for name in OUTCOMES}
    assert counts == {"total": "6", "passed": "1", "failed": "4", "broken": "1"}

    open_result(page, "P1 sonnet: supported")
    frame = page.get_by_test_id("test-result-description-frame").content_frame
    assert "Supported if mean conv - ped of leakage" in frame.locator("body").inner_text()
    page.get_by_test_id("test-result-attachment-header").filter(has_text="forest").click()
    page.locator("img[src^='blob:'], img[src^='data:'], svg.forest").first.wait_for()

    page.go_back()
    open_result(page, "P3 sonnet: not evaluable")
    assert "independence is defined in 0 of 10 pairs" in page.locator("body").inner_text()
    assert alerts == []


OUTCOMES = ("total", "passed", "failed", "broken")


def open_result(page: Page, title: str) -> None:
    """Search for a result and open it, unfolding what it stands in."""
    page.get_by_test_id("search-input").fill(title)
    leaf = page.get_by_test_id("tree-leaf").filter(has_text=title)
    while not leaf.count():
        sections = page.get_by_test_id("tree-section")
        before = sections.count()
        sections.last.click()
        page.wait_for_function(
            f"document.querySelectorAll('[data-testid=tree-section], [data-testid=tree-leaf]').length != {before}"
        )
    leaf.first.click()
    page.get_by_test_id("test-result-info-title").wait_for()


def test_categories_hold_in_the_page_that_reads_them(pytester: pytest.Pytester, corpus: Path, allure: str) -> None:
    """`allure allure2` reads categories.json as Allure 2 does; `awesome` has its own."""
    make_suite(pytester)
    write_test(pytester, P1.format(more="", body="raise RuntimeError"), name="test_z")
    run_allure(pytester, "--corpus", corpus)
    arguments = [allure, "allure2", str(pytester.path / "allure"), "--output", str(pytester.path / "page")]
    subprocess.run(arguments, check=True, capture_output=True, timeout=120, cwd=pytester.path)
    tree = json.loads((pytester.path / "page" / "data" / "categories.json").read_bytes())
    assert {category["name"]: count_leaves(category) for category in tree["children"]} == {
        "Claims that are not evaluable": 4,
        "Errors of the machine": 1,
    }


def count_leaves(node: Row) -> int:
    return sum(count_leaves(child) for child in node["children"]) if "children" in node else 1
