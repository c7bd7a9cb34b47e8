"""Leaky minus non-leaky next-turn independence within replicates, policy by policy (definitions, section 14)."""

from pytest_tutoreval.analyses.ablation_corpus import read_ablation
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.two_stage import two_stage_row
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import turn_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["ablation_couplings"]

OUTCOME = "next_turn_independence"


def ablation_couplings(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the within-replicate difference of each policy, and how many are negative or have 0 in their interval.

    Each policy stands alone: nothing is pooled over policies.
    """
    ablation = read_ablation(given)
    subject = ablation.subject("ablation_couplings", OUTCOME)
    rows: list[AnalysisRow] = []
    for policy, cell in ablation.cells.items():
        frame = turn_frame(OUTCOME, (turn for turns in cell.turns.values() for turn in turns))
        try:
            rows.append(two_stage_row(subject, f"{OUTCOME}.{policy}", frame, ablation.notes))
        except NotEvaluable as exc:
            rows.append(subject.undecided(f"{OUTCOME}.{policy}", exc, notes=ablation.notes))
    known = [row for row in rows if row.estimate is not None]
    with_zero = [row for row in known if _includes_zero(row)]
    rows.append(
        subject.row(
            "couplings",
            n=len(known),
            n_dropped=len(rows) - len(known),
            components=(
                AnalysisPart(name="negative", n=sum((row.estimate or 0.0) < 0 for row in known)),
                AnalysisPart(name="interval_includes_zero", n=len(with_zero)),
            ),
            notes=(
                "0 lies in the interval of: "
                + (", ".join(row.measure.removeprefix(f"{OUTCOME}.") for row in with_zero) or "none"),
            ),
        )
    )
    return rows


def _includes_zero(row: AnalysisRow) -> bool:
    return row.ci_low is not None and row.ci_high is not None and row.ci_low <= 0 <= row.ci_high
