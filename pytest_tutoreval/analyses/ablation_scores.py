"""Replicate-averaged measures of every policy, and how far the policies lie apart (definitions, section 14)."""

import math

from pytest_tutoreval.analyses.ablation_contrasts import MEASURES
from pytest_tutoreval.analyses.ablation_corpus import Ablation, read_ablation
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.routes import route_parts
from pytest_tutoreval.analyses.subject import Replicates
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["ablation_scores"]


def ablation_scores(given: AnalysisInput) -> list[AnalysisRow]:
    """Return each policy's mean over replicates, the span of each measure, leakage shares and routes."""
    ablation = read_ablation(given)
    rows: list[AnalysisRow] = []
    for measure in (*MEASURES, "next_turn_independence"):
        subject = ablation.subject("ablation_scores", measure)
        try:
            values = _next_turn(ablation) if measure == "next_turn_independence" else ablation.sessions(measure)
        except NotEvaluable as exc:
            rows.append(subject.undecided(measure, exc, notes=ablation.notes))
            continue
        means = [subject.mean_row(f"{measure}.{policy}", values[policy]) for policy in ablation.policies]
        rows += [*means, _span(ablation, measure, means)]
    rows += [_leakage_share(ablation, policy) for policy in ablation.policies]
    rows += [_routes(ablation, policy) for policy in ablation.policies if policy.startswith("ped")]
    return rows


def _next_turn(ablation: Ablation) -> dict[str, Replicates]:
    """Return the mean next-turn independence of a session's turns, by policy and replicate."""
    found: dict[str, Replicates] = {}
    for policy, cell in ablation.cells.items():
        sessions: dict[int, float | None] = {}
        for replicate, turns in cell.turns.items():
            flags = [turn.next_turn_independence for turn in turns if turn.next_turn_independence is not None]
            sessions[replicate] = sum(flags) / len(flags) if flags else None
        found[policy] = sessions
    return found


def _span(ablation: Ablation, measure: str, means: list[AnalysisRow]) -> AnalysisRow:
    """Return the band a measure's policy means lie in: its width, its ends and who is there."""
    known = {
        policy: row.estimate
        for policy, row in zip(ablation.policies, means, strict=True)
        if row.estimate is not None and math.isfinite(row.estimate)
    }
    subject = ablation.subject("ablation_scores", measure)
    if not known:
        return subject.undecided(f"{measure}.span", "no policy has a mean", notes=ablation.notes)
    lowest, highest = min(known, key=lambda name: known[name]), max(known, key=lambda name: known[name])
    return subject.row(
        f"{measure}.span",
        estimate=known[highest] - known[lowest],
        n=len(known),
        components=(
            AnalysisPart(name="min", estimate=known[lowest]),
            AnalysisPart(name="max", estimate=known[highest]),
        ),
        notes=(f"lowest {lowest}, highest {highest}", *ablation.notes),
    )


def _leakage_share(ablation: Ablation, policy: str) -> AnalysisRow:
    """Return the share of a policy's in-window turns that leak, pooled."""
    flags = [turn.leaky for turns in ablation.cells[policy].turns.values() for turn in turns]
    return ablation.subject("ablation_scores", "leakage").row(
        f"leaky_share.{policy}",
        estimate=sum(flags) / len(flags) if flags else None,
        n=len(flags),
        components=(
            AnalysisPart(name="leaky", n=sum(flags)),
            AnalysisPart(name="non_leaky", n=len(flags) - sum(flags)),
        ),
        notes=("pooled over in-window turns; the mean of session fractions is leakage." + policy,),
    )


def _routes(ablation: Ablation, policy: str) -> AnalysisRow:
    """Return the routes the router chose; a deletion lets another node answer, the route stays."""
    n, parts = route_parts(ablation.cells[policy])
    return ablation.subject("ablation_scores", "leakage").row(
        f"routes.{policy}", n=n, components=parts, notes=("the route chosen, not the node that answered",)
    )
