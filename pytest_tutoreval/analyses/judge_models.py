"""Model (2) on what two judges make of the same turns, and the Holm families over bases (definitions, section 13)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from pytest_tutoreval.analyses.judge_pairs import AlignedTurns, JudgePair, Part, align_turns, gather_rows, judge_pairs
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import DegenerateData, NotCertified, NotEvaluable, NotInCorpus
from pytest_tutoreval.measures import CorpusMeasures, model_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.study import Family

if TYPE_CHECKING:
    from pytest_tutoreval.inference import Coefficient, CrossedFit

__all__ = [
    "Member",
    "added_families",
    "family_members",
    "judge_difference",
    "registered_families",
    "second_judge_slopes",
]

Term = Literal["adjusted_slope", "judge_by_leakage", "judge_by_policy"]

# Term of a family -> column of model (2).
_COLUMN: dict[Term, str] = {"adjusted_slope": "leakage", "judge_by_leakage": "leakage", "judge_by_policy": "policy"}

_ERRORS = "se is from the expected information (as lme4), se_observed from the observed Hessian (as the study printed)"


# per base


def judge_difference(given: AnalysisInput) -> list[AnalysisRow]:
    """Return model (2) on D = second - first, raw and standardised, for each pair of judges and rubric."""
    base = _base(given)
    parts: list[Part] = []
    for pair in judge_pairs(given):
        for rubric in given.measures.instrument.study.rubrics:
            for standardised in (False, True):
                measure = f"{rubric}.standardised" if standardised else rubric
                blank = _row("judge_difference", base, pair.name, measure, notes=pair.notes)
                fill = partial(_difference, blank, given.measures, pair, rubric, standardised=standardised)
                parts.append((blank, fill))
    return gather_rows(parts)


def second_judge_slopes(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the policy-adjusted leakage slope, model (2), of each second judge's own scores."""
    base = _base(given)
    study = given.measures.instrument.study
    rubrics = dict.fromkeys(family.rubric for family in study.families if family.term == "adjusted_slope")
    parts: list[Part] = []
    for judge in dict.fromkeys(pair.second for pair in judge_pairs(given)):
        for rubric in rubrics or study.rubrics:
            blank = _row("second_judge_slopes", base, judge, rubric)
            parts.append((blank, partial(_slope, blank, given.measures, rubric)))
    return gather_rows(parts)


def _difference(
    blank: AnalysisRow, measures: CorpusMeasures, pair: JudgePair, rubric: str, *, standardised: bool
) -> list[AnalysisRow]:
    assert blank.base is not None
    aligned = align_turns(measures, blank.base, pair, rubric)
    fit = _fit_difference(aligned, pair, standardised=standardised)
    parts = _described(fit, {"leakage": "judge_by_leakage", "policy": "judge_by_policy"})
    notes = (*blank.notes, *_scale_notes(standardised), *aligned.notes, *_fit_notes(fit))
    changes = {"components": parts, "n": fit.n, "n_dropped": aligned.dropped, "notes": notes}
    return [blank.model_copy(update=changes)]


def _slope(blank: AnalysisRow, measures: CorpusMeasures, rubric: str) -> list[AnalysisRow]:
    assert blank.base is not None
    assert blank.judge is not None
    fit, dropped, notes = _fit_scores(measures, blank.base, blank.judge, rubric)
    parts = _described(fit, {"leakage": "leakage", "policy": "policy"})
    changes = {"components": parts, "n": fit.n, "n_dropped": dropped, "notes": (*notes, *_fit_notes(fit))}
    return [blank.model_copy(update=changes)]


# families


@dataclass(frozen=True)
class Member:
    """A member of a Holm family: its base, and its term's test."""

    base: str
    test: "Coefficient"
    n: int
    n_dropped: int
    notes: tuple[str, ...]


def registered_families(term: Term) -> Callable[[AnalysisInput], list[AnalysisRow]]:
    """Return the analysis of the families of one term that the study registered."""

    def run(given: AnalysisInput) -> list[AnalysisRow]:
        families = [family for family in given.measures.instrument.study.families if family.registered]
        chosen = [family for family in families if family.term == term]
        if not chosen:
            raise NotInCorpus(f"the study registers no Holm family of {term}")
        return [row for family in chosen for row in _family_rows(f"holm_{term}", family, given)]

    return run


def added_families(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the families the user's study file adds. Raises NotInCorpus where it adds none."""
    families = [family for family in given.measures.instrument.study.families if not family.registered]
    if not families:
        raise NotInCorpus("no study file adds a Holm family")
    return [row for family in families for row in _family_rows("holm_added", family, given)]


def _family_rows(analysis: str, family: Family, given: AnalysisInput) -> list[AnalysisRow]:
    from pytest_tutoreval.inference import holm

    members = family_members(family, given, family.bases)
    adjusted = holm([member.test.p_value for member in members])
    observed = _observed_holm(members)
    origin = "registered by the study" if family.registered else "added by the user's study file, not registered"
    size = f"Holm family of {len(members)} ({', '.join(family.bases)}), {origin}"
    about = _about(family)
    return [
        _row(
            analysis,
            member.base,
            "-".join(family.judges),
            f"{family.rubric}.{family.term}",
            estimate=member.test.estimate,
            ci_low=member.test.ci_low,
            ci_high=member.test.ci_high,
            p_value=member.test.p_value,
            p_holm=p_holm,
            se=member.test.se,
            n=member.n,
            n_dropped=member.n_dropped,
            components=(AnalysisPart(name="family_size", n=len(members)), *_observed_part(member, p_observed)),
            notes=(size, *about, *member.notes),
        )
        for member, p_holm, p_observed in zip(members, adjusted, observed, strict=True)
    ]


def family_members(family: Family, given: AnalysisInput, bases: Sequence[str]) -> list[Member]:
    """Return a family's members of the given bases, in their order.

    Raises
    ------
    NotEvaluable
        A member cannot be tested; every such member is named with its reason. The family is never made smaller.
    """
    if not set(bases) & set(given.bases):
        raise NotInCorpus(f"the corpus is of other bases than the Holm family's ({', '.join(family.bases)})")
    if family.judges[0] not in given.judges:
        raise NotInCorpus(f"the corpus holds no ratings by {family.judges[0]}, the Holm family's second judge")
    members: list[Member] = []
    missing: list[str] = []
    for base in bases:
        try:
            members.append(_member(family, given, base))
        except NotEvaluable as exc:
            missing.append(f"{base}: {exc}")
    if missing:
        raise NotEvaluable(
            f"Holm family {family.term} of {family.rubric} by {'-'.join(family.judges)} over "
            f"{', '.join(family.bases)} lacks {len(missing)} of {len(family.bases)} members and is never made smaller: "
            + "; ".join(missing)
        )
    return members


def _member(family: Family, given: AnalysisInput, base: str) -> Member:
    second, first = family.judges
    if base not in given.bases:
        raise NotEvaluable("not in the corpus")
    needed = (second,) if family.term == "adjusted_slope" else (second, first)
    if absent := [judge for judge in needed if judge not in given.judges]:
        raise NotEvaluable(f"no ratings by {' and '.join(absent)} in the corpus")
    if family.term == "adjusted_slope":
        fit, dropped, notes = _fit_scores(given.measures, base, second, family.rubric)
    else:
        pair = JudgePair(second, first, declared=True)
        aligned = align_turns(given.measures, base, pair, family.rubric)
        fit, dropped, notes = _fit_difference(aligned, pair, standardised=False), aligned.dropped, aligned.notes
    return Member(base, fit.coefficients[_COLUMN[family.term]], fit.n, dropped, (*notes, *_fit_notes(fit)))


def _about(family: Family) -> tuple[str, ...]:
    second, first = family.judges
    if family.term == "adjusted_slope":
        return (f"leakage slope of {second}'s own scores, policy held fixed",)
    return (f"on D = {second} - {first}",)


def _observed_part(member: Member, p_holm: float | None) -> tuple[AnalysisPart, ...]:
    """Return the same test with the observed-Hessian error, which the study printed."""
    se = member.test.se_observed
    if se is None:
        return ()
    p_value = _wald_p(member.test.estimate, se)
    return (
        AnalysisPart(
            name="observed_hessian",
            estimate=member.test.estimate,
            p_value=p_value,
            p_holm=p_holm,
            se=se,
            se_observed=se,
        ),
    )


def _observed_holm(members: Sequence[Member]) -> Sequence[float | None]:
    from pytest_tutoreval.inference import holm

    errors = [member.test.se_observed for member in members]
    if any(error is None for error in errors):
        return [None] * len(members)
    return holm([_wald_p(m.test.estimate, e) for m, e in zip(members, errors, strict=True) if e is not None])


def _wald_p(estimate: float, se: float) -> float:
    return math.erfc(abs(estimate / se) / math.sqrt(2.0))


# fits


def _fit_scores(
    measures: CorpusMeasures, base: str, judge: str, rubric: str
) -> tuple["CrossedFit", int, tuple[str, ...]]:
    """Return model (2) of a judge's scores, turns dropped, and notes."""
    frame = model_frame(rubric, measures, base, judge)
    fit = _fit(frame.outcome, frame.leakage, frame.policy, frame.replicate, frame.problem)
    return fit, frame.dropped, frame.notes


def _fit_difference(aligned: AlignedTurns, pair: JudgePair, *, standardised: bool) -> "CrossedFit":
    """Return model (2) of second - first."""
    first, second = aligned.first_values, aligned.second_values
    if standardised:
        first, second = _standardised(first, pair.first), _standardised(second, pair.second)
    return _fit(
        [later - earlier for earlier, later in zip(first, second, strict=True)],
        [float(turn.leaky) for turn in aligned.turns],
        [float(turn.id.condition == "ped") for turn in aligned.turns],
        [f"r{turn.id.replicate}" for turn in aligned.turns],
        [turn.id.problem for turn in aligned.turns],
    )


def _fit(
    outcome: Sequence[float],
    leakage: Sequence[float],
    policy: Sequence[float],
    replicate: Sequence[str],
    problem: Sequence[str],
) -> "CrossedFit":
    from pytest_tutoreval.inference import fit_crossed

    try:
        return fit_crossed(
            outcome, {"leakage": leakage, "policy": policy}, {"replicate": replicate, "problem": problem}
        )
    except DegenerateData as exc:
        raise NotEvaluable(f"{exc.kind}: {exc}") from exc
    except NotCertified as exc:
        raise NotEvaluable(str(exc)) from exc


def _standardised(scores: Sequence[float], judge: str) -> list[float]:
    """Return z-scores with the population standard deviation, within base, judge and rubric."""
    import numpy as np

    values = np.asarray(scores, dtype=float)
    if values.min() == values.max():
        raise NotEvaluable(f"{judge} gives {values[0]:g} to all {values.size} turns, so there is no z-score")
    standard: list[float] = ((values - values.mean()) / values.std()).tolist()
    return standard


def _scale_notes(standardised: bool) -> tuple[str, ...]:
    if not standardised:
        return ()
    return ("each judge's scores z-scored within base (population SD, turns with both scores) before the difference",)


def _fit_notes(fit: "CrossedFit") -> tuple[str, ...]:
    zero = [name for name, theta in fit.theta.items() if theta < 1e-4]
    boundary = f"the fit lies on the boundary: {' and '.join(zero)} variance at zero"
    return (_ERRORS, boundary) if fit.singular else (_ERRORS,)


def _described(fit: "CrossedFit", names: dict[str, str]) -> tuple[AnalysisPart, ...]:
    """Return the named coefficients, then variances and the log-likelihood at the maximum."""
    coefficients = [
        AnalysisPart(
            name=name,
            estimate=test.estimate,
            ci_low=test.ci_low,
            ci_high=test.ci_high,
            p_value=test.p_value,
            se=test.se,
            se_observed=test.se_observed,
            n=fit.n,
        )
        for column, name in names.items()
        for test in (fit.coefficients[column],)
    ]
    variances = [AnalysisPart(name=f"variance_{group}", estimate=value) for group, value in fit.variances.items()]
    return (
        *coefficients,
        *variances,
        AnalysisPart(name="variance_residual", estimate=fit.residual_variance),
        AnalysisPart(name="log_likelihood", estimate=fit.log_likelihood),
    )


def _row(analysis: str, base: str, judge: str, measure: str, **numbers: object) -> AnalysisRow:
    fields = {"analysis": analysis, "base": base, "judge": judge, "measure": measure, "role": "audit", **numbers}
    return AnalysisRow.model_validate(fields)


def _base(given: AnalysisInput) -> str:
    if given.base is None:
        raise ValueError("base = None; this analysis is run once a base, so name one.")
    return given.base
