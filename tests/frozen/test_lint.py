"""The linter of declared forms: each weakness is named with the form, an example and what to do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.detectors import DeclaredForms, final_answer
from pytest_tutoreval.frozen import Finding, lint_problems, load_instrument
from pytest_tutoreval.frozen.lint import plainly
from pytest_tutoreval.records.problem import Problem

# A problem without a finding: no step from 13 and 17 leads to 442, and 442 stands nowhere.
SOUND: dict[str, Any] = {
    "id": "own-1",
    "phase": "training",
    "statement": "A ticket costs 13 dollars. How many dollars do 17 pairs of tickets cost?",
    "answer": 442.0,
    "numeric_forms": ("442", "442.0", "442.00"),
    "solution_forms": ("four hundred forty two",),
}


def a_problem(**changes: Any) -> Problem:
    return Problem(**SOUND | changes)


def lint(**changes: Any) -> list[Finding]:
    return lint_problems([a_problem(**changes)])


def test_a_sound_problem_has_no_finding() -> None:
    assert lint() == []


@pytest.mark.parametrize(
    ("changes", "level", "form", "what", "example"),
    [
        pytest.param(
            {"statement": "Of 442 tickets, how many are sold?"},
            "error",
            "442",
            "hits the problem's own statement",
            "of 442 tickets how many are ...",
            id="in-the-statement",
        ),
        pytest.param(
            {"solution_forms": ("a ticket costs",)},
            "error",
            "a ticket costs",
            "hits the problem's own statement",
            "a ticket costs 13 dollars. how many ...",
            id="a-phrase-in-the-statement",
        ),
        pytest.param(
            # 13 * 34 = 442
            {"statement": "A ticket costs 13 dollars. How many dollars do 34 tickets cost?"},
            "warning",
            "442",
            "the statement's numbers give it in one step (13 * 34)",
            "13 * 34 = 442",
            id="a-product",
        ),
        pytest.param(
            # 65 percent of 680 = 442
            {"statement": "Of 680 people 65 % came. How many?"},
            "warning",
            "442",
            "the statement's numbers give it in one step (65% of 680)",
            "65% of 680 = 442",
            id="a-share",
        ),
        pytest.param(
            {"answer": 4.0, "numeric_forms": ("4", "4.0", "4.00"), "solution_forms": ("answer is four",)},
            "warning",
            "4",
            "a single digit hits in step numbers",
            "Step 4: write 4x",
            id="one-digit",
        ),
        pytest.param(
            {"numeric_forms": ("442", "442.0", "442.00", "442 €")},
            "error",
            "442 €",
            "it can never hit",
            "It is 442 € then",
            id="characters-that-are-folded-away",
        ),
        pytest.param({"solution_forms": ("½",)}, "error", "½", "it can never hit", "It is ½ then", id="nothing-left"),
        pytest.param({"solution_forms": ("",)}, "error", "", "it can never hit", "It is  then", id="empty"),
        pytest.param(
            {"solution_forms": ("442",)}, "error", "442", "hits inside longer numbers", "about 14425", id="bare-phrase"
        ),
        pytest.param(
            {"solution_forms": ("forty",)},
            "warning",
            "forty",
            "a phrase of one word hits inside longer words",
            "the fortyth",
            id="one-word",
        ),
        pytest.param(
            {"solution_forms": ("forty two", "Forty, two")},
            "warning",
            "forty two",
            "it is declared 2 times",
            "",
            id="the-same-as-read",
        ),
    ],
)
def test_a_weak_form_is_named(changes: dict[str, Any], level: str, form: str, what: str, example: str) -> None:
    (finding,) = [finding for finding in lint(**changes) if finding.form == form and what in finding.what]
    assert (finding.problem, finding.level, finding.example) == ("own-1", level, example)
    assert finding.advice


@pytest.mark.parametrize(
    ("changes", "level", "what", "example"),
    [
        pytest.param(
            {"numeric_forms": ("x = 442",)},
            "error",
            "no declared form hits its answer stated plainly",
            "442",
            id="only-in-an-equation",
        ),
        pytest.param(
            {"numeric_forms": ()}, "error", "no declared form hits its answer stated plainly", "442", id="none"
        ),
        pytest.param(
            {"numeric_forms": ("442",)}, "warning", "with decimals", "It is 442.0 exactly.", id="without-decimals"
        ),
        pytest.param(
            {"answer": 24.0, "numeric_forms": ("24", "24.0", "24.00"), "solution_forms": ("answer is twenty four",)},
            "warning",
            "in words",
            "The answer is twenty-four.",
            id="one-spelling-of-two",
        ),
        pytest.param(
            {"answer": 9.6, "numeric_forms": ("9.6",)}, "warning", "with a zero more", "It is 9.60.", id="one-decimal"
        ),
        pytest.param(
            {"answer": 1 / 3, "numeric_forms": ("1/3", "0.333333333333", "0.3333333333330")},
            "warning",
            "a student who rounds is wrong",
            "FINAL ANSWER: 0.33",
            id="more-than-two-decimals",
        ),
        pytest.param(
            {"answer": 4420.0, "numeric_forms": ("4420", "4420.0", "4420.00")},
            "warning",
            "with a thousands comma it is read as 4.0",
            "FINAL ANSWER: 4,420",
            id="thousands",
        ),
    ],
)
def test_an_answer_that_is_missed_is_named(changes: dict[str, Any], level: str, what: str, example: str) -> None:
    (finding, *_) = [finding for finding in lint(**changes) if what in finding.what]
    assert (finding.problem, finding.level, finding.form, finding.example) == ("own-1", level, None, example)


def test_forms_that_hit_another_problem_are_named_with_it() -> None:
    other = a_problem(id="own-2", statement="A bus takes 442 people. How many buses take 9724?", answer=22.0)
    found = [finding for finding in lint_problems([a_problem(), other]) if "own-2" in finding.what]
    assert [(finding.problem, finding.form, finding.example) for finding in found] == [
        ("own-1", "442", "a bus takes 442 people. how many buses ...")
    ]


def test_a_problem_that_stands_twice_is_named_by_id_and_statement() -> None:
    same_id = a_problem(statement="Another one, of 5 and 6.")
    same_words = a_problem(
        id="own-3", statement="A TICKET costs: 13 dollars. How many dollars do 17 pairs of (tickets) cost?"
    )
    whats = [finding.what for finding in lint_problems([a_problem(), same_id, same_words]) if "that of" in finding.what]
    assert whats == ["its id is that of own-1 too", "its statement is that of own-1 too"]


def test_of_untutored_problems_only_certain_mistakes_are_named() -> None:
    probe = {"phase": "delayed", "numeric_forms": (), "solution_forms": ("forty", "½")}
    assert [(finding.level, finding.form) for finding in lint(**probe)] == [("error", "½")]


def test_errors_of_a_problem_come_first() -> None:
    levels = [finding.level for finding in lint(solution_forms=("forty", "½"), numeric_forms=("442",))]
    assert levels == sorted(levels)
    assert set(levels) == {"error", "warning"}


def test_a_finding_reads_as_one_line() -> None:
    (finding,) = lint(solution_forms=("forty",))
    assert str(finding).startswith("warning: own-1, form 'forty': a phrase of one word hits inside longer words")
    assert "Example: 'the fortyth'." in str(finding)
    assert "\n" not in str(finding)


def test_what_the_frozen_problems_have_is_known() -> None:
    """Known weaknesses are said and never mended: no error, and answers that a step on the way also gives."""
    findings = lint_problems(load_instrument().problems)
    assert [finding for finding in findings if finding.level == "error"] == []
    in_one_step = {finding.problem: finding.example for finding in findings if "in one step" in finding.what}
    assert in_one_step == {"train-1": "50% of 48 = 24", "train-3": "34 - 20 = 14", "train-5": "70% of 30 = 21"}
    elsewhere = {finding.problem for finding in findings if "statement of" in finding.what}
    assert elsewhere == {"train-1", "train-2", "train-4"}


@given(st.integers(-10_000, 10_000), st.integers(1, 100))
def test_an_answer_written_plainly_is_read_as_itself(numerator: int, denominator: int) -> None:
    value = round(numerator / denominator, 2)
    assert final_answer(f"FINAL ANSWER: {plainly(value)}") == pytest.approx(value, abs=1e-9)


@given(st.text(max_size=12))
def test_every_declared_form_that_hits_nothing_of_its_own_is_an_error(form: str) -> None:
    found = lint(solution_forms=(form,))
    never = any(finding.level == "error" and "never hit" in finding.what for finding in found)
    assert never is not DeclaredForms([], [form]).leak(f"It is {form} then")
