"""A forest of rows as one SVG file that stands alone: white ground, its own palette, no script and no font."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import escape

from pytest_tutoreval.reporting.html.forest import (
    MARKS,
    ROW_HEIGHT,
    Interval,
    forest_axis,
    forest_row,
    is_number,
    registered_sign,
    scale_around,
)
from pytest_tutoreval.reporting.numbers import signed
from pytest_tutoreval.reporting.plain import visible

__all__ = ["forest_figure"]

Row = Mapping[str, Any]

_WIDTH, _NAMES, _NUMBER, _AXIS, _EDGE = 720, 200, 70, 40, 8
_MOST_NAME = 30
_STYLE = """
text{font:12px sans-serif;fill:#333}.forest text{text-anchor:middle}
.side{fill:#eef3f0}.zero{stroke:#888}.margin{stroke:#a33;stroke-dasharray:4 3}
.axis line,.arrow path{stroke:#888;fill:none}
.interval{stroke:#222;stroke-width:2}.mark{fill:#222}.hollow{fill:#fff;stroke:#222;stroke-width:1.6}
.stroke{fill:none;stroke:#222;stroke-width:1.6}
"""


def forest_figure(rows: Sequence[tuple[str, Row]]) -> str:
    """Return the rows on one scale, each with its name and number, as the text of an SVG file.

    Parameters
    ----------
    rows : name and row; a row has `estimate`, `ci_low` and `ci_high`, and what it came to under `verdict` or `outcome`
        A margin is drawn on the side that is worse.
    """
    intervals = [Interval(row.get("estimate"), row.get("ci_low"), row.get("ci_high")) for _, row in rows]
    margins = [_margin(row) for _, row in rows]
    signs = {registered_sign(row.get("direction")) for _, row in rows}
    sign = signs.pop() if len(signs) == 1 else None  # one scale has one arrow
    scale = scale_around(intervals, sign=sign, also=[0.0, *filter(is_number, margins)])
    width = _WIDTH - _NAMES - _NUMBER - 2 * _EDGE
    height = len(rows) * ROW_HEIGHT + _AXIS + 2 * _EDGE
    drawn = []
    for at, ((name, row), interval, margin) in enumerate(zip(rows, intervals, margins, strict=True)):
        top = _EDGE + at * ROW_HEIGHT
        inside = forest_row(
            scale,
            interval,
            title=name,
            described=f"estimate {signed(interval.estimate)}",
            mark=_mark(row),
            sign=registered_sign(row.get("direction")),
            margin=margin,
        )
        short = name if len(name) <= _MOST_NAME else f"{name[: _MOST_NAME - 1]}…"
        drawn.append(f'<text x="{_EDGE}" y="{top + 17}">{escape(visible(short))}</text>')
        drawn.append(f'<svg x="{_EDGE + _NAMES}" y="{top}" width="{width}" height="{ROW_HEIGHT}">{inside}</svg>')
        drawn.append(f'<text x="{_WIDTH - _NUMBER}" y="{top + 17}">{signed(interval.estimate)}</text>')
    axis = forest_axis(scale, title="scale", described="the axis the rows share", sign=sign)
    drawn.append(
        f'<svg x="{_EDGE + _NAMES}" y="{_EDGE + len(rows) * ROW_HEIGHT}" width="{width}" height="{_AXIS}">{axis}</svg>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )


def _mark(row: Row) -> str:
    if "holds" in row:
        return "supported" if row["holds"] else "not_supported"
    word = {"held": "supported", "not_decided": "inconclusive"}.get(row.get("outcome", ""), row.get("outcome"))
    word = row.get("verdict") or word
    return word if word in MARKS else "unknown" if word else "supported"


def _margin(row: Row) -> float | None:
    margin = row.get("margin")
    return -margin if is_number(margin) and row.get("worse") == "lower" else margin
