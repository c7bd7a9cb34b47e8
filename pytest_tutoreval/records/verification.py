"""A model's second opinion on one student turn: logged beside the rule's label, never in its place."""

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record, Sha256

__all__ = ["Verification"]


class Verification(Record):
    """What a model said about whether a student turn attempts a step (definitions, section 7).

    `attempted` is None where its reply could not be read; `rule` is the frozen detector's label, which stands.
    """

    problem: Name
    seq: int = Field(ge=1)
    request: Sha256
    raw: str
    attempted: bool | None
    rule: bool
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
