"""One repetition of one judge reading one turn under one rubric."""

from typing import Literal, NamedTuple

from pydantic import Field

from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.records.base import Name, Record, Sha256
from pytest_tutoreval.records.session import Provenance, Route

__all__ = ["RUBRIC_FIELDS", "Rating", "RatingHeader", "Rubric", "TurnId"]

Rubric = Literal["helpfulness", "pedagogy"]

# The fields each rubric asks for; `overall` alone is aggregated (definitions, section 8).
RUBRIC_FIELDS: dict[str, tuple[str, ...]] = {
    "helpfulness": ("clarity", "responsiveness", "helpfulness", "overall"),
    "pedagogy": ("scaffolding", "productive_struggle", "assistance_calibration", "elicitation", "overall"),
}


class TurnId(NamedTuple):
    """Identity (k, r, p, t) of a visible tutor turn within its base."""

    condition: str
    replicate: int
    problem: str
    turn: int

    def __str__(self) -> str:
        return f"{self.condition}/r{self.replicate}/{self.problem}/t{self.turn}"


class RatingHeader(Record):
    """First line of a rating file: one judge, one rubric, one session."""

    format: Literal["tutoreval-ratings/1"] = "tutoreval-ratings/1"
    judge: Name
    rubric: Name
    rubric_sha256: Sha256
    base: Name
    condition: Name
    replicate: int = Field(ge=0)
    provenance: Provenance
    instrument: Sha256
    producer: str
    route: Route


class Rating(Record):
    """A repetition; `overall` is None where the reply was unusable (kept raw, counted, never imputed).

    `request` is the digest of what was asked: route, sampling, seed, rubric and dialogue all enter it, so a changed
    one is never answered from an old rating. `served_model` is absent where it is the one that was asked for, and empty
    where the provider named none. `discarded` are unparseable replies before a registered second try.
    """

    problem: Name
    turn: int = Field(ge=0)
    repetition: int = Field(ge=0)
    dialogue: Sha256
    request: Sha256
    raw: str
    discarded: tuple[str, ...] = ()
    overall: int | None = Field(default=None, ge=1, le=5)
    components: dict[str, int] = Field(default_factory=dict)
    finish: str | None = None
    served_model: str | None = None
    served_provider: str | None = None
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    reasoning_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    request_id: str | None = None
    failures: tuple[FailedAttempt, ...] = ()
    started: float | None = None
    seconds: float | None = None
    usage_estimated: bool = False
