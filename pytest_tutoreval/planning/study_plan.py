"""A plan over study sizes: power of each claim and guard, cost and hours, and the smallest n that reaches a target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from typing import Protocol

import numpy as np

from pytest_tutoreval.claims import cells_of, item_bases, rated_cells_of
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.live.jobs import Needs
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.planning.cost import plan_cost
from pytest_tutoreval.planning.power import Power, Simulation, claim_power
from pytest_tutoreval.planning.resampling import ResampledMeasures, StudySize, pilot_replicates, sized
from pytest_tutoreval.planning.stated import StatedEffect, StatedMeasures, shifted_arms
from pytest_tutoreval.records.claim import Claim, ContrastClaim
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.study_file import Price, StudyFile

__all__ = [
    "PilotSource",
    "PlannedSize",
    "Pricing",
    "Source",
    "StatedSource",
    "StudyPlan",
    "plan_claims",
    "priced",
    "sizes_of",
]

Draw = Callable[[np.random.Generator], CorpusMeasures]


class Source(Protocol):
    """Where simulated studies come from."""

    def described(self) -> str:
        """Return the source in words, as in "planned from …"."""

    def studies(self, claims: Sequence[Claim], known: Mapping[str, Claim], base: str, size: StudySize) -> Draw:
        """Return what draws studies of a size in which these claims can be decided for a base."""


@dataclass(frozen=True)
class PilotSource:
    """A pilot corpus whose replicates are resampled."""

    pilot: CorpusMeasures

    def described(self) -> str:
        """Return the pilot's name, provenance and digest."""
        manifest = self.pilot.corpus.manifest
        return f"pilot corpus {manifest.name} ({manifest.provenance}), {self.pilot.corpus.sha256[:12]}"

    def studies(self, claims: Sequence[Claim], known: Mapping[str, Claim], base: str, size: StudySize) -> Draw:
        """Return what resamples the replicates that the pilot holds in every cell of these claims."""
        cells = dict.fromkeys(cell for claim in claims for cell in cells_of(claim, known, base))
        replicates = pilot_replicates(self.pilot, cells)
        return lambda rng: ResampledMeasures(self.pilot, replicates, size, rng)


@dataclass(frozen=True)
class StatedSource:
    """Effects somebody states."""

    effects: Mapping[str, StatedEffect]
    instrument: Instrument

    def described(self) -> str:
        """Return the effects as they were stated."""
        stated = (
            f"{measure}: mean {effect.mean:g}, sd {effect.sd:g}"
            + (f", sd between problems {effect.sd_problem:g}" if effect.sd_problem else "")
            + (f", sd between ratings {effect.sd_rating:g}" if effect.sd_rating else "")
            for measure, effect in self.effects.items()
        )
        return f"stated effects ({'; '.join(stated)})"

    def studies(self, claims: Sequence[Claim], known: Mapping[str, Claim], base: str, size: StudySize) -> Draw:
        """Return what draws normal differences with the stated means and standard deviations."""
        contrasts = [known[name] for claim in claims if claim.form == "joint" for name in claim.all_of]
        contrasts += [claim for claim in claims if claim.form != "joint"]
        raised = shifted_arms(contrasts, base)
        measures = {claim.measure for claim in contrasts if isinstance(claim, ContrastClaim)}
        unstated = sorted(measures - set(self.effects))
        if unstated:
            raise ConfigurationProblem(f"no effect was stated for {', '.join(unstated)}; state its mean and sd")
        if size.problems is not None and not any(effect.sd_problem for effect in self.effects.values()):
            raise ConfigurationProblem(
                "the stated effects do not say how problems vary, so their number changes nothing; state sd_problem, "
                "or leave the number of problems out"
            )
        if size.repetitions is not None and not any(effect.sd_rating for effect in self.effects.values()):
            raise ConfigurationProblem(
                "the stated effects do not say how ratings vary, so their number changes nothing; state sd_rating, or "
                "leave the number of repetitions out"
            )
        return lambda rng: StatedMeasures(self.effects, raised, self.instrument, size, rng)


@dataclass(frozen=True)
class Pricing:
    """What prices a study: the instrument, the price list, and the user's routes."""

    instrument: Instrument
    prices: Mapping[str, Price]
    study_file: StudyFile

    def of(self, size: StudySize, needs: Needs) -> tuple[float | None, float]:
        """Return dollars (None where a price is unknown) and hours of a study of this size.

        Raises
        ------
        ConfigurationProblem
            A base or judge that no study describes, so nobody can say what it costs.
        """
        instrument = _with_problems(sized(self.instrument, size), size.problems)
        cost = plan_cost(instrument, needs, self.prices, self.study_file)
        return cost.dollars, cost.hours


@dataclass(frozen=True)
class PlannedSize:
    """One size: what it costs and how often it decides.

    `dollars` is None where a price is unknown, `hours` where the cost could not be planned; `unpriced` says why.
    """

    size: StudySize
    powers: tuple[Power, ...]
    dollars: float | None
    hours: float | None
    unpriced: str | None = None


@dataclass(frozen=True)
class StudyPlan:
    """The whole plan.

    Attributes
    ----------
    source : in words, what the simulated studies were drawn from
    target : the power that is wanted
    wanted : what is planned (claim or guard) -> the outcome that counts as power
    seed, simulations : as simulated, per size and row
    notes : what a reader of this plan has to know besides
    """

    source: str
    simulated_data: bool
    sizes: tuple[PlannedSize, ...]
    wanted: Mapping[str, str]
    target: float
    seed: int
    simulations: int
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[PlannedSize, Power]]:
        """Yield every row with its size."""
        for planned in self.sizes:
            for power in planned.powers:
                yield planned, power

    def smallest_n(self, what: str) -> int | None:
        """Return the fewest replicates at which every row of a claim or guard reaches the target, or None.

        A target counts as reached where the share is at least the target. More replicates that fall below it again (an
        exact test gains power in steps) do not count against a smaller n that reached it.
        """
        reached: dict[int, bool] = {}
        for planned, power in self.rows():
            if power.what == what:
                n = planned.size.replicates
                reached[n] = reached.get(n, True) and power.share(self.wanted[what]) >= self.target
        return min((n for n, all_reached in reached.items() if all_reached), default=None)


def sizes_of(
    replicates: Sequence[int], problems: Sequence[int | None] = (None,), repetitions: Sequence[int | None] = (None,)
) -> list[StudySize]:
    """Return every combination, smallest first."""
    return [StudySize(*combination) for combination in product(sorted(replicates), problems, repetitions)]


def plan_claims(
    claims: Sequence[Claim],
    known: Mapping[str, Claim],
    source: Source,
    *,
    bases: Sequence[str],
    judges: Sequence[str],
    sizes: Sequence[StudySize],
    simulation: Simulation,
    pricing: Pricing,
) -> tuple[PlannedSize, ...]:
    """Return the power of each claim, for each base and judge it is decided for, at each size, with the study's cost.

    Raises
    ------
    ConfigurationProblem, NotEvaluable
        The source cannot carry one of the claims.
    """
    places = [
        (claim, base, judge)
        for claim in claims
        for base in item_bases(claim, known, bases)
        for judge in (judges if claim.judge_bound else [None])
    ]
    if not places:
        raise ConfigurationProblem(
            f"none of {', '.join(claim.id for claim in claims) or 'no claim'} can be decided for bases "
            f"{', '.join(bases) or 'none'} and judges {', '.join(judges) or 'none'}; name others"
        )
    needs = Needs()
    for claim, base, judge in places:
        rated = rated_cells_of(claim, known, base) if judge else ()
        # As many of each as the size has: a number a claim registers already is what is being planned.
        ratings = [(of, condition, str(judge), rubric) for of, condition, rubric in rated]
        needs |= Needs(dict.fromkeys(cells_of(claim, known, base)), dict.fromkeys(ratings))
    planned = []
    for size in sizes:
        powers = tuple(
            claim_power(claim, known, source.studies([claim], known, base, size), base, judge, size, simulation)
            for claim, base, judge in places
        )
        planned.append(priced(size, powers, needs, pricing))
    return tuple(planned)


def priced(size: StudySize, powers: tuple[Power, ...], needs: Needs, pricing: Pricing) -> PlannedSize:
    """Return a planned size with what it costs, or why nobody can say."""
    try:
        dollars, hours = pricing.of(size, needs)
    except ConfigurationProblem as exc:
        return PlannedSize(size, powers, None, None, str(exc))
    return PlannedSize(size, powers, dollars, hours)


def _with_problems(instrument: Instrument, wanted: int | None) -> Instrument:
    """Return the instrument with another number of tutored problems; more than there are repeat those there are."""
    if wanted is None:
        return instrument
    training = instrument.training
    rounds = range(ceil(wanted / len(training)))
    repeated = [_copy(problem, number) for number in rounds for problem in training][:wanted]
    others = [problem for problem in instrument.problems if problem.phase != "training"]
    return replace(instrument, problems=(*repeated, *others))


def _copy(problem: Problem, number: int) -> Problem:
    return problem if number == 0 else problem.model_copy(update={"id": f"{problem.id}.{number + 1}"})
