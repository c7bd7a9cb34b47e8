"""A decided claim as a test sees it."""

from dataclasses import dataclass

from pytest_tutoreval.errors import RegistrationMismatch
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.verdict import Verdict

__all__ = ["DecidedClaim"]


@dataclass(frozen=True)
class DecidedClaim:
    """A registered claim with its verdict."""

    claim: Claim
    verdict: Verdict

    def registered_as(self, **stated: object) -> None:
        """Hold what a test says about its claim against what was frozen.

        `kind`, and by form: `measure` and `direction`; `candidates`, `reference`, `multiplicity` and `supported_when`
        besides; `legs` (outcome to sign); `all_of`. `arms`, `margin`, `non_inferiority` and `replicates` have to be
        stated where they differ from their defaults. A test thus reads like the registration and cannot drift from it.

        Raises
        ------
        RegistrationMismatch
            Each field that differs or was left unsaid, with both values.
        """
        frozen, defaults = _registration(self.claim)
        said = {name: _plain(value) for name, value in stated.items()}
        differing = [
            f"{name} is {said.get(name, 'unsaid')!r} in the test, "
            f"{frozen.get(name, 'no such field')!r} in the claim file"
            for name in sorted(frozen.keys() | said.keys())
            if (said[name] if name in said else defaults.get(name, _MUST_BE_SAID)) != frozen.get(name, _NO_FIELD)
        ]
        if differing:
            raise RegistrationMismatch(f"{self.claim.id}: " + "; ".join(differing))


# Neither equals anything a file or a test can say.
_MUST_BE_SAID, _NO_FIELD = object(), object()

# What a claim file says about a claim beside what is tested: people read it, a test need not repeat it.
_ABOUT = {"id", "title", "form", "judge_bound", "role", "status", "evidence_visible"}


def _registration(claim: Claim) -> tuple[dict[str, object], dict[str, object]]:
    """Return what a claim is tested by, and the defaults of what need not be said."""
    fields = type(claim).model_fields
    frozen = {name: _plain(getattr(claim, name)) for name in fields if name not in _ABOUT}
    if claim.form == "leakage_coupling":
        frozen["legs"] = {leg.outcome: leg.sign for leg in claim.legs}
    return frozen, {name: _plain(field.default) for name, field in fields.items() if not field.is_required()}


def _plain(value: object) -> object:
    """Return a value as a claim file has it: an array is a list."""
    return list(value) if isinstance(value, tuple) else value
