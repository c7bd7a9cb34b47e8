from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_tutoreval.detectors import DeclaredForms, Hit, Span, normalise
from pytest_tutoreval.frozen import load_instrument
from tests.detectors.strategies import any_text

PROBLEMS = load_instrument().problem
FORMS = {name: DeclaredForms(problem.numeric_forms, problem.solution_forms) for name, problem in PROBLEMS.items()}
KEPT = set("0123456789abcdefghijklmnopqrstuvwxyz.+-/= ")


def forms(*numeric: str, solution: Sequence[str] = ()) -> DeclaredForms:
    return DeclaredForms(numeric, solution)


def slow_normalise(text: str) -> str:
    """The rule of released-procedure section 1, one character at a time."""
    kept: list[str] = []
    for character in text.lower():
        if character not in KEPT:
            character = " "
        if character == " " and (not kept or kept[-1] == " "):
            continue
        kept.append(character)
    if kept and kept[-1] == " ":
        kept.pop()
    return "".join(kept)


def slow_leak(text: str, numeric: Sequence[str], solution: Sequence[str]) -> bool:
    """The leakage rule without a regular expression: every position, neighbour by neighbour."""
    turn = slow_normalise(text)
    digits = set("0123456789")
    for form in (form.strip().lower() for form in numeric):
        for start in range(len(turn) - len(form) + 1) if form else ():
            end = start + len(form)
            before, after, beyond = turn[:start][-1:], turn[end : end + 1], turn[end + 1 : end + 2]
            if turn[start:end] != form or before in {*digits, "."} or after in digits:
                continue
            if not (after == "." and beyond in digits):
                return True
    phrases = [slow_normalise(form) for form in solution]
    return any(
        turn[start : start + len(phrase)] == phrase for phrase in phrases if phrase for start in range(len(turn))
    )


# Examples of released-procedure, section 1.


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("12.", id="sentence-end"),
        pytest.param("12,", id="comma"),
        pytest.param("$12", id="dollar"),
        pytest.param("=12", id="equals"),
        pytest.param("-12", id="minus"),
        pytest.param("12-15", id="range"),
        pytest.param("5/12", id="denominator"),
        pytest.param("12/5", id="numerator"),
        pytest.param("**12**", id="bold"),
        pytest.param("12%", id="percent"),
        pytest.param("12½", id="12-and-a-half"),
        pytest.param("12th", id="ordinal"),
        pytest.param("x12", id="letter-before"),
        pytest.param("12L", id="unit"),
        pytest.param("12.x", id="dot-letter"),
        pytest.param("12 .5", id="space-dot-digit"),
    ],
)
def test_form_12_hits(turn: str) -> None:
    assert forms("12").leak(turn)


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("120", id="12-inside-120"),
        pytest.param("312", id="12-inside-312"),
        pytest.param("12.5", id="12-before-decimals"),
        pytest.param("3.12", id="12-as-decimals"),
        pytest.param("12.0", id="12-before-zero"),
        pytest.param("No.12", id="dot-before"),
        pytest.param("so...12", id="dots-before"),
    ],
)
def test_form_12_does_not_hit(turn: str) -> None:
    assert not forms("12").leak(turn)


def test_form_with_a_decimal_hits_itself() -> None:
    assert forms("12.0").leak("12.0")


def test_form_with_a_decimal_does_not_hit_a_longer_one() -> None:
    assert not forms("12.0").leak("12.00")


def test_thousands_comma_splits_a_number() -> None:
    assert normalise("1,200") == "1 200"


def test_form_200_hits_in_1_comma_200() -> None:
    assert forms("200").leak("1,200")


def test_form_1200_does_not_hit_in_1_comma_200() -> None:
    assert not forms("1200").leak("1,200")


# Examples of definitions, section 6: the declared forms of the problem whose answer is 12.


@pytest.mark.parametrize("turn", ["12.", "12,", "=12", "-12", "5/12", "$12", "12th", "x12", "12L", "12.0", "12.00"])
def test_declared_forms_of_twelve_hit(turn: str) -> None:
    assert FORMS["train-4"].leak(turn)


@pytest.mark.parametrize("turn", ["120", "312", "12.5", "3.12", "12.000", "so...12"])
def test_declared_forms_of_twelve_do_not_hit(turn: str) -> None:
    assert not FORMS["train-4"].leak(turn)


# Phrases.


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param("So you ADD\n twelve liters", id="case-and-white-space"),
        pytest.param("add, **twelve**", id="punctuation-between"),
        pytest.param("readd twelvefold", id="inside-longer-words"),
    ],
)
def test_phrase_hits_as_a_plain_substring(turn: str) -> None:
    assert forms(solution=["add twelve"]).leak(turn)


@pytest.mark.parametrize("turn", ["add twenty", "twelve add", "add.twelve", "add-twelve", "addtwelve"])
def test_phrase_does_not_hit(turn: str) -> None:
    assert not forms(solution=["add twelve"]).leak(turn)


def test_phrase_form_is_normalised_like_the_turn() -> None:
    assert forms(solution=["  Answer is:  Twelve! "]).leak("the answer is twelve")


def test_numeric_form_is_trimmed_and_lower_cased() -> None:
    assert forms(" 12L\n").leak("12L")


def test_numeric_form_is_not_normalised_further() -> None:
    assert not forms("1,200").leak("1,200")


@pytest.mark.parametrize("form", ["", "  ", "\n"])
def test_empty_numeric_form_is_skipped(form: str) -> None:
    assert not forms(form).leak("anything 12")


def test_phrase_that_normalises_to_nothing_is_skipped() -> None:
    assert not forms(solution=["?!"]).leak("anything ?!")


def test_without_forms_nothing_leaks() -> None:
    assert forms().hits("24") == []


def test_form_with_pattern_characters_is_taken_literally() -> None:
    assert not forms("1.5").leak("1x5")


# The frozen forms.


@pytest.mark.parametrize(
    ("problem", "form"),
    [
        pytest.param(name, form, id=f"{name}-{form.replace(' ', '-')}")
        for name, problem in PROBLEMS.items()
        for form in (*problem.numeric_forms, *problem.solution_forms)
    ],
)
def test_frozen_form_hits_itself(problem: str, form: str) -> None:
    assert Hit(normalise(form), 0, len(normalise(form))) in FORMS[problem].hits(form)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_statement_leaks_no_answer_of_its_own(problem: str) -> None:
    assert FORMS[problem].hits(PROBLEMS[problem].statement) == []


@pytest.mark.parametrize("problem", PROBLEMS)
def test_frozen_numeric_forms_come_out_the_same_fully_normalised(problem: str) -> None:
    assert [normalise(form) for form in PROBLEMS[problem].numeric_forms] == list(PROBLEMS[problem].numeric_forms)


# Hits.


def test_hits_come_in_text_order_with_the_longer_first() -> None:
    found = forms("24", "24.0", solution=["add twenty four"]).hits("Add twenty-four? No: ADD twenty four, 24.0 or 24.")
    assert [hit.form for hit in found] == ["add twenty four", "24.0", "24"]


@given(any_text)
def test_hit_spans_index_the_normalised_text(turn: str) -> None:
    for found in FORMS["train-4"].hits(turn):
        assert normalise(turn)[found.start : found.end] == found.form


@given(any_text)
def test_a_turn_leaks_exactly_when_it_has_a_hit(turn: str) -> None:
    assert FORMS["train-4"].leak(turn) == bool(FORMS["train-4"].hits(turn))


# Spans: the same hits, in the turn as it was written.

# Pieces whose lower case is longer, shorter in bytes, or another letter; halves of pairs; forms with things between.
_unruly = st.lists(
    st.sampled_from(
        ["İ", "ß", "\u212a", "ΑΣ ", "\ud800", "\udfff", "😀", "12", "Add, **Twelve**", "\n", "\x1c", "\u2028"]
    )
    | st.text(st.characters(), max_size=6),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        pytest.param("So it is **12**.", ["12"], id="bold"),
        pytest.param("You  ADD,\n**Twelve** liters", ["ADD,\n**Twelve"], id="folded-between"),
        pytest.param("😀 12 and 12", ["12", "12"], id="beyond-the-basic-plane"),
        pytest.param("İİİ 12", ["12"], id="lower-case-is-longer"),
        pytest.param("ADD İ twelve", [], id="dotted-capital-leaves-an-i"),
        pytest.param("120", [], id="no-hit"),
    ],
)
def test_span_is_what_was_written(turn: str, said: list[str]) -> None:
    spans = forms("12", solution=["add twelve"]).spans(turn)
    assert [turn[span.start : span.end] for span in spans] == said


def test_kelvin_sign_is_a_k_wherever_it_stands() -> None:
    # "2 kg" written with a Kelvin sign at position 2; the form is four characters long.
    assert forms(solution=["2 kg"]).spans("2 \u212ag") == [Span("2 kg", 0, 4)]


@given(_unruly | any_text)
@example("İ12İ")
def test_a_span_normalises_to_its_form(turn: str) -> None:
    for span in FORMS["train-4"].spans(turn):
        assert normalise(turn[span.start : span.end]) == span.form


@given(_unruly | any_text)
def test_spans_are_the_hits_in_the_same_order(turn: str) -> None:
    assert [span.form for span in FORMS["train-4"].spans(turn)] == [hit.form for hit in FORMS["train-4"].hits(turn)]


@given(_unruly | any_text)
@example("İ ß \u212a \ud800 ΑΣ Σ 12")
def test_every_kept_character_is_found_where_it_was_written(turn: str) -> None:
    """Any beginning of the normalised turn, taken as a phrase, ends where a character loop finds its last character."""
    written = [at for at, character in enumerate(turn) for low in character.lower() if low in KEPT - {" "}]
    normalised = normalise(turn)
    for length in range(1, len(normalised) + 1):
        beginning = normalised[:length]
        if not beginning.endswith(" "):
            first = forms(solution=[beginning]).spans(turn)[0]
            assert (first.start, first.end) == (written[0], written[len(beginning.replace(" ", "")) - 1] + 1)


# Invariances.


@given(any_text)
def test_normalise_never_raises_and_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(any_text)
@example("İ")
def test_normalised_text_holds_kept_characters_only(text: str) -> None:
    assert set(normalise(text)) <= KEPT


@given(st.sampled_from("abcxyzL"), st.sampled_from("abcxyzL"))
def test_letters_around_a_numeric_form_keep_the_hit(before: str, after: str) -> None:
    assert forms("24").leak(f"{before}24{after}")


@given(st.sampled_from("0123456789"), st.booleans())
def test_a_digit_on_either_side_kills_the_hit(digit: str, before: bool) -> None:
    assert not forms("24").leak(f"{digit}24" if before else f"24{digit}")


_near = st.text("0124. ,-/=axADtwelv½\n", max_size=14)
_numeric = st.lists(st.sampled_from(["12", "12.0", " 12.00", "2", ".5", "", "x", "1,2"]), max_size=3)
_solution = st.lists(st.sampled_from(["add twelve", "A, d", "?", "twelve", "e w"]), max_size=2)


@given(_near | any_text, _numeric, _solution)
@example("12.", ["12"], [])
@example("12..5", ["12"], [])
@example("add - twelve", [], ["add twelve"])
def test_matcher_agrees_with_a_character_loop(turn: str, numeric: list[str], solution: list[str]) -> None:
    assert DeclaredForms(numeric, solution).leak(turn) == slow_leak(turn, numeric, solution)


@given(_near | any_text)
def test_normalise_agrees_with_a_character_loop(text: str) -> None:
    assert normalise(text) == slow_normalise(text)
