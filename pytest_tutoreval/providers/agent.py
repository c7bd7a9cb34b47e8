"""What a model is asked and what it answers: the one protocol every agent keeps, scripted or live."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pytest_tutoreval.records.session import Route

__all__ = ["Agent", "AgentRole", "CallSite", "Message", "ModelReply", "ModelRequest"]

AgentRole = Literal["student", "tutor", "tracker", "judge"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the answering model sees it."""

    speaker: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where in the study a call stands. Kept with the answer, never sent to a provider.

    `purpose` is exchange, probe or commitment, or rating for a judge; `turn` the 0-based tutor turn. A judge's
    call also has a `rubric` and a 0-based `repetition`.
    """

    base: str
    condition: str
    replicate: int
    problem: str
    purpose: Literal["exchange", "probe", "commitment", "rating"]
    turn: int | None = None
    node: str | None = None
    route: str | None = None
    rubric: str | None = None
    repetition: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What one call asks: everything but `site` reaches the provider."""

    role: AgentRole
    site: CallSite
    system: str
    messages: tuple[Message, ...]
    route: Route
    seed: int | None = None

    def digest(self) -> str:
        """Return the sha256 of what is sent; `site` is not part of it."""
        sampling = self.route.sampling.compact() if self.route.sampling else None
        sent = [
            self.route.provider,
            self.route.model,
            list(self.route.pin),
            sampling,
            self.seed,
            self.system,
            [(message.speaker, message.text) for message in self.messages],
        ]
        return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. `finish` is the provider's reason; tokens are as billed; `seconds` is the wall time."""

    text: str
    finish: str | None = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    served_model: str | None = None
    served_provider: str | None = None
    attempts: int = 1
    started: float | None = None
    seconds: float | None = None


Agent = Callable[[ModelRequest], ModelReply]
