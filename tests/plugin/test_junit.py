"""JUnit files: a verdict is a property, the suite says what its data are, and the XML holds whatever a reason holds."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_tutoreval.reporting.junit import case_properties, guard_properties, suite_properties
from pytest_tutoreval.reporting.plain import visible
from tests.plugin.runs import document, junit, make_suite, reasons, run, write_test
from tests.reporting.documents import HOSTILE, a_document, a_guard, a_verdict, poisoned
from tests.store.corpora import a_table_corpus

WORKERS = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])

P1 = """
@pytest.mark.claim("P1")
def test_p1(decided, base{more}):
    {body}
"""

# NUL, a terminal escape, other controls, a CDATA end, markup, a noncharacter, a lone surrogate, an emoji.
NASTY = "\x00\x1b[2J\x07\x9b\r]]><script>&amp;\ufffe\ud800\U0001f469"
SHOWN = r"\x00\x1b[2J\x07\x9b\r]]><script>&amp;\ufffe\ud800" + "\U0001f469"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One base whose leakage differs; nothing else is defined, so P1 alone can be decided."""
    return a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)


def properties(path: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the properties of the suite, and of each case by its name; no name is stated twice."""
    (suite,) = ET.parse(path).getroot().iter("testsuite")
    return stated(suite), {case.get("name", ""): stated(case) for case in suite.iter("testcase")}


def stated(element: ET.Element) -> dict[str, str]:
    found = [(each.attrib["name"], each.attrib["value"]) for each in element.findall("properties/property")]
    assert len(dict(found)) == len(found)
    return dict(found)


@WORKERS
def test_cases_and_suite_state_what_the_document_says(
    pytester: pytest.Pytester, corpus: Path, workers: list[str]
) -> None:
    make_suite(pytester)
    run(pytester, "--corpus", corpus, "-m", "P1 or P2", "--junitxml", "j.xml", *workers, fresh=bool(workers))
    suite, cases = properties(pytester.path / "j.xml")
    written = document(pytester)
    (row,) = written["claims"]
    assert cases["test_p1[sonnet]"] == {
        "verdict": "supported",
        "claim": "P1",
        "base": "sonnet",
        "ci": f"[{row['ci_low']!r}, {row['ci_high']!r}]",
        "estimate": repr(row["estimate"]),
        "p_value": repr(row["p_value"]),
        "n": "10",
        "n_dropped": "0",
        "reversed": "false",
        "role": "confirmatory",
    }
    assert cases["test_p2[sonnet-opus]"] == {"claim": "P2", "base": "sonnet", "judge": "opus"}
    assert suite == {
        "tutoreval.corpus": "made-up",
        "tutoreval.corpus_sha256": written["corpus"]["sha256"],
        "tutoreval.provenance": "simulated",
        "tutoreval.study": written["study"]["name"],
        "tutoreval.instrument_sha256": written["study"]["instrument_sha256"],
        "tutoreval.complete": "true",
        "tutoreval.partial": "true",
        "tutoreval.run": "PARTIAL: 3 items deselected",
        "tutoreval.claims_supported": "1",
        "tutoreval.claims_not_supported": "0",
        "tutoreval.claims_inconclusive": "0",
        "tutoreval.claims_not_evaluable": "1",
        "tutoreval.warning": "SIMULATED DATA, scripted agents took part",
    }


def test_a_run_that_lost_something_says_so(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    write_test(pytester, "def test_stops():\n    raise KeyboardInterrupt\n", name="test_z_stops")
    run(pytester, "--corpus", corpus, "--junitxml", "j.xml", fresh=True)
    suite, _ = properties(pytester.path / "j.xml")
    assert suite["tutoreval.complete"] == "false"
    assert suite["tutoreval.run"].startswith("INCOMPLETE: 1 of 6 items did not finish")


def test_a_run_without_items_of_ours_has_no_properties(pytester: pytest.Pytester) -> None:
    write_test(pytester, "def test_fine(record_property): pass\n")
    run(pytester, "--junitxml", "j.xml")
    assert properties(pytester.path / "j.xml") == ({}, {"test_fine": {}})


@pytest.mark.parametrize(
    ("more", "body"),
    [
        pytest.param("", "raise RuntimeError", id="in-its-call"),
        pytest.param(", broken_after", "pass", id="in-its-teardown"),
        pytest.param(", broken_after", "raise RuntimeError", id="in-both"),
    ],
)
def test_what_fails_after_its_claim_was_decided_has_no_verdict(
    pytester: pytest.Pytester, corpus: Path, more: str, body: str
) -> None:
    fixture = "\n@pytest.fixture\ndef broken_after():\n    yield\n    raise ValueError\n"
    write_test(pytester, P1.format(more=more, body=body) + fixture)
    run(pytester, "--corpus", corpus, "--junitxml", "j.xml")
    for case in ET.parse(pytester.path / "j.xml").getroot().iter("testcase"):
        assert "verdict" not in stated(case)


def test_what_a_test_records_itself_stays(pytester: pytest.Pytester, corpus: Path) -> None:
    body = "request.node.user_properties += [('mine', 'x'), ('n', 3)]"
    write_test(pytester, P1.format(more=", request", body=body))
    run(pytester, "--corpus", corpus, "--junitxml", "j.xml")
    (case,) = ET.parse(pytester.path / "j.xml").getroot().iter("testcase")
    found = [(each.attrib["name"], each.attrib["value"]) for each in case.iter("property")]
    assert ("mine", "x") in found
    assert ("verdict", "supported") in found
    assert [value for name, value in found if name == "n"] == ["3", "10"]


# hostile text


@pytest.mark.parametrize(
    ("way", "workers"),
    [
        ("raise NotEvaluable(NASTY)", ["-n2"]),
        ("raise RuntimeError(NASTY)", ["-n2"]),
        ("raise RuntimeError(NASTY)", []),
        ("pytest.fail(NASTY)", ["-n2"]),
        ("pytest.skip(NASTY)", ["-n2"]),
    ],
    ids=lambda value: "-n2" if value == ["-n2"] else value or "-n0",
)
def test_whatever_a_reason_holds_the_run_ends_and_the_xml_is_valid(
    pytester: pytest.Pytester, corpus: Path, way: str, workers: list[str]
) -> None:
    prelude = f"from pytest_tutoreval.errors import NotEvaluable\n\nNASTY = {NASTY!a}\n"
    write_test(
        pytester,
        prelude + P1.format(more="", body=way) + P1.replace("test_p1", "test_fine").format(more="", body="pass"),
    )
    result = run(pytester, "--corpus", corpus, "--junitxml", "j.xml", *workers, fresh=True)
    assert (result.ret, "INTERNALERROR" in result.stdout.str()) == (0 if "skip" in way else 1, False)
    cases = junit(pytester.path / "j.xml")
    assert cases["test_fine[sonnet]"] == ("passed", "supported")
    outcome, verdict = cases["test_p1[sonnet]"]
    assert (outcome in ("failure", "skipped"), verdict) == (True, None)
    (case,) = [each for each in ET.parse(pytester.path / "j.xml").iter("testcase") if each.find(outcome) is not None]
    assert SHOWN in (case.findtext(outcome) or "")
    (reason,) = reasons(document(pytester)).values()
    assert SHOWN in reason
    assert "\x1b[2J" not in result.stdout.str()


@WORKERS
def test_a_reason_the_corpus_is_to_blame_for_ends_no_run(
    pytester: pytest.Pytester, corpus: Path, workers: list[str]
) -> None:
    """What `decided` itself fails with: here a claim that cannot be decided, for a reason that quotes a model."""
    pytester.makeconftest(
        f"""
        import pytest
        from pytest_tutoreval.errors import NotEvaluable
        from pytest_tutoreval.workbench import Workbench

        decide = Workbench.decide

        def quoting(self, place):
            if place.claim.id == "P3":
                raise NotEvaluable("turn 1: " + {NASTY!a} + "x" * 2_000_000)
            return decide(self, place)

        Workbench.decide = quoting
        """
    )
    make_suite(pytester)
    result = run(pytester, "--corpus", corpus, "-m", "P1 or P3", "--junitxml", "j.xml", *workers, fresh=True)
    assert result.ret == 1
    assert junit(pytester.path / "j.xml") == {
        "test_p1[sonnet]": ("passed", "supported"),
        "test_p3[sonnet]": ("error", None),
    }
    reason = reasons(document(pytester))["P3", "sonnet", None]
    assert reason.startswith(f"turn 1: {SHOWN}xxx")
    assert reason.endswith("characters more)")
    assert len(reason) < 25_000


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_properties_are_ascii_on_one_line_whatever_a_name_holds(text: str) -> None:
    given = poisoned(a_document(), text)
    pairs = [
        *suite_properties(given),
        *(pair for row in (*given["claims"], *given["not_evaluable"]) for pair in case_properties(row)),
        *(pair for row in given["gate"]["rows"] for pair in guard_properties(row)),
        *case_properties({"analysis": text, "rows": [], "base": text, "judge": None}),
    ]
    for name, value in pairs:
        assert name.isascii()
        assert value.isascii()
        assert value == visible(value, limit=None)
        assert len(value) < 3_000


def test_a_guard_states_its_outcome_and_what_it_rests_on() -> None:
    found = dict(guard_properties(a_guard(outcome="not_decided", n_needed=34)))
    assert (found["gate"], found["failed"], found["guard"], found["condition"]) == (
        "not decided",
        "true",
        "leakage",
        "conv",
    )
    assert (found["estimate"], found["margin"], found["ci"], found["n_needed"]) == (
        "0.24",
        "0.05",
        "[0.12, 0.36]",
        "34",
    )
    assert "judge" not in found, "what is not there is not stated"


def test_the_suite_counts_what_the_gate_came_to() -> None:
    found = dict(suite_properties(a_document()))
    counts = {name: found[f"tutoreval.gate_{name}"] for name in ("regressed", "not_decided", "held", "failed")}
    assert counts == {"regressed": "2", "not_decided": "1", "held": "1", "failed": "2"}


def test_numbers_that_are_not_defined_are_left_out() -> None:
    undefined = dict.fromkeys(("estimate", "ci_low", "ci_high", "p_value"))
    found = dict(case_properties(a_verdict("J1") | undefined))
    assert not found.keys() & {"estimate", "ci", "p_value"}
