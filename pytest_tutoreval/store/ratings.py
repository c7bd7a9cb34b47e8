"""Rating files: one judge, one rubric, one session; a header line, then one line a repetition."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenRatings
from pytest_tutoreval.records.rating import Rating, RatingHeader
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.store.lines import LineFileError, LineWriter, read_lines, split_plain
from pytest_tutoreval.store.validation import first_problem, validate_lines

__all__ = ["RatingKey", "parse_ratings", "ratings_path", "write_ratings"]

RatingKey = tuple[str, int, int, str]


def ratings_path(judge: str, rubric: str, key: SessionKey) -> str:
    """Return where a judge's ratings of a session stand in their corpus."""
    return f"ratings/{judge}/{rubric}/{key.base}/{key.condition}/r{key.replicate}.jsonl"


def write_ratings(
    folder: Path, header: RatingHeader, ratings: Iterable[Rating], *, sync: Callable[[int], None]
) -> Path:
    """Write ratings as they come and return the file's path."""
    key = SessionKey(header.base, header.condition, header.replicate)
    path = folder / ratings_path(header.judge, header.rubric, key)
    with LineWriter(path, sync=sync) as writer:
        writer.append(header.model_dump(mode="json", exclude_none=True))
        for rating in ratings:
            writer.append(rating.compact())
    return path


def parse_ratings(
    data: bytes, path: Path, judge: str, rubric: str, key: SessionKey
) -> tuple[RatingHeader, list[Rating]]:
    """Return the header and the ratings in `data`; a torn last line is dropped with a warning.

    Raises
    ------
    BrokenRatings
        A rating outside 1-5, a repetition that stands twice, an unknown field, another session's or judge's header.
    """
    header, found = _read_plain(data) or _read_line_by_line(data, path)
    whose = (header.judge, header.rubric, SessionKey(header.base, header.condition, header.replicate))
    if whose != (judge, rubric, key):
        raise BrokenRatings(path, f"holds ratings of {whose[2]} by {whose[0]} under {whose[1]}: another file's")
    ratings: dict[RatingKey, Rating] = {}
    for number, rating in enumerate(found, start=2):
        identity = (rating.problem, rating.turn, rating.repetition, rating.request)
        if identity in ratings:
            raise BrokenRatings(
                path, f"line {number}: {rating.problem} turn {rating.turn} repetition {rating.repetition} stands twice"
            )
        ratings[identity] = rating
    return header, list(ratings.values())


def _read_plain(data: bytes) -> tuple[RatingHeader, Iterable[Rating]] | None:
    """Return what a file holds whose every line is as it should be, else None."""
    if not (lines := split_plain(data)):
        return None
    try:
        return RatingHeader.model_validate_json(lines[0]), validate_lines(lines[1:], Rating)
    except ValidationError:
        return None


def _read_line_by_line(data: bytes, path: Path) -> tuple[RatingHeader, Iterable[Rating]]:
    """Return what any file holds; its ratings raise BrokenRatings as they are met."""
    try:
        lines, _ = read_lines(data, path)
    except LineFileError as exc:
        raise BrokenRatings(path, str(exc)) from exc
    if not lines:
        raise BrokenRatings(path, "holds no header line; delete the file to rate the session anew")
    try:
        header = RatingHeader.model_validate(lines[0])
    except ValidationError as exc:
        raise BrokenRatings(path, f"header: {first_problem(exc)}") from exc
    return header, _ratings(lines[1:], path)


def _ratings(lines: Iterable[dict[str, Any]], path: Path) -> Iterator[Rating]:
    for number, fields in enumerate(lines, start=2):
        try:
            yield Rating.model_validate(fields)
        except ValidationError as exc:
            raise BrokenRatings(path, f"line {number}: {first_problem(exc)}") from exc
