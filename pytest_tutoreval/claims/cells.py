"""Which cells, rubrics and replicates a claim rests on: what has to be on disk before it can be decided."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CellKey, is_judged
from pytest_tutoreval.records.claim import Arm, Claim, CouplingClaim, JointClaim, ManyToOneClaim, PairedClaim

__all__ = [
    "Part",
    "arms_at",
    "cells_of",
    "home_of",
    "item_bases",
    "most_registered",
    "parts_of",
    "rated_cells_of",
    "replicates_of",
    "rubrics_of",
]

# A claim that is decided from data itself: any but a joint one.
Part = PairedClaim | ManyToOneClaim | CouplingClaim


def home_of(claim: Claim, known: Mapping[str, Claim]) -> str | None:
    """Return the one base a claim is decided for: its first arm's, where every arm names a base; None where not.

    A joint claim has a home when all its members have one, the first's.
    """
    homes = [home_of(known[name], known) for name in claim.all_of] if claim.form == "joint" else _bases_named(claim)
    return None if None in homes else homes[0]


def item_bases(claim: Claim, known: Mapping[str, Claim], bases: Sequence[str]) -> tuple[str, ...]:
    """Return for which of these bases a claim is decided.

    Its home alone where it has one; else all but those for which two of its arms are one and the same cell.
    """
    home = home_of(claim, known)
    if home is not None:
        return tuple(base for base in bases if base == home)
    return tuple(base for base in bases if not any(_clashing(part, base) for part in parts_of(claim, known)))


def arms_at(arms: Sequence[str], base: str) -> dict[str, CellKey]:
    """Return the cell of each arm in a claim decided for `base`.

    Raises
    ------
    NotEvaluable
        Two arms are the same cell: nothing is compared.
    """
    cells: dict[str, CellKey] = {}
    for arm in arms:
        cell = Arm.parse(arm).at(base)
        if cell in cells.values():
            raise NotEvaluable(
                f"for base {base} two arms of {', '.join(arms)} are {'/'.join(cell)}; nothing to compare"
            )
        cells[arm] = cell
    return cells


def cells_of(claim: Claim, known: Mapping[str, Claim], base: str) -> tuple[CellKey, ...]:
    """Return the cells, base and condition, whose sessions a claim decided for `base` rests on, in arm order.

    `known` holds the claims a joint claim may name; its cells are its members'.
    """
    return tuple(dict.fromkeys(cell for part in parts_of(claim, known) for cell in _cells(part, base)))


def rated_cells_of(claim: Claim, known: Mapping[str, Claim], base: str) -> tuple[tuple[str, str, str], ...]:
    """Return base, condition and rubric of each cell that a claim decided for `base` needs ratings of."""
    return tuple(
        dict.fromkeys(
            (*cell, rubric)
            for part in parts_of(claim, known)
            for cell in _cells(part, base)
            for rubric in rubrics_of(part, known)
        )
    )


def replicates_of(claim: Claim, known: Mapping[str, Claim]) -> int | None:
    """Return the registered n of a claim's own, the largest of a joint claim's members; None takes the study's."""
    own = [part.replicates for part in parts_of(claim, known)]
    return max((n for n in own if n is not None), default=None)


def rubrics_of(claim: Claim, known: Mapping[str, Claim]) -> tuple[str, ...]:
    """Return the rubrics whose ratings a claim rests on: a judged measure is named for its rubric."""
    names = [name for part in parts_of(claim, known) for name in _measures(part)]
    return tuple(dict.fromkeys(name for name in names if is_judged(name)))


def most_registered(cell: CellKey, known: Mapping[str, Claim]) -> int | None:
    """Return the largest registered n of its own among the known claims that rest on a cell; None where none has one.

    A claim rests on a condition of every base, unless its arm names one.
    """
    base, condition = cell
    own = [
        claim.replicates
        for claim in known.values()
        if not isinstance(claim, JointClaim)
        and claim.replicates is not None
        and any(arm.condition == condition and arm.base in (None, base) for arm in map(Arm.parse, _arms(claim)))
    ]
    return max(own, default=None)


def parts_of(claim: Claim, known: Mapping[str, Claim]) -> tuple[Part, ...]:
    """Return the claims that are decided from data where this one is: a joint claim's members, or the claim itself."""
    if isinstance(claim, JointClaim):
        return tuple(part for name in claim.all_of for part in parts_of(known[name], known))
    return (claim,)


def _arms(claim: Part) -> tuple[str, ...]:
    match claim:
        case PairedClaim() | CouplingClaim():
            return claim.arms
        case ManyToOneClaim():
            return (*claim.candidates, claim.reference)
        case _:
            assert_never(claim)


def _measures(claim: Part) -> tuple[str, ...]:
    match claim:
        case PairedClaim() | ManyToOneClaim():
            return (claim.measure,)
        case CouplingClaim():
            return tuple(leg.outcome for leg in claim.legs)
        case _:
            assert_never(claim)


def _bases_named(claim: Part) -> list[str | None]:
    return [Arm.parse(arm).base for arm in _arms(claim)]


def _cells(claim: Part, base: str) -> list[CellKey]:
    return [Arm.parse(arm).at(base) for arm in _arms(claim)]


def _clashing(claim: Part, base: str) -> bool:
    cells = _cells(claim, base)
    return len(set(cells)) < len(cells)
