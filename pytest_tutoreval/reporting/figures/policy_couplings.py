"""Figure 3b: leaky minus non-leaky next-turn independence within replicates, policy by policy."""

from pytest_tutoreval.reporting.figures.rows import Mark, Row, draw_rows, label_room, limits, rows_height, short
from pytest_tutoreval.reporting.figures.style import BLUE, VERMILLION, Drawing, Page, Reasons
from pytest_tutoreval.reporting.numbers import signed
from pytest_tutoreval.reporting.tables_source import Missing, StudyResults

__all__ = ["draw_policy_couplings"]

_COLUMNS = (("difference", 0.55), ("n", 0.2))


def draw_policy_couplings(results: StudyResults) -> Drawing:
    """Return Figure 3b: the policies of the primary base that the corpus holds; none is pooled with another."""
    base = results.lead_base
    reasons = Reasons()
    said: list[str] = []
    rows = []
    for policy in results.policies(base):
        found = results.policy_coupling(policy, base)
        if isinstance(found, Missing):
            rows.append(Row(short(policy), numbers=(reasons.dash(found.reason),)))
            said.append(f"{policy}: not evaluable.")
            continue
        colour, shape = (BLUE, "o") if policy.startswith("conv") else (VERMILLION, "s")
        weak = found.ci_low <= 0 <= found.ci_high
        mark = Mark(found.value, found.ci_low, found.ci_high, colour, shape, weak)
        rows.append(Row(short(policy), (mark,), (signed(found.value), str(found.n_used))))
        said.append(
            f"{policy}: {signed(found.value)}, interval {signed(found.ci_low)} to {signed(found.ci_high)}, "
            f"{found.n_used} replicates used, {found.n_skipped} skipped."
        )
    page = Page(
        "3b",
        f"Next-turn independence after leaky minus after other turns, within replicates: {results.base_label(base)}",
        rows_height(rows),
        results.simulated,
        [
            "Mean over the n replicates with turns of both kinds, 95 % bootstrap interval. Circles: conv and its "
            "variants; squares: ped and its. Hollow and faded: the interval includes zero. Descriptive.",
            *results.ablation_notes(base),
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
        axis="difference in share of turns that attempt a step",
    )
    return page.finish(f"Dot plot of within-replicate differences. {' '.join(said)}")
