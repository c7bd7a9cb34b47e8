"""What `plan power` promises of a gate is what gates come to: simulated tutors, real protocol, real baselines.

Promise: a pilot of either tutor, resampled (`gate_power`). Reality: studies nobody resampled, each of replicates of its
own, measured, kept as a baseline or held against one by the gate that pytest runs.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist, variance

import pytest

from pytest_tutoreval.planning import PilotTutor, Simulation, StudySize, gate_power
from pytest_tutoreval.providers.scripted import SCRIPTS, Script
from pytest_tutoreval.records.baseline import Baseline
from pytest_tutoreval.records.gate import GateRow, GateSettings, Guard
from pytest_tutoreval.simulating import simulate_corpus
from tests.gating.studies import (
    BASE,
    CONDITION,
    JUDGE,
    Pool,
    baseline_of,
    deal,
    gate_rows,
    load_instrument,
    measures_of_pool,
    simulate_pool,
)
from tests.live.running import child_environ

ROOT = Path(__file__).resolve().parents[2]

GUARDS = (
    Guard(measure="leakage", margin=0.1, worse="higher", conditions=(CONDITION,)),
    Guard(measure="next_turn_independence", margin=0.1, worse="lower", conditions=(CONDITION,)),
    Guard(measure="pedagogy", margin=0.3, worse="lower", conditions=(CONDITION,)),
)
SETTINGS = GateSettings()
ALL = "all guards"
WHATS = (*(guard.measure for guard in GUARDS), ALL)
OUTCOMES = ("regressed", "held", "not_decided")

Shares = Mapping[str, Mapping[str, float]]


def tutor(leak_rate: float) -> Script:
    """A tutor that gives the answer away at this rate."""
    return replace(SCRIPTS["sonnet"], leak_rate={CONDITION: leak_rate})


RELEASED, WORSE = tutor(0.43), tutor(0.72)


# promise and reality


@dataclass(frozen=True)
class Found:
    """How many studies came to which outcome, of each guard and of the whole gate."""

    counts: Mapping[str, Counter[str]]
    studies: int

    def share(self, what: str, outcome: str) -> float:
        return self.counts[what][outcome] / self.studies

    def squared_error(self, what: str, outcome: str) -> float:
        """The share's binomial variance, with two successes and two failures added: never 0 at a share of 0."""
        share = (self.counts[what][outcome] + 2) / (self.studies + 4)
        return share * (1 - share) / (self.studies + 4)


def whole(outcomes: Iterable[str]) -> str:
    """What a run comes to: it stops for one regression, and passes where all hold."""
    found = set(outcomes)
    return "regressed" if "regressed" in found else "held" if found == {"held"} else "not_decided"


def reality(released: Pool, candidate: Pool, n: int) -> Found:
    """Hold every study of one tutor against a baseline of its own."""
    counts: dict[str, Counter[str]] = {what: Counter() for what in WHATS}
    studies = 0
    for before, now in zip(deal(released, n), deal(candidate, n), strict=True):
        outcomes = {name: row.outcome for name, row in gate_rows(baseline_of(before), now, GUARDS, SETTINGS).items()}
        for what, outcome in {**outcomes, ALL: whole(outcomes.values())}.items():
            counts[what][outcome] += 1
        studies += 1
    return Found(counts, studies)


def promise(released: Pool, candidate: Pool, n: int, simulation: Simulation) -> Found:
    """Plan the same gate from pilots."""
    before, now = (
        PilotTutor(measures_of_pool(pilot), BASE, (CONDITION,), (JUDGE,)) for pilot in (released, candidate)
    )
    powers = gate_power(before, now, guards=GUARDS, settings=SETTINGS, size=StudySize(n), simulation=simulation)
    return Found(
        {power.what.removesuffix(f" {CONDITION}"): Counter(power.outcomes) for power in powers}, simulation.studies
    )


@dataclass(frozen=True)
class Promised:
    """A promise, and those of the parts of its pilots, which tell how much of it was the pilots' luck."""

    whole: Found
    parts: tuple[Found, ...]

    def pilot_squared_error(self, what: str, outcome: str) -> float:
        """Pilots k times as large vary with 1/k of the variance that k disjoint parts show.

        The parts' own Monte Carlo error is in that too: the tolerance is then rather too wide than too narrow, by
        1/k of a part's binomial variance.
        """
        return variance([part.share(what, outcome) for part in self.parts]) / len(self.parts)


def promised(released: Pool, candidate: Pool, n: int, *, studies: int, parts: int, part_studies: int) -> Promised:
    return Promised(
        promise(released, candidate, n, Simulation(studies, n)),
        tuple(
            promise(mine, theirs, n, Simulation(part_studies, 1000 + number))
            for number, (mine, theirs) in enumerate(zip(released.parts(parts), candidate.parts(parts), strict=True))
        ),
    )


def distances(promised: Promised, real: Found) -> dict[tuple[str, str], float]:
    """How many standard errors reality is from the promise: of both Monte Carlo errors, and of the pilots."""
    return {
        (what, outcome): (real.share(what, outcome) - promised.whole.share(what, outcome))
        / math.sqrt(
            real.squared_error(what, outcome)
            + promised.whole.squared_error(what, outcome)
            + promised.pilot_squared_error(what, outcome)
        )
        for what in WHATS
        for outcome in OUTCOMES
    }
