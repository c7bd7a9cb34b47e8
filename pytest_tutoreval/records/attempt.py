"""An attempt at a call that did not succeed: logged, since a fault that left no trace cannot be understood later."""

from typing import Literal

from pytest_tutoreval.records.base import Record

__all__ = ["FailedAttempt", "FaultKind"]

FaultKind = Literal[
    "rate_limit",
    "overloaded",
    "server",
    "timeout",
    "connection",
    "malformed",
    "authentication",
    "permission",
    "missing_model",
    "quota",
    "bad_request",
    "too_large",
    "blocked",
    "wrong_provider",
    "tutor_error",
]


class FailedAttempt(Record):
    """What is known about a failed attempt. `message` is the vendor's, shortened, with keys removed.

    `status` is None where no response came; `seconds` is how long the attempt took.
    """

    kind: FaultKind
    status: int | None = None
    message: str = ""
    request_id: str | None = None
    seconds: float | None = None
