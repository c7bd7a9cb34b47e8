"""What `plan power` promises of a gate is what gates come to: simulated tutors, real protocol, real baselines.

Promise: a pilot of either tutor, resampled (`gate_power`). Reality: studies nobody resampled, each of replicates of its
own, measured, kept as a baseline or held against one by the gate that pytest runs.
"""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist, variance
from typing import Any, Literal

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.planning import PilotTutor, Simulation, StudySize, gate_power
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS, Script
from pytest_tutoreval.records.baseline import Baseline
from pytest_tutoreval.records.gate import GateSettings, Guard, SequentialRule
from pytest_tutoreval.simulating import simulate_corpus
from tests.gating.studies import (
    BASE,
    CONDITION,
    JUDGE,
    Pool,
    baseline_of,
    deal,
    gate_rows,
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


def tutor(leak_rate: float) -> Script:
    """A tutor that gives the answer away at this rate."""
    return replace(SCRIPTS["sonnet"], leak_rate={CONDITION: leak_rate})


RELEASED, WORSE, FAR_WORSE = tutor(0.43), tutor(0.72), tutor(0.95)


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
    before, now = (PilotTutor(measures_of_pool(pilot), BASE, (CONDITION,), (JUDGE,)) for pilot in (released, candidate))
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


# Three guards and the whole gate, three outcomes, three sizes, two candidates. Were all 72 off by chance alone, the
# farthest would lie within this many standard errors with probability .99 (Bonferroni): 3.81.
N_COMPARED = 4 * 3 * 3 * 2
MOST = NormalDist().inv_cdf(1 - 0.01 / (2 * N_COMPARED))


def too_far(promised: Promised, real: Found) -> dict[tuple[str, str], float]:
    return {place: found for place, found in distances(promised, real).items() if abs(found) > MOST}


@dataclass(frozen=True)
class Tutors:
    """Pools of the released tutor, of the same once more and of a worse one; the pilots share nothing with them."""

    released: Pool
    again: Pool
    worse: Pool
    released_pilot: Pool
    worse_pilot: Pool

    @classmethod
    def simulated(cls, *, n: int, pilot: int) -> "Tutors":
        return cls(
            simulate_pool(RELEASED, seed=11, n=n),
            simulate_pool(RELEASED, seed=13, n=n),
            simulate_pool(WORSE, seed=12, n=n),
            simulate_pool(RELEASED, seed=21, n=pilot),
            simulate_pool(WORSE, seed=22, n=pilot),
        )


def test_a_small_simulation_keeps_what_was_promised() -> None:
    tutors = Tutors.simulated(n=200, pilot=100)
    known = {"studies": 200, "parts": 5, "part_studies": 60}
    passing = promised(tutors.released_pilot, tutors.released_pilot, 8, **known)
    assert not too_far(passing, reality(tutors.released, tutors.again, 8))
    caught = promised(tutors.released_pilot, tutors.worse_pilot, 8, **known)
    assert not too_far(caught, reality(tutors.released, tutors.worse, 8))


@pytest.fixture(scope="module")
def tutors() -> Tutors:
    """300 studies of 8, 200 of 12, 120 of 20; pilots so large that their own luck is less than that of the studies."""
    return Tutors.simulated(n=2400, pilot=600)


SIZES = pytest.mark.parametrize("n", [8, 12, 20])
LARGE = {"studies": 1000, "parts": 10, "part_studies": 150}


@pytest.mark.simulation
@SIZES
def test_a_tutor_that_did_not_change_passes_and_is_stopped_as_often_as_promised(tutors: Tutors, n: int) -> None:
    """As `plan power --gate` plans it: one pilot plays both sides."""
    plan = promised(tutors.released_pilot, tutors.released_pilot, n, **LARGE)
    real = reality(tutors.released, tutors.again, n)
    assert not too_far(plan, real)
    assert real.share(ALL, "regressed") <= SETTINGS.alpha, "a false alarm in the family"


@pytest.mark.simulation
@SIZES
def test_a_worse_tutor_is_caught_and_missed_as_often_as_promised(tutors: Tutors, n: int) -> None:
    plan = promised(tutors.released_pilot, tutors.worse_pilot, n, **LARGE)
    real = reality(tutors.released, tutors.worse, n)
    assert not too_far(plan, real)
    assert real.share("leakage", "held") <= SETTINGS.alpha, "leakage is worse than its margin, so held is a miss"


@pytest.mark.simulation
def test_a_promise_for_another_size_or_another_tutor_is_told_apart(tutors: Tutors) -> None:
    """Were the tolerance so wide that these pass, the comparisons above would say nothing; here it is rather wider."""
    fewer = {"studies": 400, "parts": 10, "part_studies": 50}
    same, worse = (
        promised(tutors.released_pilot, pilot, 8, **fewer) for pilot in (tutors.released_pilot, tutors.worse_pilot)
    )
    larger = reality(tutors.released, tutors.again, 20)
    assert ("leakage", "held") in too_far(same, larger)
    assert ("leakage", "regressed") in too_far(worse, reality(tutors.released, tutors.worse, 20))
    assert ("leakage", "held") in too_far(worse, reality(tutors.released, tutors.again, 8))


# several looks

LOOKS = (6, 9, 12)
N_STUDIES = 1500
AT_MARGIN = GUARDS[0]

Ever = Mapping[str, Counter[str]]


def worse_by_the_margin(baseline: Baseline) -> Baseline:
    """The same tutor's baseline with every share of leaking turns lower by the margin."""
    return baseline.model_copy(
        update={
            "series": tuple(
                one.model_copy(
                    update={
                        "values": {
                            number: {
                                name: None if value is None else value - AT_MARGIN.margin
                                for name, value in problems.items()
                            }
                            for number, problems in one.values.items()
                        }
                    }
                )
                for one in baseline.series
                if one.measure == AT_MARGIN.measure
            )
        }
    )


def rules() -> dict[str, GateSettings]:
    spendings: tuple[Literal["obrien_fleming", "pocock"], ...] = ("obrien_fleming", "pocock")
    return {
        "no rule": SETTINGS,
        **{name: GateSettings(sequential=SequentialRule(looks=LOOKS, spending=name)) for name in spendings},
    }


@pytest.fixture(scope="module")
def ever() -> Ever:
    """By rule, how many of the studies were ever called regressed, and how many ever held.

    Both tutors are drawn from one pool, so a difference of two replicates is as likely as its opposite; the baseline
    is then lowered by the margin. The truth lies on the margin, where either call is wrong and the test is exact.
    """
    pool = simulate_pool(RELEASED, seed=31, n=400)
    counts: dict[str, Counter[str]] = {name: Counter() for name in rules()}
    for rng in Simulation(N_STUDIES, 5).streams():
        before, now = (pool.only(rng.integers(pool.n, size=LOOKS[-1]).tolist()) for _ in range(2))
        baseline = worse_by_the_margin(baseline_of(measures_of_pool(before)))
        looks = {look: measures_of_pool(now.only(range(look))) for look in LOOKS}
        for name, settings in rules().items():
            rows = [
                gate_rows(
                    baseline, measures, (AT_MARGIN,), settings, registered=LOOKS[-1] if settings.sequential else look
                )
                for look, measures in looks.items()
            ]
            counts[name].update({row[AT_MARGIN.measure].outcome for row in rows})
    return counts


def limit(share: float) -> float:
    """Three Monte Carlo errors above a share."""
    return share + 3 * math.sqrt(share * (1 - share) / N_STUDIES)


@pytest.mark.simulation
@pytest.mark.parametrize("outcome", ["regressed", "held"])
@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock"])
def test_a_sequential_rule_keeps_alpha_over_all_looks(ever: Ever, spending: str, outcome: str) -> None:
    share = ever[spending][outcome] / N_STUDIES
    assert share <= limit(SETTINGS.alpha)
    # A rule that never decided would keep alpha too. What the coarse p-values of six replicates leave unspent is lost.
    assert share >= SETTINGS.alpha / 2


@pytest.mark.simulation
@pytest.mark.parametrize("outcome", ["regressed", "held"])
def test_as_many_looks_without_a_rule_break_alpha(ever: Ever, outcome: str) -> None:
    assert ever["no rule"][outcome] / N_STUDIES > limit(SETTINGS.alpha)


# through files


STUDY = """
[[guards]]
measure = "leakage"
margin = 0.1
worse = "higher"
conditions = ["conv"]

[[guards]]
measure = "next_turn_independence"
margin = 0.1
worse = "lower"
conditions = ["conv"]

[[guards]]
measure = "pedagogy"
margin = 0.3
worse = "lower"
conditions = ["conv"]
"""


def written(folder: Path, script: Script, seed: int) -> Path:
    """Write a corpus of a tutor; ped is as ever, so that a claim can be decided."""
    whole_script = replace(script, leak_rate={"ped": 0.064, **script.leak_rate})
    simulate_corpus(
        folder,
        load_instrument(),
        seed=seed,
        scripts={BASE: whole_script},
        judge_scripts={JUDGE: JUDGE_SCRIPTS[JUDGE]},
    )
    return folder


def pytest_run(folder: Path, *options: str) -> dict[str, Any]:
    """Run the shipped suites in a folder, and return what was written."""
    environ = {name: value for name, value in child_environ().items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(ROOT / "suites"), f"--rootdir={folder}"]
    options = (*options, "--tutoreval-study=study.toml", "--tutoreval-report=reports")
    done = subprocess.run(
        [*command, *options], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, Any] = json.loads((folder / "reports" / "verdicts.json").read_bytes())
    return found


def test_files_and_a_run_of_pytest_come_to_the_same_rows(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    released, worse = written(tmp_path / "released", RELEASED, 41), written(tmp_path / "worse", FAR_WORSE, 42)
    keeping = ("--tutoreval-baseline=baseline.json", "--tutoreval-baseline-update")
    pytest_run(tmp_path, f"--corpus={released}", *keeping)
    run = pytest_run(tmp_path, f"--corpus={worse}", "--gate", "--tutoreval-baseline=baseline.json", "-m", "gate")

    before, now = (
        measures_of_pool(simulate_pool(script, seed=seed, n=10)) for script, seed in ((RELEASED, 41), (FAR_WORSE, 42))
    )
    kept = Baseline.model_validate_json((tmp_path / "baseline.json").read_bytes())
    in_memory = baseline_of(before)
    # A scripted route also has a price, none, and so a cost in dollars beside the one in tokens.
    found = [one for one in kept.series if one.condition == CONDITION and one.unit != "dollars"]
    assert found == list(in_memory.series)
    expected = [row.model_dump(mode="json") for row in gate_rows(in_memory, now, GUARDS, SETTINGS).values()]
    assert run["gate"]["rows"] == expected
    assert expected[0]["outcome"] == "regressed"
