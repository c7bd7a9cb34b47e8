"""Leakage as predictor of what a turn brings, model (1): J2 (definitions, sections 9 and 10)."""

from pytest_tutoreval.claims.rule import decide, unmet
from pytest_tutoreval.errors import DegenerateData, NotCertified, NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, ModelFrame, model_frame
from pytest_tutoreval.records.claim import CouplingClaim, Leg
from pytest_tutoreval.records.verdict import Component, Verdict

__all__ = ["decide_coupling"]


def decide_coupling(claim: CouplingClaim, measures: CorpusMeasures, base: str, judge: str | None) -> Verdict:
    """Return the verdict of a coupling claim: every leg significant with its registered sign.

    Raises
    ------
    NotEvaluable
        Missing data, data on which model (1) is not defined (named), or a fit that could not be certified. There is no
        fallback to another test.
    """
    legs: list[Component] = []
    notes: list[str] = []
    dropped = 0
    for leg in claim.legs:
        frame = model_frame(leg.outcome, measures, base, judge, arms=claim.arms)
        legs.append(_fit_leg(leg, frame, measures.instrument.study.inference.alpha))
        notes += frame.notes
        dropped += frame.dropped
    notes += [f"{leg.name}: significant with the sign opposite to the registered one" for leg in legs if leg.reversed]
    notes += [f"{leg.name}: the fit lies on the boundary ({_at_zero(leg)} at zero)" for leg in legs if leg.singular]
    sizes = {leg.n for leg in legs}
    holds = all(leg.holds for leg in legs)
    return Verdict(
        claim=claim.id,
        base=base,
        judge=judge,
        verdict="supported" if holds else unmet(claim.kind),
        reversed=any(leg.reversed for leg in legs),
        role=claim.role,
        status=claim.status,
        direction=", ".join(f"{leg.outcome} {leg.sign}" for leg in claim.legs),
        n=sizes.pop() if len(sizes) == 1 else None,
        n_dropped=dropped,
        components=tuple(legs),
        notes=tuple(notes),
    )


def _fit_leg(leg: Leg, frame: ModelFrame, alpha: float) -> Component:
    from pytest_tutoreval.inference import fit_crossed

    try:
        fit = fit_crossed(
            frame.outcome,
            {"leakage": frame.leakage},
            {"replicate": frame.replicate, "problem": frame.problem},
        )
    except DegenerateData as exc:
        raise NotEvaluable(f"{leg.outcome}: {exc.kind}: {exc}") from exc
    except NotCertified as exc:
        raise NotEvaluable(f"{leg.outcome}: {exc}") from exc
    slope = fit.coefficients["leakage"]
    outcome = decide(slope.estimate, slope.p_value, sign=1 if leg.sign == "positive" else -1, alpha=alpha)
    return Component(
        name=leg.outcome,
        direction=leg.sign,
        holds=outcome.holds,
        reversed=outcome.reversed,
        estimate=slope.estimate,
        ci_low=slope.ci_low,
        ci_high=slope.ci_high,
        p_value=slope.p_value,
        se=slope.se,
        se_observed=slope.se_observed,
        log_likelihood=fit.log_likelihood,
        variance_replicate=fit.variances["replicate"],
        variance_problem=fit.variances["problem"],
        variance_residual=fit.residual_variance,
        singular=fit.singular,
        n=len(frame.outcome),
        n_dropped=frame.dropped,
    )


def _at_zero(leg: Component) -> str:
    zero = [
        name
        for name, variance in (("replicate", leg.variance_replicate), ("problem", leg.variance_problem))
        if variance is not None and leg.variance_residual and variance < 1e-8 * leg.variance_residual
    ]
    return " and ".join(zero) + (" variances" if len(zero) > 1 else " variance")
