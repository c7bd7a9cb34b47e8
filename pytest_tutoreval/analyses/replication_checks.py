"""How a printed value is held against ours: as a number, as a statement in words, or not at all, with the reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pytest_tutoreval.analyses.replication_evidence import Evidence
from pytest_tutoreval.analyses.replication_printed import Digits, Printed
from pytest_tutoreval.errors import NotEvaluable

__all__ = ["Agree", "Because", "Cause", "Check", "Judged", "Missing", "Number", "Outcome", "Statement"]

# `not_compared`: the corpus is simulated, so there is nothing to replicate.
Outcome = Literal["reproduced", "reproduced_with_cause", "not_evaluable", "different", "not_compared"]

AS_PRINTED = Digits()

Agree = Callable[[float], bool]


@dataclass(frozen=True)
class Because:
    """A cause that was computed and found true: its name, and what was computed."""

    name: str
    said: str


@dataclass(frozen=True)
class Judged:
    """What became of a printed value.

    `said` is the cause, the reason or the statement in words; `cause` names a checked cause.
    """

    outcome: Outcome
    ours: float | str | None = None
    said: str = ""
    cause: str | None = None


# Given the evidence and whether a number prints as the study's does: the cause, or None where it is not true.
Cause = Callable[[Evidence, Agree], Because | None]


class Check(Protocol):
    """What holds a printed value against a corpus. May raise NotEvaluable, which names the missing input."""

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return what becomes of the value."""


@dataclass(frozen=True)
class Number:
    """A number, count or word of ours that must print as the study's; `note` says what ours is if that is not plain."""

    find: Callable[[Evidence], float | str]
    digits: Digits = AS_PRINTED
    causes: Sequence[Cause] = ()
    note: str = ""

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return whether the digits are the printed ones, or would be but for a cause that is true."""
        ours = self.find(evidence)
        if self.digits.agree(ours, printed):
            return Judged("reproduced", ours, self.note)
        for cause in self.causes:
            because = cause(evidence, lambda number: self.digits.agree(number, printed))
            if because is not None:
                return Judged("reproduced_with_cause", ours, because.said, because.name)
        looked = ", and no cause that was looked for is true" if self.causes else ""
        return Judged("different", ours, f"does not print as {printed.text}{looked}")


@dataclass(frozen=True)
class Statement:
    """What the study says in words, as a predicate of ours: `find` returns whether it holds, and the numbers."""

    words: str
    find: Callable[[Evidence], tuple[bool, str]]
    causes: Sequence[Callable[[Evidence], Because | None]] = ()

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return whether the statement holds, or would but for a cause that is true."""
        holds, numbers = self.find(evidence)
        if holds:
            return Judged("reproduced", numbers, f"holds: {self.words}")
        for cause in self.causes:
            because = cause(evidence)
            if because is not None:
                return Judged("reproduced_with_cause", numbers, f"{self.words}: {because.said}", because.name)
        return Judged("different", numbers, f"does not hold: {self.words}")


@dataclass(frozen=True)
class Missing:
    """A value that no corpus of this kind can give: `needs` names the input; `known` says what can still be seen."""

    needs: str
    known: Callable[[Evidence], str] | None = None

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return the missing input."""
        if self.known is None:
            return Judged("not_evaluable", said=f"missing input: {self.needs}")
        try:
            seen = self.known(evidence)
        except NotEvaluable as exc:
            seen = str(exc)
        return Judged("not_evaluable", said=f"missing input: {self.needs}; {seen}")
