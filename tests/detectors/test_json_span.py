import math

import pytest
from hypothesis import given

from pytest_tutoreval.detectors import widest_object
from tests.detectors.strategies import any_text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1}', id="bare"),
        pytest.param('Sure! {"a": 1} Hope it helps.', id="in-prose"),
        pytest.param('```json\n{"a": 1}\n```', id="fenced"),
        pytest.param('[{"a": 1}]', id="in-a-list"),
    ],
)
def test_object_is_found(text: str) -> None:
    assert widest_object(text) == {"a": 1}


def test_object_reaches_to_the_last_brace() -> None:
    assert widest_object('x {"a": {"b": 2}} y') == {"a": {"b": 2}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("no braces", id="prose"),
        pytest.param("} {", id="reversed-braces"),
        pytest.param('{"a": 1', id="never-closed"),
        pytest.param('{"a": 1} {"b": 2}', id="two-objects"),
        pytest.param('{"a": 1} and }', id="stray-brace"),
        pytest.param("{'a': 1}", id="single-quotes"),
        pytest.param('{"a": 1,}', id="trailing-comma"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="hostile-nesting"),
        pytest.param('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", id="hostile-lists"),
        pytest.param('{"a": ' + "9" * 5_000 + "}", id="number-of-5000-digits"),
        pytest.param("{\x00}", id="control-character"),
    ],
)
def test_there_is_no_object(text: str) -> None:
    assert widest_object(text) is None


def test_nan_is_read_as_the_released_parser_reads_it() -> None:
    found = widest_object('{"a": NaN}')
    assert found is not None
    assert isinstance(found["a"], float)
    assert math.isnan(found["a"])


def test_later_of_two_equal_keys_wins() -> None:
    assert widest_object('{"a": 1, "a": 2}') == {"a": 2}


@given(any_text)
def test_search_never_raises(text: str) -> None:
    found = widest_object(text)
    assert found is None or isinstance(found, dict)
