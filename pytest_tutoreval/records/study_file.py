"""A user's own study file: what a run adds to the frozen study or changes about its routes, on the record."""

from typing import Any

from pydantic import Field

from pytest_tutoreval.records.base import Record
from pytest_tutoreval.records.study import Base, Family, Judge, Sampling

__all__ = ["Price", "RouteSettings", "StudentAmendment", "StudyFile"]


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


class StudyFile(Record):
    """The whole file. `routes` and `prices` are keyed by provider, or by `provider/model`, which goes first."""

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
