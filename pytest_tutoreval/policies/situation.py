"""What a tutor policy may see: the current problem and its dialogue, nothing else."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal

from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.agent import AgentRole, CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import Route

__all__ = ["Asking", "Policy", "Situation", "Utterance"]

# A piece of protocol: it yields what to ask, is sent the reply, and returns its result. Whoever drives it decides
# how a request is answered: a scripted agent, a provider, or a recorded session that is being resumed.
Asking = Generator[ModelRequest, ModelReply, str]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One visible turn of the current problem."""

    speaker: Literal["student", "tutor"]
    text: str


@dataclass(frozen=True, slots=True)
class Situation:
    """A tutor turn about to be taken (definitions, section 4, Tutor context).

    `dialogue` holds this problem's visible turns and ends with the student's; `turn` is the 0-based tutor turn.
    """

    instrument: Instrument
    base: str
    condition: str
    replicate: int
    problem: Problem
    turn: int
    dialogue: tuple[Utterance, ...]
    route: Route
    seed: int | None

    @property
    def student_turns(self) -> list[str]:
        """What the student said on this problem so far."""
        return [utterance.text for utterance in self.dialogue if utterance.speaker == "student"]

    def prompt(self, name: str) -> str:
        """Return a role prompt with the statement appended, the same way for every policy and node."""
        return self.with_statement(self.instrument.prompts[name])

    def with_statement(self, text: str) -> str:
        """Return a prompt's text with the statement appended."""
        return f"{text}\n\n{self.statement()}"

    def statement(self) -> str:
        """Return the statement with its lead-in, as it is appended to every prompt."""
        return self.instrument.wording["problem_lead_in"].format(statement=self.problem.statement)

    def request(self, system: str, *, node: str, route: str | None = None, role: AgentRole = "tutor") -> ModelRequest:
        """Return the request of one tutor-side call: student turns as user, tutor turns as assistant."""
        empty = self.instrument.wording["empty_turn"]
        messages = tuple(
            Message("user" if said.speaker == "student" else "assistant", said.text if said.text.strip() else empty)
            for said in self.dialogue
        )
        site = CallSite(
            base=self.base,
            condition=self.condition,
            replicate=self.replicate,
            problem=self.problem.id,
            purpose="exchange",
            turn=self.turn,
            node=node,
            route=route,
        )
        return ModelRequest(role=role, site=site, system=system, messages=messages, route=self.route, seed=self.seed)


Policy = Callable[[Situation], Asking]
