"""What a model is asked and what it answers: the one protocol every agent keeps, scripted or live."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from pytest_tutoreval.records.attempt import FailedAttempt
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
    """Where in the study a call stands. Kept with the answer; a user's own tutor is sent problem, turn and replicate.

    `purpose` is exchange, probe or commitment, or rating or verification for a judge. `turn` counts from 0: the tutor
    turn for tutor, tracker and rating, the student's own turn on the problem in an exchange, the elicitation in a
    commitment; in a verification it is the position of the student's call. A rating also has a `rubric` and a 0-based
    `repetition`.
    """

    base: str
    condition: str
    replicate: int
    problem: str
    purpose: Literal["exchange", "probe", "commitment", "rating", "verification"]
    turn: int | None = None
    node: str | None = None
    route: str | None = None
    rubric: str | None = None
    repetition: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What one call asks: everything but `site` reaches every provider."""

    role: AgentRole
    site: CallSite
    system: str
    messages: tuple[Message, ...]
    route: Route
    seed: int | None = None

    def digest(self) -> str:
        """Return the sha256 of what every provider is sent; `site` is not part of it."""
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
    """What came back.

    `finish` is the provider's reason: `stop`, `length`, `refusal`, or the vendor's own word; None where it gave none.
    `input_tokens` and `output_tokens` are all that was billed, reasoning and cached ones included, which also stand
    apart. `failures` are the attempts that came before, in order; `seconds` is the wall time of the last.
    `usage_estimated` says that a token count was not reported, and was estimated from the length of the text.
    """

    text: str
    finish: str | None = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    served_model: str | None = None
    served_provider: str | None = None
    request_id: str | None = None
    failures: tuple[FailedAttempt, ...] = ()
    started: float | None = None
    seconds: float | None = None
    usage_estimated: bool = False

    def facts(self, route: Route) -> dict[str, Any]:
        """Return everything but the text as calls and ratings keep it: what the route says already is left out."""
        facts = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "text"}
        facts["served_model"] = None if self.served_model == route.model else self.served_model or ""
        for name in ("started", "seconds"):
            if facts[name] is not None:
                facts[name] = round(facts[name], 3)
        return facts


Agent = Callable[[ModelRequest], ModelReply]
