"""The simulated student's one conversation: everything it may see, for the whole session."""

from typing import Literal

from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.agent import CallSite, Message, ModelRequest
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import Route

__all__ = ["StudentContext"]


class StudentContext:
    """The student's message list (definitions, section 3): statements, tutor turns and elicitations come in.

    It never holds a tracker's assessment, an answer or another session. Two incoming messages in a row are merged
    with a blank line, since alternation is what every provider accepts.
    """

    def __init__(
        self, instrument: Instrument, *, base: str, condition: str, replicate: int, route: Route, seed: int | None
    ) -> None:
        self._instrument = instrument
        self._base, self._condition, self._replicate = base, condition, replicate
        self._route, self._seed = route, seed
        self._messages: list[Message] = []

    def open_training(self, problem: Problem) -> None:
        """Receive the statement of a problem to work through with the tutor."""
        self._receive(self._instrument.wording["training_opening"].format(statement=problem.statement))

    def open_probe(self, problem: Problem) -> None:
        """Receive the statement of a problem to solve alone."""
        self._receive(self._instrument.wording["probe_opening"].format(statement=problem.statement))

    def hear_tutor(self, text: str) -> None:
        """Receive a visible tutor turn."""
        self._receive(self._instrument.wording["tutor_prefix"].format(text=text))

    def elicit(self, prompt: str) -> None:
        """Receive a forced-commitment text, as it is: it holds no hint."""
        self._receive(self._instrument.prompts[prompt])

    def request(
        self, problem: Problem, *, purpose: Literal["exchange", "probe", "commitment"], turn: int | None = None
    ) -> ModelRequest:
        """Return the request for the student's next reply."""
        return ModelRequest(
            role="student",
            site=CallSite(
                base=self._base,
                condition=self._condition,
                replicate=self._replicate,
                problem=problem.id,
                purpose=purpose,
                turn=turn,
            ),
            system=self._instrument.prompts["student"],
            messages=tuple(self._messages),
            route=self._route,
            seed=self._seed,
        )

    def said(self, text: str) -> None:
        """Remember the student's own reply; an empty one is sent on as a fixed placeholder."""
        self._messages.append(Message("assistant", text if text.strip() else self._empty))

    @property
    def _empty(self) -> str:
        return self._instrument.wording["empty_turn"]

    def _receive(self, text: str) -> None:
        if self._messages and self._messages[-1].speaker == "user":
            text = f"{self._messages.pop().text}\n\n{text}"
        self._messages.append(Message("user", text))
