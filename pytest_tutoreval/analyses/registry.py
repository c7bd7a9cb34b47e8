"""Which analyses there are, what each is about, and how it is run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.claim import Role

__all__ = ["Analysis", "AnalysisInput", "Scope", "registry"]

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


def registry() -> Mapping[str, Analysis]:
    """Return every analysis by name, in report order."""
    from pytest_tutoreval.analyses import ablation, judge_audit, secondary, sensitivities

    parts = (sensitivities.ANALYSES, judge_audit.ANALYSES, ablation.ANALYSES, secondary.ANALYSES)
    return {analysis.name: analysis for part in parts for analysis in part}
