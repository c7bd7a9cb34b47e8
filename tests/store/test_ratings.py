"""Rating files: written, read back, and everything that can be wrong with one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import BrokenRatings
from pytest_tutoreval.records import Rating, RatingHeader, SessionKey
from pytest_tutoreval.store import TornLineWarning, parse_ratings, ratings_path, write_ratings
from tests.store.corpora import DEMO, edit_lines

KEY = SessionKey("gpt", "conv", 2)
PLACE = ratings_path("opus", "helpfulness", KEY)
Lines = list[dict[str, Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "r2.jsonl"
    path.write_bytes((DEMO / PLACE).read_bytes())
    return path


def parsed(path: Path) -> tuple[RatingHeader, list[Rating]]:
    return parse_ratings(path.read_bytes(), path, "opus", "helpfulness", KEY)


def test_ratings_are_written_as_they_are_read(path: Path, tmp_path: Path) -> None:
    header, ratings = parsed(path)
    written = write_ratings(tmp_path, header, iter(ratings), sync=lambda _: None)
    assert written == tmp_path / PLACE
    assert written.read_bytes() == path.read_bytes()


def replaced(number: int, **fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:number], lines[number] | fields, *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        pytest.param(replaced(1, overall=6), "line 2: overall: Input should be less than or equal to 5", id="six"),
        pytest.param(replaced(1, overall=0), "line 2: overall: Input should be greater than or equal to 1", id="zero"),
        pytest.param(replaced(1, overall=4.5), "line 2: overall: Input should be a valid integer", id="a-half"),
        pytest.param(replaced(3, surprise=1), "line 4: surprise: Extra inputs are not permitted", id="unknown-field"),
        pytest.param(
            lambda lines: [*lines[:2], *lines[1:]], "line 3: train-1 turn 0 repetition 0 stands twice", id="twice"
        ),
        pytest.param(replaced(0, judge="sol"), "holds ratings of gpt/conv/r2 by sol under helpfulness", id="judge"),
        pytest.param(replaced(0, replicate=3), "holds ratings of gpt/conv/r3 by opus", id="another-session"),
        pytest.param(replaced(0, surprise=1), "header: surprise", id="unknown-field-in-the-header"),
        pytest.param(lambda lines: [], "holds no header line; delete the file to rate the session anew", id="empty"),
    ],
)
def test_broken_ratings_say_where_and_what(path: Path, edit: Callable[[Lines], Lines], message: str) -> None:
    edit_lines(path, edit)
    with pytest.raises(BrokenRatings, match=message):
        parsed(path)


def test_crlf_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(BrokenRatings, match="line 1 ends in CRLF"):
        parsed(path)


def test_a_torn_last_rating_is_dropped_with_a_warning(path: Path) -> None:
    _, ratings = parsed(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.warns(TornLineWarning):
        assert parsed(path)[1] == ratings[:-1]


def test_an_unusable_rating_is_kept_raw_without_a_value(path: Path) -> None:
    edit_lines(path, lambda lines: [lines[0], {**lines[1], "overall": None, "raw": "I would rather not."}, *lines[2:]])
    _, ratings = parsed(path)
    assert (ratings[0].overall, ratings[0].raw) == (None, "I would rather not.")
