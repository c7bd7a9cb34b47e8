import pytest
from hypothesis import given

from pytest_tutoreval.judging import ParsedRating, parse_rating
from pytest_tutoreval.records import RUBRIC_FIELDS
from tests.detectors.strategies import any_text

NOTHING = ParsedRating(None, {})


def overall(reply: str) -> int | None:
    return parse_rating(reply, "helpfulness").overall


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        # released-procedure, section 6: a value of `overall`
        pytest.param('{"overall": "4"}', 4, id="numeric-string"),
        pytest.param('{"overall": 4.5}', 4, id="half-to-even-down"),
        pytest.param("{'overall': 4,}", 4, id="not-quite-json"),
        pytest.param("overall: 4/5", 4, id="out-of-five"),
        pytest.param('{"overall": "4/5"}', 4, id="string-out-of-five"),
        pytest.param('{"overall": 5.4}', 5, id="rounds-down"),
        pytest.param('{"overall": 5.5}', 5, id="5.5-rescued"),
        pytest.param('{"overall": 5.6}', 5, id="5.6-rescued"),
        pytest.param('{"overall": true}', 1, id="true"),
        pytest.param('{"overall": 10}', 1, id="10-rescued"),
        pytest.param('{"overall": 0.6}', 1, id="rounds-up"),
        pytest.param('{"overall": 45}', 4, id="45-rescued"),
        pytest.param('{"overall": 2} or {"overall": 5}', 2, id="two-objects"),
        # more of our own
        pytest.param('{"overall": 4}', 4, id="plain"),
        pytest.param('{"overall": 3.5}', 4, id="half-to-even-up"),
        pytest.param('{"overall": 2.5}', 2, id="half-to-even-down-again"),
        pytest.param('{"overall": " 4.0 "}', 4, id="string-with-spaces"),
        pytest.param("overall = 3", 3, id="equals"),
        pytest.param("'overall' : '3'", 3, id="single-quotes"),
        pytest.param("overall: 4/5 or maybe 3", 4, id="first-digit"),
        pytest.param('{"overall": "4"', 4, id="torn"),
        pytest.param('```json\n{"overall": 5}\n```\nDone.', 5, id="fenced"),
        pytest.param('{"clarity": 2, "overall": 7} overall: 3', 3, id="seven-then-a-readable-one"),
        pytest.param('{"overall": ' + "4" * 5000 + "}", 4, id="number-of-5000-digits"),
        pytest.param('{"overall": 1e999}', 1, id="beyond-a-float-rescued"),
        pytest.param('{"overall": 4, "overall": 2}', 2, id="later-key-wins"),
        pytest.param('{"rating": {"overall": 4}}', 4, id="nested-rescued"),
    ],
)
def test_overall_is_read(reply: str, value: int) -> None:
    assert overall(reply) == value


@pytest.mark.parametrize(
    "reply",
    [
        # released-procedure, section 6
        pytest.param('{"overall": 0}', id="0"),
        pytest.param('{"overall": 6}', id="6"),
        pytest.param('{"overall": null}', id="null"),
        pytest.param('{"overall": false}', id="false"),
        pytest.param("overall rating: 4", id="word-between"),
        pytest.param("**overall**: 4", id="bold-name"),
        # more of our own
        pytest.param('{"overall": 7}', id="7"),
        pytest.param('{"overall": -4}', id="negative"),
        pytest.param('{"overall": 0.5}', id="half-rounds-to-0"),
        pytest.param('{"overall": NaN}', id="nan"),
        pytest.param('{"overall": Infinity}', id="infinity"),
        pytest.param('{"overall": "nan"}', id="nan-string"),
        pytest.param('{"overall": "four"}', id="word"),
        pytest.param('{"overall": [4]}', id="list"),
        pytest.param('{"overall": {"value": 4}}', id="object"),
        pytest.param("The turn is very helpful, a clear 4.", id="prose"),
        pytest.param("7", id="bare-number"),
        pytest.param("", id="empty"),
        pytest.param('{"overall": ', id="cut-off"),
    ],
)
def test_repetition_is_unusable(reply: str) -> None:
    assert overall(reply) is None


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('{"overall": 4, "note": "' + "x" * 2_000_000 + '"}', id="2-mb-object"),
        pytest.param("x" * 2_000_000 + " overall: 4", id="2-mb-prose"),
        pytest.param(" " * 1_000_000 + '{"overall": 4}' + "\n" * 1_000_000, id="2-mb-white-space"),
        pytest.param('{"note": "\x00\x1b[31m", "overall": 4}', id="control-characters"),
        pytest.param('{"note": "\ud800\udfff", "overall": 4}', id="lone-surrogates"),
        pytest.param('{"note": "\u202e", "overall": 4}', id="bidi"),
        pytest.param('{"a":' * 100_000 + '"overall": 4', id="hostile-nesting"),
        pytest.param("overall" * 200_000 + ": 4", id="name-repeated"),
        pytest.param("overall" + " " * 1_000_000 + ": 4", id="spaces-before-the-colon"),
    ],
)
def test_hostile_reply_is_still_read(reply: str) -> None:
    assert overall(reply) == 4


@pytest.mark.parametrize("reply", ["{" * 2_000_000, "}" * 2_000_000, "overall:" * 200_000, "[" * 2_000_000])
def test_hostile_reply_without_a_rating_is_unusable(reply: str) -> None:
    assert parse_rating(reply, "helpfulness") == NOTHING


@pytest.mark.parametrize("rubric", RUBRIC_FIELDS)
def test_every_field_of_a_rubric_is_read(rubric: str) -> None:
    *components, last = RUBRIC_FIELDS[rubric]
    values = {name: at % 5 + 1 for at, name in enumerate(components)}
    reply = "{" + ", ".join(f'"{name}": {value}' for name, value in (values | {last: 5}).items()) + "}"
    assert parse_rating(reply, rubric) == ParsedRating(5, values)


def test_fields_of_the_other_rubric_are_left_out() -> None:
    assert parse_rating('{"clarity": 3, "overall": 2}', "pedagogy") == ParsedRating(2, {})


def test_components_without_an_overall_are_kept_and_unusable() -> None:
    assert parse_rating('{"clarity": 3}', "helpfulness") == ParsedRating(None, {"clarity": 3})


def test_an_overall_is_never_made_of_components() -> None:
    assert overall('{"clarity": 4, "responsiveness": 4, "helpfulness": 4}') is None


def test_object_and_prose_fill_each_other_field_by_field() -> None:
    assert parse_rating('{"clarity": 3, "overall": null} overall: 2', "helpfulness") == ParsedRating(2, {"clarity": 3})


@given(any_text)
def test_parser_never_raises_and_stays_on_the_scale(reply: str) -> None:
    for rubric in RUBRIC_FIELDS:
        parsed = parse_rating(reply, rubric)
        assert {parsed.overall, *parsed.components.values()} <= {None, 1, 2, 3, 4, 5}
