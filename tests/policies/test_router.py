import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.policies import count_attempts, hint_level, requests_answer, route_turn
from pytest_tutoreval.policies.router import Routing

RULES = load_instrument().router


def is_attempt(turn: str) -> bool:
    return count_attempts([turn], RULES) == 1


# Examples of released-procedure, section 4.


@pytest.mark.parametrize(
    "turn",
    ["0.20 * 48", "5-10", "1/2", "y = 2", "x = ?", "let x be", "let a friend", "20% of 48"],
)
def test_turn_is_an_attempt(turn: str) -> None:
    assert is_attempt(turn)


@pytest.mark.parametrize("turn", ["0.5x + 9.6", "x + 3", "5 × 3", "y = z", "$5 + $3", "20% solution"])
def test_turn_is_no_attempt(turn: str) -> None:
    assert not is_attempt(turn)


@pytest.mark.parametrize("turn", ["can you tell me how to start"])
def test_turn_is_a_request(turn: str) -> None:
    assert requests_answer(turn, RULES)


@pytest.mark.parametrize("turn", ["How do I make an equation?", "I'll solve it myself"])
def test_turn_is_no_request(turn: str) -> None:
    assert not requests_answer(turn, RULES)


# More of each kind.


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("12+-3", id="a-negative-digit"),
        pytest.param("3=3", id="a-equality"),
        pytest.param("I get = -4", id="b-equals-negative"),
        pytest.param("X =", id="c-upper-case"),
        pytest.param("So x=y", id="c-without-spaces"),
        pytest.param("Let Q stand for it", id="d-upper-case"),
        pytest.param("20%*48", id="e-star"),
        pytest.param("20 % x 48", id="e-letter-x"),
    ],
)
def test_turn_of_each_kind_is_an_attempt(turn: str) -> None:
    assert is_attempt(turn)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("", id="empty"),
        pytest.param("24", id="bare-number"),
        pytest.param("FINAL ANSWER: 24", id="bare-guess"),
        pytest.param("max = y", id="c-x-ends-a-word"),
        pytest.param("let us begin", id="d-longer-word"),
        pytest.param("outlet x", id="d-let-ends-a-word"),
        pytest.param("20% often", id="e-of-starts-a-word"),
        pytest.param("48 liters - 20", id="unit-between"),
    ],
)
def test_turn_without_a_pattern_is_no_attempt(turn: str) -> None:
    assert not is_attempt(turn)


@pytest.mark.parametrize(
    "turn",
    [
        # asks what the answer, solution, result or number is
        pytest.param("What is the answer?", id="what-is-answer"),
        pytest.param("what's the final answer", id="contracted-final"),
        pytest.param("what’s the solution", id="typographic-apostrophe"),
        pytest.param("whats the result", id="without-apostrophe"),
        pytest.param("WHAT IS THE NUMBER", id="number"),
        pytest.param("I don't know what the answer is", id="what-the-answer-is"),
        # an order
        pytest.param("Just tell me.", id="just-tell"),
        pytest.param("tell me the answer", id="tell-answer"),
        pytest.param("Please give me the final solution", id="give-solution"),
        pytest.param("give the number", id="give-number"),
        pytest.param("tell us the result", id="tell-result"),
        # a question whether the tutor can
        pytest.param("Can you give me a hint?", id="can-you-give"),
        pytest.param("could you just solve this", id="could-you-just-solve"),
        pytest.param("Would you please tell me?", id="would-you-please-tell"),
        # a plea
        pytest.param("solve it for me", id="solve-for-me"),
        pytest.param("please do this for me", id="do-for-me"),
        pytest.param("Just do that", id="just-do"),
        pytest.param("just give it", id="just-give"),
        pytest.param("just solve this", id="just-solve"),
        # giving up
        pytest.param("I give up", id="give-up"),
        pytest.param("I'm giving up on this", id="giving-up"),
    ],
)
def test_turn_of_each_prose_kind_is_a_request(turn: str) -> None:
    assert requests_answer(turn, RULES)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("", id="empty"),
        pytest.param("I think the answer is 24", id="states-an-answer"),
        pytest.param("What is 20% of 48?", id="asks-a-step"),
        pytest.param("I don't give a number", id="gives-none"),
        pytest.param("Do I add the acid?", id="asks-a-check"),
        pytest.param("Let me do it.", id="does-it-alone"),
        pytest.param("I can tell that it is less", id="can-tell"),
    ],
)
def test_turn_that_asks_for_no_answer_is_no_request(turn: str) -> None:
    assert not requests_answer(turn, RULES)


def test_attempts_are_counted_by_turn_not_by_pattern() -> None:
    assert count_attempts(["x = 3 + 4, 1/2, 5-10", "hm", "y = 2"], RULES) == 2


# Routes: request, then no attempt, then a hint.


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        pytest.param(["hm"], Routing("decompose", 0), id="no-attempt"),
        pytest.param(["x = 3"], Routing("hint", 1), id="attempt"),
        pytest.param(["I give up"], Routing("defer", 0), id="request-without-attempt"),
        pytest.param(["x = 3, I give up"], Routing("defer", 1), id="request-beats-attempt"),
        pytest.param(["I give up", "hm"], Routing("decompose", 0), id="earlier-request-is-past"),
        pytest.param(["x = 3", "hm"], Routing("hint", 1), id="earlier-attempt-counts"),
        pytest.param(["x = 3", "1/2", "what is the answer"], Routing("defer", 2), id="request-after-attempts"),
    ],
)
def test_first_rule_that_applies_is_the_route(turns: list[str], expected: Routing) -> None:
    assert route_turn(turns, RULES) == expected


@pytest.mark.parametrize(
    ("n_attempts", "levels"),
    [
        pytest.param(0, [0, 1, 1, 1], id="no-attempt"),
        pytest.param(1, [0, 1, 1, 1], id="one-attempt"),
        pytest.param(2, [0, 1, 2, 2], id="two-attempts"),
        pytest.param(5, [0, 1, 2, 2], id="many-attempts"),
    ],
)
def test_hint_level_is_the_number_of_prior_tutor_turns_capped(n_attempts: int, levels: list[int]) -> None:
    assert [hint_level(turn, n_attempts, RULES) for turn in range(4)] == levels


@given(st.text(st.characters(), max_size=40))
def test_router_takes_any_text(turn: str) -> None:
    assert route_turn([turn], RULES).route in ("defer", "decompose", "hint")
