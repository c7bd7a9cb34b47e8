"""How often a gate would stop, pass or not decide: simulated candidates against simulated baselines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.gating import GUARDED_MEASURES, Gate, GuardPlace
from pytest_tutoreval.gating.guards import read_series
from pytest_tutoreval.inference import decide_guards, smallest_deciding_n
from pytest_tutoreval.live.jobs import Needs
from pytest_tutoreval.measures import CellScores, CorpusMeasures, FirstReplicates
from pytest_tutoreval.planning.power import NOT_EVALUABLE, Power, Simulation
from pytest_tutoreval.planning.resampling import ResampledMeasures, StudySize, pilot_replicates
from pytest_tutoreval.planning.stated import StatedEffect
from pytest_tutoreval.planning.study_plan import PlannedSize, Pricing, priced
from pytest_tutoreval.records.baseline import Baseline, BaselineCorpus, BaselineRun
from pytest_tutoreval.records.gate import GateOutcome, GateRow, GateSettings, Guard

__all__ = ["PilotTutor", "family_note", "gate_power", "plan_gate", "plan_stated_gate", "whole_gate_note"]

FloatArray = npt.NDArray[np.float64]

WHOLE_GATE = "all guards"

_RUNS = {"held": "holds", "regressed": "regresses", "not_decided": "is not decided"}

_NOBODY = "0" * 64


@dataclass(frozen=True)
class PilotTutor:
    """A tutor as a pilot shows it: a base of a corpus, with the conditions and judges that are guarded."""

    measures: CorpusMeasures
    base: str
    conditions: tuple[str, ...]
    judges: tuple[str, ...]

    def draw(
        self, size: StudySize, rng: np.random.Generator, *, beside: ResampledMeasures | None = None
    ) -> ResampledMeasures:
        """Return one simulated study of this tutor, on the problems of another one where it is drawn beside that."""
        cells = [(self.base, condition) for condition in self.conditions]
        return ResampledMeasures(self.measures, pilot_replicates(self.measures, cells), size, rng, beside=beside)


def gate_power(
    baseline: PilotTutor,
    candidate: PilotTutor,
    *,
    guards: Sequence[Guard],
    settings: GateSettings,
    size: StudySize,
    simulation: Simulation,
) -> tuple[Power, ...]:
    """Return how each guard would come out, by resampling a pilot of the baseline and one of the candidate.

    The two are drawn apart, so nothing is gained from a shared seed: where real runs of one replicate go together, a
    gate decides more often than promised here. Give the same tutor twice to learn how often a tutor that did not
    change passes. Cost is compared in tokens. Outcomes are those of a gate row; a guard that cannot be read is counted
    as not evaluable, with the reason. The last row is the whole gate: regressed if any guard is, held if all are.

    Under a sequential rule the size is that of the last look, and outcomes are those of the first look that decides:
    of the first that decides this guard, and, for the whole gate, of the first run that regresses or holds altogether.

    Raises
    ------
    ConfigurationProblem, NotEvaluable
        A guard that does not fit the study, or a pilot that is not complete.
    """
    looks = settings.sequential.looks if settings.sequential else (size.replicates,)
    if looks[-1] != size.replicates:
        raise ConfigurationProblem(
            f"the sequential rule ends at {looks[-1]} replicates, the size is {size.replicates}; plan that one: "
            f"--replicates {looks[-1]}"
        )
    found: dict[GuardPlace, Counter[str]] = {}
    reasons: dict[GuardPlace, str] = {}
    whole: Counter[str] = Counter()
    for rng in simulation.streams():
        before = baseline.draw(size, rng)
        now = candidate.draw(size, rng, beside=before)
        past = _baseline_of(before, baseline)
        runs: list[Mapping[GuardPlace, GateRow]] = []
        for look in looks:
            gate = Gate(
                past,
                path=Path("simulated baseline"),
                instrument=now.instrument,
                guards=guards,
                settings=settings,
                bases={candidate.base: baseline.base},
                price_of=_unpriced,
            )
            seen = now if look == size.replicates else _FirstLook(now, look)
            runs.append({place: gate.measure_row(place, seen) for place in gate.places(candidate.base)})
            reasons |= {place: row.reason for place, row in runs[-1].items() if row.n is None}
        for place in runs[-1]:
            found.setdefault(place, Counter())[_first_decision(_outcome(run[place]) for run in runs)] += 1
        whole[_first_decision(_of_all(map(_outcome, run.values())) for run in runs)] += 1
    return (
        *(
            Power(
                f"{place.guard.measure} {place.condition}",
                place.base,
                place.judge,
                size,
                dict(counted),
                simulation.studies,
                reason=reasons.get(place),
            )
            for place, counted in found.items()
        ),
        Power(WHOLE_GATE, candidate.base, None, size, dict(whole), simulation.studies),
    )


def _outcome(row: GateRow) -> str:
    return row.outcome if row.n is not None else NOT_EVALUABLE


def _first_decision(outcomes: Iterable[str]) -> str:
    """Return the first of successive outcomes that decides, and the last where none does."""
    last = ""
    for last in outcomes:
        if last in ("regressed", "held"):
            break
    return last


def _of_all(outcomes: Iterable[str]) -> GateOutcome:
    """Return what a run of a gate comes to over all its guards: regressed if any is, held if all are."""
    found = set(outcomes)
    if "regressed" in found:
        return "regressed"
    return "held" if found == {"held"} else "not_decided"


def family_note(n_guards: int, settings: GateSettings) -> str:
    """Return how many replicates the sharpest guard of a family needs before any data can decide it."""
    level = settings.alpha / n_guards
    return (
        f"{n_guards} guards share alpha = {settings.alpha:g}: the first needs p <= {level:.2g}, which fewer than "
        f"{smallest_deciding_n(level)} replicates cannot reach, whatever the data"
    )


def whole_gate_note(planned: PlannedSize) -> str:
    """Return how often a run with all guards of a planned size passes, is stopped and is not decided."""
    whole = next(power for power in planned.powers if power.what == WHOLE_GATE)
    shares = (f"{say} in {whole.share(outcome):.3f}" for outcome, say in _RUNS.items())
    return f"the gate as a whole, {planned.size}: {', '.join(shares)} of runs"


class _FirstLook(FirstReplicates):
    """A simulated study as an early look has it: scores are cut like everything else, not rated anew."""

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        """Return the scores of the replicates that are in."""
        whole = self.whole.scores(base, condition, judge, rubric)
        return CellScores(
            turns={turn: score for turn, score in whole.turns.items() if turn.replicate < self.n},
            sessions={number: score for number, score in whole.sessions.items() if number < self.n},
        )


def _unpriced(_: object) -> None:
    return None


def _baseline_of(measures: CorpusMeasures, tutor: PilotTutor) -> Baseline:
    """Return a simulated study as a baseline. Nothing is written and no guard reads a verdict, so there is none."""
    series = [
        one
        for condition in tutor.conditions
        for measure in GUARDED_MEASURES.values()
        for judge in (tutor.judges if measure.judged else [None])
        for one in read_series(measures, tutor.base, condition, measure.name, judge, _unpriced)
    ]
    manifest = measures.corpus.manifest
    return Baseline.model_construct(
        study=manifest.study,
        instrument=manifest.instrument,
        amendments=(),
        corpus=BaselineCorpus(name=manifest.name, sha256=_NOBODY, provenance=manifest.provenance),
        bases=(tutor.base,),
        judges=tutor.judges,
        run=BaselineRun(id="plan", started="", document_sha256=_NOBODY, versions={}),
        claims=(),
        series=tuple(series),
    )


def _stated_gate_power(
    effects: Mapping[str, StatedEffect],
    *,
    instrument: Instrument,
    guards: Sequence[Guard],
    settings: GateSettings,
    n_guards: int,
    size: StudySize,
    simulation: Simulation,
) -> tuple[Power, ...]:
    """Return how guards would come out if paired differences (candidate - baseline) were normal as stated.

    Parameters
    ----------
    effects : guarded measure -> mean and sd of candidate - baseline, in the measure's units
    n_guards : size of the family; those that are not stated count as unread, which makes no other easier to decide

    Raises
    ------
    ConfigurationProblem
        A measure that no guard is about, or whose margin is relative: a stated difference has no baseline mean.
    """
    planned = [guard for guard in guards if guard.measure in effects]
    if unguarded := sorted(set(effects) - {guard.measure for guard in planned}):
        raise ConfigurationProblem(
            f"{', '.join(unguarded)}: no guard is about it. Guarded: {', '.join(guard.measure for guard in guards)}."
        )
    if relative := [guard.measure for guard in planned if guard.relative]:
        raise ConfigurationProblem(
            f"{', '.join(relative)}: its margin is a share of the baseline's mean, which a stated effect does not "
            "have; plan it from a pilot"
        )
    if settings.sequential is not None:
        raise ConfigurationProblem("a sequential rule has several sizes; plan it from a pilot, look by look")
    problems = size.problems or len(instrument.training)
    repetitions = size.repetitions or instrument.study.protocol.repetitions
    found: list[Counter[str]] = [Counter() for _ in planned]
    for rng in simulation.streams():
        worse = [
            _drawn(guard, effects[guard.measure], problems, repetitions, size.replicates, rng) for guard in planned
        ]
        decisions = decide_guards(
            worse,
            margins=[guard.margin for guard in planned],
            alpha=settings.alpha,
            multiplicity=settings.multiplicity,
            n_guards=max(n_guards, len(planned)),
        )
        for counter, decision in zip(found, decisions, strict=True):
            counter[decision.outcome] += 1
    return tuple(
        Power(guard.measure, "stated", None, size, dict(outcomes), simulation.studies)
        for guard, outcomes in zip(planned, found, strict=True)
    )


def _drawn(
    guard: Guard, effect: StatedEffect, problems: int, repetitions: int, n: int, rng: np.random.Generator
) -> FloatArray:
    judged = GUARDED_MEASURES[guard.measure].judged
    difference = rng.normal(effect.mean, effect.sd_at(problems, repetitions if judged else 1), n)
    return difference if guard.worse == "higher" else -difference


def plan_gate(
    baseline: PilotTutor,
    candidate: PilotTutor,
    *,
    guards: Sequence[Guard],
    settings: GateSettings,
    sizes: Sequence[StudySize],
    simulation: Simulation,
    pricing: Pricing,
) -> tuple[PlannedSize, ...]:
    """Return `gate_power` at each size, with what a run of the candidate costs."""
    needs = Needs.crossed(
        bases=[candidate.base], conditions=candidate.conditions, judges=candidate.judges, rubrics=["pedagogy"]
    )
    planned = []
    for size in sizes:
        powers = gate_power(baseline, candidate, guards=guards, settings=settings, size=size, simulation=simulation)
        planned.append(priced(size, powers, needs, pricing))
    return tuple(planned)


def plan_stated_gate(
    effects: Mapping[str, StatedEffect],
    *,
    instrument: Instrument,
    guards: Sequence[Guard],
    settings: GateSettings,
    n_guards: int,
    sizes: Sequence[StudySize],
    simulation: Simulation,
) -> tuple[PlannedSize, ...]:
    """Return how guards would come out at each size if differences were normal as stated; nobody is there to price."""
    return tuple(
        PlannedSize(
            size,
            _stated_gate_power(
                effects,
                instrument=instrument,
                guards=guards,
                settings=settings,
                n_guards=n_guards,
                size=size,
                simulation=simulation,
            ),
            None,
            None,
            "a stated effect names no tutor",
        )
        for size in sizes
    )
