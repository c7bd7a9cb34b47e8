"""What a corpus holds against the study's printed numbers: verdicts given as records, rows of analyses, fits."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.analyses.catalogue import all_analyses
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.subject import fit_frame
from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.measures import ARMS, Cell, CorpusMeasures, ModelFrame, complete_arms, complete_cells, model_frame
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.session import UNTUTORED
from pytest_tutoreval.records.verdict import Component, NotEvaluated, Verdict

if TYPE_CHECKING:
    from pytest_tutoreval.inference import CrossedFit

__all__ = ["Evidence", "Model", "Tested", "part_of"]

NEXT_TURN = "next_turn_independence"


@dataclass(frozen=True)
class Model:
    """A turn-level model of the study: `judge` is None for next-turn independence; `adjusted` is model (2)."""

    base: str
    outcome: str
    judge: str | None
    adjusted: bool


@dataclass(frozen=True)
class Tested:
    """A coefficient with both standard errors and its test as this package gives it."""

    estimate: float
    se: float
    se_observed: float | None
    p_value: float
    ci_low: float
    ci_high: float


class Evidence:
    """Numbers of a corpus by name, computed when asked for and then kept. A number that is not there has a reason.

    Parameters
    ----------
    verdicts, undecided : what the claims came to, and those that could not be decided, as records
    marker_rate_gate : the preflight gate on the share of probes with a marked answer
    """

    def __init__(
        self,
        measures: CorpusMeasures,
        verdicts: Sequence[Verdict],
        undecided: Sequence[NotEvaluated] = (),
        *,
        marker_rate_gate: float | None = None,
    ) -> None:
        self.measures = measures
        self.study = measures.instrument.study
        self.marker_rate_gate = marker_rate_gate
        self._verdicts = {(verdict.claim, verdict.base, verdict.judge): verdict for verdict in verdicts}
        self._reasons = {(row.claim, row.base, row.judge): row.reason for row in undecided}
        self._rows: dict[tuple[str, str | None, str | None], list[AnalysisRow] | NotEvaluable] = {}
        self._fits: dict[Model, CrossedFit] = {}

    # claims

    def verdict(self, claim: str, base: str, judge: str | None = None) -> Verdict:
        """Return a claim's verdict."""
        key = (claim, base, judge)
        if key not in self._verdicts:
            reason = self._reasons.get(key, "it was not decided for this base and judge")
            raise NotEvaluable(f"{claim} {base}{f' {judge}' if judge else ''}: {reason}")
        return self._verdicts[key]

    def leg(self, base: str, judge: str, outcome: str) -> Component:
        """Return a leg of J2."""
        for leg in self.verdict("J2", base, judge).components:
            if leg.name == outcome:
                return leg
        raise NotEvaluable(f"J2 {base} {judge}: no leg {outcome}")

    # analyses

    def row(self, analysis: str, measure: str, base: str | None = None, judge: str | None = None) -> AnalysisRow:
        """Return a row of an analysis; one without numbers raises NotEvaluable with its reason."""
        for row in self._run(analysis, base, judge):
            if (row.measure, row.base) == (measure, base) and judge in (None, row.judge):
                for note in row.notes:
                    if note.startswith("not evaluable: "):
                        raise NotEvaluable(note.removeprefix("not evaluable: "))
                return row
        raise NotEvaluable(f"{analysis} has no row {measure}{f' of {base}' if base else ''}")

    def _run(self, name: str, base: str | None, judge: str | None) -> list[AnalysisRow]:
        analysis = all_analyses()[name]
        manifest = self.measures.corpus.manifest
        place = (
            None if analysis.scope == "corpus" else base,
            judge if analysis.scope == "base_judge" else None,
        )
        if place[0] is not None and place[0] not in manifest.bases:
            raise NotEvaluable(f"{place[0]} is not in the corpus")
        if place[1] is not None and place[1] not in manifest.judges:
            raise NotEvaluable(f"the corpus holds no ratings by {place[1]}")
        key = (name, *place)
        if key not in self._rows:
            try:
                self._rows[key] = analysis.run(AnalysisInput(self.measures, *place, manifest.bases, manifest.judges))
            except NotEvaluable as exc:
                self._rows[key] = exc
        rows = self._rows[key]
        if isinstance(rows, NotEvaluable):
            raise rows
        return rows

    # sessions

    def cells(self, base: str, *, untutored: bool = False) -> Mapping[str, Cell]:
        """Return both arms of a base, and the untutored condition if asked for, all registered replicates there."""
        if untutored:
            return complete_cells(self.measures, base, (UNTUTORED, *ARMS))
        return complete_arms(self.measures, base)

    def values(self, base: str, arm: str, measure: str) -> list[float]:
        """Return a session measure over replicates, in their order."""
        sessions = self.cells(base)[arm].sessions
        values: list[float | None] = [getattr(row, measure) for _, row in sorted(sessions.items())]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            raise NotEvaluable(f"{base}/{arm}: {measure} is undefined in {len(values) - len(known)} sessions")
        return known

    def mean(self, base: str, arm: str, measure: str) -> float:
        """Return the mean of a session measure over replicates."""
        values = self.values(base, arm, measure)
        return math.fsum(values) / len(values)

    def differences(self, base: str, measure: str) -> list[float]:
        """Return conv - ped of a session measure by replicate."""
        conv, ped = (self.values(base, arm, measure) for arm in ARMS)
        return [one - other for one, other in zip(conv, ped, strict=True)]

    def n_turns(self, base: str, *arms: str) -> int:
        """Return how many in-window tutor turns some arms of a base have."""
        cells = self.cells(base)
        return sum(len(turns) for arm in arms for turns in cells[arm].turns.values())

    # models

    def frame(self, model: Model) -> ModelFrame:
        """Return a model's turns."""
        return model_frame(model.outcome, self.measures, model.base, model.judge)

    def fit(self, model: Model) -> "CrossedFit":
        """Return a model's certified maximum."""
        if model not in self._fits:
            self._fits[model] = fit_frame(self.frame(model), adjusted=model.adjusted)
        return self._fits[model]

    def slope(self, model: Model) -> Tested:
        """Return the leakage slope: of model (1) as J2 was decided on it, of model (2) as its row has it."""
        if model.adjusted:
            name = "policy_adjusted_independence" if model.judge is None else "policy_adjusted_helpfulness"
            return tested(part_of(self.row(name, model.outcome, model.base, model.judge), "leakage"))
        return tested(self.leg(model.base, model.judge or self._any_judge(model.base), model.outcome))

    def _any_judge(self, base: str) -> str:
        """Return a judge J2 was decided with, the primary one first: the judge-free leg is the same for all."""
        judges = sorted(
            (judge for claim, of, judge in self._verdicts if (claim, of) == ("J2", base) and judge),
            key=lambda judge: (judge != self.study.primary_judge, judge),
        )
        return judges[0] if judges else self.study.primary_judge

    # the study's own results

    def reference(self, name: str) -> Any:
        """Return a released result file the corpus keeps, or None."""
        data = self.measures.corpus.reference(name)
        if data is None:
            return None
        try:
            return json.loads(data)
        except ValueError as exc:
            raise CorpusError(f"reference/{name}: not JSON: {exc}; restore the file") from exc


def part_of(row: AnalysisRow, name: str) -> AnalysisPart:
    """Return a named part of a row."""
    for part in row.components:
        if part.name == name:
            return part
    raise NotEvaluable(f"{row.analysis} {row.measure} has no {name}")


def tested(given: AnalysisPart | Component) -> Tested:
    """Return a tested coefficient of a row or a verdict."""
    numbers = (given.estimate, given.se, given.p_value, given.ci_low, given.ci_high)
    if any(number is None for number in numbers):
        raise NotEvaluable(f"{given.name} has no test")
    estimate, se, p_value, low, high = (number for number in numbers if number is not None)
    return Tested(estimate, se, given.se_observed, p_value, low, high)
