"""Any claim, decided: the one way from a registered claim and a corpus to a verdict."""

from collections.abc import Mapping
from typing import assert_never

from pytest_tutoreval.claims.coupling import decide_coupling
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.claims.rule import unmet
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, is_judged
from pytest_tutoreval.records.claim import Claim, CouplingClaim, JointClaim, PairedClaim
from pytest_tutoreval.records.verdict import Component, Verdict

__all__ = ["decide_claim", "rubrics_of"]


def decide_claim(
    claim: Claim, known: Mapping[str, Claim], measures: CorpusMeasures, base: str, judge: str | None
) -> Verdict:
    """Return the verdict of a claim for one base and, where it is judge-bound, one judge.

    `known` holds the claims a joint claim may name. Nothing but the registration, the frozen study and the corpus
    enters; the same input gives the same verdict in any order.

    Raises
    ------
    NotEvaluable
    """
    match claim:
        case PairedClaim():
            return decide_paired(claim, measures, base, judge)
        case CouplingClaim():
            return decide_coupling(claim, measures, base, judge)
        case JointClaim():
            return _decide_joint(claim, known, measures, base, judge)
        case _:
            assert_never(claim)


def rubrics_of(claim: Claim, known: Mapping[str, Claim]) -> tuple[str, ...]:
    """Return the rubrics whose ratings a claim rests on: a judged measure is named for its rubric."""
    match claim:
        case PairedClaim():
            names: tuple[str, ...] = (claim.measure,)
        case CouplingClaim():
            names = tuple(leg.outcome for leg in claim.legs)
        case JointClaim():
            names = tuple(rubric for name in claim.all_of for rubric in rubrics_of(known[name], known))
        case _:
            assert_never(claim)
    return tuple(dict.fromkeys(name for name in names if is_judged(name)))


def _decide_joint(
    claim: JointClaim, known: Mapping[str, Claim], measures: CorpusMeasures, base: str, judge: str | None
) -> Verdict:
    """Return whether all members are supported; its own numbers are None."""
    members: list[Verdict] = []
    for name in claim.all_of:
        member = known[name]
        try:
            members.append(decide_claim(member, known, measures, base, judge if member.judge_bound else None))
        except NotEvaluable as exc:
            raise NotEvaluable(f"member {name} is not evaluable: {exc}") from exc
    holds = all(member.verdict == "supported" for member in members)
    return Verdict(
        claim=claim.id,
        base=base,
        judge=judge,
        verdict="supported" if holds else unmet(claim.kind),
        reversed=any(member.reversed for member in members),
        role=claim.role,
        status=claim.status,
        direction=" and ".join(f"{name} supported" for name in claim.all_of),
        components=tuple(_as_component(member) for member in members),
        notes=tuple(f"{member.claim}: {note}" for member in members for note in member.notes),
    )


def _as_component(member: Verdict) -> Component:
    shared = member.model_dump(include=set(Component.model_fields) & set(Verdict.model_fields))
    return Component(name=member.claim, holds=member.verdict == "supported", **shared)
