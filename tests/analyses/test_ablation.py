"""Seven policies on the primary base: from the study's tables, and from sessions of those conditions."""

import json
import math
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import BASELINES, CorpusMeasures
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS, ScriptedCast, ScriptedJudge
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.simulating import simulate_corpus, simulate_ratings, simulate_session
from pytest_tutoreval.store import open_corpus, seal_corpus, write_ratings, write_session
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, parts_of, tabled
from tests.store.corpora import DEMO, measures_of, reseal

Rows = dict[str, AnalysisRow]
VARIANTS = list(BASELINES)
POLICIES = ["conv", "ped", *VARIANTS]
RELEASED = {
    "leakage": "leakage_rate",
    "independence": "independence_ratio",
    "helpfulness": "helpfulness_mean",
    "pedagogy": "pedagogy_mean",
}


@pytest.fixture(scope="module")
def contrasts(released: Path) -> Rows:
    return analyse(measures_of(released), "ablation_contrasts")


@pytest.fixture(scope="module")
def scores(released: Path) -> Rows:
    return analyse(measures_of(released), "ablation_scores")


@pytest.fixture(scope="module")
def couplings(released: Path) -> Rows:
    return analyse(measures_of(released), "ablation_couplings")


@pytest.fixture(scope="module")
def theirs(paper_tables: Path) -> Any:
    return json.loads((paper_tables / "ablation_analysis.json").read_text())


# the study's tables


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("measure", RELEASED)
@pytest.mark.parametrize("against", ["vs_baseline", "vs_separation_reference"])
def test_released_contrast_is_reproduced(
    contrasts: Rows, theirs: Any, variant: str, measure: str, against: str
) -> None:
    of = theirs["per_session_marginals_variant_minus_baseline"][variant]
    reference = of["baseline" if against == "vs_baseline" else "separation_reference"]
    file, row = of[against][RELEASED[measure]], contrasts[f"{measure}.{variant}-{reference}"]
    found = (row.estimate, row.ci_low, row.ci_high, row.cliffs_delta, part(row, "median").estimate)
    expected = (file["mean_diff_variant_minus_baseline"], *file["diff_ci95"], file["cliffs_delta_variant_vs_baseline"])
    assert found == pytest.approx((*expected, file["median_diff"]), abs=1e-9, rel=0)
    means = (part(row, "variant").estimate, part(row, "reference").estimate)
    assert means == pytest.approx((file["variant_mean"], file["baseline_mean"]), abs=1e-9, rel=0)
    pairs = (row.n, part(row, "above").n, part(row, "below").n)
    assert pairs == (file["n_pairs"], file["n_variant_gt_baseline"], file["n_variant_lt_baseline"])
    baseline = "its baseline" if against == "vs_baseline" else "the other policy"
    assert row.notes[0] == f"against {baseline}; descriptive, the p-value decides nothing"


@pytest.mark.parametrize("policy", POLICIES)
def test_released_coupling_is_reproduced(couplings: Rows, theirs: Any, policy: str) -> None:
    file = theirs["leak_to_next_independence_coupling_per_condition"][policy]
    row, clustered, pooled = (
        couplings[f"next_turn_independence.{policy}"],
        file["cluster_within_replicate"],
        file["descriptive_pooled"],
    )
    found = (row.estimate, row.ci_low, row.ci_high, row.p_value, part(row, "signed_rank").estimate)
    expected = (clustered["mean_within_replicate_effect"], *clustered["effect_ci95"], clustered["p_two_sided"])
    assert found == pytest.approx((*expected, clustered["wilcoxon_W"]), abs=1e-9, rel=0)
    assert (row.n, row.n_dropped) == (clustered["n_replicates_used"], 10 - clustered["n_replicates_used"])
    leaky, other = part(row, "leaky"), part(row, "non_leaky")
    means = (leaky.estimate, other.estimate)
    assert means == pytest.approx((pooled["leaky_next_indep_mean"], pooled["nonleaky_next_indep_mean"]), abs=1e-9)
    assert (leaky.n, other.n) == (pooled["n_leaky"], pooled["n_nonleaky"])


def test_all_seven_couplings_are_negative_and_two_intervals_include_zero(couplings: Rows) -> None:
    row = couplings["couplings"]
    assert (row.n, part(row, "negative").n, part(row, "interval_includes_zero").n) == (7, 7, 2)
    assert row.notes == ("0 lies in the interval of: conv, conv_socratic",)


def test_printed_bands_are_reproduced(scores: Rows) -> None:
    # published.json: helpfulness 4.70 to 4.95, width .25; pedagogy span 2.3; answer ban leaks 14.6 % of turns
    helpfulness, pedagogy = scores["helpfulness.span"], scores["pedagogy.span"]
    assert [round(part(helpfulness, end).estimate, 2) for end in ("min", "max")] == [4.70, 4.95]
    assert (round(helpfulness.estimate or 0, 2), round(pedagogy.estimate or 0, 1)) == (0.25, 2.3)
    assert helpfulness.n == pedagogy.n == 7
    assert round(100 * (scores["leakage.conv_no_final_answer"].estimate or 0), 1) == 14.6


def test_no_cascade_has_the_lowest_next_turn_independence_of_the_ped_family(scores: Rows) -> None:
    means = {policy: scores[f"next_turn_independence.{policy}"].estimate or 0 for policy in POLICIES}
    family = {policy: mean for policy, mean in means.items() if policy.startswith("ped")}
    assert min(family, key=lambda name: family[name]) == "ped_no_cascade"


def test_leaky_share_is_pooled_over_turns(scores: Rows, theirs: Any) -> None:
    for policy in POLICIES:
        pooled = theirs["leak_to_next_independence_coupling_per_condition"][policy]["descriptive_pooled"]
        row = scores[f"leaky_share.{policy}"]
        assert row.estimate == pytest.approx(pooled["n_leaky"] / (pooled["n_leaky"] + pooled["n_nonleaky"]), abs=1e-12)


def test_routes_stay_where_another_node_answers(scores: Rows) -> None:
    assert set(scores) >= {f"routes.{policy}" for policy in POLICIES if policy.startswith("ped")}
    # README of the tables: a `hint` row of ped_no_cascade was answered by the decomposer, and still says hint
    assert part(scores["routes.ped_no_cascade"], "hint").n > 0
    counts = [part(scores["routes.ped"], name).n for name in ("hint", "decompose", "defer")]
    assert counts == [165, 57, 1]


def test_wilcoxon_p_is_scipy_s(contrasts: Rows, released: Path) -> None:
    measures = measures_of(released)
    values = {
        policy: [row.leakage for _, row in sorted(measures.cell("sonnet", policy).sessions.items())]
        for policy in ("ped_no_gate", "conv")
    }
    differences = np.subtract(values["ped_no_gate"], values["conv"])  # type: ignore[arg-type]
    theirs = stats.wilcoxon(differences[differences != 0], method=stats.PermutationMethod(n_resamples=2**11))
    assert contrasts["leakage.ped_no_gate-conv"].p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_judge_is_named_only_where_it_has_a_hand(contrasts: Rows, scores: Rows) -> None:
    for rows in (contrasts, scores):
        for measure, row in rows.items():
            assert row.judge == ("opus" if measure.split(".")[0] in ("helpfulness", "pedagogy") else None)
            assert row.base == "sonnet"


def test_conv_and_ped_are_the_base_s_own(scores: Rows, released: Path) -> None:
    """Nothing of the ablation is pooled into conv - ped, and nothing of theirs is changed by it."""
    gaps = analyse(measures_of(released), "judged_gaps", judge="opus")
    for rubric in ("helpfulness", "pedagogy"):
        own = (scores[f"{rubric}.conv"].estimate or 0) - (scores[f"{rubric}.ped"].estimate or 0)
        assert gaps[rubric].estimate == pytest.approx(own, abs=1e-12)


# what is missing


def test_demo_without_variants_is_not_evaluable() -> None:
    for name in ("ablation_contrasts", "ablation_scores", "ablation_couplings"):
        with pytest.raises(NotEvaluable, match="the corpus holds no ablation variant"):
            analyse(measures_of(DEMO), name)


def test_variant_that_is_incomplete_is_left_out_and_said(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    for name in ("sessions.csv", "turns.csv", "scores.csv", "session_scores.csv"):
        path = folder / "tables" / "ablation" / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "ped_no_gate,3," not in line), encoding="utf-8")
    reseal(folder)
    rows = analyse(measures_of(folder), "ablation_contrasts")
    assert "leakage.ped_no_gate-ped" not in rows
    said = "ped_no_gate is left out: sonnet/ped_no_gate lacks replicate 3 of 10 registered"
    assert all(said in row.notes for row in rows.values())
    assert analyse(measures_of(folder), "ablation_scores")["leakage.span"].n == 6


def test_variants_that_are_all_incomplete_give_the_reason(tmp_path: Path) -> None:
    spec = {condition: {r: [Said((Turn(),))] for r in range(2)} for condition in ("conv", "ped")}
    measures = tabled(tmp_path, spec | {"ped_no_gate": {0: [Said()]}}, a_small_instrument(2))
    with pytest.raises(NotEvaluable, match="no ablation variant is complete: no sessions in cell sonnet/conv_socratic"):
        analyse(measures, "ablation_contrasts")


def test_without_ratings_the_judge_free_rows_remain(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    for name in ("scores.csv", "session_scores.csv"):
        path = folder / "tables" / "ablation" / name
        path.write_text(path.read_text(encoding="utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    reseal(folder)
    for name in ("ablation_contrasts", "ablation_scores"):
        rows = analyse(measures_of(folder), name)
        assert rows["pedagogy"].notes[0].startswith("not evaluable: turn ")
        assert any(measure.startswith("leakage.") for measure in rows)


def test_other_primary_base_is_named(tmp_path: Path) -> None:
    small = a_small_instrument(2)
    spec = {condition: {r: [Said((Turn(),))] for r in range(2)} for condition in POLICIES}
    measures = tabled(tmp_path, spec, small)
    measures.corpus.manifest = measures.corpus.manifest.model_copy(update={"bases": ("gpt",)})
    with pytest.raises(NotEvaluable, match="the ablation is on sonnet, which is not in the corpus"):
        analyse(measures, "ablation_contrasts")


# by hand


def test_contrasts_and_couplings_by_hand(tmp_path: Path) -> None:
    leak, ask = Turn(leaky=True, reply=False, helpfulness=5.0), Turn(helpfulness=3.0)
    spec = {
        "conv": {r: [Said((leak, ask))] for r in range(2)},
        "ped": {r: [Said((ask, ask))] for r in range(2)},
        "conv_socratic": {0: [Said((leak, ask, ask, ask))], 1: [Said((ask,))]},
    }
    measures = tabled(tmp_path, spec, a_small_instrument(2))
    rows = analyse(measures, "ablation_contrasts")
    # leakage of the variant 1/4 and 0, of conv 1/2 twice, of ped 0 twice
    assert rows["leakage.conv_socratic-conv"].estimate == pytest.approx(-3 / 8)
    assert rows["leakage.conv_socratic-ped"].estimate == pytest.approx(1 / 8)
    # helpfulness (5 + 9) / 4 and 3, against 4 and 4
    assert rows["helpfulness.conv_socratic-conv"].estimate == pytest.approx((3.5 + 3) / 2 - 4)
    coupling = analyse(measures, "ablation_couplings")
    # replicate 0: 0 - 1; replicate 1 has no leak
    row = coupling["next_turn_independence.conv_socratic"]
    assert (row.estimate, row.n, row.n_dropped) == (-1.0, 1, 1)
    assert coupling["next_turn_independence.ped"].notes[-1].startswith("not evaluable: None of the 2 replicates")
    assert (coupling["couplings"].n, coupling["couplings"].n_dropped) == (2, 1)
    span = analyse(measures, "ablation_scores")["leakage.span"]
    assert (span.estimate, span.notes[0]) == (0.5, "lowest ped, highest conv")


def test_variant_that_was_never_in_a_window_keeps_its_place(tmp_path: Path) -> None:
    spec = {condition: {r: [Said((Turn(),))] for r in range(2)} for condition in ("conv", "ped")}
    measures = tabled(tmp_path, spec | {"ped_no_gate": {r: [Said()] for r in range(2)}}, a_small_instrument(2))
    row = analyse(measures, "ablation_contrasts")["leakage.ped_no_gate-ped"]
    assert row.notes[-1] == "not evaluable: no pairs: no replicate has both values"
    scores = analyse(measures, "ablation_scores")
    assert scores["leakage.ped_no_gate"].notes == ("not evaluable: undefined in every session",)
    assert (scores["leakage.span"].n, scores["leaky_share.ped_no_gate"].estimate) == (2, None)


def test_span_of_nothing_keeps_its_place(tmp_path: Path) -> None:
    spec = {condition: {r: [Said()] for r in range(2)} for condition in ("conv", "ped", "ped_no_gate")}
    scores = analyse(tabled(tmp_path, spec, a_small_instrument(2)), "ablation_scores")
    assert scores["leakage.span"].notes[-1] == "not evaluable: no policy has a mean"


# from sessions


def test_sessions_of_the_conditions_give_the_same_rows(tmp_path: Path) -> None:
    instrument = a_small_instrument(2)
    folder = tmp_path / "text"
    judges = {"opus": JUDGE_SCRIPTS["opus"]}
    simulate_corpus(
        folder, instrument, seed=7, scripts={"sonnet": SCRIPTS["sonnet"]}, judge_scripts=judges, replicates=range(2)
    )
    cast = ScriptedCast(instrument.problems, SCRIPTS["sonnet"], seed=7)
    for variant in VARIANTS:
        for replicate in range(2):
            session = simulate_session(instrument, cast, base="sonnet", condition=variant, replicate=replicate)
            write_session(folder, session.header, session.calls, sync=lambda _: None)
            for rubric in instrument.study.rubrics:
                agent = ScriptedJudge(judges["opus"], seed=7)
                header, ratings = simulate_ratings(instrument, session, judge="opus", rubric=rubric, answer=agent)
                write_ratings(folder, header, ratings, sync=lambda _: None)
    seal_corpus(folder, open_corpus(folder).manifest)
    measures = CorpusMeasures(open_corpus(folder), instrument)
    rows = analyse(measures, "ablation_contrasts")
    assert len(rows) == 5 * 2 * 4
    for variant in VARIANTS:
        cells = [measures.cell("sonnet", name).sessions for name in (variant, "ped")]
        expected = fmean((cells[0][r].leakage or 0.0) - (cells[1][r].leakage or 0.0) for r in range(2))
        assert rows[f"leakage.{variant}-ped"].estimate == pytest.approx(expected, abs=1e-12)
    table = analyse(measures, "ablation_scores")
    assert set(parts_of(table["routes.ped_no_cascade"])) >= {"hint", "decompose", "defer"}
    assert math.isfinite(table["pedagogy.span"].estimate or math.nan)


def test_bundled_conditions_stay_cold_conv_and_ped() -> None:
    assert load_instrument().study.protocol.condition_order == ("cold", "conv", "ped")
    assert open_corpus(DEMO).manifest.conditions == ("cold", "conv", "ped")
