"""Paired slopes: every replicate's conv and ped session joined by a line, a panel a base, a row a measure.

Drawn from the measures alone and without matplotlib, so that every run can afford them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from markupsafe import Markup, escape

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, CorpusMeasures, complete_arms, complete_scores
from pytest_tutoreval.reporting.html.forest import Interval, Scale, scale_around
from pytest_tutoreval.reporting.html.shown import level
from pytest_tutoreval.reporting.plain import visible

__all__ = ["Panel", "SlopeFigure", "corpus_slopes", "draw_panel"]

_WIDTH, _HEIGHT = 196, 168
_TOP, _BOTTOM, _LEFT, _RIGHT = 12, 140, 62, 148  # of the lines: conv stands at the left, ped at the right
_DETECTED = ("leakage", "independence")

Values = Mapping[int, float | None]


@dataclass(frozen=True)
class Panel:
    """A base's pairs: the drawing, or the reason there is none, and the pairs an undefined value leaves out."""

    base: str
    drawing: Markup | None
    said: str


@dataclass(frozen=True)
class SlopeFigure:
    """A measure, and the judge it is by where it has one, for every base on one scale."""

    measure: str
    judge: str | None
    panels: tuple[Panel, ...]


def corpus_slopes(measures: CorpusMeasures) -> list[SlopeFigure]:
    """Return the figures of leakage, independence and, a judge each, helpfulness and pedagogy."""
    judges, rubrics = measures.corpus.manifest.judges, measures.instrument.study.rubrics
    wanted = [*((name, None) for name in _DETECTED), *((rubric, judge) for rubric in rubrics for judge in judges)]
    return [_figure(measures, name, judge) for name, judge in wanted]


def _figure(measures: CorpusMeasures, measure: str, judge: str | None) -> SlopeFigure:
    found: dict[str, tuple[Values, Values] | str] = {}
    for base in measures.corpus.manifest.bases:
        try:
            conv, ped = _arms(measures, base, measure, judge)
            found[base] = (conv, ped)
        except NotEvaluable as exc:
            found[base] = str(exc)
    drawable = [pair for arms in found.values() if not isinstance(arms, str) for pair in _pairs(*arms)]
    scale = scale_around([Interval(value) for pair in drawable for value in pair], also=())
    who = f"{measure} by {judge}" if judge else measure
    return SlopeFigure(measure, judge, tuple(_panel(base, who, arms, scale) for base, arms in found.items()))


def _arms(measures: CorpusMeasures, base: str, measure: str, judge: str | None) -> Iterator[Values]:
    """Yield both arms' session values by replicate, None where a session has none. Raises as a claim would."""
    cells = complete_arms(measures, base)
    if judge is not None:
        yield from (scores.sessions for scores in complete_scores(measures, base, judge, measure).values())
        return
    for arm in ARMS:
        yield {number: getattr(row, measure) for number, row in cells[arm].sessions.items()}


def _pairs(conv: Values, ped: Values) -> Iterator[tuple[float, float]]:
    """Yield both values of each replicate that has both, in order of replicates."""
    for number in sorted(conv.keys() & ped.keys()):
        left, right = conv[number], ped[number]
        if left is not None and right is not None:
            yield left, right


def _panel(base: str, who: str, arms: tuple[Values, Values] | str, scale: Scale) -> Panel:
    if isinstance(arms, str):
        return Panel(base, None, arms)
    pairs = list(_pairs(*arms))
    left_out = len(arms[0].keys() | arms[1].keys()) - len(pairs)
    if not pairs:
        return Panel(base, None, "no replicate has a value in both arms")
    said = f"{len(pairs)} pairs" + (f", {left_out} without a value in both arms" if left_out else "")
    return Panel(base, draw_panel(pairs, scale, title=f"{who}, {base}"), said)


def draw_panel(pairs: Sequence[tuple[float, float]], scale: Scale, *, title: str) -> Markup:
    """Return a panel: a line a pair, conv at the left and ped at the right, and the two means."""
    means = [fsum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    parts = [*_axes(scale)]
    parts += [_slope(pair, scale, "pair") for pair in pairs]
    parts.append(_slope(means, scale, "mean"))
    parts += [
        f'<circle class="mean-point" cx="{x}" cy="{_y(mean, scale)}" r="3.5"/>'
        for x, mean in zip((_LEFT, _RIGHT), means, strict=True)
    ]
    parts.append(f'<text class="value" x="{_RIGHT + 9}" y="{_y(means[1], scale, 4)}">{level(means[1])}</text>')
    parts.append(
        f'<text class="value" x="{_LEFT - 9}" y="{_y(means[0], scale, 4)}" text-anchor="end">{level(means[0])}</text>'
    )
    parts += [
        f'<text class="arm" x="{x}" y="{_BOTTOM + 20}" text-anchor="middle">{arm}</text>'
        for x, arm in zip((_LEFT, _RIGHT), ARMS, strict=True)
    ]
    falling = sum(left > right for left, right in pairs)
    described = (
        f"{len(pairs)} replicates; mean {level(means[0])} under conv, {level(means[1])} under ped; "
        f"conv is the higher one in {falling}"
    )
    return Markup(
        f'<svg class="slopes" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"<title>{escape(visible(title))}</title><desc>{escape(described)}</desc>{''.join(parts)}</svg>"
    )


def _axes(scale: Scale) -> Iterable[str]:
    for x in (_LEFT, _RIGHT):
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_BOTTOM}"/>'
    for end in (scale.low, scale.high):
        yield f'<text class="tick" x="2" y="{_y(end, scale, 4)}">{_tick(end)}</text>'


def _tick(value: float) -> str:
    """Return an end of the scale as short as it can be said."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _slope(pair: Sequence[float], scale: Scale, kind: str) -> str:
    left, right = pair
    return f'<line class="{kind}" x1="{_LEFT}" x2="{_RIGHT}" y1="{_y(left, scale)}" y2="{_y(right, scale)}"/>'


def _y(value: float, scale: Scale, down: float = 0.0) -> str:
    """Return how far down a value stands."""
    return f"{_BOTTOM - (_BOTTOM - _TOP) * scale.share(value) + down:.1f}"
