"""What tables and figures are made from: one corpus's verdicts, contrasts and fits, or the reason there is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_tutoreval.analyses import compare_with_released
from pytest_tutoreval.analyses.subject import Subject, fit_frame, two_stage_of
from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import (
    ARMS,
    BASELINES,
    CorpusMeasures,
    complete_arms,
    complete_cells,
    complete_scores,
    model_frame,
    turn_frame,
)
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.verdict import Verdict

if TYPE_CHECKING:
    from pytest_tutoreval.inference import CrossedFit, TwoStage

__all__ = ["Missing", "StudyResults"]

NEXT_TURN = "next_turn_independence"


@dataclass(frozen=True)
class Missing:
    """Something that is not evaluable from this corpus, with the reason."""

    reason: str


class StudyResults:
    """One corpus's results, each computed when asked for and then kept. Nothing here decides anything anew."""

    def __init__(self, measures: CorpusMeasures) -> None:
        self.measures = measures
        self.study = measures.instrument.study
        self.manifest = measures.corpus.manifest
        self._verdicts: dict[tuple[str, str, str | None], Verdict | Missing] = {}
        self._fits: dict[tuple[str, bool], CrossedFit | Missing] = {}

    @property
    def simulated(self) -> bool:
        """Whether scripted agents made the corpus."""
        return self.manifest.provenance == "simulated"

    @property
    def bases(self) -> Sequence[str]:
        """The bases the corpus holds."""
        return self.manifest.bases

    @property
    def judges(self) -> Sequence[str]:
        """The judges the corpus holds ratings of; the primary one where it holds none, so that its absence shows."""
        return self.manifest.judges or (self.study.primary_judge,)

    @property
    def lead_base(self) -> str:
        """The study's primary base, or the first of a corpus that does not hold it."""
        primary = self.study.primary_base
        return primary if primary in self.bases else self.bases[0]

    @property
    def lead_judge(self) -> str:
        """The study's primary judge, or the first of a corpus that has no rating by it."""
        primary = self.study.primary_judge
        return primary if primary in self.judges else self.judges[0]

    def base_label(self, base: str) -> str:
        """Return what a base is called in print."""
        known = self.study.base(base)
        return base if known is None else known.label

    def judge_label(self, judge: str) -> str:
        """Return what a judge is called in print."""
        known = self.study.judge(judge)
        return judge if known is None else known.label

    @cached_property
    def claims(self) -> Mapping[str, Claim]:
        """The registered claims, in the study's order."""
        return bundled_claims()

    def verdict(self, claim: Claim, base: str, judge: str | None) -> Verdict | Missing:
        """Return a claim's verdict; a judge-free claim has the same one beside every judge."""
        key = (claim.id, base, judge if claim.judge_bound else None)
        if key not in self._verdicts:
            try:
                self._verdicts[key] = decide_claim(claim, self.claims, self.measures, base, key[2])
            except NotEvaluable as exc:
                self._verdicts[key] = Missing(str(exc))
        return self._verdicts[key]

    def released_note(self, verdict: Verdict) -> str | None:
        """Return how a verdict's number differs from the released one, or None where it does not."""
        said = [note for note in compare_with_released(verdict, self.measures) if not note.startswith("equal")]
        return "; ".join(said) or None

    def gap(self, rubric: str, base: str, judge: str) -> AnalysisRow | Missing:
        """Return the contrast conv - ped of a rubric's session means."""
        try:
            complete_arms(self.measures, base)
            scores = complete_scores(self.measures, base, judge, rubric)
            subject = Subject("tables", "descriptive", self.measures.instrument, base, judge)
            return subject.contrast_row(rubric, *(scores[arm].sessions for arm in ARMS))
        except NotEvaluable as exc:
            return Missing(str(exc))

    def leakage_gap(self, base: str) -> AnalysisRow | Missing:
        """Return the contrast conv - ped of the sessions' leakage, each arm's mean as a part."""
        try:
            cells = complete_arms(self.measures, base)
            subject = Subject("tables", "descriptive", self.measures.instrument, base)
            leakage = ({number: row.leakage for number, row in cells[arm].sessions.items()} for arm in ARMS)
            return subject.contrast_row("leakage", *leakage)
        except NotEvaluable as exc:
            return Missing(str(exc))

    def independence_fit(self, base: str, *, adjusted: bool) -> "CrossedFit | Missing":
        """Return model (1), or model (2), of leakage and next-turn independence; no judge has a hand in it."""
        key = (base, adjusted)
        if key not in self._fits:
            try:
                self._fits[key] = fit_frame(model_frame(NEXT_TURN, self.measures, base, None), adjusted=adjusted)
            except NotEvaluable as exc:
                self._fits[key] = Missing(str(exc))
        return self._fits[key]

    # policies: the ablation is on one base, and each policy stands alone

    def policies(self, base: str) -> tuple[str, ...]:
        """Return conv and ped, then the ablation variants of which the corpus holds a session of this base."""
        return (*ARMS, *(name for name in BASELINES if self.measures.cell(base, name).sessions))

    def ablation_notes(self, base: str) -> list[str]:
        """Return which of the study's seven policies this corpus does not hold."""
        held = self.policies(base)
        absent = [name for name in BASELINES if name not in held]
        return [f"Not in this corpus: {', '.join(absent)}."] if absent else []

    def policy_score(self, rubric: str, policy: str, base: str, judge: str) -> AnalysisRow | Missing:
        """Return a policy's mean over replicates of a rubric's session means, with its interval."""
        try:
            complete_cells(self.measures, base, (policy,))
            scores = complete_scores(self.measures, base, judge, rubric, (policy,))[policy]
            subject = Subject("figures", "descriptive", self.measures.instrument, base, judge)
            return subject.mean_row(f"{rubric}.{policy}", scores.sessions)
        except NotEvaluable as exc:
            return Missing(str(exc))

    def policy_coupling(self, policy: str, base: str) -> "TwoStage | Missing":
        """Return a policy's leaky minus non-leaky next-turn independence within replicates."""
        try:
            cell = complete_cells(self.measures, base, (policy,))[policy]
            frame = turn_frame(NEXT_TURN, (turn for turns in cell.turns.values() for turn in turns))
            return two_stage_of(frame, Subject("figures", "descriptive", self.measures.instrument, base))
        except NotEvaluable as exc:
            return Missing(str(exc))
