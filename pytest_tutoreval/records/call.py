"""One model call as it stands in a session file."""

from typing import Literal

from pydantic import Field

from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.records.base import Name, Record, Sha256

__all__ = ["Call", "CallRole", "Purpose"]

CallRole = Literal["student", "tutor", "tracker"]
Purpose = Literal["exchange", "probe", "commitment"]


class Call(Record):
    """A completed call at position `seq` of its session (definitions, sections 3 and 5).

    `turn` is the 0-based tutor turn of the problem and stands on tutor and tracker calls only. `node` names
    who answered (conv, state_tracker, deferral_gate, decomposer, hint_cascade) and `route` the branch that was
    chosen (defer, decompose, hint): they differ in ablations. `request` is the digest of what was asked, absent
    in imports that did not keep it. `finish` is the provider's reason; absent means it was not recorded. `served_model`
    is absent where it is the one the route asked for, and empty where the provider named none. `usage_estimated` says
    that a token count was not reported, and was estimated from the length of the text.
    """

    seq: int = Field(ge=1)
    role: CallRole
    purpose: Purpose = "exchange"
    problem: Name
    turn: int | None = Field(default=None, ge=0)
    node: str | None = None
    route: str | None = None
    text: str
    request: Sha256 | None = None
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

    @property
    def tokens(self) -> int:
        """Prompt plus completion tokens, as billed."""
        return self.input_tokens + self.output_tokens
