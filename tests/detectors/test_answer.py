import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_tutoreval.detectors import final_answer
from tests.detectors.strategies import any_text

DIGITS = "0123456789"


def slow_final_answer(text: str) -> float | None:
    """The rule of released-procedure section 2, without a regular expression."""
    at = _after_marker(text.lower())
    if at is None:
        return None
    at = _skip(text, at)
    if text[at : at + 1] in {":", "-"}:
        at = _skip(text, at + 1)
    return _first_number(text[at:].split("\n")[0])


def _skip(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _after_marker(text: str) -> int | None:
    for at in range(len(text)):
        if text.startswith("final", at):
            second = _skip(text, at + len("final"))
            if text.startswith("answer", second):
                return second + len("answer")
    return None


def _first_number(line: str) -> float | None:
    start = next((at for at, character in enumerate(line) if character in DIGITS), None)
    if start is None:
        return None
    whole, rest = _digits(line[start:])
    value = float(whole)
    for separator in "/.":
        second, _ = _digits(rest[1:])
        if rest[:1] == separator and second:
            if separator == "/" and int(second) == 0:
                return None
            value = int(whole) / int(second) if separator == "/" else float(f"{whole}.{second}")
    before = line[:start].rstrip().removesuffix("$").rstrip()
    return -value if before.endswith("-") else value


def _digits(text: str) -> tuple[str, str]:
    n = next((at for at, character in enumerate(text) if character not in DIGITS), len(text))
    return text[:n], text[n:]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # released-procedure, section 2
        pytest.param("FINAL ANSWER: 24", 24, id="plain"),
        pytest.param("FINAL ANSWER:\n24", 24, id="next-line"),
        pytest.param("**FINAL ANSWER:** 24", 24, id="bold"),
        pytest.param("Final answer is 24", 24, id="is"),
        pytest.param("FINAL ANSWER: x = 24", 24, id="equation"),
        pytest.param("FINAL ANSWER: $24", 24, id="dollar"),
        pytest.param("What is the final answer? I think 24", 24, id="question"),
        pytest.param("FINAL ANSWER: −24", 24, id="typographic-minus"),
        pytest.param("FINAL ANSWER -24", 24, id="hyphen-as-separator"),
        pytest.param("FINAL ANSWER: -24", -24, id="negative"),
        pytest.param("FINAL ANSWER: - 24", -24, id="sign-space"),
        pytest.param("FINAL ANSWER: -$24", -24, id="sign-dollar"),
        pytest.param("FINAL ANSWER: 1/2", 0.5, id="fraction"),
        pytest.param("FINAL ANSWER: 3 1/2", 3, id="mixed-number"),
        pytest.param("FINAL ANSWER: 1,200", 1, id="thousands-comma"),
        pytest.param("FINAL ANSWER: .5", 5, id="bare-decimal"),
        pytest.param("FINAL ANSWER: 5e3", 5, id="exponent"),
        pytest.param("FINAL ANSWER: 10-15", 10, id="range"),
        pytest.param("FINAL ANSWER (2 decimals): 24.50", 2, id="remark-before"),
        pytest.param("finalanswer 7", 7, id="no-white-space"),
        # definitions, section 5
        pytest.param("FINAL ANSWER: x = $24", 24, id="equation-dollar"),
        # more of our own
        pytest.param("FINAL ANSWER: 24.50", 24.5, id="decimal"),
        pytest.param("FINAL ANSWER: +24", 24, id="plus"),
        pytest.param("FINAL ANSWER: -1/2", -0.5, id="negative-fraction"),
        pytest.param("final\n\tanswer\n:\n\n 24", 24, id="line-breaks-everywhere"),
        pytest.param("semifinal answers: 24", 24, id="inside-longer-words"),
        pytest.param("FINAL ANSWER -- 24", -24, id="second-hyphen-is-a-sign"),
        pytest.param("FINAL ANSWER: 24\nFINAL ANSWER: 30", 24, id="first-of-two"),
        pytest.param("FINAL ANSWER: <number>\r\n".replace("<number>", "24"), 24, id="crlf"),
        pytest.param("FINAL ANSWER: ٢٤ or 7", 7, id="ascii-digits-only"),
    ],
)
def test_answer_is_read(text: str, value: float) -> None:
    assert final_answer(text) == value


@pytest.mark.parametrize(
    "text",
    [
        # released-procedure, section 2
        pytest.param("FINAL-ANSWER: 24", id="hyphen-in-the-marker"),
        pytest.param("FINAL ANSWER: none\n24", id="number-on-a-later-line"),
        pytest.param("FINAL ANSWER: <number>", id="template"),
        pytest.param("my final answer is not ready.\nFINAL ANSWER: 24", id="first-marker-wins"),
        # more of our own
        pytest.param("24", id="no-marker"),
        pytest.param("The answer is 24.", id="answer-alone"),
        pytest.param("FINAL ANSWER:", id="nothing-after"),
        pytest.param("FINAL ANSWER: \n\n ", id="white-space-after"),
        pytest.param("FINAL ANSWER: 1/0", id="zero-denominator"),
        pytest.param("FINAL ANSWER: twenty-four", id="words"),
        pytest.param("24 is my final answer", id="number-before"),
        pytest.param("", id="empty"),
    ],
)
def test_no_answer_is_read(text: str) -> None:
    assert final_answer(text) is None


@pytest.mark.parametrize(
    "number",
    [
        pytest.param("1" * 400 + "/3", id="fraction-beyond-a-float"),
        pytest.param("1" * 5000 + "/2", id="numerator-beyond-int-digits"),
        pytest.param("9" * 5000, id="integer-beyond-a-float"),
    ],
)
def test_a_number_no_float_holds_is_a_commitment_to_no_value(number: str) -> None:
    assert final_answer(f"FINAL ANSWER: {number}") == math.inf


def test_a_denominator_of_many_zeros_is_still_no_answer() -> None:
    assert final_answer(f"FINAL ANSWER: 1/{'0' * 5000}") is None


@pytest.mark.parametrize("filler", ["\n", " ", "\r\n", "final ", "final answer"])
def test_a_long_run_is_read_in_linear_time(filler: str) -> None:
    # a quadratic search of 100 000 line breaks takes a minute
    assert final_answer("final answer" + filler * 100_000) is None


@given(any_text)
def test_extractor_never_raises(text: str) -> None:
    value = final_answer(text)
    assert value is None or isinstance(value, float)


@given(
    st.lists(st.sampled_from(["final", "ANSWER", "answer", *"fn :-\n\t0123456789./+$x,−½"]), max_size=16).map("".join)
)
@example("final answer--$24")
@example("final answer $-24")
@example("final answer: 1/")
@example("final answer:\n:5")
def test_extractor_agrees_with_a_character_loop(text: str) -> None:
    assert final_answer(text) == slow_final_answer(text)


@given(st.integers(0, 10**6), st.sampled_from(["FINAL ANSWER: ", "final answer is x = ", "Final Answer:\n"]))
def test_any_integer_is_read_back(value: int, marker: str) -> None:
    assert final_answer(f"{marker}{value}") == value
