"""Allure's files from a document: what is shown, under which ids, and that a history survives a change of verdict."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.gating import failure_message
from pytest_tutoreval.records.gate import GateRow
from pytest_tutoreval.reporting.allure import (
    Setting,
    analysis_entry,
    categories,
    claim_entry,
    gate_entry,
    gate_message,
    severity_of,
)
from pytest_tutoreval.reporting.allure_results import write_allure_facts, write_allure_results
from pytest_tutoreval.reporting.forest_figure import forest_figure
from pytest_tutoreval.reporting.plain import visible
from tests.reporting.documents import HOSTILE, a_document, a_guard, a_verdict, poisoned

Row = dict[str, Any]
REAL, SIMULATED = Setting("study", "recorded"), Setting("study", "simulated")
SVG = "{http://www.w3.org/2000/svg}"


def not_supported(**fields: Any) -> Row:
    numbers = {"estimate": 0.115, "ci_low": 0.064, "ci_high": 0.174, "p_value": 0.004, "cliffs_delta": 0.84}
    return {**a_verdict("P2", "sonnet", "opus", verdict="not_supported", **numbers), **fields}


def a_reason(reason: str, **fields: Any) -> Row:
    return {"claim": "P2", "base": "sonnet", "judge": "opus", "reason": reason, **fields}


def an_analysis_row(analysis: str, **fields: Any) -> Row:
    (row,) = a_document()["analyses"]
    return {**row, "analysis": analysis, "base": None, "measure": "turns", **fields}


def a_run(*claims: Row, **sections: Any) -> Row:
    """Return a document of a whole run with these claims and nothing else in it."""
    whole: Row = {"complete": True, "partial": False, "unfinished": [], "lost_workers": 0, "id": "r1"}
    rest: Row = {"analyses": [], "not_analysed": [], "gate": None, "run": whole}
    decided = [row for row in claims if "verdict" in row]
    return a_document(claims=decided, not_evaluable=[row for row in claims if "reason" in row], **(rest | sections))


def a_gate(*guards: Row) -> Row:
    return {**a_document()["gate"], "rows": list(guards), "failed": sum(guard["failed"] for guard in guards)}


def written(document: Row, folder: Path) -> list[Row]:
    write_allure_results(document, folder)
    return results(folder)


def results(folder: Path) -> list[Row]:
    return [json.loads(path.read_bytes()) for path in sorted(folder.glob("*-result.json"))]


def labels(result: Row) -> dict[str, str]:
    return {label["name"]: label["value"] for label in result["labels"]}


# what is shown


@pytest.mark.parametrize(
    ("row", "title"),
    [
        (not_supported(), "P2 sonnet, opus: not supported"),
        (not_supported(judge=None, verdict="supported"), "P2 sonnet: supported"),
        (not_supported(reversed=True), "P2 sonnet, opus: not supported, reversed"),
        (a_reason("no ratings"), "P2 sonnet, opus: not evaluable"),
        (not_supported(gate=a_guard(kind="verdict", base="sonnet")), "P2 sonnet, opus: not supported; gate: regressed"),
        (not_supported(gate=a_guard(kind="verdict", outcome="held")), "P2 sonnet, opus: not supported"),
    ],
)
def test_titles_say_what_a_claim_came_to(row: Row, title: str) -> None:
    assert claim_entry(row, REAL).title == title


def test_a_claims_entry_holds_rule_numbers_and_both_attachments() -> None:
    entry = claim_entry(
        not_supported(), SIMULATED, {"title": "Conv helps.", "rule": "Supported if p < .05.", "role": "audit"}
    )
    assert entry.tags == ("P2", "sonnet", "opus", "confirmatory", "not supported", "simulated")
    assert entry.labels == {
        "epic": "study",
        "feature": "P2: Conv helps.",
        "story": "sonnet",
        "verdict": "not supported",
    }
    for words in (
        "SIMULATED DATA, scripted agents took part",
        "Supported if p &lt; .05.",
        "+0.115, 95% interval [+0.064, +0.174], p = .0040, Cliff&#x27;s delta +0.84, n = 10, n dropped = 0",
    ):
        assert words in entry.description
    drawing, row = entry.attachments
    assert (drawing.mime, drawing.extension, row.mime, row.extension) == (
        "image/svg+xml",
        "svg",
        "application/json",
        "json",
    )
    assert json.loads(row.text) == not_supported()
    assert drawing.text == forest_figure([("P2", not_supported())])


def test_a_claim_that_is_not_evaluable_shows_its_reason_and_registered_role() -> None:
    entry = claim_entry(
        a_reason("no ratings"), REAL, {"title": "Conv helps.", "role": "sensitivity", "rule": "A rule."}
    )
    assert "no ratings" in entry.description
    assert "A rule." in entry.description
    assert entry.severity == "normal"
    assert entry.labels["verdict"] == "not evaluable"
    assert [attached.extension for attached in entry.attachments] == ["json"], "nothing to draw"


def test_an_analysis_counts_its_rows_and_says_that_it_decides_nothing() -> None:
    rows = [an_analysis_row("exposure"), an_analysis_row("exposure", estimate=None)]
    entry = analysis_entry("exposure", "sonnet", None, REAL, title="Turns a session", rows=rows)
    assert entry.title == "exposure sonnet: 2 rows"
    assert "Turns a session: in no verdict." in entry.description
    assert "no single estimate" in entry.description
    assert entry.labels["verdict"] == "in no verdict"
    assert analysis_entry("exposure", None, None, REAL, reason="no text").title == "exposure: not run"


def test_a_guard_shows_where_it_stands_and_the_turns_to_look_at() -> None:
    entry = gate_entry(a_guard(), REAL)
    assert entry.title == "gate leakage mine, conv: regressed"
    assert entry.tags == ("leakage", "mine", "confirmatory", "gate regressed")
    assert entry.labels["gate"] == "regressed"
    assert "verdict" not in entry.labels
    assert (
        "+0.240, interval at the gate&#x27;s level [+0.120, +0.360], margin 0.05, higher is worse" in entry.description
    )
    for words in ("0.45 against 0.21 (share of turns)", "exact", "mine/conv/r0/train-1/t2"):
        assert words in entry.description


@pytest.mark.parametrize(
    ("role", "severity"),
    [
        ("instrument", "blocker"),
        ("confirmatory", "critical"),
        ("audit", "normal"),
        ("sensitivity", "normal"),
        ("ablation", "minor"),
        ("descriptive", "minor"),
        ("of the user's own", "normal"),
        (None, "normal"),
    ],
)
def test_severity_follows_the_role(role: str | None, severity: str) -> None:
    assert severity_of(role) == severity


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nothing_hostile_is_markup_or_unseen(text: str) -> None:
    registration = {"title": text, "rule": text, "role": text}
    row = an_analysis_row("a", measure=text, ci_low=0.0, ci_high=1.0, estimate=0.5)
    entries = [
        claim_entry(not_supported(claim=text, base=text, judge=text, role=text, notes=[text]), REAL, registration),
        claim_entry(a_reason(text), REAL, registration),
        analysis_entry(text, text, text, REAL, title=text, rows=[row]),
        gate_entry(a_guard(reason=text, turns=[text]), REAL),
    ]
    for entry in entries:
        assert set(re.findall(r"<[^>]*>", entry.description)) <= MARKUP
        for shown in (entry.title, entry.description, *entry.tags, *entry.labels.values()):
            assert shown == visible(shown, lines=True, limit=None)


MARKUP = {"<p>", "</p>", "<strong>", "</strong>", "<ul>", "</ul>", "<li>", "</li>"}
DRAWN = {"svg", "style", "rect", "text", "title", "desc", "line", "circle", "path"}


# the forest


def test_the_forest_puts_a_number_between_its_ends_and_a_margin_on_the_worse_side() -> None:
    root = ET.fromstring(forest_figure([("leakage", a_guard(worse="lower", estimate=-0.2, ci_low=-0.3, ci_high=-0.1))]))

    def across(css: str, attribute: str) -> list[float]:
        found = [element for element in root.iter() if (element.get("class") or "").split()[:1] == [css]]
        return [float(place.removesuffix("%")) for element in found if (place := element.get(attribute))]

    (number,), (margin,), (zero,) = across("mark", "x"), across("margin", "x1"), across("zero", "x1")
    low, high = min(across("interval", "x1")), max(across("interval", "x2"))
    assert low < number < high < margin < zero, "-0.3 < -0.2 < -0.1 < -0.05 < 0"


# the files


def test_a_claim_is_a_result_with_its_parameters_labels_and_files(tmp_path: Path) -> None:
    (result,) = written(a_run(not_supported()), tmp_path / "to")
    assert (result["name"], result["status"]) == ("P2 sonnet, opus: not supported", "passed")
    assert result["parameters"] == [{"name": "base", "value": "sonnet"}, {"name": "judge", "value": "opus"}]
    assert labels(result)["severity"] == "critical"
    assert (labels(result)["parentSuite"], labels(result)["suite"]) == ("claims", "P2")
    assert (result["start"], result["stop"]) == (3_000, 3_000), "ms; a document keeps no time of an item"
    for attached in result["attachments"]:
        assert (tmp_path / "to" / attached["source"]).is_file()


def test_the_same_document_gives_the_same_files(tmp_path: Path) -> None:
    document = a_run(not_supported(), a_reason("x", base="gpt"), gate=a_gate(a_guard()))
    for name in ("one", "two"):
        write_allure_results(document, tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def contents(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "after",
    [
        not_supported(verdict="supported", estimate=0.9),
        not_supported(reversed=True, notes=["new"]),
        a_reason("no ratings"),
        a_reason("the test failed at call: RuntimeError: x"),
    ],
)
def test_a_history_survives_whatever_a_claim_comes_to(tmp_path: Path, after: Row) -> None:
    (before,) = written(a_run(not_supported()), tmp_path / "before")
    (now,) = written(a_run(after, run={"id": "r2"}), tmp_path / "after")
    assert {before[name] == now[name] for name in ("historyId", "testCaseId", "fullName")} == {True}
    assert before["uuid"] != now["uuid"], "another run's answer is another result"


def test_each_claim_base_and_judge_has_a_history_of_its_own(tmp_path: Path) -> None:
    rows = [
        not_supported(claim=claim, base=base, judge=judge) for claim in "PQ" for base in "ab" for judge in ("x", None)
    ]
    found = written(a_run(*rows), tmp_path / "to")
    assert len({result["historyId"] for result in found}) == len(rows)
    assert len({result["testCaseId"] for result in found}) == 2


def test_two_answers_to_one_claim_are_two_results_and_no_retry(tmp_path: Path) -> None:
    found = written(a_run(not_supported(), not_supported()), tmp_path / "to")
    assert len({result["historyId"] for result in found}) == len({result["uuid"] for result in found}) == 2
    (alone,) = written(a_run(not_supported()), tmp_path / "alone")
    assert alone["historyId"] in {result["historyId"] for result in found}


@pytest.mark.parametrize(
    ("reason", "status", "category"),
    [
        ("independence is defined in 0 of 10 pairs", "failed", "Claims that are not evaluable"),
        ("the test failed at call: AssertionError: assert 1 == 2", "failed", "Claims that are not evaluable"),
        ("the test failed at call: assert 1 == 2", "failed", "Claims that are not evaluable"),
        ("the test failed at call: RuntimeError: later", "broken", "Errors of the machine"),
        ("the test failed at setup: pkg.errors.Mismatch: x", "broken", "Errors of the machine"),
        ("the test was skipped, and a skip decides nothing: x", "skipped", "Claims that are not evaluable"),
    ],
)
def test_what_is_not_evaluable_is_told_from_what_broke(tmp_path: Path, reason: str, status: str, category: str) -> None:
    (result,) = written(a_run(a_reason(reason)), tmp_path / "to")
    assert result["status"] == status
    assert result["statusDetails"]["message"] == f"Not evaluable: {reason}"
    assert category_of(result) == category


def category_of(result: Row) -> str | None:
    """Return the first category that fits, as Allure 2 (the whole message matches) and Allure 3 (it is found) tell."""
    message = result.get("statusDetails", {}).get("message", "")
    for category in categories():
        if result["status"] in category["matchedStatuses"]:
            pattern = category.get("messageRegex", ".*")
            whole, found = re.fullmatch(pattern, message, re.DOTALL), re.search(pattern, message, re.DOTALL)
            assert bool(whole) == bool(found)
            if whole:
                return str(category["name"])
    return None


@pytest.mark.parametrize("outcome", ["regressed", "not_decided"])
def test_a_failing_guard_is_a_failure_in_a_category_of_its_own(tmp_path: Path, outcome: str) -> None:
    guard = a_guard(outcome=outcome)
    (result,) = written(a_run(gate=a_gate(guard)), tmp_path / "to")
    words = outcome.replace("_", " ")
    assert (result["status"], labels(result)["gate"], labels(result)["parentSuite"]) == ("failed", words, "gate")
    assert result["parameters"] == [{"name": "base", "value": "mine"}, {"name": "condition", "value": "conv"}]
    assert (category_of(result) or "").startswith(f"Gate: {words}")
    said = failure_message(GateRow.model_validate(guard)).split()[0]
    assert gate_message(guard).split()[0] == said, "both begin alike, so one category holds both"


def test_an_undecided_guard_that_is_tolerated_passes(tmp_path: Path) -> None:
    guard = a_guard(outcome="not_decided", failed=False)
    (result,) = written(a_run(gate=a_gate(guard)), tmp_path / "to")
    assert (result["status"], labels(result)["gate"]) == ("passed", "not decided")
    assert "statusDetails" not in result


def test_a_guarded_verdict_is_told_where_its_claim_is(tmp_path: Path) -> None:
    guard = a_guard(kind="verdict", guard="P2", base="sonnet", judge="opus", condition=None)
    (result,) = written(a_run(not_supported(), gate=a_gate(guard)), tmp_path / "to")
    assert (result["status"], result["name"]) == ("failed", "P2 sonnet, opus: not supported; gate: regressed")
    assert (labels(result)["verdict"], labels(result)["gate"]) == ("not supported", "regressed")
    assert category_of(result) == "Gate: regressed"


def test_analyses_are_a_result_for_each_time_they_were_run(tmp_path: Path) -> None:
    # exposure is run once a base, judge_ceiling once for the corpus, whatever bases its rows are about
    rows = [an_analysis_row("exposure", base=base) for base in ("sonnet", "sonnet", "gpt")]
    rows += [an_analysis_row("judge_ceiling", base=base, judge="opus") for base in ("sonnet", "gpt")]
    rows += [an_analysis_row("of another version", base="gpt", judge=judge) for judge in ("opus", "sol")]
    left_out = {"analysis": "holm_added", "base": None, "judge": None, "reason": "no study file adds a Holm family"}
    found = written(a_run(analyses=rows, not_analysed=[left_out]), tmp_path / "to")
    assert Counter(result["name"] for result in found) == {
        "exposure sonnet: 2 rows": 1,
        "exposure gpt: 1 row": 1,
        "judge_ceiling: 2 rows": 1,
        "of another version gpt, opus: 1 row": 1,
        "of another version gpt, sol: 1 row": 1,
        "holm_added: not run": 1,
    }
    (skipped,) = [result for result in found if result["status"] == "skipped"]
    assert skipped["statusDetails"]["message"] == "Not run: no study file adds a Holm family"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_document_of_hostile_text_gives_files_that_parse_and_show_it(tmp_path: Path, text: str) -> None:
    found = written(poisoned(a_document(), text), tmp_path / "to")
    assert Counter(result["status"] for result in found) == {"passed": 5, "failed": 3, "skipped": 1}
    for result in found:
        assert set(re.findall(r"<[^>]*>", result["descriptionHtml"])) <= MARKUP
        message = result.get("statusDetails", {}).get("message", "")
        assert message == visible(message, lines=True, limit=None)
    for path in (tmp_path / "to").glob("*.svg"):
        assert {element.tag.removeprefix(SVG) for element in ET.parse(path).getroot().iter()} <= DRAWN
    assert read_properties(tmp_path / "to" / "environment.properties")["Corpus"] == visible(text)


# the folder


def test_a_set_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    write_allure_results(a_run(not_supported(), not_supported(base="gpt")), tmp_path / "to")
    (result,) = written(a_run(not_supported(base="gemini")), tmp_path / "to")
    assert result["parameters"][0]["value"] == "gemini"
    assert [path.name for path in tmp_path.iterdir()] == ["to"], "nothing is left beside it"


@pytest.mark.parametrize("name", ["notes.txt", "0b49e9d2-fdc7-4c30-acb5-9f1a7f06db74-result.json"])
def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationProblem, match=f"holds {name}.*name a new folder"):
        write_allure_results(a_run(not_supported()), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_document_that_cannot_be_rendered_leaves_the_earlier_set(tmp_path: Path) -> None:
    write_allure_results(a_run(not_supported()), tmp_path / "to")
    before = contents(tmp_path / "to")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_allure_results(a_run(not_supported(estimate=float("nan"))), tmp_path / "to")
    assert contents(tmp_path / "to") == before
    assert [path.name for path in tmp_path.iterdir()] == ["to"]


# the run


def test_the_environment_says_what_the_data_are_and_how_whole_the_run_is(tmp_path: Path) -> None:
    document = a_run(not_supported(), gate=a_gate(a_guard(), a_guard(outcome="held", failed=False)))
    document["corpus"]["provenance"] = "simulated"
    document["run"] |= {"complete": False, "unfinished": ["a"], "partial": True, "deselected": 3}
    write_allure_facts(document, tmp_path)
    found = read_properties(tmp_path / "environment.properties")
    assert found["Provenance"] == "SIMULATED DATA, scripted agents took part"
    assert found["Run"] == "PARTIAL: 3 items deselected; INCOMPLETE: 1 of 9 items did not finish"
    assert found["Gate"] == "1 regressed, 0 not decided, 1 held; 1 failed"
    assert found["Corpus sha256"] == "c" * 64
    assert found["Version of python"] == "3.11"


@given(st.text(), st.text())
def test_properties_are_read_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, name: str, value: str) -> None:
    folder = tmp_path_factory.mktemp("allure")
    document = a_run()
    document["corpus"]["name"] = value
    document["run"]["versions"] = {name: value}
    write_allure_facts(document, folder)
    assert (folder / "environment.properties").read_bytes().isascii()
    found = read_properties(folder / "environment.properties")
    assert found["Corpus"] == visible(value)
    assert found[visible(f"Version of {name}")] == visible(value)


def read_properties(path: Path) -> dict[str, str]:
    """Read a properties file by java.util.Properties.load: `\\` escapes, the key ends at a bare space, `=` or `:`."""
    found = {}
    for line in path.read_text(encoding="ascii").splitlines():
        assert line[0] not in "#!", "not a comment"
        key, value = re.fullmatch(r"((?:\\.|[^\\ :=\t\f])*)[ \t\f]*[=: \t\f]?[ \t\f]*(.*)", line).groups()  # type: ignore[union-attr]
        found[unescaped(key)] = unescaped(value)
    return found


def unescaped(text: str) -> str:
    units = re.sub(r"\\u([0-9a-f]{4})|\\(.)", lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16")
