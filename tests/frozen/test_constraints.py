from collections.abc import Sequence

import pytest
import sympy

from pytest_tutoreval.errors import ConstraintViolated
from pytest_tutoreval.frozen import check_constraints, load_instrument
from pytest_tutoreval.frozen.constraints import answers_apart, answers_not_in_statements, phases_and_parents
from pytest_tutoreval.records import Problem
from suites.test_instrument import BALANCE

PROBLEMS = load_instrument().problems
COUNTS = load_instrument().study.protocol.phase_counts


def with_problem(name: str, **changes: object) -> list[Problem]:
    """The frozen problems with one of them changed."""
    assert name in load_instrument().problem
    return [problem.model_copy(update=changes) if problem.id == name else problem for problem in PROBLEMS]


def derived_wrongly(problems: Sequence[Problem]) -> list[str]:
    """The first constraint: problems whose answer the balance of their statement does not give."""
    x = sympy.Symbol("x", real=True)
    return [
        problem.id for problem in problems if sympy.solve(BALANCE[problem.id](x), x) != [sympy.Rational(problem.answer)]
    ]


def violation(problems: Sequence[Problem]) -> str:
    with pytest.raises(ConstraintViolated) as caught:
        check_constraints(problems, COUNTS)
    return str(caught.value)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
def test_answer_is_the_only_root_of_the_statement_s_balance(problem: Problem) -> None:
    assert derived_wrongly([problem]) == []


def test_first_constraint_names_a_wrong_answer() -> None:
    assert derived_wrongly(with_problem("train-3", answer=15.0)) == ["train-3"]


def test_frozen_problems_keep_every_constraint() -> None:
    check_constraints(PROBLEMS, COUNTS)


@pytest.mark.parametrize("name", ["delayed-1", "transfer-2"])
def test_second_constraint_names_an_answer_of_training(name: str) -> None:
    assert f"{name}: answer 24 is also the answer of train-1" in violation(with_problem(name, answer=24.0))


def test_second_constraint_is_not_imposed_on_immediate_items() -> None:
    assert answers_apart(with_problem("immediate-1", answer=24.0)) == []


@pytest.mark.parametrize("answer", [24.0, 24.5])
def test_third_constraint_names_an_answer_in_its_statement(answer: float) -> None:
    problems = with_problem("train-1", answer=answer, statement=f"Is it {answer:g} liters?")
    assert f"train-1: answer {answer:g} stands in the statement" in violation(problems)


@pytest.mark.parametrize("statement", ["Is it 240?", "Is it 124?", "Is it 24.5?", "Is it twenty-four?"])
def test_third_constraint_reads_whole_numbers_only(statement: str) -> None:
    assert answers_not_in_statements(with_problem("train-1", statement=statement)) == []


def test_fourth_constraint_names_a_wrong_count() -> None:
    assert "phase immediate: 2 problems, registered 3" in violation(
        [problem for problem in PROBLEMS if problem.id != "immediate-2"]
    )


@pytest.mark.parametrize("parent", ["train-9", "immediate-1", None])
def test_fourth_constraint_names_a_parent_that_does_not_resolve(parent: str | None) -> None:
    assert f"delayed-1: parent {parent!r} is no training problem" in violation(
        with_problem("delayed-1", training_parent=parent)
    )


@pytest.mark.parametrize(("name", "phase"), [("train-2", "training"), ("interfere-1", "interference")])
def test_fourth_constraint_names_a_parent_that_should_not_be(name: str, phase: str) -> None:
    assert f"{name}: a {phase} item has no parent" in violation(with_problem(name, training_parent="train-1"))


def test_a_problem_that_stands_twice_is_named() -> None:
    assert "train-1: stands 2 times" in violation([PROBLEMS[0], *PROBLEMS])


def test_phases_out_of_session_order_are_named() -> None:
    assert phases_and_parents(PROBLEMS[::-1], COUNTS) == ["phases are not in session order"]


def test_every_violation_is_named_at_once() -> None:
    problems = with_problem("delayed-1", answer=24.0, training_parent=None, statement="24?")
    assert violation(problems).count("delayed-1") == 3
