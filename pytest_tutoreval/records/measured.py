"""Numbers per turn and per session: what measures make of text, or what an import brought along.

Plain dataclasses rather than pydantic models: a corpus has many, and they are made by our own code. Tables
read from disk are validated by `store.tables`.
"""

from dataclasses import dataclass

from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey

__all__ = ["SessionRow", "TurnRow", "TurnScore"]


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A visible in-window tutor turn (definitions, sections 5 to 7).

    `next_turn_independence` is None where no student turn follows. `n_calls` and `tutor_tokens` cover all
    constituent calls, the tracker's included.
    """

    id: TurnId
    leaky: bool
    next_turn_independence: bool | None
    n_calls: int
    tutor_tokens: int
    route: str | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session's measures; a rate is None where it is undefined (no turn in the window, or cold).

    Accuracies are shares of correct probes by phase. `n_tutor_turns` and `n_student_turns` count in-window turns
    of the training problems; the other counts and all tokens are unwindowed.
    """

    key: SessionKey
    seed: int
    leakage: float | None
    independence: float | None
    accuracy_immediate: float | None
    accuracy_delayed: float | None
    accuracy_transfer: float | None
    n_tutor_turns: int
    n_student_turns: int
    visible_tutor_turns: int
    student_turns: int
    n_calls: int
    tutor_tokens: int
    student_tokens: int
    input_tokens: int
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        """Prompt plus completion tokens over all calls of the session."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class TurnScore:
    """A turn's score: the mean of its usable ratings.

    `value` and `median` are None with no usable rating; `spread` is the sample variance, None below two.
    `n_ratings` counts repetitions on record, `n_usable` those that could be read.
    """

    value: float | None
    spread: float | None
    median: float | None
    n_usable: int
    n_ratings: int
