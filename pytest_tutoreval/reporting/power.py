"""The document of a study plan as text, Markdown and a picture."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import escape

from pytest_tutoreval.reporting.numbers import p_value

__all__ = ["render_plan_markdown", "render_plan_svg", "render_plan_text"]

Document = Mapping[str, Any]

_SIMULATED = "SIMULATED PILOT: scripted agents played every part, so this power is that of a made-up tutor."
_HEADINGS = (
    "planned",
    "base",
    "judge",
    "replicates",
    "problems",
    "ratings",
    "power",
    "+-",
    "p floor",
    "dollars",
    "hours",
)


def _cells(row: Document) -> tuple[str, ...]:
    return (
        row["planned"],
        row["base"],
        row["judge"] or "-",
        str(row["replicates"]),
        "-" if row["problems"] is None else str(row["problems"]),
        "-" if row["repetitions"] is None else str(row["repetitions"]),
        f"{row['power']:.3f}",
        f"{row['error']:.3f}",
        p_value(row["p_floor"]),
        "unknown" if row["dollars"] is None else f"{row['dollars']:.2f}",
        "-" if row["hours"] is None else f"{row['hours']:.1f}",
    )


def _remarks(document: Document, *, level: float = 0.05) -> Iterator[str]:
    """Yield what a reader of the numbers has to know, each thing once."""
    yield (
        f"power: share of {document['simulations']} simulated studies (seed {document['seed']}) with the wanted "
        "outcome; +-: its Monte Carlo error (95 % Wilson)"
    )
    yield "problems and ratings: '-' is as in the source; dollars and hours are of the whole study of that size"
    floors = {row["replicates"]: row["p_floor"] for row in document["rows"] if row["p_floor"] is not None}
    for n, floor in sorted(floors.items()):
        if floor >= level:
            yield f"{n} pairs cannot reach p < {level:g}, whatever the data: the smallest p is {p_value(floor)}"
    for row in document["rows"]:
        if row["reason"]:
            undecided = row["outcomes"].get("not_evaluable", 0)
            yield f"{row['planned']} {row['base']}, n {row['replicates']}: {undecided} not evaluable: {row['reason']}"
    yield from document["notes"]
    yield from (f"not priced: {reason}" for reason in document["unpriced"])


def _registered(document: Document) -> Iterator[str]:
    for what, n in document["registered_n"].items():
        if n is None:
            yield f"{what}: no size planned here reaches {document['target']:.0%}"
        else:
            yield f"{what}: replicates = {n} is the smallest n planned here that reaches {document['target']:.0%}"


def render_plan_text(document: Document) -> str:
    """Return the plan as plain text, a line a row."""
    rows = [_HEADINGS, *map(_cells, document["rows"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"planned from {document['source']}"]
    lines += [_SIMULATED] if document["simulated"] else []
    lines.append("")
    for row in rows:
        cells = [
            cell.ljust(width) if at < 3 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, "", *_registered(document), "", *_remarks(document)]) + "\n"


def render_plan_markdown(document: Document) -> str:
    """Return the plan as Markdown."""
    lines = ["# Study plan", "", f"Planned from {document['source']}."]
    lines += ["", f"**{_SIMULATED}**"] if document["simulated"] else []
    lines += ["", f"| {' | '.join(_HEADINGS)} |", "| --- | --- | --- |" + " ---: |" * (len(_HEADINGS) - 3)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in _cells(row))} |" for row in document["rows"]]
    lines += ["", *(f"- {line}" for line in (*_registered(document), *_remarks(document)))]
    return "\n".join(lines) + "\n"


# the picture: power over replicates, a line a claim or guard

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 220, 24, 48
_COLOURS = ("#1b6ca8", "#b3541e", "#2f7d4f", "#7d3c98", "#8a6d00", "#555555", "#a8325e", "#00787a")
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


def render_plan_svg(document: Document) -> str:
    """Return the plan as an SVG that stands alone: power over replicates with its error, the target as a rule."""
    lines: dict[str, list[Document]] = {}
    for row in document["rows"]:
        lines.setdefault(_line_name(row), []).append(row)
    numbers = sorted({row["replicates"] for row in document["rows"]})
    low = int(numbers[0])
    high = max(int(numbers[-1]), low + 1)

    def x(n: int) -> float:
        return _LEFT + (n - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(share: float) -> float:
        return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="#333">',
        f"<title>Power by number of replicates, planned from {escape(document['source'])}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
    ]
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(f'<path d="M{_LEFT} {y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.1f}</text>')
    target = y(document["target"])
    parts.append(f'<path d="M{_LEFT} {target:.1f}H{_WIDTH - _RIGHT}" stroke="#a33" stroke-dasharray="4 3"/>')
    for n in numbers:
        parts.append(f'<text x="{x(n):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{n}</text>')
    middle = _LEFT + (_WIDTH - _LEFT - _RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 10}" text-anchor="middle">replicates</text>')
    for at, (name, rows) in enumerate(lines.items()):
        parts += _line(name, rows, at, x, y)
    if document["simulated"]:
        parts.append(f'<text x="{_LEFT}" y="14" fill="#a33" font-weight="bold">SIMULATED PILOT</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _line(
    name: str, rows: Sequence[Document], at: int, x: Callable[[int], float], y: Callable[[float], float]
) -> Iterator[str]:
    colour, dash = _COLOURS[at % len(_COLOURS)], _DASHES[at // len(_COLOURS) % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    points = " ".join(f"{x(row['replicates']):.1f},{y(row['power']):.1f}" for row in rows)
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    for row in rows:
        centre = x(row["replicates"])
        ends = (max(0.0, row["power"] - row["error"]), min(1.0, row["power"] + row["error"]))
        yield f'<path d="M{centre:.1f} {y(ends[0]):.1f}V{y(ends[1]):.1f}" stroke="{colour}"/>'
        yield f'<circle cx="{centre:.1f}" cy="{y(row["power"]):.1f}" r="3" fill="{colour}"/>'
    beside = _TOP + 12 + at * 18
    yield f'<path d="M{_WIDTH - _RIGHT + 12} {beside - 4}h22" stroke="{colour}" stroke-width="2"{dashed}/>'
    yield f'<text x="{_WIDTH - _RIGHT + 40}" y="{beside}">{escape(name)}</text>'


def _line_name(row: Document) -> str:
    parts = [row["planned"], row["base"], row["judge"]]
    parts += [f"{row['problems']} problems"] if row["problems"] is not None else []
    parts += [f"{row['repetitions']} ratings"] if row["repetitions"] is not None else []
    return " ".join(filter(None, parts))
