"""The released parser of a judge's reply: lenient, and silent about nothing (definitions, section 8)."""

import re
from dataclasses import dataclass
from functools import cache

from pytest_tutoreval.detectors import widest_object
from pytest_tutoreval.records.rating import RUBRIC_FIELDS

__all__ = ["ParsedRating", "parse_rating"]

SCALE = range(1, 6)


@dataclass(frozen=True, slots=True)
class ParsedRating:
    """What could be read. `overall` is None where the repetition is unusable; components are descriptive only."""

    overall: int | None
    components: dict[str, int]


def parse_rating(reply: str, rubric: str) -> ParsedRating:
    """Return the fields of a rubric that can be read from a reply.

    The widest brace-delimited span is taken as JSON if it parses; each field still unset takes the first match of
    its name, a colon or equals sign, and one digit 1-5 anywhere in the reply. Never raises on any text.
    """
    stated = widest_object(reply) or {}
    fields: dict[str, int] = {}
    for field in RUBRIC_FIELDS[rubric]:
        value = _on_scale(stated.get(field))
        if value is None:
            rescued = _field_pattern(field).search(reply)
            value = int(rescued[1]) if rescued else None
        if value is not None:
            fields[field] = value
    return ParsedRating(fields.pop("overall", None), fields)


def _on_scale(value: object) -> int | None:
    """Return a JSON value rounded half to even if it is then 1-5. True reads as 1; null and false as nothing."""
    if not isinstance(value, str | int | float):
        return None
    try:
        rounded = round(float(value))
    except (ValueError, OverflowError):
        return None
    return rounded if rounded in SCALE else None


@cache
def _field_pattern(field: str) -> re.Pattern[str]:
    return re.compile(rf"""{field}["']?\s*[:=]\s*["']?([1-5])""")
