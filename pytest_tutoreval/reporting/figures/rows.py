"""A dot plot with labelled rows: marks with their intervals in the middle, their numbers in columns at the right."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

from pytest_tutoreval.reporting.figures.style import GREY, WIDTH, fade, printable, text_width, wrap
from pytest_tutoreval.reporting.tables import ABSENT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_tutoreval.reporting.figures.style import Page

__all__ = ["PITCH", "Mark", "Row", "draw_rows", "label_room", "limits", "minus", "rows_height", "short"]

PITCH = 0.152  # inches from row to row
_AXIS = 0.34  # below the last row: ticks and the axis's name
_HEAD = 0.15  # above the first row: the columns' names
_LABEL = 1.25  # the widest a row's label may be
_GAP = 0.07


@dataclass(frozen=True)
class Mark:
    """A number with its interval; `weak` draws it hollow and faded, `open` see-through."""

    value: float
    low: float | None
    high: float | None
    colour: str
    shape: str
    weak: bool = False
    open: bool = False


@dataclass(frozen=True)
class Row:
    """A labelled row; `heading` rows have no marks. `numbers` holds a text for each column."""

    label: str
    marks: tuple[Mark, ...] = ()
    numbers: tuple[str, ...] = ()
    heading: bool = False


def minus(shown: str) -> str:
    """Return a printed number with a true minus sign; the one in an exponent stays."""
    return "\N{MINUS SIGN}" + shown[1:] if shown.startswith("-") else shown


def limits(rows: Sequence[Row], *also: float, step: float = 0.25) -> tuple[float, float]:
    """Return axis limits on the grid of `step` around every mark, its interval, and `also`."""
    values = [*also]
    for row in rows:
        for mark in row.marks:
            values += [mark.value, *(end for end in (mark.low, mark.high) if end is not None)]
    low, high = floor(min(values) / step) * step, ceil(max(values) / step) * step
    return (low, high) if high > low else (low - step, high + step)


def rows_height(rows: Sequence[Row]) -> float:
    """Return the inches of height `draw_rows` takes."""
    return _HEAD + PITCH * len(rows) + _AXIS


def draw_rows(
    page: "Page",
    rows: Sequence[Row],
    *,
    top: float,
    span: tuple[float, float],
    columns: Sequence[tuple[str, float]],
    label_width: float,
    axis: str,
    title: str = "",
    zero: float | None = 0.0,
    joined: bool = False,
) -> None:
    """Draw the rows with their upper edge at `top` inches.

    Parameters
    ----------
    columns : name and width in inches of each number column, left to right
    label_width : inches the labels take; the same for all panels of a page, so that their axes align
    axis, title : the axis's name, and the panel's
    zero : where the reference line stands
    joined : draw a line between the marks of a row
    """
    canvas = page.canvas()
    right = sum(width for _, width in columns)
    left = label_width + _GAP
    height = PITCH * len(rows)
    axes = page.axes(left, top - _HEAD - height, WIDTH - left - right - _GAP, height)
    axes.set_xlim(*span)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    if zero is not None:
        axes.axvline(zero, color=GREY, linewidth=0.6, linestyle=(0, (3, 2)), zorder=0, clip_on=False)
    middle = min((left + WIDTH - right - _GAP) / 2, WIDTH - 0.04 - text_width(axis) / 2)
    canvas.text(middle, top - _HEAD - height - _AXIS + 0.02, axis, ha="center", va="bottom")
    canvas.text(0.05, top - 0.02, title, va="top", weight="bold")
    at = WIDTH - right
    for name, width in columns:
        at += width
        canvas.text(at - 0.05, top - 0.02, name, ha="right", va="top", color=GREY)
    for number, row in enumerate(rows):
        y = top - _HEAD - PITCH * (number + 0.5)
        label = printable(row.label)
        canvas.text(0.05 if row.heading else 0.12, y, label, va="center_baseline")
        _draw_marks(axes, row, number, joined)
        at = WIDTH - right
        # A row without a number has one dash with its reason; its other columns get a plain one.
        rest = [ABSENT] * (len(columns) - len(row.numbers)) if row.numbers else []
        for shown, (_, width) in zip((*row.numbers, *rest), columns, strict=bool(row.numbers)):
            at += width
            canvas.text(at - 0.05, y, minus(shown), ha="right", va="center_baseline")


def label_room(rows: Sequence[Row]) -> float:
    """Return the inches the labels of some rows take."""
    return 0.14 + max((text_width(printable(row.label)) for row in rows if not row.heading), default=0.0)


def short(label: str) -> str:
    """Return a label cut to what a row has room for."""
    lines = wrap(label, _LABEL)
    return lines[0] if len(lines) == 1 else f"{lines[0].rstrip()}\N{HORIZONTAL ELLIPSIS}" if lines else ""


def _draw_marks(axes: "Axes", row: Row, y: int, joined: bool) -> None:
    if joined and len(row.marks) > 1:
        values = [mark.value for mark in row.marks]
        axes.plot([min(values), max(values)], [y, y], color="#BBBBBB", linewidth=0.8, zorder=1)
    for mark in row.marks:
        colour = fade(mark.colour) if mark.weak else mark.colour
        if mark.low is not None and mark.high is not None:
            width = 0.8 if mark.weak or mark.open else 1.3
            axes.plot(
                [mark.low, mark.high],
                [y, y],
                color=colour,
                linewidth=width,
                zorder=2,
            )
        axes.plot(
            [mark.value],
            [y],
            marker=mark.shape,
            markersize=4.0,
            markeredgewidth=0.9,
            markeredgecolor=colour,
            markerfacecolor="none" if mark.open else "white" if mark.weak else colour,
            linestyle="none",
            zorder=3,
            clip_on=False,
        )
