"""A forest row: a number with its interval on a scale that rows share, as a small SVG.

Places are percentages, so that a row fits a phone and a sheet of paper while its strokes, marks and type keep their
size. Nothing here is coloured: classes are, so that light, dark and print each have their own palette.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TypeGuard

from markupsafe import Markup, escape

from pytest_tutoreval.reporting.numbers import signed
from pytest_tutoreval.reporting.plain import visible

__all__ = [
    "MARKS",
    "Interval",
    "Scale",
    "forest_axis",
    "forest_row",
    "icon",
    "is_number",
    "registered_sign",
    "scale_around",
]

ROW_HEIGHT = 26
_EDGE = 4.0  # per cent left free at either end, for marks and labels that stand there
_MOST_TICKS = 5
_DRAWABLE, _NARROWEST = 1e12, 1e-9
_MOST_DIGITS = 6
_ROOM = 0.2  # of the span, at the least, on the registered side of zero

# One shape a word, about the origin, so that no outcome is told by colour alone.
MARKS: dict[str, str] = {
    "supported": '<circle r="5"/>',
    "not_supported": '<rect class="hollow" x="-4.3" y="-4.3" width="8.6" height="8.6"/>',
    "inconclusive": '<path class="hollow" d="M0-6 6 0 0 6-6 0z"/><path d="M0-6V6L-6 0z"/>',
    "not_evaluable": '<path class="stroke" d="M-4.5-4.5 4.5 4.5M-4.5 4.5 4.5-4.5"/>',
    "regressed": '<path d="M-6-4.5H6L0 6z"/>',
    "unknown": '<path class="stroke" d="M-4 0H4"/>',
}


@dataclass(frozen=True)
class Interval:
    """A number and its interval, in the measure's own units; None where it is not defined."""

    estimate: float | None
    low: float | None = None
    high: float | None = None

    def values(self) -> Iterable[float]:
        """Return what there is of the three."""
        return (value for value in (self.low, self.estimate, self.high) if is_number(value))


@dataclass(frozen=True)
class Scale:
    """The axis rows share: its ends, and where its labels stand."""

    low: float
    high: float
    ticks: tuple[float, ...]
    digits: int

    def share(self, value: float) -> float:
        """Return how far from the low end to the high one a value stands; one beyond an end stands at that end."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def across(self, value: float) -> str:
        """Return where a value stands, as a percentage of a row's width."""
        return f"{_EDGE + (100 - 2 * _EDGE) * self.share(value):.2f}%"


def registered_sign(direction: object, *, first: str = "conv") -> int | None:
    """Return 1 where a positive number was registered, -1 for a negative one, None where the words name neither.

    `first` is the arm of a difference that the other is taken from: "ped > conv" registers a negative conv - ped.
    """
    if direction in ("positive", "negative"):
        return 1 if direction == "positive" else -1
    more, _, less = str(direction).partition(" > ")
    return 1 if less and more == first else -1 if less and less == first else None


def scale_around(intervals: Iterable[Interval], *, sign: int | None = None, also: Iterable[float] = (0.0,)) -> Scale:
    """Return the scale that shows every interval and `also`, zero as a rule; its labels stand at round numbers.

    With a registered `sign` there is room on that side of zero, whatever came out.

    >>> scale_around([Interval(0.3, 0.1, 0.4)]).ticks
    (0.0, 0.1, 0.2, 0.30000000000000004, 0.4)
    """
    values = [*(value for interval in intervals for value in interval.values()), *also]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    if high - low < _NARROWEST:
        low, high = low - 1, high + 1
    room = _ROOM * (high - low)
    low = min(low, -room) if sign == -1 else low
    high = max(high, room) if sign == 1 else high
    step = _round_step((high - low) / _MOST_TICKS)
    first, last = floor(round(low / step, 9)), ceil(round(high / step, 9))
    power = floor(log10(step))
    digits = min(_MOST_DIGITS, max(0, -power) + (step / 10.0**power == 2.5))
    return Scale(first * step, last * step, tuple(number * step for number in range(first, last + 1)), digits)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `least`."""
    power = 10.0 ** floor(log10(least))
    return next(times * power for times in (1.0, 2.0, 2.5, 5.0, 10.0) if times * power >= least * (1 - 1e-9))


def forest_row(
    scale: Scale,
    interval: Interval,
    *,
    title: str,
    described: str,
    mark: str = "supported",
    sign: int | None = None,
    margin: float | None = None,
) -> Markup:
    """Return a row: the registered side shaded, zero, the interval, and the number in the shape of its outcome.

    Parameters
    ----------
    title, described : for those who do not see it; any text, it is escaped
    mark : a name of `MARKS`
    sign : which side was registered, as of `registered_sign`
    margin : where a non-inferiority margin stands, in the measure's units
    """
    parts = [_side(scale, sign), _line(scale, 0.0, "zero")]
    if is_number(margin):
        parts.append(_line(scale, margin, "margin"))
    if is_number(interval.low) and is_number(interval.high):
        low, high = scale.across(interval.low), scale.across(interval.high)
        parts.append(f'<line class="interval" x1="{low}" x2="{high}" y1="50%" y2="50%"/>')
        parts += [_placed(end, "end", '<path class="interval" d="M0-4V4"/>') for end in (low, high)]
    if is_number(interval.estimate):
        parts.append(_placed(scale.across(interval.estimate), f"mark {mark}", MARKS[mark]))
    else:
        parts.append(_placed("50%", "absent", '<text y="4">no number</text>'))
    return _svg("forest", ROW_HEIGHT, "".join(parts), title, described)


def forest_axis(scale: Scale, *, title: str, described: str, sign: int | None = None) -> Markup:
    """Return what stands below the rows of a scale: its labels, and an arrow from zero to the registered side."""
    parts = [f'<line class="axis" x1="{_EDGE}%" x2="{100 - _EDGE}%" y1=".5" y2=".5"/>']
    for tick in scale.ticks:
        at = scale.across(tick)
        parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="0" y2="4"/>')
        parts.append(f'<text class="tick" x="{at}" y="16">{_tick(tick, scale.digits)}</text>')
    if sign:
        parts.append(
            f'<svg class="arrow" x="{scale.across(0.0)}" y="25" overflow="visible">'
            f'<path transform="scale({sign} 1)" d="M0 0H26M21-3.5 26 0 21 3.5"/></svg>'
        )
    return _svg("forest axis", 32 if sign else 20, "".join(parts), title, described)


def icon(mark: str) -> Markup:
    """Return the shape of an outcome for use beside its word; it says nothing the word does not."""
    return Markup(
        f'<svg class="icon {mark}" width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true">{MARKS[mark]}</svg>'
    )


def _side(scale: Scale, sign: int | None) -> str:
    """Return the shaded half on which the registered direction lies."""
    if not sign:
        return ""
    zero = scale.across(0.0)
    if sign < 0:
        return f'<rect class="side" width="{zero}" height="100%"/>'
    return f'<rect class="side" x="{zero}" width="{100 - float(zero.removesuffix("%")):.2f}%" height="100%"/>'


def _line(scale: Scale, value: float, kind: str) -> str:
    at = scale.across(value)
    return f'<line class="{kind}" x1="{at}" x2="{at}" y1="0" y2="100%"/>'


def _placed(at: str, name: str, drawn: str) -> str:
    """Return something drawn about its own origin, at a place of a row's middle line, however high the row is."""
    return f'<svg class="{name}" x="{at}" y="50%" overflow="visible">{drawn}</svg>'


def _tick(tick: float, digits: int) -> str:
    if abs(tick) < 10 ** -(digits + 1):
        return "0"
    return signed(tick, digits).replace("-", "\N{MINUS SIGN}")


def _svg(name: str, height: int, inside: str, title: str, described: str) -> Markup:
    return Markup(
        f'<svg class="{name}" width="100%" height="{height}" role="img">'
        f"<title>{escape(visible(title))}</title><desc>{escape(visible(described))}</desc>{inside}</svg>"
    )


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value can be drawn: a document read from a file may hold anything where a number is due."""
    return isinstance(value, int | float) and abs(value) < _DRAWABLE
