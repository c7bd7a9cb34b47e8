"""The corpus a run decides claims from: opened when the first claim is collected, read when one is decided."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.analyses import Analysis, AnalysisInput, compare_with_released
from pytest_tutoreval.claims import bundled_claims, decide_claim, rubrics_of
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from pytest_tutoreval.measures import ARMS, CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.reporting import RunRecord, build_document
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus

if TYPE_CHECKING:
    from pytest_tutoreval.collecting.preflight import GateReading
    from pytest_tutoreval.live import LiveOutcome, LiveRun, Needs, Progress

__all__ = ["DEMO", "ClaimPlace", "LiveSettings", "Workbench"]

DEMO = "demo"


@dataclass(frozen=True)
class ClaimPlace:
    """A claim that is to be decided for a base and, where it is judge-bound, a judge."""

    claim: Claim
    known: Mapping[str, Claim]
    base: str
    judge: str | None


@dataclass(frozen=True)
class LiveSettings:
    """What the command line says about a live run."""

    prices: Path | None = None
    budget: float | None = None
    max_retries: int | None = None
    at_once: int | None = None


class Workbench:
    """One corpus under one instrument, with every verdict asked for so far.

    Offline, the corpus says which bases and judges there are. A live run may begin with no corpus at all, so there the
    study and the study file say it, and the corpus is opened once it has been made.
    """

    def __init__(self, corpus: Path | None, *, study_file: Path | None = None, live: bool = False) -> None:
        self._study_file = read_study_file(study_file) if study_file else StudyFile()
        self._instrument = extend_instrument(load_instrument(), self._study_file)
        self._live = live
        if live and corpus is None:
            raise ConfigurationProblem("--live needs --corpus DIR: the folder that keeps what is paid for")
        self._folder = corpus or data_folder("fixtures") / DEMO
        self._verdicts: dict[tuple[Claim, str, str | None], Verdict] = {}
        if not live:
            self.measures  # noqa: B018 - a corpus that cannot be opened is found now, not at the first claim

    @cached_property
    def measures(self) -> CorpusMeasures:
        """The corpus's measures."""
        return CorpusMeasures(open_corpus(self._folder, instrument=self._instrument.sha256), self._instrument)

    @property
    def knower(self) -> str:
        """Who says which names there are."""
        return "the study has" if self._live else "the corpus holds"

    @property
    def bases(self) -> Sequence[str]:
        """The bases that can be asked for, in a fixed order."""
        if self._live:
            return [base.id for base in self._instrument.study.bases]
        return self.measures.corpus.manifest.bases

    @property
    def judges(self) -> Sequence[str]:
        """The judges that can be asked for, in a fixed order."""
        if self._live:
            return [judge.id for judge in self._instrument.study.judges]
        return self.measures.corpus.manifest.judges

    def decide(self, place: ClaimPlace) -> Verdict:
        """Return a claim's verdict, with notes that hold it against the released result where there is one.

        Raises
        ------
        NotEvaluable
        """
        key = (place.claim, place.base, place.judge)
        if key not in self._verdicts:
            verdict = decide_claim(place.claim, place.known, self.measures, place.base, place.judge)
            compared = compare_with_released(verdict, self.measures)
            self._verdicts[key] = verdict.model_copy(update={"notes": (*verdict.notes, *compared)})
        return self._verdicts[key]

    def analyses(self) -> Mapping[str, Analysis]:
        """Return every analysis by name."""
        from pytest_tutoreval.analyses.catalogue import all_analyses

        return all_analyses()

    def analyse(self, name: str, base: str | None, judge: str | None) -> list[AnalysisRow]:
        """Return an analysis's rows. Raises NotEvaluable, or CorpusError where a file cannot be read."""
        given = AnalysisInput(self.measures, base, judge, self.bases, self.judges)
        return self.analyses()[name].run(given)

    def collect(
        self,
        places: Iterable[ClaimPlace],
        settings: LiveSettings,
        progress: "Progress",
        said: Callable[[str], None],
    ) -> "LiveOutcome":
        """Collect and judge what these claims lack, and nothing else; return what came of it.

        Raises
        ------
        TutorEvalError
            Before anything is sent: an unknown route, a missing key, a price that is not known.
        """
        from pytest_tutoreval.live import Needs, run_live

        needs = Needs()
        for place in places:
            rubrics = rubrics_of(place.claim, place.known) if place.judge else ()
            judges = [place.judge] if place.judge else []
            needs |= Needs.crossed(bases=[place.base], conditions=ARMS, judges=judges, rubrics=rubrics)
        return run_live(self._live_run(needs, settings), progress, said=said)

    def preflight(
        self, bases: Sequence[str], judges: Sequence[str], settings: LiveSettings, said: Callable[[str], None]
    ) -> None:
        """Read every gate of these bases and keep the readings in the corpus."""
        from pytest_tutoreval.live import Needs, run_gates

        rubrics = self._instrument.study.rubrics
        needs = Needs.crossed(bases=bases, conditions=["conv"], judges=judges, rubrics=rubrics)
        run_gates(self._live_run(needs, settings), said=said)

    def gate_reading(self, base: str, gate: str) -> "GateReading":
        """Return a gate's reading as the corpus keeps it. Raises GateFailed where it was not read."""
        from pytest_tutoreval.live.gates import kept_reading

        return kept_reading(self._folder, base, gate)

    def _live_run(self, needs: "Needs", settings: LiveSettings) -> "LiveRun":
        from pytest_tutoreval.live import LiveRun
        from pytest_tutoreval.providers.money import read_prices

        run = LiveRun(
            instrument=self._instrument,
            folder=self._folder,
            needs=needs,
            study_file=self._study_file,
            prices={**read_prices(settings.prices), **self._study_file.prices},
            budget=settings.budget,
            max_retries=settings.max_retries,
        )
        return run if settings.at_once is None else replace(run, at_once=settings.at_once)

    def document(
        self, run: RunRecord, *, bases: Sequence[str], judges: Sequence[str], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the document of a finished run."""
        return build_document(
            run,
            self.measures,
            claim_order=list(bundled_claims()),
            analysis_order=list(self.analyses()) if run.analysed else [],
            bases=bases,
            judges=judges,
            facts=facts,
        )
