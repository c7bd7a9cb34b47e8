"""A decided claim as a test sees it."""

from dataclasses import dataclass

from pytest_tutoreval.errors import RegistrationMismatch
from pytest_tutoreval.records.claim import Claim, CouplingClaim, JointClaim, PairedClaim
from pytest_tutoreval.records.verdict import Verdict

__all__ = ["DecidedClaim"]


@dataclass(frozen=True)
class DecidedClaim:
    """A registered claim with its verdict."""

    claim: Claim
    verdict: Verdict

    def registered_as(self, **stated: object) -> None:
        """Hold what a test says about its claim against what was frozen.

        `kind`, and by form: `measure` and `direction`; `legs` (outcome to sign); `all_of`. A test thus reads like the
        registration and cannot drift from it.

        Raises
        ------
        RegistrationMismatch
            Each field that differs or was left unsaid, with both values.
        """
        frozen = _registration(self.claim)
        differing = [
            f"{name} is {stated.get(name, 'unsaid')!r} in the test, "
            f"{frozen.get(name, 'no such field')!r} in the claim file"
            for name in sorted(frozen.keys() | stated.keys())
            if stated.get(name) != frozen.get(name)
        ]
        if differing:
            raise RegistrationMismatch(f"{self.claim.id}: " + "; ".join(differing))


def _registration(claim: Claim) -> dict[str, object]:
    match claim:
        case PairedClaim():
            return {"kind": claim.kind, "measure": claim.measure, "direction": claim.direction}
        case CouplingClaim():
            return {"kind": claim.kind, "legs": {leg.outcome: leg.sign for leg in claim.legs}}
        case JointClaim():
            return {"kind": claim.kind, "all_of": list(claim.all_of)}
