"""A registered claim, as its file states it."""

import hashlib
import json
import re
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, TypeAdapter, ValidationInfo, field_validator

from pytest_tutoreval.records.base import Name, Record

__all__ = [
    "Arm",
    "Claim",
    "ClaimKind",
    "ContrastClaim",
    "CouplingClaim",
    "JointClaim",
    "Leg",
    "ManyToOneClaim",
    "Multiplicity",
    "PairedClaim",
    "Role",
    "claim_adapter",
]

ClaimKind = Literal["manipulation_check", "live_test", "joint", "headline"]
Multiplicity = Literal["holm", "bonferroni", "none"]
Role = Literal["confirmatory", "sensitivity", "audit", "ablation", "descriptive", "instrument"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_ARM = re.compile(rf"(?:(?P<base>{_NAME}):)?(?P<condition>{_NAME})")


class Arm(NamedTuple):
    """One side of a contrast: a condition of `base`, or, where that is None, of the base the claim is decided for."""

    base: str | None
    condition: str

    @classmethod
    def parse(cls, text: str) -> "Arm":
        """Return the arm that `condition` or `base:condition` names. Raises ValueError on anything else."""
        named = _ARM.fullmatch(text)
        if named is None:
            raise ValueError("is no arm; expected a condition, or base:condition")
        return cls(named["base"], named["condition"])

    def at(self, base: str) -> tuple[str, str]:
        """Return the arm's cell, base and condition, in a claim decided for `base`."""
        return self.base or base, self.condition


def _an_arm(text: str) -> str:
    Arm.parse(text)
    return text


ArmName = Annotated[str, AfterValidator(_an_arm)]


def _possible(direction: str, one: str, other: str) -> str:
    words = f"{one} > {other}", f"{other} > {one}"
    if direction not in words:
        raise ValueError(f"is not a possible direction. Known: {', '.join(map(repr, words))}.")
    return direction


def _two_of_them(arms: tuple[str, ...]) -> tuple[str, ...]:
    if len(arms) != 2 or len(set(arms)) != 2:
        raise ValueError("names no contrast; expected two different arms")
    return arms


class _Registered(Record):
    id: Name
    title: str
    kind: ClaimKind
    judge_bound: bool
    role: Role
    status: str
    evidence_visible: str

    def rule_sha256(self) -> str:
        """Return the digest of what the claim is decided by: everything it states but what people read about it.

        A joint claim's covers the names of its members, and not what those say.
        """
        fields = self.model_dump(mode="json", exclude={"title", "role", "status", "evidence_visible"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


class ContrastClaim(_Registered):
    """What claims about differences of a session measure have in common: the measure, the margin, the n.

    The direction "A > B" says which arm is registered to have more of the measure. Write e for A - B, a pair per
    replicate. Without a margin the claim is that e lies above 0. With `margin` m, in the measure's units, it is that e
    lies above m: A exceeds B by more than m (superiority by a margin). With `non_inferiority` besides, it is that e
    lies above -m: A may be lower than B, but by less than m. Either way the two-sided exact signed-rank test is that of
    e - `threshold` (to 12 decimals, unless it is 0: a pair that lies on the margin counts as lying on it); the claim
    holds where p < alpha and the mean of e is above the threshold, and is `reversed` where p < alpha and the mean is
    below it: ahead by less than the margin if at all, or, under non-inferiority, behind by more than it.

    Six replicates with e = .11, .12, .13, .14, .15, .16 and m = .10: e - m = .01 to .06 are all positive, two of the
    2**6 sign patterns are as extreme, p = 2/64 = .031, the mean of e is .135 > .10: A exceeds B by more than .10. With
    m = .17 all six are negative: the same p, and the claim is reversed, though A is ahead in every pair. With e = -.05
    to .00 and m = .10 under non-inferiority, e + m = .05 to .10 are all positive: p = .031, A is not worse by .10.

    For a measure of which less is better, A is the arm that may not have more: `direction = "reference > candidate"`
    with non-inferiority says that the candidate's leakage does not exceed the reference's by m.

    `replicates` is the claim's own registered n, as planned: it is decided on exactly the replicates 0 to n - 1. None
    takes the study's.
    """

    measure: str
    margin: float | None = Field(default=None, ge=0)
    non_inferiority: bool = False
    replicates: int | None = Field(default=None, ge=1)

    @field_validator("non_inferiority")
    @classmethod
    def _by_how_much(cls, value: bool, info: ValidationInfo) -> bool:
        if value and not info.data.get("margin", True):
            raise ValueError("needs a margin above 0: how much less than the other an arm may have")
        return value

    @property
    def threshold(self) -> float:
        """What A - B is held against: the margin, its negative under non-inferiority, 0 without one."""
        margin = self.margin or 0.0
        return -margin if self.non_inferiority else margin


class PairedClaim(ContrastClaim):
    """A session measure differs between two arms in the registered direction (P1, P2, P3).

    The difference is always first arm - second arm. An arm is a condition, or `base:condition`: an arm without a base
    is of the base the claim is decided for; where both name one, the claim is decided once, for the first arm's base.
    """

    form: Literal["paired_contrast"]
    arms: tuple[ArmName, ...] = ("conv", "ped")
    direction: str

    _two_arms = field_validator("arms")(_two_of_them)

    @field_validator("direction")
    @classmethod
    def _of_these_arms(cls, value: str, info: ValidationInfo) -> str:
        return _possible(value, *info.data["arms"]) if "arms" in info.data else value


class ManyToOneClaim(ContrastClaim):
    """A session measure differs between each of several candidates and one reference in the registered direction.

    Differences are always candidate - reference, each candidate tested as a paired claim would be, margin included. A
    candidate holds on its p adjusted by `multiplicity` over all candidates ("none" has to be declared as well), and the
    claim is supported when `all` of them hold, or `any`. Arms are named as in a paired claim.
    """

    form: Literal["many_to_one"]
    candidates: tuple[ArmName, ...]
    reference: ArmName
    direction: str
    multiplicity: Multiplicity
    supported_when: Literal["all", "any"]

    @field_validator("candidates")
    @classmethod
    def _several(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) < 2 or len(set(value)) != len(value):
            raise ValueError("names no family; expected two or more different candidates (one is a paired_contrast)")
        return value

    @field_validator("reference")
    @classmethod
    def _apart(cls, value: str, info: ValidationInfo) -> str:
        if value in info.data.get("candidates", ()):
            raise ValueError("is a candidate too; expected an arm that is none")
        return value

    @field_validator("direction")
    @classmethod
    def _either_way(cls, value: str) -> str:
        return _possible(value, "candidates", "reference")


class Leg(Record):
    """One regression of a coupling claim: the sign its leakage coefficient was registered to have."""

    outcome: str
    sign: Literal["positive", "negative"]


class CouplingClaim(_Registered):
    """Leakage predicts each outcome with the registered sign, model (1) over the turns of both arms (J2).

    The arms are two conditions of the base the claim is decided for. `replicates` as in ContrastClaim.
    """

    form: Literal["leakage_coupling"]
    arms: tuple[Name, ...] = ("conv", "ped")
    legs: tuple[Leg, ...] = Field(min_length=1)
    replicates: int | None = Field(default=None, ge=1)

    _two_arms = field_validator("arms")(_two_of_them)


class JointClaim(_Registered):
    """All member claims are supported (J1)."""

    form: Literal["joint"]
    all_of: tuple[Name, ...] = Field(min_length=1)


Claim = Annotated[PairedClaim | ManyToOneClaim | CouplingClaim | JointClaim, Field(discriminator="form")]

claim_adapter: TypeAdapter[PairedClaim | ManyToOneClaim | CouplingClaim | JointClaim] = TypeAdapter(Claim)
