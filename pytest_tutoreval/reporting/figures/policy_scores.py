"""Figure 2b: replicate-averaged helpfulness against pedagogy, policy by policy, on one scale."""

from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.reporting.figures.rows import Mark, Row, draw_rows, label_room, limits, rows_height, short
from pytest_tutoreval.reporting.figures.style import BLUE, VERMILLION, Drawing, Page, Reasons
from pytest_tutoreval.reporting.tables_source import Missing, StudyResults

__all__ = ["draw_policy_scores"]

_LOOKS = {"helpfulness": (BLUE, "o"), "pedagogy": (VERMILLION, "s")}
_COLUMNS = (("helpf.", 0.42), ("pedag.", 0.44))


def draw_policy_scores(results: StudyResults) -> Drawing:
    """Return Figure 2b: the policies of the primary base by the primary judge that the corpus holds."""
    base, judge = results.lead_base, results.lead_judge
    reasons = Reasons()
    said: list[str] = []
    rows = []
    policies = results.policies(base)
    for policy in policies:
        marks, numbers = [], []
        for rubric, (colour, shape) in _LOOKS.items():
            mean = results.policy_score(rubric, policy, base, judge)
            if isinstance(mean, Missing) or mean.estimate is None:
                reason = mean.reason if isinstance(mean, Missing) else _undefined(mean)
                numbers.append(reasons.dash(reason))
                said.append(f"{policy}, {rubric}: not evaluable.")
                continue
            marks.append(
                Mark(
                    mean.estimate,
                    mean.ci_low,
                    mean.ci_high,
                    colour,
                    shape,
                    open=rubric == "pedagogy",
                )
            )
            numbers.append(f"{mean.estimate:.2f}")
            said.append(f"{policy}, {rubric}: {mean.estimate:.3f}, interval {mean.ci_low:.3f} to {mean.ci_high:.3f}.")
        rows.append(Row(short(policy), tuple(marks), tuple(numbers)))
    notes = [
        "Filled circles: helpfulness; open squares: pedagogy. Means over replicates of session means, "
        "with 95 % bootstrap intervals. Descriptive, in no verdict.",
        *results.ablation_notes(base),
        *reasons.lines(),
    ]
    page = Page(
        "2b",
        f"Helpfulness against pedagogy by policy: {results.base_label(base)}, rated by {results.judge_label(judge)}",
        rows_height(rows),
        results.simulated,
        notes,
    )
    draw_rows(
        page,
        rows,
        top=page.height,
        span=limits(rows, 5.0, step=0.5),
        columns=_COLUMNS,
        label_width=label_room(rows),
        axis="mean rating, 1 to 5",
        zero=None,
        joined=True,
    )
    return page.finish(f"Dot plot of mean ratings by policy. {' '.join(said)}")


def _undefined(row: AnalysisRow) -> str:
    return "; ".join(row.notes) or "not defined"
