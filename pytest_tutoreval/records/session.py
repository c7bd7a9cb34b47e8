"""A session: one episode, one student, all problems, for a base, a condition and a replicate."""

from typing import Literal, NamedTuple

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record, Sha256
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.study import Sampling

__all__ = ["UNTUTORED", "Provenance", "Route", "Session", "SessionHeader", "SessionKey"]

# The condition in which no tutor model is called.
UNTUTORED = "cold"

Provenance = Literal["simulated", "recorded", "imported"]


class SessionKey(NamedTuple):
    """What identifies a session in a corpus."""

    base: str
    condition: str
    replicate: int

    def __str__(self) -> str:
        return f"{self.base}/{self.condition}/r{self.replicate}"


class Route(Record):
    """How a role's calls were sent: the configured provider, model and sampling."""

    provider: str
    model: str
    sampling: Sampling | None = None
    pin: tuple[str, ...] = ()

    def takes_seed_of(self, unit: str) -> bool:
        """Return whether calls on this route carry a seed that counts `unit` (replicate or repetition)."""
        return self.sampling is not None and self.sampling.seed == unit


class SessionHeader(Record):
    """First line of a session file.

    `policy` is the digest of a policy of the user's own, absent for the registered ones, which the instrument's covers.
    """

    format: Literal["tutoreval-session/1"] = "tutoreval-session/1"
    base: Name
    condition: Name
    replicate: int = Field(ge=0)
    seed: int
    provenance: Provenance
    instrument: Sha256
    policy: Sha256 | None = None
    producer: str
    routes: dict[str, Route] = Field(default_factory=dict)
    source: str | None = None
    amendments: tuple[str, ...] = ()

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return SessionKey(self.base, self.condition, self.replicate)


class Session(Record):
    """A finished session: its header and every call in sequence order."""

    header: SessionHeader
    calls: tuple[Call, ...]

    @property
    def key(self) -> SessionKey:
        """The session's identity."""
        return self.header.key
