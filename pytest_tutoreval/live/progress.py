"""What a live run is up to, counted as it happens; whoever shows it reads these numbers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.money import Spending, total_dollars

__all__ = ["Progress"]


@dataclass
class Progress:
    """Counts of a running collection or judging pass, with what each route was billed so far.

    `shown` is called after every change; it must be quick, or look at the clock itself.
    """

    sessions_due: int = 0
    sessions_done: int = 0
    ratings_due: int = 0
    files_done: int = 0
    calls: int = 0
    tokens: int = 0
    spending: Mapping[str, Spending] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    shown: Callable[["Progress"], None] = lambda _: None

    def called(self, request: ModelRequest, reply: ModelReply) -> None:
        """Count a completed call."""
        self.calls += 1
        self.tokens += reply.input_tokens + reply.output_tokens
        self.shown(self)

    def session_ended(self) -> None:
        """Count a session that ended, however."""
        self.sessions_done += 1
        self.shown(self)

    def file_ended(self) -> None:
        """Count a rating file that ended, however."""
        self.files_done += 1
        self.shown(self)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float | None:
        """Seconds left at the pace so far, or None before anything has ended."""
        due, done = self.sessions_due + self.ratings_due, self.sessions_done + self.files_done
        return None if not done else self.seconds * (due - done) / done

    def line(self) -> str:
        """Return the counts on one line."""
        parts = []
        if self.sessions_due:
            parts.append(f"{self.sessions_done}/{self.sessions_due} sessions")
        if self.ratings_due:
            parts.append(f"{self.files_done}/{self.ratings_due} rating files")
        parts += [f"{self.calls} calls", f"{self.tokens} tokens"]
        dollars = total_dollars(self.spending)
        parts.append("cost unknown" if dollars is None else f"${dollars:.2f}")
        if self.seconds > 0:
            parts.append(f"{self.calls / self.seconds:.1f} calls/s")
        if self.seconds_left is not None:
            parts.append(f"{self.seconds_left:.0f} s left")
        return ", ".join(parts)
