"""Boxes, arrows and wrapped text for the diagrams, in inches."""

from typing import TYPE_CHECKING

from pytest_tutoreval.reporting.figures.style import BLACK, LINE, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_arrow", "draw_box", "draw_lines"]


def draw_box(
    canvas: "Axes",
    place: tuple[float, float, float, float],
    words: str = "",
    *,
    edge: str = BLACK,
    face: str = "white",
    style: str = "-",
    bold: bool = False,
) -> None:
    """Draw a box at (left, bottom, width, height) with its words wrapped and centred."""
    from matplotlib.patches import FancyBboxPatch

    left, bottom, width, height = place
    rounded = "round,pad=0,rounding_size=0.04"
    canvas.add_patch(
        FancyBboxPatch(
            (left, bottom),
            width,
            height,
            boxstyle=rounded,
            edgecolor=edge,
            facecolor=face,
            linewidth=0.8,
            linestyle=style,
        )
    )
    lines = wrap(words, width - 0.06, bold=bold)
    top = bottom + height / 2 + len(lines) * LINE / 2
    draw_lines(canvas, left + width / 2, top, lines, bold=bold, centred=True)


def draw_lines(
    canvas: "Axes",
    x: float,
    top: float,
    lines: list[str],
    *,
    colour: str = BLACK,
    bold: bool = False,
    centred: bool = False,
) -> float:
    """Write lines downwards from `top`; return where they end."""
    for line in lines:
        canvas.text(
            x,
            top - LINE / 2,
            line,
            color=colour,
            weight="bold" if bold else "normal",
            ha="center" if centred else "left",
            va="center_baseline",
        )
        top -= LINE
    return top


def draw_arrow(
    canvas: "Axes", start: tuple[float, float], end: tuple[float, float], *, both: bool = False, colour: str = BLACK
) -> None:
    """Draw an arrow from start to end, with two heads where `both`."""
    from matplotlib.patches import FancyArrowPatch

    canvas.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="<|-|>" if both else "-|>",
            mutation_scale=6,
            linewidth=0.7,
            color=colour,
            shrinkA=0,
            shrinkB=0,
        )
    )
