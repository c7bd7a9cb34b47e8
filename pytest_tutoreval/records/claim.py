"""A registered claim, as its file states it."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from pytest_tutoreval.records.base import Name, Record

__all__ = [
    "Claim",
    "ClaimKind",
    "CouplingClaim",
    "Direction",
    "JointClaim",
    "Leg",
    "PairedClaim",
    "Role",
    "claim_adapter",
]

ClaimKind = Literal["manipulation_check", "live_test", "joint", "headline"]
Direction = Literal["conv > ped", "ped > conv"]
Role = Literal["confirmatory", "sensitivity", "audit", "ablation", "descriptive", "instrument"]


class _Registered(Record):
    id: Name
    title: str
    kind: ClaimKind
    judge_bound: bool
    role: Role
    status: str
    evidence_visible: str


class PairedClaim(_Registered):
    """A session measure differs between conv and ped in the registered direction (P1, P2, P3)."""

    form: Literal["paired_contrast"]
    measure: str
    direction: Direction


class Leg(Record):
    """One regression of a coupling claim: the sign its leakage coefficient was registered to have."""

    outcome: str
    sign: Literal["positive", "negative"]


class CouplingClaim(_Registered):
    """Leakage predicts each outcome with the registered sign, model (1) (J2)."""

    form: Literal["leakage_coupling"]
    legs: tuple[Leg, ...] = Field(min_length=1)


class JointClaim(_Registered):
    """All member claims are supported (J1)."""

    form: Literal["joint"]
    all_of: tuple[Name, ...] = Field(min_length=1)


Claim = Annotated[PairedClaim | CouplingClaim | JointClaim, Field(discriminator="form")]

claim_adapter: TypeAdapter[PairedClaim | CouplingClaim | JointClaim] = TypeAdapter(Claim)
