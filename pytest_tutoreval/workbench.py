"""The corpus a run decides claims from: opened when the first claim is collected, read when one is decided."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tutoreval.analyses import Analysis, AnalysisInput, compare_with_released
from pytest_tutoreval.claims import decide_claim, known_claims, most_registered, registered_claims
from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.extending import loaded_extensions
from pytest_tutoreval.frozen import open_study
from pytest_tutoreval.live_needs import ClaimPlace, needs_of_run
from pytest_tutoreval.measures import CorpusMeasures, FirstReplicates
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.reporting import RENDERERS, Renderer, RunRecord, build_document
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.store.corpus import MANIFEST

if TYPE_CHECKING:
    from pytest_tutoreval.collecting.preflight import GateReading
    from pytest_tutoreval.gating import Gate, GuardPlace
    from pytest_tutoreval.live import LiveOutcome, LiveRun, Needs, Progress
    from pytest_tutoreval.records.baseline import BaselineRun
    from pytest_tutoreval.records.gate import GateRow, Undecided
    from pytest_tutoreval.records.session import Route
    from pytest_tutoreval.records.study_file import Price

__all__ = ["DEMO", "ClaimPlace", "LiveSettings", "Workbench"]

DEMO = "demo"


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
    study and the study file say it, and the corpus is opened once it has been made. `claims` is the folder of claim
    files the study file names, or None.
    """

    def __init__(self, corpus: Path | None, *, study_file: Path | None = None, live: bool = False) -> None:
        study = open_study(study_file)
        said = tuple(str(loaded) for loaded in loaded_extensions())
        self._study_file = study.file
        self._instrument = replace(study.instrument, declared=(*study.instrument.declared, *said))
        self._study_folder = study_file.parent if study_file else Path()
        self.claims = study.claims
        self._live = live
        if live and corpus is None:
            raise ConfigurationProblem("--live needs --corpus DIR: the folder that keeps what is paid for")
        self._by_default = corpus is None
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
            try:
                verdict = decide_claim(place.claim, place.known, self.measures, place.base, place.judge)
            except NotEvaluable as exc:
                if not self._by_default:
                    raise
                raise NotEvaluable(f"{exc}; this is the bundled demo, since no --corpus was given") from exc
            compared = compare_with_released(verdict, self.measures)
            self._verdicts[key] = verdict.model_copy(update={"notes": (*verdict.notes, *compared)})
        return self._verdicts[key]

    def analyses(self) -> Mapping[str, Analysis]:
        """Return every analysis by name."""
        from pytest_tutoreval.analyses.catalogue import all_analyses

        return all_analyses()

    def analyse(self, name: str, base: str | None, judge: str | None) -> list[AnalysisRow]:
        """Return an analysis's rows. Raises NotEvaluable, or CorpusError where a file cannot be read."""
        given = AnalysisInput(self._study_replicates, base, judge, self.bases, self.judges)
        return self.analyses()[name].run(given)

    def collect(
        self,
        places: Iterable[ClaimPlace],
        settings: LiveSettings,
        progress: "Progress",
        said: Callable[[str], None],
        *,
        bases: Collection[str],
        guards: "Iterable[GuardPlace]" = (),
    ) -> "LiveOutcome":
        """Collect and judge what these claims and guards lack of the named bases, and nothing else.

        Raises
        ------
        TutorEvalError
            Before anything is sent: an unknown route, a missing key, a price that is not known, a claim that rests on a
            base that is not named and not on disk.
        """
        from pytest_tutoreval.live import run_live

        registered = self._instrument.study.protocol.replicates
        needs = needs_of_run(places, guards, bases=bases, replicates=registered, there=self._collected_before)
        return run_live(self._live_run(needs, settings), progress, said=said)

    def _collected_before(self) -> CorpusMeasures | None:
        """Return the measures of what is on disk before a live run, None where nothing is. Not kept: more will come."""
        if not (self._folder / MANIFEST).is_file():
            return None
        return CorpusMeasures(open_corpus(self._folder, instrument=self._instrument.sha256), self._instrument)

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

    def open_gate(
        self, path: Path, bases: Sequence[str], *, undecided: "Undecided | None", prices: Path | None
    ) -> "Gate":
        """Return the gate that holds these bases against the baseline in a file.

        Raises
        ------
        BaselineError, ConfigurationProblem
            The baseline is not comparable, or a guard names what is not there.
        """
        from pytest_tutoreval.gating import Gate, match_bases, read_baseline, refuse_other_provenance

        baseline = read_baseline(path, self._instrument)
        if not self._live:
            refuse_other_provenance(path, baseline, self.measures.corpus)
        settings = self._study_file.gate
        return Gate(
            baseline,
            path=path,
            instrument=self._instrument,
            guards=self._study_file.guards,
            settings=settings.model_copy(update={"undecided": undecided}) if undecided else settings,
            bases=match_bases(baseline, bases, path=path),
            price_of=self._price_of(prices),
        )

    def guard_row(self, gate: "Gate", place: "GuardPlace") -> "GateRow":
        """Return what a guard comes to on this corpus."""
        return gate.measure_row(place, self._study_replicates)

    @cached_property
    def _study_replicates(self) -> CorpusMeasures:
        """The measures without replicates that a claim of the study file registers beyond the study's n."""
        known = known_claims(self.claims)
        manifest, n = self.measures.corpus.manifest, self._instrument.study.protocol.replicates
        most = {cell: most_registered(cell, known) or n for cell in product(manifest.bases, manifest.conditions)}
        if max(most.values(), default=n) <= n:
            return self.measures
        return FirstReplicates(self.measures, n, registered=most)

    def keep_baseline(
        self,
        path: Path,
        verdicts: Iterable[Verdict],
        *,
        bases: Sequence[str],
        judges: Sequence[str],
        prices: Path | None,
        run: "BaselineRun",
        registered: Iterable[Claim],
    ) -> None:
        """Write the baseline of a complete run, from the replicates that a gate reads. Raises BaselineError."""
        from pytest_tutoreval.gating import make_baseline, write_baseline

        baseline = make_baseline(
            self._study_replicates,
            verdicts,
            bases=bases,
            judges=judges,
            price_of=self._price_of(prices),
            run=run,
            registered=registered,
        )
        write_baseline(baseline, path)

    def _price_of(self, path: Path | None) -> "Callable[[Route], Price | None]":
        from pytest_tutoreval.providers.money import price_of

        prices = self._prices(path)
        return lambda route: price_of(route, prices)

    def _prices(self, path: Path | None) -> "dict[str, Price]":
        from pytest_tutoreval.providers.money import read_prices

        return read_prices(path, own=self._study_file.prices)

    def _live_run(self, needs: "Needs", settings: LiveSettings) -> "LiveRun":
        from pytest_tutoreval.live import LiveRun

        run = LiveRun(
            instrument=self._instrument,
            folder=self._folder,
            needs=needs,
            study_file=self._study_file,
            study_folder=self._study_folder,
            prices=self._prices(settings.prices),
            budget=settings.budget,
            max_retries=settings.max_retries,
        )
        return run if settings.at_once is None else replace(run, at_once=settings.at_once)

    @property
    def renderers(self) -> Sequence[Renderer]:
        """What is made of a run's document; the page reads the corpus too, for its transcripts."""

        def render_page(document: Mapping[str, Any], folder: Path) -> list[str]:
            from pytest_tutoreval.reporting.html import write_html

            return write_html(document, self.measures, folder)

        return (Renderer("report.html", ("report.html", "transcripts"), render_page), *RENDERERS)

    def document(
        self, run: RunRecord, *, bases: Sequence[str], judges: Sequence[str], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the document of a finished run."""
        return build_document(
            run,
            self.measures,
            claim_order=list(registered_claims()),
            analysis_order=list(self.analyses()) if run.analysed else [],
            bases=bases,
            judges=judges,
            facts=facts,
            packages={loaded.name: loaded.version for loaded in loaded_extensions()},
        )
