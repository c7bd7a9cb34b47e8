"""A user's own study file: what a run adds to the frozen study or changes about its routes, on the record."""

from typing import Any, Self

from pydantic import Field, model_validator

from pytest_tutoreval.records.base import Name, Record
from pytest_tutoreval.records.gate import GateSettings, Guard
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.study import Base, Family, Judge, Sampling

__all__ = ["PolicyEntry", "Price", "ProtocolChange", "RouteSettings", "StudentAmendment", "StudyFile"]


class RouteSettings(Record):
    """How a provider, or one of its models, is reached. `key_variable` names an environment variable, never a key."""

    base_url: str | None = None
    key_variable: str | None = None
    concurrency: int = Field(default=8, ge=1)
    requests_per_minute: float | None = Field(default=None, ge=1)
    tokens_per_minute: float | None = Field(default=None, ge=1)
    timeout: float = Field(default=120.0, gt=0)


class Price(Record):
    """Dollars per million tokens, prompt and completion; `source` says where the figure is from."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    source: str = ""


class StudentAmendment(Record):
    """Another host or model for the student: a dated, reasoned departure that every session carries."""

    label: str
    model: str
    provider: str
    pin: tuple[str, ...] = ()
    sampling: Sampling
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    reason: str = Field(min_length=1)


class PolicyEntry(Record):
    """A condition of the user's own; exactly one of the three says how its tutor turns are made.

    `prompt` is a text file beside the study file: one call a turn, the statement appended as in conv. `callable` is
    `module:function`, a policy in Python that sees the dialogue and yields requests. `direct` sends the statement and
    the dialogue alone: the base is a whole tutor with a policy of its own.
    """

    id: Name
    prompt: str | None = None
    callable: str | None = Field(default=None, pattern=r"^[\w.]+:\w+$")
    direct: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum((self.prompt is not None, self.callable is not None, self.direct)) != 1:
            raise ValueError("give exactly one of prompt, callable and direct = true")
        return self


class ProtocolChange(Record):
    """What the user's study registers differently; None keeps the frozen study's value.

    `date` and `reason` are said wherever the change is shown, of own problems too.
    """

    date: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    reason: str | None = Field(default=None, min_length=1)
    replicates: int | None = Field(default=None, ge=1)
    tutor_turns: int | None = Field(default=None, ge=1)
    repetitions: int | None = Field(default=None, ge=1)
    conditions: tuple[Name, ...] | None = None


class StudyFile(Record):
    """The whole file. `routes` and `prices` are keyed by provider, or by `provider/model`, which goes first.

    `problems`, where there are any, take the place of the frozen ones: data collected with them carry a digest of their
    own. `claims` is a folder of claim files beside the study file. `guards` and `gate` are what `--gate` decides by.
    """

    name: Name | None = None
    protocol: ProtocolChange = ProtocolChange()
    policies: tuple[PolicyEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    claims: str | None = None
    guards: tuple[Guard, ...] = ()
    gate: GateSettings = GateSettings()
    bases: tuple[Base, ...] = ()
    judges: tuple[Judge, ...] = ()
    student: StudentAmendment | None = None
    families: tuple[Family, ...] = ()
    routes: dict[str, RouteSettings] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)

    def route_settings(self, provider: str, model: str) -> RouteSettings:
        """Return the settings of a route: its model's, its provider's, or the defaults."""
        return self.routes.get(f"{provider}/{model}") or self.routes.get(provider) or RouteSettings()

    @classmethod
    def parse(cls, fields: dict[str, Any]) -> "StudyFile":
        """Return the study file from its parsed TOML."""
        return cls.model_validate(fields)
