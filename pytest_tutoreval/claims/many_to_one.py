"""Several candidates against one reference on a session measure, as one family of tests."""

from collections.abc import Sequence
from typing import assert_never

from pytest_tutoreval.claims.cells import arms_at
from pytest_tutoreval.claims.contrast import ArmContrast, contrast_arms, margin_notes
from pytest_tutoreval.claims.rule import Outcome, unmet
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, session_values
from pytest_tutoreval.records.claim import ManyToOneClaim, Multiplicity
from pytest_tutoreval.records.verdict import Component, Verdict

__all__ = ["decide_many_to_one"]


def decide_many_to_one(claim: ManyToOneClaim, measures: CorpusMeasures, base: str, judge: str | None) -> Verdict:
    """Return the verdict of a many-to-one claim, a component a candidate: candidate - reference.

    Intervals are those of each contrast alone, not adjusted for their number.

    Raises
    ------
    NotEvaluable
        Any candidate cannot be tested: the family has its registered size or the claim is not evaluable.
    """
    study = measures.instrument.study
    values = session_values(claim.measure, arms_at((*claim.candidates, claim.reference), base), measures, judge)
    sign = 1 if claim.direction.startswith("candidates") else -1
    contrasts: dict[str, ArmContrast] = {}
    for candidate in claim.candidates:
        try:
            contrasts[candidate] = contrast_arms(claim, study, values.by_arm, candidate, claim.reference, sign=sign)
        except NotEvaluable as exc:
            raise NotEvaluable(f"{candidate} against {claim.reference}: {exc}") from exc
    adjusted = _adjust([contrast.numbers.p_value for contrast in contrasts.values()], claim.multiplicity)
    parts = [
        _component(candidate, claim, contrast, p_adjusted, study.inference.alpha)
        for (candidate, contrast), p_adjusted in zip(contrasts.items(), adjusted, strict=True)
    ]
    supported = (all if claim.supported_when == "all" else any)(part.holds for part in parts)
    notes = [*values.notes, *margin_notes(claim, claim.direction)]
    for part in parts:
        outcome = Outcome(holds=part.holds, reversed=part.reversed)
        said = contrasts[part.name].notes(claim, part.direction, outcome)
        notes += [f"{part.name}: {note}" for note in said]
    sizes = {part.n for part in parts}
    return Verdict(
        claim=claim.id,
        base=base,
        judge=judge,
        verdict="supported" if supported else unmet(claim.kind),
        reversed=any(part.reversed for part in parts),
        role=claim.role,
        status=claim.status,
        direction=claim.direction,
        margin=claim.margin,
        n=sizes.pop() if len(sizes) == 1 else None,
        n_dropped=sum(part.n_dropped or 0 for part in parts),
        components=tuple(parts),
        notes=tuple(notes),
    )


def _component(
    candidate: str, claim: ManyToOneClaim, contrast: ArmContrast, p_adjusted: float, alpha: float
) -> Component:
    outcome, numbers = contrast.outcome(alpha, p_value=p_adjusted), contrast.numbers
    more, less = (candidate, claim.reference) if contrast.sign > 0 else (claim.reference, candidate)
    return Component(
        name=candidate,
        direction=f"{more} > {less}",
        holds=outcome.holds,
        reversed=outcome.reversed,
        estimate=numbers.value,
        ci_low=numbers.ci_low,
        ci_high=numbers.ci_high,
        p_value=numbers.p_value,
        p_adjusted=p_adjusted,
        cliffs_delta=numbers.cliffs_delta,
        n=numbers.n_pairs,
        n_dropped=numbers.n_dropped,
    )


def _adjust(p_values: Sequence[float], multiplicity: Multiplicity) -> list[float]:
    from pytest_tutoreval.inference import holm

    match multiplicity:
        case "holm":
            return holm(p_values)
        case "bonferroni":
            return [min(1.0, len(p_values) * p_value) for p_value in p_values]
        case "none":
            return list(p_values)
        case _:
            assert_never(multiplicity)
