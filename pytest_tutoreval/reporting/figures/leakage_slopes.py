"""Figure 3a: the leakage coefficient on next-turn independence, pooled and with the policy held fixed."""

from pytest_tutoreval.reporting.figures.rows import Mark, Row, draw_rows, label_room, limits, rows_height
from pytest_tutoreval.reporting.figures.style import BLUE, VERMILLION, Drawing, Page, Reasons
from pytest_tutoreval.reporting.numbers import p_value, signed
from pytest_tutoreval.reporting.tables_source import Missing, StudyResults

__all__ = ["draw_leakage_slopes"]

_COLUMNS = (("\N{GREEK SMALL LETTER BETA}", 0.44), ("p", 0.46))
_MODELS = (("model (1), pooled", False, BLUE, "o"), ("model (2), adjusted", True, VERMILLION, "s"))


def draw_leakage_slopes(results: StudyResults) -> Drawing:
    """Return Figure 3a."""
    reasons = Reasons()
    said: list[str] = []
    rows: list[Row] = []
    alpha = results.study.inference.alpha
    for base in results.bases:
        label = results.base_label(base)
        rows.append(Row(label, heading=True))
        for name, adjusted, colour, shape in _MODELS:
            fit = results.independence_fit(base, adjusted=adjusted)
            if isinstance(fit, Missing):
                rows.append(Row(name, numbers=(reasons.dash(fit.reason),)))
                said.append(f"{label}, {name}: not evaluable.")
                continue
            slope = fit.coefficients["leakage"]
            mark = Mark(slope.estimate, slope.ci_low, slope.ci_high, colour, shape, not slope.p_value < alpha)
            rows.append(Row(name, (mark,), (signed(slope.estimate), p_value(slope.p_value))))
            said.append(
                f"{label}, {name}: {signed(slope.estimate)}, interval {signed(slope.ci_low)} to "
                f"{signed(slope.ci_high)}, p {p_value(slope.p_value)}, {fit.n} turns."
            )
    level = f"{alpha:g}".removeprefix("0")
    page = Page(
        "3a",
        "Leakage and next-turn independence: pooled and policy-adjusted coefficients",
        rows_height(rows),
        results.simulated,
        [
            "Risk differences with normal 95 % intervals (expected-information standard errors). Model (1) is "
            f"registered, (2) post hoc. Hollow and faded: p not below {level}. Observational; part of any drop is "
            "mechanical.",
            *reasons.lines(),
        ],
    )
    draw_rows(
        page,
        rows,
        top=page.height,
        span=limits(rows, 0.0),
        columns=_COLUMNS,
        label_width=label_room(rows),
        axis="change in P(next student turn attempts a step)",
    )
    return page.finish(f"Coefficient plot. {' '.join(said)}")
