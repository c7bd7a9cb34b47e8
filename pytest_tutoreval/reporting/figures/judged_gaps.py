"""Figure 2a: the judged gap of each base and judge under each rubric, as a forest."""

from pytest_tutoreval.reporting.figures.rows import Mark, Row, draw_rows, label_room, limits, rows_height, short
from pytest_tutoreval.reporting.figures.style import MARKS, Drawing, Page, Reasons
from pytest_tutoreval.reporting.numbers import p_value, signed
from pytest_tutoreval.reporting.tables_source import Missing, StudyResults

__all__ = ["draw_judged_gaps"]

_COLUMNS = (("\N{GREEK CAPITAL LETTER DELTA}", 0.42), ("p", 0.42))
_BETWEEN = 0.06
_AXIS = (
    "\N{GREEK CAPITAL LETTER DELTA} in rating points (\N{LEFTWARDS ARROW} ped higher, conv higher \N{RIGHTWARDS ARROW})"
)


def draw_judged_gaps(results: StudyResults) -> Drawing:
    """Return Figure 2a, a panel a rubric. Each has its own scale, or the smaller gaps' intervals could not be seen."""
    reasons = Reasons()
    said: list[str] = []
    panels = {rubric: _rows(results, rubric, reasons, said) for rubric in results.study.rubrics}
    rows = [row for panel in panels.values() for row in panel]
    alpha = f"{results.study.inference.alpha:g}".removeprefix("0")
    page = Page(
        "2a",
        "Judged gaps, conv \N{MINUS SIGN} ped, by base and judge under each rubric",
        sum(map(rows_height, panels.values())) + _BETWEEN * (len(panels) - 1),
        results.simulated,
        [
            f"Mean over replicates with 95 % bootstrap interval. Hollow and faded: p not below {alpha}. The panels' "
            "scales differ.",
            *reasons.lines(),
        ],
    )
    top = page.height
    for rubric, panel in panels.items():
        draw_rows(
            page,
            panel,
            top=top,
            span=limits(panel, 0.0),
            columns=_COLUMNS,
            label_width=label_room(rows),
            axis=_AXIS,
            title=rubric,
        )
        top -= rows_height(panel) + _BETWEEN
    return page.finish(f"Forest plot of conv minus ped. {' '.join(said)}")


def _rows(results: StudyResults, rubric: str, reasons: Reasons, said: list[str]) -> list[Row]:
    rows = []
    for base in results.bases:
        rows.append(Row(results.base_label(base), heading=True))
        for at, judge in enumerate(results.judges):
            label = results.judge_label(judge)
            gap = results.gap(rubric, base, judge)
            where = f"{rubric}, {results.base_label(base)}, judge {label}:"
            if isinstance(gap, Missing) or gap.estimate is None:
                reason = gap.reason if isinstance(gap, Missing) else "not defined"
                rows.append(Row(short(label), numbers=(reasons.dash(reason),)))
                said.append(f"{where} not evaluable.")
                continue
            colour, shape = MARKS[at % len(MARKS)]
            weak = gap.p_value is None or not gap.p_value < results.study.inference.alpha
            mark = Mark(gap.estimate, gap.ci_low, gap.ci_high, colour, shape, weak)
            rows.append(Row(short(label), (mark,), (signed(gap.estimate), p_value(gap.p_value))))
            interval = f"interval {signed(gap.ci_low)} to {signed(gap.ci_high)}"
            said.append(f"{where} {signed(gap.estimate)}, {interval}, p {p_value(gap.p_value)}.")
    return rows
