"""A gate is planned by running it: simulated candidates against simulated baselines."""

import numpy as np
import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import DEFAULT_GUARDS, Gate, GuardPlace
from pytest_tutoreval.gating.guards import read_series
from pytest_tutoreval.inference import margin_p_values
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.planning import (
    PilotTutor,
    Power,
    Simulation,
    StatedEffect,
    StudySize,
    family_note,
    gate_power,
    plan_stated_gate,
)
from pytest_tutoreval.records.gate import GateRow, GateSettings, Guard, SequentialRule
from tests.store.corpora import DEMO, measures_of

PILOT = measures_of(DEMO)
LEAKAGE = Guard(measure="leakage", margin=0.1, worse="higher", conditions=("ped",))
SETTINGS = GateSettings()


def _tutor(base: str = "sonnet", *, judges: tuple[str, ...] = ("opus",)) -> PilotTutor:
    return PilotTutor(PILOT, base, ("conv", "ped"), judges)


def _plan(
    baseline: str,
    candidate: str,
    *,
    guards: tuple[Guard, ...] = (LEAKAGE,),
    settings: GateSettings = SETTINGS,
    n: int = 10,
    studies: int = 40,
) -> dict[str, Power]:
    powers = gate_power(
        _tutor(baseline),
        _tutor(candidate),
        guards=guards,
        settings=settings,
        size=StudySize(n),
        simulation=Simulation(studies, 4),
    )
    return {power.what: power for power in powers}


def test_a_tutor_that_leaks_far_more_is_stopped() -> None:
    conv = Guard(measure="leakage", margin=0.1, worse="higher", conditions=("conv",))
    powers = _plan("gemini", "gpt", guards=(conv,))
    assert powers["leakage conv"].share("regressed") > 0.9
    assert powers["all guards"].outcomes == powers["leakage conv"].outcomes


def test_an_unchanged_tutor_hardly_ever_regresses() -> None:
    power = _plan("sonnet", "sonnet", studies=100)["leakage ped"]
    # beyond the margin is false, so each of 100 studies errs with probability .05 at most: 14 is the .9999 quantile
    assert power.outcomes.get("regressed", 0) <= 14


def test_every_guard_and_the_whole_gate_have_a_row() -> None:
    powers = _plan("sonnet", "sonnet", guards=(), studies=3)
    assert len(powers) == 2 * len(DEFAULT_GUARDS) + 1
    assert all(sum(power.outcomes.values()) == 3 for power in powers.values())
    held_everywhere = min(power.share("held") for name, power in powers.items() if name != "all guards")
    assert powers["all guards"].share("held") <= held_everywhere


def test_too_few_replicates_never_decide() -> None:
    assert _plan("gemini", "gpt", n=4, studies=10)["leakage ped"].outcomes == {"not_decided": 10}


def test_an_early_look_counts_where_it_decides() -> None:
    conv = Guard(measure="leakage", margin=0.1, worse="higher", conditions=("conv",))
    pocock = GateSettings(sequential=SequentialRule(looks=(6, 12), spending="pocock"))
    powers = _plan("gemini", "gpt", guards=(conv,), settings=pocock, n=12, studies=20)
    assert sum(powers["leakage conv"].outcomes.values()) == 20
    assert powers["leakage conv"].share("regressed") > 0.9


def test_a_sequential_rule_is_planned_at_its_last_look() -> None:
    rule = GateSettings(sequential=SequentialRule(looks=(6, 12)))
    with pytest.raises(ConfigurationProblem, match="ends at 12 replicates, the size is 10"):
        _plan("sonnet", "sonnet", settings=rule, n=10, studies=2)


def test_the_family_says_what_no_data_can_reach() -> None:
    # .05 / 12 = .0042; 2^-7 = .0078 is above it, 2^-8 = .0039 below: eight replicates
    assert "fewer than 8 replicates cannot reach" in family_note(12, SETTINGS)


# other numbers of problems


@pytest.mark.parametrize("problems", [3, 9])
def test_both_tutors_are_asked_the_problems_of_the_size(problems: int) -> None:
    size, rng = StudySize(8, problems=problems), np.random.default_rng(2)
    before = _tutor("gemini").draw(size, rng)
    now = _tutor("gpt").draw(size, rng, beside=before)
    asked = [problem.id for problem in before.instrument.training]
    assert len(set(asked)) == problems
    assert [problem.id for problem in now.instrument.training] == asked
    for measures, base in ((before, "gemini"), (now, "gpt")):
        for series in read_series(measures, base, "conv", "turns_to_commitment", None, lambda _: None):
            assert all(list(by_problem) == asked for by_problem in series.values.values())
            # at least one tutor turn each: a problem that was not asked would count as committed to at once
            assert all(value for by_problem in series.values.values() for value in by_problem.values())


def test_more_problems_a_replicate_decide_more_often() -> None:
    few, many = (
        gate_power(
            _tutor("gemini"),
            _tutor("gemini"),
            guards=(LEAKAGE,),
            settings=SETTINGS,
            size=StudySize(8, problems=problems),
            simulation=Simulation(60, 1),
        )[0].share("held")
        for problems in (1, 12)
    )
    assert few < many


# what a plan cannot read, and several looks


def test_a_guard_that_the_pilot_does_not_hold_is_not_evaluable_with_its_reason() -> None:
    pedagogy = Guard(measure="pedagogy", margin=0.5, worse="lower", conditions=("ped",))
    unjudged, leakage, everything = gate_power(
        _tutor(judges=()),
        _tutor(judges=()),
        guards=(pedagogy, LEAKAGE),
        settings=SETTINGS,
        size=StudySize(10),
        simulation=Simulation(20, 1),
    )
    assert unjudged.outcomes == {"not_evaluable": 20}
    assert "the baseline holds no pedagogy of sonnet/ped" in str(unjudged.reason)
    assert leakage.reason is None
    assert everything.share("held") == 0


def test_each_look_counts_as_the_run_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two guards, three looks: each held once, never both. No run passed, so the gate as a whole was never decided."""
    independence = Guard(measure="independence", margin=0.1, worse="lower", conditions=("ped",))
    course = {"leakage": ["held", "not_decided", "not_decided"], "independence": ["not_decided", "held", "not_decided"]}
    looks = {4: 0, 5: 1, 6: 2}

    def scripted(gate: Gate, place: GuardPlace, measures: CorpusMeasures) -> GateRow:
        at = looks[len(measures.cell("sonnet", "ped").sessions)]
        return GateRow.model_validate(
            {
                "kind": "measure",
                "guard": place.guard.measure,
                "base": place.base,
                "outcome": course[place.guard.measure][at],
                "failed": False,
                "reason": "scripted",
                "n": 1,
            }
        )

    monkeypatch.setattr(Gate, "measure_row", scripted)
    rule = GateSettings(sequential=SequentialRule(looks=tuple(looks)))
    powers = _plan("sonnet", "sonnet", guards=(LEAKAGE, independence), settings=rule, n=6, studies=2)
    assert {name: power.outcomes for name, power in powers.items()} == {
        "leakage ped": {"held": 2},
        "independence ped": {"held": 2},
        "all guards": {"not_decided": 2},
    }
    course["leakage"][1] = "held"
    powers = _plan("sonnet", "sonnet", guards=(LEAKAGE, independence), settings=rule, n=6, studies=2)
    assert powers["all guards"].outcomes == {"held": 2}
    course["independence"][0] = "regressed"
    powers = _plan("sonnet", "sonnet", guards=(LEAKAGE, independence), settings=rule, n=6, studies=2)
    assert powers["all guards"].outcomes == {"regressed": 2}


# stated differences


def _stated(effect: StatedEffect, *, n: int = 10, studies: int = 600, n_guards: int = 1) -> Power:
    (planned,) = plan_stated_gate(
        {"leakage": effect},
        instrument=load_instrument(),
        guards=(LEAKAGE,),
        settings=SETTINGS,
        n_guards=n_guards,
        sizes=[StudySize(n)],
        simulation=Simulation(studies, 8),
    )
    return planned.powers[0]


def test_stated_power_is_that_of_the_sign_flip_test() -> None:
    # One guard: raw p against .05. The same question asked of the test itself on other draws.
    power = _stated(StatedEffect(0.25, 0.15)).share("regressed")
    worse = np.random.default_rng(77).normal(0.25, 0.15, (600, 10))
    expected = float(np.mean(margin_p_values(worse, margin=0.1).regressed <= 0.05))
    assert power == pytest.approx(expected, abs=4 * (2 * 0.25 / 600) ** 0.5)


def test_a_mean_on_the_margin_errs_either_way_at_most_at_the_level() -> None:
    power = _stated(StatedEffect(0.1, 0.2), studies=2_000)
    for outcome in ("regressed", "held"):
        assert power.share(outcome) <= 0.05 + 4 * (0.05 * 0.95 / 2_000) ** 0.5


def test_guards_that_are_not_stated_make_no_other_easier() -> None:
    alone, among_many = (_stated(StatedEffect(0.0, 0.1), n_guards=k).share("held") for k in (1, 12))
    assert among_many < alone


def test_a_lower_measure_is_worse_where_its_guard_says_so() -> None:
    lower = Guard(measure="independence", margin=0.1, worse="lower")
    (planned,) = plan_stated_gate(
        {"independence": StatedEffect(-0.5, 0.05)},
        instrument=load_instrument(),
        guards=(lower,),
        settings=SETTINGS,
        n_guards=1,
        sizes=[StudySize(8)],
        simulation=Simulation(50, 1),
    )
    assert planned.powers[0].outcomes == {"regressed": 50}


@pytest.mark.parametrize(
    ("effects", "guards", "settings", "said"),
    [
        pytest.param({"pedagogy": StatedEffect(0, 1)}, (LEAKAGE,), SETTINGS, "no guard is about it", id="unguarded"),
        pytest.param(
            {"cost_per_session": StatedEffect(0, 1)}, DEFAULT_GUARDS, SETTINGS, "share of the baseline's", id="relative"
        ),
        pytest.param(
            {"leakage": StatedEffect(0, 1)},
            (LEAKAGE,),
            GateSettings(sequential=SequentialRule(looks=(5, 10))),
            "plan it from a pilot",
            id="sequential",
        ),
    ],
)
def test_what_cannot_be_stated_is_refused(
    effects: dict[str, StatedEffect], guards: tuple[Guard, ...], settings: GateSettings, said: str
) -> None:
    with pytest.raises(ConfigurationProblem, match=said):
        plan_stated_gate(
            effects,
            instrument=load_instrument(),
            guards=guards,
            settings=settings,
            n_guards=1,
            sizes=[StudySize(10)],
            simulation=Simulation(1, 0),
        )


def _invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", "power", "--gate", *arguments])
    return result.exit_code, result.output


def test_the_command_plans_a_base_against_itself_and_against_a_candidate() -> None:
    pilot = ["--corpus", str(DEMO), "--base", "gemini", "--judge", "opus", "--replicates", "6", "--simulations", "100"]
    code, output = _invoke(*pilot)
    assert code == 0, output
    assert "gemini against itself" in output
    assert "12 guards share alpha = 0.05" in output
    # six replicates decide no guard of twelve: 2^-6 = .016 is above .05 / 12
    assert "the gate as a whole, 6 replicates: holds in 0.000, regresses in 0.000, is not decided in 1.000" in output
    assert "not the pilot's" in output
    code, output = _invoke(*pilot, "--candidate", "gpt")
    assert code == 0, output
    assert "gpt against gemini" in output


def test_the_command_wants_one_base() -> None:
    code, output = _invoke("--corpus", str(DEMO), "--replicates", "6")
    assert code == 1
    assert "name one with --base" in output


def test_the_command_plans_stated_differences() -> None:
    code, output = _invoke("--effect", "leakage=0.3,0.1", "--replicates", "10", "--simulations", "100")
    assert code == 0, output
    assert "stated differences, candidate - baseline" in output
