"""How often a study of a given size would decide: simulated studies, decided by the product's own rules."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pytest_tutoreval.claims import decide_claim
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.inference import attainable_floor
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.planning.resampling import StudySize
from pytest_tutoreval.records.claim import Claim

__all__ = ["NOT_EVALUABLE", "Power", "Simulation", "claim_power", "simulate_power"]

NOT_EVALUABLE = "not_evaluable"

_NORMAL_975 = 1.959963984540054


@dataclass(frozen=True)
class Simulation:
    """How many studies are simulated, from which seed."""

    studies: int
    seed: int

    def streams(self) -> list[np.random.Generator]:
        """Return a generator a study. Study i's depends on the seed and i alone.

        So more simulations keep the first ones, and what differs between two plans is not their chance.
        """
        return [np.random.default_rng(child) for child in np.random.SeedSequence(self.seed).spawn(self.studies)]


@dataclass(frozen=True)
class Power:
    """How simulated studies of one size came out for one claim or guard.

    Attributes
    ----------
    outcomes : outcome word -> number of simulated studies; a study that could not be decided counts as not_evaluable
    simulations : how many studies were simulated
    floor : smallest two-sided p that this number of pairs can reach; None where the test has no such floor
    reason : why the last study that could not be decided could not; None where all were
    """

    what: str
    base: str
    judge: str | None
    size: StudySize
    outcomes: Mapping[str, int]
    simulations: int
    floor: float | None = None
    reason: str | None = None

    def share(self, outcome: str) -> float:
        """Return the share of simulated studies with this outcome."""
        return self.outcomes.get(outcome, 0) / self.simulations

    def error(self, outcome: str) -> float:
        """Return half the width of the share's 95 % Wilson interval: its Monte Carlo error, never 0."""
        n, z, share = self.simulations, _NORMAL_975, self.share(outcome)
        return z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))


def simulate_power(
    what: str,
    base: str,
    judge: str | None,
    size: StudySize,
    outcome: Callable[[np.random.Generator], str],
    simulation: Simulation,
    *,
    floor: float | None = None,
) -> Power:
    """Return how `outcome` falls over simulated studies, each with a generator of its own."""
    found: Counter[str] = Counter()
    reason = None
    for rng in simulation.streams():
        try:
            found[outcome(rng)] += 1
        except NotEvaluable as exc:
            found[NOT_EVALUABLE] += 1
            reason = str(exc)
    return Power(what, base, judge, size, dict(found), simulation.studies, floor, reason)


def claim_power(
    claim: Claim,
    known: Mapping[str, Claim],
    study: Callable[[np.random.Generator], CorpusMeasures],
    base: str,
    judge: str | None,
    size: StudySize,
    simulation: Simulation,
) -> Power:
    """Return how a claim would be decided over studies drawn by `study`, each of this size.

    The claim's own registered n is put aside: it is what is being planned. A reversed result is an outcome of its own.
    """
    open_claim = _without_n(claim)
    open_known = {name: _without_n(other) for name, other in known.items()}

    def outcome(rng: np.random.Generator) -> str:
        verdict = decide_claim(open_claim, open_known, study(rng), base, judge)
        return "reversed" if verdict.reversed else verdict.verdict

    floor = None if claim.form == "leakage_coupling" else attainable_floor(size.replicates)
    return simulate_power(claim.id, base, judge, size, outcome, simulation, floor=floor)


def _without_n(claim: Claim) -> Claim:
    return claim if claim.form == "joint" else claim.model_copy(update={"replicates": None})
