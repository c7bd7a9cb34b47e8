"""The study file: what was registered about bases, conditions, judges, protocol and inference."""

from typing import Any, Literal

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record
from pytest_tutoreval.records.problem import Phase

__all__ = ["Base", "Family", "Inference", "Judge", "Protocol", "RegisterEntry", "Sampling", "Student", "Study"]


class Sampling(Record):
    """Sampling as registered; a key that is absent is not sent, so the provider's default holds."""

    temperature: float | None = None
    max_tokens: int
    reasoning: str | None = None
    seed: str | None = Field(default=None, description="what the seed is: 'replicate', 'repetition' or absent")


class Base(Record):
    """A tutor model."""

    id: Name
    label: str
    model: str
    provider: str
    sampling: Sampling
    pin: tuple[str, ...] = ()


class Judge(Record):
    """A model that reads turns under a rubric.

    `second_tries` is how often an unparseable reply may be asked for again, as registered: a second try at the content
    changes what is sampled, so it is no transport retry.
    """

    id: Name
    label: str
    model: str
    provider: str
    status: str
    sampling: Sampling
    pin: tuple[str, ...] = ()
    second_tries: int = Field(default=0, ge=0)


class Student(Record):
    """The simulated student: an identifier without its route does not reproduce the instrument."""

    label: str
    model: str
    provider: str
    pin: tuple[str, ...]
    sampling: Sampling


class Protocol(Record):
    """The session protocol (definitions, section 3)."""

    replicates: int = Field(ge=1)
    tutor_turns: int = Field(ge=1)
    base_seed: int
    repetitions: int = Field(ge=1)
    condition_order: tuple[Name, ...]
    phase_counts: dict[Phase, int]


class Inference(Record):
    """How session measures are tested (definitions, section 9)."""

    alpha: float = Field(gt=0, lt=1)
    bootstrap_draws: int = Field(ge=100)
    bootstrap_seed: int
    minimum_pairs: int = Field(ge=2)


class Family(Record):
    """A Holm family of the cross-judge audit: one base-wise test each, of fixed size (definitions, section 13).

    `judges` are second and first: differences are second - first. A missing member is an error, never a smaller family.
    """

    term: Literal["adjusted_slope", "judge_by_leakage", "judge_by_policy"]
    rubric: Name
    judges: tuple[Name, Name]
    bases: tuple[Name, ...]
    registered: bool = True


class RegisterEntry(Record):
    """A line of the register: specification status or declared deviation (definitions, section 16)."""

    component: str
    status: str
    evidence_visible: str
    role: str


class Study(Record):
    """The whole study file."""

    name: Name
    title: str
    primary_base: Name
    primary_judge: Name
    rubrics: tuple[Name, ...]
    protocol: Protocol
    inference: Inference
    student: Student
    bases: tuple[Base, ...]
    judges: tuple[Judge, ...]
    families: tuple[Family, ...] = ()
    register_entries: tuple[RegisterEntry, ...] = Field(alias="register")

    def base(self, name: str) -> Base | None:
        """Return a registered base by its id, or None."""
        return next((base for base in self.bases if base.id == name), None)

    def judge(self, name: str) -> Judge | None:
        """Return a registered judge by its id, or None."""
        return next((judge for judge in self.judges if judge.id == name), None)

    def seed(self, replicate: int) -> int:
        """Return the seed every call of a replicate's sessions carries: base seed + replicate."""
        return self.protocol.base_seed + replicate

    def registered_replicates(self) -> range:
        """Return the replicate numbers that were registered."""
        return range(self.protocol.replicates)

    @classmethod
    def parse(cls, fields: dict[str, Any]) -> "Study":
        """Return the study from the parsed TOML of a study file."""
        return cls.model_validate(fields)
