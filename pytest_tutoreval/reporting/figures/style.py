"""How every figure looks: colours, marks, type, and the page that a title and notes stand on.

Colours are Okabe and Ito's, told apart by every kind of colour vision; since print may have none, marks and line styles
differ too. A page is a column wide, and no type on it is smaller than seven points.
"""

import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.reporting.tables import ABSENT, SIMULATED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "LINE",
    "MARKS",
    "ORANGE",
    "SIZE",
    "VERMILLION",
    "WIDTH",
    "Drawing",
    "Page",
    "Reasons",
    "balance",
    "fade",
    "printable",
    "styled",
    "text_width",
    "wrap",
]

BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
_WARNING = "#A84300"  # vermillion, dark enough to be read in print
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#555555"

# A colour and a mark for the first, second, … of whatever is compared.
MARKS: Sequence[tuple[str, str]] = (
    (BLUE, "o"),
    (VERMILLION, "s"),
    (GREEN, "^"),
    (PURPLE, "D"),
    (ORANGE, "v"),
    (SKY, "P"),
    (BLACK, "X"),
)

WIDTH = 3.3  # inches: a column
SIZE = 7.0  # points: the smallest type
LINE = SIZE * 1.28 / 72  # inches: a line of it
_MARGIN = 0.05
_TITLE_LINE = 7.5 * 1.28 / 72

_RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": SIZE,
    "axes.labelsize": SIZE,
    "axes.titlesize": SIZE,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "xtick.major.pad": 2.0,
    "text.parse_math": False,  # what a model said is never markup
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "pytest-tutoreval",
}


@contextmanager
def styled() -> Generator[None]:
    """Draw and save under our style alone, whatever the user's matplotlibrc says.

    Raises
    ------
    ConfigurationProblem
        matplotlib, an optional extra, is not installed.
    """
    try:
        from matplotlib import style
    except ImportError as exc:
        raise ConfigurationProblem(
            "figures: matplotlib is not installed; install it with: pip install 'pytest-tutoreval[figures]'"
        ) from exc
    with style.context(["default", _RC]):
        yield


@dataclass(frozen=True)
class Drawing:
    """A finished figure: the study's number for it, its caption, and the same in words for who cannot see it."""

    number: str
    caption: str
    description: str
    figure: "Figure"

    @property
    def stem(self) -> str:
        """What the figure's files are called."""
        return f"figure{self.number}"


class Reasons:
    """Why marks of a figure are missing, a letter each."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def dash(self, reason: str) -> str:
        """Return what stands in place of a number that is not there."""
        letter = self._letters.setdefault(reason, chr(ord("a") + len(self._letters) % 26))
        return f"{ABSENT} ({letter})"

    def lines(self) -> list[str]:
        """Return the reasons by letter."""
        return [f"({letter}) not evaluable: {reason}" for reason, letter in self._letters.items()]


@dataclass
class Page:
    """A column-wide page under construction: caption above, `height` inches of body, notes below."""

    number: str
    title: str
    height: float
    simulated: bool
    notes: Sequence[str] = ()
    figure: "Figure" = field(init=False)
    _bottom: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        from matplotlib.figure import Figure

        room = WIDTH - 2 * _MARGIN
        titles = balance(f"Figure {self.number}. {self.title}", room, size=7.5)
        warning = wrap(SIMULATED, room, bold=True) if self.simulated else []
        notes = [line for note in self.notes for line in wrap(note, room)]
        above = len(titles) * _TITLE_LINE + len(warning) * LINE + 2 * _MARGIN
        self._bottom = len(notes) * LINE + (2.5 if notes else 1) * _MARGIN
        total = above + self.height + self._bottom
        self.figure = Figure(figsize=(WIDTH, total), facecolor="white")
        top = total - _MARGIN
        for line in warning:
            self._write(line, top, total, color=_WARNING, weight="bold")
            top -= LINE
        for line in titles:
            self._write(line, top, total, size=7.5, weight="bold")
            top -= _TITLE_LINE
        top = self._bottom - _MARGIN
        for line in notes:
            self._write(line, top, total, color=GREY)
            top -= LINE

    def _write(self, line: str, top: float, total: float, **how: Any) -> None:
        self.figure.text(_MARGIN / WIDTH, top / total, line, va="top", **how)

    def axes(self, left: float, bottom: float, width: float, height: float) -> "Axes":
        """Return axes at a place of the body, in inches from its lower left."""
        across, up = self.figure.get_size_inches()
        return self.figure.add_axes(
            (left / across, (self._bottom + bottom) / up, width / across, height / up), facecolor="none"
        )

    def canvas(self) -> "Axes":
        """Return axes over the whole body whose units are inches, for diagrams and labels."""
        axes = self.axes(0, 0, WIDTH, self.height)
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(0, self.height)
        axes.set_axis_off()
        return axes

    def finish(self, description: str) -> Drawing:
        """Return the drawing, its words with what is simulated said first."""
        caption = f"Figure {self.number}. {self.title}"
        said = f"{SIMULATED}. " if self.simulated else ""
        return Drawing(self.number, said + caption, printable(" ".join([description, *self.notes])), self.figure)


def fade(colour: str) -> str:
    """Return a colour mixed with white, still three to one against it."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * 0.45):02X}" for part in parts)


# text


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def printable(words: str) -> str:
    """Return the words on one line, with whatever has no glyph, or would break the file, made a visible sign."""
    joined = " ".join(words.split())
    return "".join(
        c if ord(c) in _glyphs() and unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in joined
    )


@lru_cache(maxsize=4096)
def text_width(words: str, *, size: float = SIZE, bold: bool = False) -> float:
    """Return how many inches wide a line of text is."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    properties = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return float(TextToPath().get_text_width_height_descent(words, properties, ismath=False)[0]) / 72


def wrap(words: str, width: float, *, size: float = SIZE, bold: bool = False) -> list[str]:
    """Return printable lines no wider than `width` inches; a word that is wider is cut."""
    lines: list[str] = []
    line = ""
    for word in printable(words).split(" "):
        if text_width(f"{line} {word}".strip(), size=size, bold=bold) <= width:
            line = f"{line} {word}".strip()
            continue
        if line:
            lines.append(line)
        while text_width(word, size=size, bold=bold) > width:
            kept = next(n for n in range(len(word), 0, -1) if n == 1 or text_width(word[:n], size=size) <= width * 0.95)
            lines.append(word[:kept])
            word = word[kept:]
        line = word
    return [*lines, line] if line else lines


def balance(words: str, width: float, *, size: float = SIZE) -> list[str]:
    """Return bold lines of about one length: no last line of a single word."""
    n_lines = len(wrap(words, width, size=size, bold=True))
    narrower = width
    while narrower > width / 2 and len(wrap(words, narrower - 0.1, size=size, bold=True)) == n_lines:
        narrower -= 0.1
    return wrap(words, narrower, size=size, bold=True)
