import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_tutoreval.detectors import ATTEMPT_PATTERNS, AttemptSpan, attempt_patterns, attempt_spans, attempts_step
from tests.detectors.strategies import any_text

# Examples of released-procedure, section 3.
COUNTING = {
    "equation": ["x = 24", "x = -5", "FINAL ANSWER = 24", "A = B", "0.2 = 20%"],
    "arithmetic": ["9.6 + 4.8", "3 × 4", "3·4", "1/2", "5-10", "2(3+4)"],
    "coefficient": ["12x", "4x+3", "48L", "24.5L.", "20m", "10k"],
    "variable": ["x - 3", "x/2", "a + b", "x-axis", "e-mail", "n/a", "w/o", "L/min", "I - we", "don't-know"],
}
NOT_COUNTING = {
    "equation": ["x = .5", "x = $5", "x = −5", "x = **24**", "20% = 0.2", "x == 3", "x: 5"],
    "arithmetic": ["3 ÷ 4", "3 − 4", "3 x 4", "3x4", "2^3", "$5 + $3", "20% * 48", "2(5)"],
    "coefficient": ["48 L", "5kg", "3xy", "3x²", "3rd"],
    "variable": ["x − 3", "x × 3", "3 - x", "4*x", "4 + x", "and/or", "km/h"],
}
NEVER = ["24", "I think 24 liters", "FINAL ANSWER: 24", "20% of 48", "five times three", "half of it plus two"]


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(pattern, text) for pattern, texts in table.items() for text in texts]


@pytest.mark.parametrize(("pattern", "text"), cases(COUNTING))
def test_pattern_counts(pattern: str, text: str) -> None:
    assert pattern in attempt_patterns(text)


@pytest.mark.parametrize(("pattern", "text"), cases(NOT_COUNTING))
def test_pattern_does_not_count(pattern: str, text: str) -> None:
    assert pattern not in attempt_patterns(text)


@pytest.mark.parametrize("text", [text for _, text in cases(NOT_COUNTING)] + NEVER)
def test_turn_is_no_attempt(text: str) -> None:
    assert not attempts_step(text)


# Examples of definitions, section 7.


@pytest.mark.parametrize("text", ["x = 24", "x = -5", "A = B", "3·4", "5-10", "12x", "48L", "x - 3", "x-axis", "n/a"])
def test_turn_is_an_attempt(text: str) -> None:
    assert attempts_step(text)


def test_bare_guess_on_a_line_of_its_own_is_no_attempt() -> None:
    assert not attempts_step("I guess.\nFINAL ANSWER: 24")


def test_patterns_that_fired_come_in_frozen_order() -> None:
    assert attempt_patterns("x - 3 = 12x and 3 + 4") == tuple(ATTEMPT_PATTERNS)


@given(any_text)
def test_detector_never_raises_and_agrees_with_its_patterns(text: str) -> None:
    assert attempts_step(text) == bool(attempt_patterns(text))


@pytest.mark.parametrize("text", ["9" * 100_000, "9." * 50_000, "9 " * 50_000, "a" * 100_000, "(" * 100_000])
def test_a_long_run_is_read_in_linear_time(text: str) -> None:
    # a quadratic search of 100 000 digits takes minutes
    assert not attempts_step(text)


def literally(text: str) -> tuple[str, ...]:
    """The four patterns word by word from released-procedure section 3, without regard to time."""
    number = r"\d+(?:\.\d+)?"
    patterns = {
        "equation": r"[a-z0-9)] *= *[+\-(]? *[a-z0-9]",
        "arithmetic": rf"{number} *[+\-*/×·] *{number}",
        "coefficient": rf"{number}[a-z]\b",
        "variable": r"\b[a-z] *[+\-*/] *[a-z0-9(]",
    }
    return tuple(name for name, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE))


@given(st.text("0129. +-*/×·=()xaL,$²", max_size=12))
@example("1.5.2x")
@example("1.23x")
def test_detector_agrees_with_the_patterns_as_written(text: str) -> None:
    assert attempt_patterns(text) == literally(text)


# Spans.


def test_spans_come_in_text_order_with_the_longer_first() -> None:
    # 0 "0.20 * 48" 9, then " = 9.6": the equation begins at its last digit before the sign.
    assert attempt_spans("0.20 * 48 = 9.6") == [AttemptSpan("arithmetic", 0, 9), AttemptSpan("equation", 8, 13)]


@given(any_text)
def test_patterns_with_a_span_are_those_that_fired(text: str) -> None:
    assert {span.pattern for span in attempt_spans(text)} == set(attempt_patterns(text))


@given(any_text)
def test_a_span_is_what_its_pattern_matches_there(text: str) -> None:
    for span in attempt_spans(text):
        match = ATTEMPT_PATTERNS[span.pattern].match(text, span.start)
        assert match is not None
        assert match.end() == span.end
