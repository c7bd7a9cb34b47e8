"""Numbers and outcomes as the page shows them: typographic signs, and a word with its own shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from pytest_tutoreval.reporting.html.forest import MARKS, Interval, icon, is_number
from pytest_tutoreval.reporting.numbers import p_value, signed

__all__ = ["ABSENT", "Numbers", "Outcome", "count", "held", "interval_of", "level", "minus", "numbers", "outcome"]

ABSENT = "\N{EN DASH}"

Row = Mapping[str, Any]


def minus(shown: str) -> str:
    """Return a printed number with a true minus sign, in the exponent too; a lone `-` is an absent number."""
    return ABSENT if shown == "-" else shown.replace("-", "\N{MINUS SIGN}")


def level(number: object) -> str:
    """Return a number that is no difference, so without a plus: three decimals, fewer for large ones, `–` for none."""
    if not is_number(number):
        return ABSENT
    if abs(number) >= 100:
        return minus(f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}")
    return minus(f"{number:.3f}")


def count(number: object) -> str:
    """Return a count, `–` for none."""
    return minus(f"{number:,}") if isinstance(number, int) else ABSENT


@dataclass(frozen=True)
class Numbers:
    """The numbers of a row, each as it is printed."""

    estimate: str
    interval: str
    p_value: str
    p_adjusted: str
    margin: str
    delta: str
    se: str
    n: str
    n_dropped: str


def numbers(row: Row) -> Numbers:
    """Return a claim's or a component's numbers."""
    get = row.get
    low, high = get("ci_low"), get("ci_high")
    whole = is_number(low) and is_number(high)
    return Numbers(
        estimate=_difference(get("estimate")),
        interval=f"[{_difference(low)}, {_difference(high)}]" if whole else ABSENT,
        p_value=minus(p_value(get("p_value"))),
        p_adjusted=minus(p_value(get("p_adjusted"))),
        margin=level(get("margin")),
        delta=_difference(get("cliffs_delta"), 2),
        se=level(get("se")),
        n=count(get("n")),
        n_dropped=count(get("n_dropped")),
    )


def interval_of(row: Row) -> Interval:
    """Return a row's number and interval, to be drawn."""
    return Interval(row.get("estimate"), row.get("ci_low"), row.get("ci_high"))


@dataclass(frozen=True)
class Outcome:
    """What something came to: the word a reader reads, the class that colours it, the shape that stands beside it."""

    word: str
    kind: str

    @property
    def icon(self) -> Markup:
        """The shape, hidden from screen readers: the word says it."""
        return icon(self.kind)


# How the outcomes that are no verdicts look; `absent` is a cell this run says nothing about.
_LIKE = {"held": "supported", "not_decided": "inconclusive", "absent": "unknown"}


def outcome(word: str, *, reversed_: bool = False) -> Outcome:
    """Return a verdict, a gate's outcome, `not_evaluable` or `absent`; an unknown word is shown as it is."""
    kind = _LIKE.get(word, word)
    said = {"absent": "not in this run"}.get(word, word.replace("_", " "))
    return Outcome(f"{said} (reversed)" if reversed_ else said, kind if kind in MARKS else "unknown")


def held(part: Row) -> Outcome:
    """Return whether a component meets its registered condition."""
    if part.get("holds"):
        return Outcome("holds", "supported")
    return Outcome("reversed" if part.get("reversed") else "does not hold", "not_supported")


def _difference(number: object, digits: int = 3) -> str:
    return minus(signed(number, digits)) if is_number(number) else ABSENT
