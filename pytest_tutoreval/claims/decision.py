"""Any claim, decided: the one way from a registered claim and a corpus to a verdict."""

from collections.abc import Mapping
from typing import assert_never

from pytest_tutoreval.claims.cells import Part, cells_of, home_of, most_registered
from pytest_tutoreval.claims.coupling import decide_coupling
from pytest_tutoreval.claims.many_to_one import decide_many_to_one
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.claims.rule import unmet
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, FirstReplicates
from pytest_tutoreval.records.claim import Claim, CouplingClaim, JointClaim, ManyToOneClaim, PairedClaim
from pytest_tutoreval.records.verdict import Component, Verdict

__all__ = ["decide_claim"]


def decide_claim(
    claim: Claim, known: Mapping[str, Claim], measures: CorpusMeasures, base: str, judge: str | None
) -> Verdict:
    """Return the verdict of a claim for one base and, where it is judge-bound, one judge.

    `known` holds the claims a joint claim may name. Nothing but the registration, the frozen study and the corpus
    enters; the same input gives the same verdict in any order. A claim whose arms all name a base is decided for its
    first arm's, whatever `base` is. A claim with a registered n of its own sees its first n replicates and no other,
    one without the study's, also where another known claim registers more of a cell.

    Raises
    ------
    NotEvaluable
    """
    base = home_of(claim, known) or base
    if isinstance(claim, JointClaim):
        return _decide_joint(claim, known, measures, base, judge)
    first = _first_replicates(claim, known, measures, base)
    if first is None:
        return _decide_one(claim, measures, base, judge)
    verdict = _decide_one(claim, first, base, judge)
    whose = "registered" if claim.replicates is not None else "study's"
    notes = [
        f"{'/'.join(cell)}: decided on the {whose} first {first.n} replicates, not on "
        f"{', '.join(f'r{number}' for number in unused)} on disk besides"
        for cell in cells_of(claim, known, base)
        if (unused := first.unused(*cell))
    ]
    return verdict.model_copy(update={"notes": (*verdict.notes, *notes)})


def _first_replicates(
    claim: Part, known: Mapping[str, Claim], measures: CorpusMeasures, base: str
) -> FirstReplicates | None:
    """Return the replicates a claim sees, None where it sees all there are: any more than registered is then refused.

    Where another known claim registers more replicates of a cell than the study, they are there for it: a claim without
    an n of its own sees the study's, and what nobody registered stays, to be refused.
    """
    if claim.replicates is not None:
        return FirstReplicates(measures, claim.replicates)
    n = measures.instrument.study.protocol.replicates
    most = {cell: most_registered(cell, known) or n for cell in cells_of(claim, known, base)}
    return FirstReplicates(measures, n, registered=most) if max(most.values()) > n else None


def _decide_one(claim: Part, measures: CorpusMeasures, base: str, judge: str | None) -> Verdict:
    match claim:
        case PairedClaim():
            return decide_paired(claim, measures, base, judge)
        case ManyToOneClaim():
            return decide_many_to_one(claim, measures, base, judge)
        case CouplingClaim():
            return decide_coupling(claim, measures, base, judge)
        case _:
            assert_never(claim)


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
