"""Power is a share of simulated studies, each decided by the rule that decides real ones."""

import json
import xml.etree.ElementTree as ET
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.cli import app
from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.planning import (
    PilotSource,
    Power,
    Pricing,
    Simulation,
    StatedEffect,
    StatedMeasures,
    StatedSource,
    StudyPlan,
    StudySize,
    claim_power,
    parse_effect,
    plan_claims,
    plan_document,
    shifted_arms,
    simulate_power,
    sizes_of,
)
from pytest_tutoreval.records.study_file import Price, StudyFile
from pytest_tutoreval.reporting.power import render_plan_markdown, render_plan_svg, render_plan_text
from tests.store.corpora import DEMO, measures_of

CLAIMS = bundled_claims()
INSTRUMENT = load_instrument()
PRICING = Pricing(INSTRUMENT, {}, StudyFile())


def _stated(claim: str, effect: StatedEffect, size: StudySize, *, studies: int = 400, seed: int = 5) -> Power:
    source = StatedSource({CLAIMS[claim].measure: effect}, INSTRUMENT)  # type: ignore[union-attr]
    draw = source.studies([CLAIMS[claim]], CLAIMS, "sonnet", size)
    return claim_power(CLAIMS[claim], CLAIMS, draw, "sonnet", "opus", size, Simulation(studies, seed))


# what a share is worth


def test_monte_carlo_error_is_half_a_wilson_interval() -> None:
    # 50 of 100, z = 1.96: z / (1 + z2/100) * sqrt(.25/100 + z2/40000) = 1.8875 * sqrt(.0025 + .000096) = .0962
    power = Power("P1", "sonnet", None, StudySize(10), {"supported": 50}, 100)
    assert power.error("supported") == pytest.approx(0.0962, abs=5e-5)
    low, high = stats.binomtest(50, 100).proportion_ci(method="wilson")
    assert power.error("supported") == pytest.approx((high - low) / 2, abs=1e-12)


def test_a_share_of_none_or_all_still_has_an_error() -> None:
    power = Power("P1", "sonnet", None, StudySize(10), {"supported": 200}, 200)
    assert power.share("supported") == 1.0
    assert power.error("supported") > 0
    assert power.error("inconclusive") == pytest.approx(power.error("supported"))


def test_a_study_that_cannot_be_decided_is_counted_with_its_reason() -> None:
    def outcome(rng: np.random.Generator) -> str:
        raise NotEvaluable("nothing there")

    power = simulate_power("P1", "sonnet", None, StudySize(4), outcome, Simulation(3, 0))
    assert power.outcomes == {"not_evaluable": 3}
    assert power.reason == "nothing there"


def test_more_simulations_keep_the_first_ones() -> None:
    def seen(studies: int) -> list[float]:
        drawn: list[float] = []

        def outcome(rng: np.random.Generator) -> str:
            drawn.append(rng.random())
            return "supported"

        simulate_power("P1", "sonnet", None, StudySize(4), outcome, Simulation(studies, 7))
        return drawn

    assert seen(9)[:4] == seen(4)


# stated effects


def test_power_from_a_stated_effect_is_that_of_the_signed_rank_test() -> None:
    # The same question asked of another implementation on other draws; both errors are in the bound.
    effect, n, studies = StatedEffect(0.1, 0.12), 10, 1_500
    power = _stated("P1", effect, StudySize(n), studies=studies).share("supported")
    rng = np.random.default_rng(99)
    differences = rng.normal(effect.mean, effect.sd, (studies, n))
    p_values = stats.wilcoxon(differences, axis=1, method="exact").pvalue
    expected = float(np.mean((p_values < 0.05) & (differences.mean(axis=1) > 0)))
    assert power == pytest.approx(expected, abs=4 * sqrt(2 * 0.25 / studies))


def test_no_effect_is_supported_about_as_often_as_the_level_allows() -> None:
    # Two-sided .05 with 10 pairs attains .0488, half of it on the registered side; the bound is 4 standard errors.
    power = _stated("P1", StatedEffect(0.0, 0.1), StudySize(10), studies=2_000)
    assert power.share("supported") == pytest.approx(0.0244, abs=4 * sqrt(0.0244 / 2_000))


def test_an_effect_the_other_way_is_reversed_and_never_power() -> None:
    power = _stated("P1", StatedEffect(-1.0, 0.1), StudySize(8), studies=100)
    assert power.outcomes == {"reversed": 100}


def test_five_pairs_can_never_decide() -> None:
    power = _stated("P1", StatedEffect(9.0, 0.1), StudySize(5), studies=100)
    assert power.outcomes == {"not_evaluable": 100}
    assert power.floor == 2 / 2**5
    assert power.reason is not None
    assert "fewer can never reach .05" in power.reason


def test_variance_components_are_averaged_over_what_they_vary_over() -> None:
    # .1^2 + .3^2/10 + .5^2/(10*5) = .01 + .009 + .005 = .024
    effect = StatedEffect(0.2, 0.1, sd_problem=0.3, sd_rating=0.5)
    assert effect.sd_at(problems=10, repetitions=5) == pytest.approx(sqrt(0.024))


def test_stated_differences_have_the_stated_mean_and_spread() -> None:
    effect, size = StatedEffect(0.4, 0.3), StudySize(4_000)
    study = StatedMeasures(
        {"pedagogy": effect}, frozenset({("sonnet", "ped")}), INSTRUMENT, size, np.random.default_rng(2)
    )
    ped, conv = (study.scores("sonnet", arm, "opus", "pedagogy").sessions for arm in ("ped", "conv"))
    differences = np.array([ped[r] for r in range(4_000)]) - np.array([conv[r] for r in range(4_000)])
    assert differences.mean() == pytest.approx(0.4, abs=4 * 0.3 / sqrt(4_000))
    assert differences.std() == pytest.approx(0.3, rel=4 / sqrt(2 * 4_000))


@pytest.mark.parametrize(
    ("text", "measure", "effect"),
    [
        pytest.param("leakage=0.2,0.15", "leakage", StatedEffect(0.2, 0.15), id="mean-and-sd"),
        pytest.param("pedagogy=-0.3,0.3,0.5,0.9", "pedagogy", StatedEffect(-0.3, 0.3, 0.5, 0.9), id="all-four"),
    ],
)
def test_an_effect_is_read_as_written(text: str, measure: str, effect: StatedEffect) -> None:
    assert parse_effect(text) == (measure, effect)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("leakage=0.2", "states no effect", id="no-sd"),
        pytest.param("leakage", "states no effect", id="no-numbers"),
        pytest.param("leakage=0.2,-1", "states no effect", id="negative-sd"),
        pytest.param("leakage=nan,1", "states no effect", id="nan"),
        pytest.param("leakege=0.2,1", "no measure an effect can be stated for", id="unknown-measure"),
    ],
)
def test_what_states_no_effect_says_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(ConfigurationProblem, match=said):
        parse_effect(text)


def test_a_coupling_cannot_be_planned_from_stated_effects() -> None:
    with pytest.raises(ConfigurationProblem, match=r"J2: .* plan it from a pilot"):
        shifted_arms([CLAIMS["J2"]], "sonnet")


def test_a_number_of_problems_needs_to_know_how_problems_vary() -> None:
    with pytest.raises(ConfigurationProblem, match="state sd_problem"):
        _stated("P1", StatedEffect(0.2, 0.1), StudySize(10, problems=5))


# a pilot


def test_a_pilot_without_variation_repeats_its_own_verdict() -> None:
    # One replicate drawn ten times is ten equal differences: whatever the sign, p = 2/2^10.
    pilot = measures_of(DEMO)
    source = PilotSource(pilot)
    draw = source.studies([CLAIMS["P1"]], CLAIMS, "sonnet", StudySize(10))
    verdict = decide_claim(CLAIMS["P1"], CLAIMS, pilot, "sonnet", None)
    power = claim_power(CLAIMS["P1"], CLAIMS, draw, "sonnet", None, StudySize(10), Simulation(100, 3))
    assert verdict.verdict == "supported"
    assert verdict.p_value == 2 / 2**10
    assert power.outcomes == {"supported": 100}


def test_every_form_of_claim_is_planned_by_its_own_rule() -> None:
    planned = plan_claims(
        list(CLAIMS.values()),
        CLAIMS,
        PilotSource(measures_of(DEMO)),
        bases=["gpt"],
        judges=["opus", "sol"],
        sizes=sizes_of([10]),
        simulation=Simulation(20, 1),
        pricing=PRICING,
    )
    powers = {(power.what, power.judge): power for power in planned[0].powers}
    assert set(powers) == {("P1", None), ("P3", None)} | {(c, j) for c in ("P2", "J1", "J2") for j in ("opus", "sol")}
    assert all(sum(power.outcomes.values()) == 20 for power in powers.values())
    for judge in ("opus", "sol"):
        assert powers["J1", judge].share("supported") <= powers["P2", judge].share("supported")
    assert powers["J2", "opus"].floor is None


def test_dollars_and_hours_grow_with_the_study() -> None:
    prices = {
        "anthropic": Price(input=3.0, output=15.0),
        "openrouter": Price(input=0.1, output=0.1),
    }
    planned = plan_claims(
        [CLAIMS["P1"]],
        CLAIMS,
        PilotSource(measures_of(DEMO)),
        bases=["sonnet"],
        judges=[],
        sizes=sizes_of([6, 12], [5, 10]),
        simulation=Simulation(10, 1),
        pricing=Pricing(INSTRUMENT, prices, StudyFile()),
    )
    dollars = {(entry.size.replicates, entry.size.problems): entry.dollars for entry in planned}
    assert all(cost is not None and cost > 0 for cost in dollars.values())
    assert dollars[12, 10] == pytest.approx(2 * dollars[6, 10])  # type: ignore[operator]
    assert dollars[6, 5] < dollars[6, 10]  # type: ignore[operator]
    assert all(entry.hours is not None and entry.hours > 0 for entry in planned)


def test_a_study_nobody_can_price_says_why() -> None:
    planned = plan_claims(
        [CLAIMS["P1"]],
        CLAIMS,
        StatedSource({"leakage": StatedEffect(0.2, 0.1)}, INSTRUMENT),
        bases=["nobody"],
        judges=[],
        sizes=sizes_of([6]),
        simulation=Simulation(10, 1),
        pricing=PRICING,
    )
    assert (planned[0].dollars, planned[0].hours) == (None, None)
    assert planned[0].unpriced is not None
    assert "nobody" in planned[0].unpriced


# the plan as a reader meets it


def _plan(target: float = 0.8) -> StudyPlan:
    sizes = plan_claims(
        [CLAIMS["P1"]],
        CLAIMS,
        StatedSource({"leakage": StatedEffect(0.15, 0.2)}, INSTRUMENT),
        bases=["sonnet"],
        judges=[],
        sizes=sizes_of([5, 8, 16, 24]),
        simulation=Simulation(200, 1),
        pricing=PRICING,
    )
    return StudyPlan("stated effects", False, sizes, {"P1": "supported"}, target, 1, 200)


def test_the_smallest_n_is_the_first_that_reaches_the_target() -> None:
    plan = _plan()
    shares = {planned.size.replicates: power.share("supported") for planned, power in plan.rows()}
    expected = min(n for n, share in shares.items() if share >= 0.8)
    assert plan.smallest_n("P1") == expected
    assert _plan(target=0.999).smallest_n("P1") is None


def test_a_plan_says_its_floor_its_error_and_its_n() -> None:
    document = plan_document(_plan())
    text = render_plan_text(document)
    assert "5 pairs cannot reach p < 0.05, whatever the data: the smallest p is .062" in text
    assert f"replicates = {document['registered_n']['P1']} is the smallest n" in text
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    for row in document["rows"]:
        assert f"{row['power']:.3f}" in text
        assert f"{row['error']:.3f}" in render_plan_markdown(document)


def test_the_picture_is_valid_and_names_every_line() -> None:
    root = ET.fromstring(render_plan_svg(plan_document(_plan())))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert "P1 sonnet" in texts
    assert sum(element.tag.endswith("circle") for element in root.iter()) == 4


def _invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", "power", *arguments])
    return result.exit_code, result.output


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    given = ["--effect", "leakage=0.15,0.2", "--replicates", "6,10", "--simulations", "100"]
    for name in ("one", "two"):
        code, output = _invoke(*given, "--to", str(tmp_path / name))
        assert code == 0, output
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["power.json", "power.md", "power.svg"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)


def test_a_simulated_pilot_says_so(tmp_path: Path) -> None:
    code, output = _invoke(
        "--corpus", str(DEMO), "--base", "sonnet", "--claim", "P1", "--replicates", "6", "--simulations", "100"
    )
    assert code == 0
    assert "SIMULATED PILOT" in output


def _own_claim(folder: Path, **more: str) -> Path:
    path = folder / "X1.toml"
    lines = {
        "id": '"X1"',
        **more,
        "title": '"Leakage."',
        "form": '"paired_contrast"',
        "measure": '"leakage"',
        "direction": '"conv > ped"',
        "kind": '"live_test"',
        "judge_bound": "false",
        "role": '"confirmatory"',
        "status": '"registered"',
        "evidence_visible": '"none"',
    }
    path.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()), encoding="utf-8")
    return path


def _study_with_claims(tmp_path: Path, **more: str) -> tuple[Path, Path]:
    (tmp_path / "claims").mkdir()
    claim = _own_claim(tmp_path / "claims", **more)
    study = tmp_path / "tutoreval.toml"
    study.write_text('claims = "claims"\n', encoding="utf-8")
    return study, claim


def test_the_planned_n_becomes_the_registered_one(tmp_path: Path) -> None:
    study, claim = _study_with_claims(tmp_path)
    given = ["--study", str(study), "--claim", "X1", "--effect", "leakage=0.3,0.2", "--simulations", "200"]
    code, output = _invoke(*given, "--replicates", "6,8,10,12", "--register", str(claim))
    assert code == 0, output
    registered = [line for line in claim.read_text(encoding="utf-8").splitlines() if line.startswith("replicates")]
    assert len(registered) == 1
    n = int(registered[0].split("=")[1].split("#")[0])
    assert f"X1: replicates = {n} is the smallest n planned here" in output

    code, output = _invoke(*given, "--replicates", "6,8", "--register", str(claim))
    assert code == 1
    assert "a registered n is not rewritten" in output


def test_a_locked_study_is_told_to_record_its_planned_n(tmp_path: Path) -> None:
    study, claim = _study_with_claims(tmp_path)
    assert CliRunner().invoke(app, ["lock", "--study", str(study)]).exit_code == 0
    given = ["--study", str(study), "--claim", "X1", "--effect", "leakage=0.5,0.1", "--simulations", "100"]
    code, output = _invoke(*given, "--replicates", "8", "--register", str(claim))
    assert code == 0, output
    assert "tutoreval lock --amend" in output
    assert CliRunner().invoke(app, ["lock", "--study", str(study), "--amend", "planned n"]).exit_code == 0


def test_an_n_that_is_not_enough_is_not_registered(tmp_path: Path) -> None:
    study, claim = _study_with_claims(tmp_path)
    before = claim.read_bytes()
    code, output = _invoke(
        *["--study", str(study), "--claim", "X1", "--effect", "leakage=0.01,0.5", "--simulations", "100"],
        *["--replicates", "6", "--register", str(claim)],
    )
    assert code == 1
    assert "no size planned here reaches 80%" in output
    assert claim.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([], "needs --corpus PILOT or --effect", id="neither"),
        pytest.param(["--effect", "leakage=1,1", "--claim", "P9"], "unknown P9", id="unknown-claim"),
        pytest.param(
            ["--effect", "leakage=1,1", "--claim", "P2"], "no effect was stated for helpfulness", id="unstated"
        ),
    ],
)
def test_what_cannot_be_planned_says_what_to_do(arguments: list[str], said: str) -> None:
    code, output = _invoke(*arguments, "--replicates", "6", "--simulations", "100")
    assert code == 1
    assert said in output


def test_a_number_that_is_none_is_a_usage_error() -> None:
    code, output = _invoke("--effect", "leakage=1,1", "--replicates", "six")
    assert code == 2
    assert "--replicates" in output
