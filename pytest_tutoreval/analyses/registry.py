"""What an analysis is: a name, a role, what it is run once for, and how it is run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.claim import Role

__all__ = ["Analysis", "AnalysisInput", "Scope"]

# Once for the corpus, once a base, once a base and judge.
Scope = Literal["corpus", "base", "base_judge"]


@dataclass(frozen=True)
class AnalysisInput:
    """What an analysis is run on. `base` and `judge` are None where its scope does not have them.

    `bases` and `judges` are all the corpus holds, in its order.
    """

    measures: CorpusMeasures
    base: str | None
    judge: str | None
    bases: Sequence[str]
    judges: Sequence[str]


@dataclass(frozen=True)
class Analysis:
    """A named analysis. `run` returns its rows in a fixed order, or raises NotEvaluable with the reason."""

    name: str
    title: str
    role: Role
    scope: Scope
    run: Callable[[AnalysisInput], list[AnalysisRow]]
