"""A session measure contrasted over replicates: P1, P2, P3 (definitions, section 9), or any two arms."""

from pytest_tutoreval.claims.cells import arms_at
from pytest_tutoreval.claims.contrast import contrast_arms, margin_notes
from pytest_tutoreval.claims.rule import unmet
from pytest_tutoreval.measures import CorpusMeasures, session_values
from pytest_tutoreval.records.claim import PairedClaim
from pytest_tutoreval.records.verdict import Verdict

__all__ = ["decide_paired"]


def decide_paired(claim: PairedClaim, measures: CorpusMeasures, base: str, judge: str | None) -> Verdict:
    """Return the verdict of a paired contrast: first arm - second arm.

    Raises
    ------
    NotEvaluable
    """
    study = measures.instrument.study
    first, second = claim.arms
    values = session_values(claim.measure, arms_at(claim.arms, base), measures, judge)
    sign = 1 if claim.direction.startswith(f"{first} > ") else -1
    contrast = contrast_arms(claim, study, values.by_arm, first, second, sign=sign)
    outcome = contrast.outcome(study.inference.alpha)
    numbers = contrast.numbers
    return Verdict(
        claim=claim.id,
        base=base,
        judge=judge,
        verdict="supported" if outcome.holds else unmet(claim.kind),
        reversed=outcome.reversed,
        role=claim.role,
        status=claim.status,
        direction=claim.direction,
        margin=claim.margin,
        estimate=numbers.value,
        ci_low=numbers.ci_low,
        ci_high=numbers.ci_high,
        p_value=numbers.p_value,
        cliffs_delta=numbers.cliffs_delta,
        n=numbers.n_pairs,
        n_dropped=numbers.n_dropped,
        notes=(
            *values.notes,
            *margin_notes(claim, claim.direction),
            *contrast.notes(claim, claim.direction, outcome),
        ),
    )
