"""Why a run is not all it could have been, in the words every renderer uses."""

from typing import Any

import pytest

from pytest_tutoreval.reporting.words import count_outcomes, distinct_notes, provenance_words, run_words
from tests.reporting.documents import HOSTILE_TEXT, a_document, a_leg, a_verdict

WHOLE: dict[str, Any] = {"partial": False, "deselected": 0, "complete": True, "unfinished": [], "lost_workers": 0}


@pytest.mark.parametrize(
    ("run", "words"),
    [
        pytest.param({}, [], id="whole"),
        pytest.param({"partial": True, "deselected": 1}, ["PARTIAL: 1 item deselected"], id="one-deselected"),
        pytest.param({"partial": True, "deselected": 21}, ["PARTIAL: 21 items deselected"], id="deselected"),
        pytest.param({"partial": True, "last_failed": True}, ["PARTIAL: last failures only"], id="last-failed"),
        pytest.param(
            {"partial": True, "deselected": 2, "last_failed": True},
            ["PARTIAL: 2 items deselected, last failures only"],
            id="both",
        ),
        pytest.param(
            {"complete": False, "unfinished": ["a", "b"]}, ["INCOMPLETE: 2 of 9 items did not finish"], id="unfinished"
        ),
        pytest.param(
            {"complete": False, "unfinished": ["a"], "stopped": "stopping after 1 failures"},
            ["INCOMPLETE: 1 of 9 items did not finish (stopping after 1 failures)"],
            id="stopped",
        ),
        pytest.param(
            {"complete": False, "unfinished": ["a"], "lost_workers": 2, "stopped": "boo"},
            ["INCOMPLETE: 1 of 9 items did not finish (boo; 2 workers died)"],
            id="lost-workers",
        ),
        pytest.param(
            {"complete": False, "interrupted": True, "stopped": "KeyboardInterrupt"},
            ["INCOMPLETE: the run was interrupted (KeyboardInterrupt)"],
            id="interrupted-at-the-very-end",
        ),
        pytest.param(
            {"not_written": [{"output": "report.html", "reason": "ValueError: no"}]},
            ["NOT WRITTEN: report.html: ValueError: no"],
            id="an-output-is-missing",
        ),
        pytest.param({"lost_workers": 1}, [], id="a-worker-died-and-everything-finished-all-the-same"),
    ],
)
def test_a_run_says_what_it_lacks(run: dict[str, Any], words: list[str]) -> None:
    assert run_words(a_document(run=WHOLE | run)["run"]) == words


def test_a_run_of_an_older_document_is_read_as_far_as_it_goes() -> None:
    old = {"partial": True, "deselected": 3, "complete": False, "unfinished": ["a"], "selected": 4}
    assert run_words(old) == ["PARTIAL: 3 items deselected", "INCOMPLETE: 1 of 4 items did not finish"]


def test_a_reason_to_stop_stays_on_its_line() -> None:
    run = a_document(run={"stopped": HOSTILE_TEXT, "not_written": [{"output": HOSTILE_TEXT, "reason": HOSTILE_TEXT}]})[
        "run"
    ]
    assert all(len(line.splitlines()) == 1 and "\x1b" not in line for line in run_words(run))


def test_simulated_data_are_named_first() -> None:
    document = a_document()
    assert provenance_words(document).startswith("SIMULATED DATA, scripted agents took part: corpus made-up cccc")
    imported = document | {"corpus": document["corpus"] | {"provenance": "imported"}}
    assert provenance_words(imported).startswith("imported data: corpus made-up")


def test_outcomes_are_counted_with_their_zeros() -> None:
    document = a_document()
    assert count_outcomes(document) == {"supported": 1, "not_supported": 1, "inconclusive": 1, "not_evaluable": 1}
    assert count_outcomes(document | {"claims": [], "not_evaluable": []}) == dict.fromkeys(count_outcomes(document), 0)


def test_a_joint_claim_repeats_no_note() -> None:
    joint = a_verdict("J1", components=[a_leg("P1", verdict="supported")], notes=["P1: said"])
    legs = a_verdict("J2", components=[a_leg("helpfulness")], notes=["of its own"])
    assert [note for _, note in distinct_notes([a_verdict(notes=["said"]), joint, legs])] == ["said", "of its own"]
