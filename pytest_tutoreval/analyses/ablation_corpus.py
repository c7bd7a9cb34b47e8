"""What an ablation rests on: the primary base's variants beside its conv and ped, and the primary judge's scores.

Descriptive, and never pooled with the inference on conv and ped (definitions, section 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.subject import Replicates, Subject
from pytest_tutoreval.errors import CorpusError, NotEvaluable, NotInCorpus
from pytest_tutoreval.measures import (
    ARMS,
    BASELINES,
    SESSION_MEASURES,
    Cell,
    complete_arms,
    complete_cells,
    complete_scores,
    is_judged,
)

__all__ = ["Ablation", "read_ablation"]


@dataclass(frozen=True)
class Ablation:
    """The policies of an ablation that are complete: conv, ped, then the variants in the study's order.

    `absent` says of every other variant why it is not here.
    """

    given: AnalysisInput
    cells: Mapping[str, Cell]
    absent: Mapping[str, str]

    @property
    def policies(self) -> tuple[str, ...]:
        """All policies, conv and ped first."""
        return tuple(self.cells)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants."""
        return tuple(name for name in self.cells if name in BASELINES)

    @property
    def notes(self) -> tuple[str, ...]:
        """What every row has to say about variants that are not here."""
        return tuple(f"{name} is left out: {reason}" for name, reason in self.absent.items())

    def subject(self, analysis: str, measure: str) -> Subject:
        """Return whom rows about a measure are about: the judge only where it has a hand in it."""
        study = self.given.measures.instrument.study
        judge = study.primary_judge if is_judged(measure) else None
        return Subject(analysis, "ablation", self.given.measures.instrument, study.primary_base, judge)

    def sessions(self, measure: str) -> dict[str, Replicates]:
        """Return a session measure by policy and replicate. Raises NotEvaluable where its ratings are missing."""
        study = self.given.measures.instrument.study
        if not SESSION_MEASURES[measure]:
            return {
                policy: {number: getattr(row, measure) for number, row in cell.sessions.items()}
                for policy, cell in self.cells.items()
            }
        scores = complete_scores(
            self.given.measures, study.primary_base, study.primary_judge, measure, tuple(self.cells)
        )
        return {policy: scores[policy].sessions for policy in self.cells}


def read_ablation(given: AnalysisInput) -> Ablation:
    """Return the ablation of a corpus.

    Raises
    ------
    NotEvaluable
        conv or ped of the primary base is not complete, or no variant is.
    """
    base = given.measures.instrument.study.primary_base
    if base not in given.bases:
        raise NotInCorpus(f"the ablation is on {base}, which is not in the corpus")
    cells = complete_arms(given.measures, base)
    absent: dict[str, str] = {}
    for name in BASELINES:
        try:
            cells |= complete_cells(given.measures, base, (name,))
        except (NotEvaluable, CorpusError) as exc:
            absent[name] = str(exc)
    if not any(_is_there(given, base, name) for name in BASELINES):
        raise NotInCorpus("the corpus holds no ablation variant")
    if len(cells) == len(ARMS):
        raise NotEvaluable(f"no ablation variant is complete: {next(iter(absent.values()))}")
    return Ablation(given, cells, absent)


def _is_there(given: AnalysisInput, base: str, name: str) -> bool:
    """Return whether the corpus holds anything of a variant, broken sessions included."""
    try:
        cell = given.measures.cell(base, name)
    except CorpusError:
        return True
    return bool(cell.sessions or cell.broken)
