"""Lines validated in one step: never more lenient than two steps, and never another value."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenSession
from pytest_tutoreval.records import Call, Rating, Session, SessionKey
from pytest_tutoreval.records.base import Record
from pytest_tutoreval.store import open_corpus, parse_session, ratings_path, session_path, write_session
from pytest_tutoreval.store.lines import LineFileError, read_lines, split_plain
from pytest_tutoreval.store.validation import validate_lines
from tests.store.corpora import DEMO

HERE = Path("r3.jsonl")
KEY = SessionKey("sonnet", "ped", 3)
KINDS: dict[type[Record], bytes] = {
    Call: (DEMO / session_path(KEY)).read_bytes().split(b"\n")[1],
    Rating: (DEMO / ratings_path("opus", "helpfulness", KEY)).read_bytes().split(b"\n")[1],
}


def in_two_steps(line: bytes, kind: type[Record]) -> Record | None:
    """Return what `json.loads` and then pydantic make of a line, or None where either refuses it."""
    try:
        (fields,), _ = read_lines(line + b"\n", HERE)
        return kind.model_validate(fields)
    except (LineFileError, ValidationError):
        return None


def in_one_step(line: bytes, kind: type[Record]) -> Record | None:
    if split_plain(line + b"\n") != [line]:
        return None
    try:
        return validate_lines([line], kind)[0]
    except ValidationError:
        return None


def assert_no_more_lenient(line: bytes, kind: type[Record]) -> None:
    found = in_one_step(line, kind)
    if found is not None:
        expected = in_two_steps(line, kind)
        assert repr(found) == repr(expected)  # 1 is no True there, and -0.0 no 0.0
        assert expected is not None
        assert found.model_fields_set == expected.model_fields_set


ODD_NUMBERS = ["-0", "-0.0", "1e2", "1e400", "01", "1.", ".5", "+1", "NaN", "-Infinity", "9" * 30, "9" * 5000]
ODD_TEXTS = ['"1"', '"1.5"', '"nan"', '"yes"', r'"\ud800"', r'"\ud83d\ude00"', r'"\u0000"', '"\x01"', '"\ufeff"']
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
LITERALS = VALUES.map(json.dumps) | st.sampled_from([*ODD_NUMBERS, *ODD_TEXTS])


@given(data=st.data(), kind=st.sampled_from([*KINDS]))
def test_a_field_of_any_value_is_read_no_differently(data: st.DataObject, kind: type[Record]) -> None:
    name = data.draw(st.sampled_from([*kind.model_fields, "surprise"]))
    # The line holds the field already, or does not: both a repeated and a new one.
    line = KINDS[kind][:-1] + f',"{name}":{data.draw(LITERALS)}}}'.encode()
    assert_no_more_lenient(line, kind)


@given(data=st.data(), kind=st.sampled_from([*KINDS]))
def test_a_damaged_line_is_read_no_differently(data: st.DataObject, kind: type[Record]) -> None:
    line = KINDS[kind]
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(start + 4, len(line))))
    put = data.draw(st.binary(max_size=3) | st.sampled_from([b"\r", b"\n", b"}", b",", b'"', b"}{", b"\xef\xbb\xbf"]))
    assert_no_more_lenient(line[:start] + put + line[end:], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_read_in_one_step(kind: type[Record]) -> None:
    found = in_one_step(KINDS[kind], kind)
    assert found is not None
    assert found == in_two_steps(KINDS[kind], kind)


def test_a_lone_surrogate_is_read_all_the_same(tmp_path: Path) -> None:
    session = open_corpus(DEMO).session(KEY)
    first = session.calls[0].model_copy(update={"text": "half a character: \ud800"})
    odd = Session(header=session.header, calls=(first, *session.calls[1:]))
    path = write_session(tmp_path, odd.header, odd.calls, sync=lambda _: None)
    with pytest.raises(ValidationError):
        validate_lines([path.read_bytes().split(b"\n")[1]], Call)
    assert parse_session(path.read_bytes(), path, KEY) == odd


def test_two_objects_on_a_line_are_no_two_calls(tmp_path: Path) -> None:
    lines = (DEMO / session_path(KEY)).read_bytes().split(b"\n")
    joined = b"\n".join([lines[0], lines[1] + b"," + lines[2], *lines[3:]])
    with pytest.raises(BrokenSession, match="line 2 is not JSON"):
        parse_session(joined, tmp_path / "r3.jsonl", KEY)
