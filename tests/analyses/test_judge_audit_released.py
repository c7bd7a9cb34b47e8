"""The study's own cross-judge audit, recomputed from its tables.

What is no model agrees to 1e-9. Models are compared at the certified maximum: to 1e-5 where the released fit is that
maximum, else the released value must have a lower likelihood (the tables' README lists why: lbfgs stopped early).
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.analyses.judge_audit import ANALYSES
from pytest_tutoreval.analyses.judge_models import _standardised
from pytest_tutoreval.analyses.judge_pairs import JudgePair, align_turns
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import NotInCorpus
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.inference import fit_crossed, profile_log_likelihood
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.study import Family
from tests.analyses.judge_scores import the_part, the_row, with_families
from tests.store.corpora import measures_of

BASES = ("sonnet", "gpt", "gemini")
RUBRICS = ("helpfulness", "pedagogy")
PAIR = JudgePair("sol", "opus", declared=True)

# (base, measure, term) -> the maximum where the released optimiser stopped short of it by more than 1e-5.
EARLY = {
    ("sonnet", "pedagogy", "judge_by_leakage"): 0.2166,
    ("sonnet", "pedagogy", "judge_by_policy"): -0.4674,
    ("sonnet", "pedagogy.standardised", "judge_by_leakage"): -0.1535,
    ("sonnet", "pedagogy.standardised", "judge_by_policy"): -0.0908,
    ("gemini", "pedagogy.standardised", "judge_by_leakage"): 0.9068,
}
TERMS = {"judge_by_leakage": "judge_x_leakage_leaks_i", "judge_by_policy": "judge_x_policy_condition_ped"}
COLUMNS = {"judge_by_leakage": "leakage", "judge_by_policy": "policy"}
DIFFERENCES = [
    (base, measure, term)
    for base in BASES
    for rubric in RUBRICS
    for measure in (rubric, f"{rubric}.standardised")
    for term in TERMS
]
Rows = Callable[..., list[AnalysisRow]]


@pytest.fixture(scope="module")
def measures(released: Path) -> CorpusMeasures:
    return measures_of(released)


@pytest.fixture(scope="module")
def rows(measures: CorpusMeasures) -> Rows:
    """Rows of an analysis, computed once."""
    known: dict[tuple[str, str | None], list[AnalysisRow]] = {}

    def get(name: str, base: str | None = None) -> list[AnalysisRow]:
        if (name, base) not in known:
            (analysis,) = (analysis for analysis in ANALYSES if analysis.name == name)
            known[name, base] = analysis.run(AnalysisInput(measures, base, None, BASES, ("opus", "sol")))
        return known[name, base]

    return get


@pytest.fixture(scope="module")
def comparison(paper_tables: Path) -> Any:
    return json.loads((paper_tables / "comparison.sol.json").read_text())


def exactly(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-9, rel=0)


def modelled(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-5, rel=0)


def by(part: AnalysisPart) -> tuple[float | None, float | None, float | None]:
    return part.estimate, part.ci_low, part.ci_high


# model (2) on D


def released_fit(comparison: Any, base: str, measure: str) -> Any:
    rubric, _, scale = measure.partition(".")
    fits = comparison["per_base"][base]["instruments"][rubric]["interaction"]
    return fits["standardized_within_judge_and_base" if scale else "raw"]


@pytest.mark.parametrize(("base", "measure", "term"), [case for case in DIFFERENCES if case not in EARLY])
def test_judge_differences_are_the_released_ones(
    rows: Rows, comparison: Any, base: str, measure: str, term: str
) -> None:
    row = the_row(rows("judge_difference", base), measure=measure)
    ours, theirs = the_part(row, term), released_fit(comparison, base, measure)
    assert ours.estimate == modelled(theirs[TERMS[term]]["coef"])
    assert ours.se_observed == modelled(theirs[TERMS[term]]["se"])
    assert (row.n, row.n_dropped, row.judge) == (theirs["n_obs"], 0, "sol-opus")
    if (base, measure) not in {(b, m) for b, m, _ in EARLY}:
        assert the_part(row, "variance_residual").estimate == modelled(theirs["variance_components"]["residual"])


@pytest.mark.parametrize(("base", "measure", "term"), list(EARLY))
def test_a_released_difference_that_stopped_early_is_less_likely(
    rows: Rows, measures: CorpusMeasures, comparison: Any, base: str, measure: str, term: str
) -> None:
    row = the_row(rows("judge_difference", base), measure=measure)
    theirs = released_fit(comparison, base, measure)[TERMS[term]]["coef"]
    assert the_part(row, term).estimate == pytest.approx(EARLY[base, measure, term], abs=5e-5)
    assert abs(theirs - EARLY[base, measure, term]) < 0.01
    at_theirs = held_at(measures, base, measure, COLUMNS[term], theirs)
    # Everything else at its best, the likelihood is still lower.
    assert at_theirs < (the_part(row, "log_likelihood").estimate or 0) - 1e-9


def held_at(measures: CorpusMeasures, base: str, measure: str, column: str, value: float) -> float:
    rubric, _, scale = measure.partition(".")
    aligned = align_turns(measures, base, PAIR, rubric)
    first, second = aligned.first_values, aligned.second_values
    if scale:
        first, second = _standardised(first, "opus"), _standardised(second, "sol")
    turns = aligned.turns
    return profile_log_likelihood(
        [b - a for a, b in zip(first, second, strict=True)],
        {"leakage": [float(t.leaky) for t in turns], "policy": [float(t.id.condition == "ped") for t in turns]},
        {"replicate": [t.id.replicate for t in turns], "problem": [t.id.problem for t in turns]},
        {column: value},
    )


# policy-adjusted slopes


@pytest.mark.parametrize(("base", "maximum"), [("sonnet", 0.0437), ("gpt", 0.0314), ("gemini", 0.0352)])
def test_adjusted_slopes_of_the_second_judge(rows: Rows, paper_tables: Path, base: str, maximum: float) -> None:
    theirs = json.loads((paper_tables / f"policy_adjusted.{base}.sol.json").read_text())["models"]["helpfulness"]
    (row,) = rows("second_judge_slopes", base)
    slope, policy = the_part(row, "leakage"), the_part(row, "policy")
    assert (row.judge, row.measure, row.n) == ("sol", "helpfulness", theirs["n_obs"])
    assert slope.estimate == pytest.approx(maximum, abs=5e-5)
    if base == "gemini":
        assert slope.estimate == modelled(theirs["coefficient"])
        assert slope.se_observed == modelled(theirs["standard_error"])
        assert policy.estimate == modelled(theirs["condition_coefficient_ped_vs_conv"])
        # z and interval as released follow from the observed-Hessian error
        low, high = theirs["confidence_interval_95"]
        assert (slope.estimate or 0) - 1.959964 * (slope.se_observed or 0) == modelled(low)
        assert (slope.estimate or 0) + 1.959964 * (slope.se_observed or 0) == modelled(high)


@pytest.mark.parametrize("base", ["sonnet", "gpt"])
def test_a_released_slope_that_stopped_early_is_less_likely(
    rows: Rows, measures: CorpusMeasures, paper_tables: Path, base: str
) -> None:
    theirs = json.loads((paper_tables / f"policy_adjusted.{base}.sol.json").read_text())["models"]["helpfulness"]
    aligned = align_turns(measures, base, PAIR, "helpfulness")
    fixed = {
        "leakage": [float(turn.leaky) for turn in aligned.turns],
        "policy": [float(turn.id.condition == "ped") for turn in aligned.turns],
    }
    groups: dict[str, list[Any]] = {
        "replicate": [turn.id.replicate for turn in aligned.turns],
        "problem": [turn.id.problem for turn in aligned.turns],
    }
    best = fit_crossed(aligned.second_values, fixed, groups).log_likelihood
    at_theirs = profile_log_likelihood(aligned.second_values, fixed, groups, {"leakage": theirs["coefficient"]})
    assert at_theirs < best - 1e-6
    slope = the_part(rows("second_judge_slopes", base)[0], "leakage").estimate
    assert abs((slope or 0) - theirs["coefficient"]) > 1e-5


@pytest.mark.parametrize("base", BASES)
def test_with_the_judges_changed_over_the_slopes_are_the_primary_judges(
    released: Path, paper_tables: Path, base: str
) -> None:
    """condition_adjusted.json: model (2) on Opus's scores; sonnet's released fit stopped early (+.500 / +.493)."""
    theirs = json.loads((paper_tables / "condition_adjusted.json").read_text())["results"][base]["models"][
        "helpfulness"
    ]
    family = Family(term="adjusted_slope", rubric="helpfulness", judges=("opus", "sol"), bases=BASES)
    given = AnalysisInput(in_place(measures_of(released), with_families(family)), base, None, BASES, ("opus", "sol"))
    (analysis,) = (analysis for analysis in ANALYSES if analysis.name == "second_judge_slopes")
    (row,) = analysis.run(given)
    slope = the_part(row, "leakage")
    if base == "sonnet":
        assert (round(theirs["coefficient"], 3), round(slope.estimate or 0, 3)) == (0.500, 0.493)
    else:
        assert slope.estimate == modelled(theirs["coefficient"])
        assert slope.se_observed == modelled(theirs["standard_error"])


def in_place(measures: CorpusMeasures, instrument: Instrument) -> CorpusMeasures:
    return CorpusMeasures(measures.corpus, instrument)


# Holm families

FAMILIES = {
    "adjusted_slope": "family_A_policy_adjusted_leakage_slopes_helpfulness",
    "judge_by_leakage": "family_B_judge_x_leakage_interactions_helpfulness",
    "judge_by_policy": "family_C_judge_x_condition_interactions_helpfulness",
}


@pytest.mark.parametrize("term", ["judge_by_leakage", "judge_by_policy"])
def test_holm_families_are_the_released_ones_with_the_released_error(rows: Rows, comparison: Any, term: str) -> None:
    found = rows(f"holm_{term}")
    released = comparison["holm_families"][FAMILIES[term]]
    assert [row.base for row in found] == [member["label"] for member in released]
    for row, member in zip(found, released, strict=True):
        observed = the_part(row, "observed_hessian")
        assert observed.p_value == pytest.approx(member["p_raw"], rel=1e-4)
        assert observed.p_holm == pytest.approx(member["p_holm"], rel=1e-4)
        assert row.p_holm is not None
        assert (row.p_holm <= 0.05) == member["significant_holm_0.05"]
        assert the_part(row, "family_size").n == member["family_size"] == 3
        assert "Holm family of 3 (sonnet, gpt, gemini), registered by the study" in row.notes


def test_the_family_of_slopes_is_printed_with_the_observed_error_and_differs_with_lme4s(
    rows: Rows, comparison: Any
) -> None:
    found = rows("holm_adjusted_slope")
    released = comparison["holm_families"][FAMILIES["adjusted_slope"]]
    assert {round(member["p_holm"], 3) for member in released} == {0.693}
    assert [round(the_part(row, "observed_hessian").p_holm or 0, 3) for row in found] == [0.693] * 3
    assert [round(row.p_holm or 0, 3) for row in found] == [0.668] * 3
    # 3 x gemini's p, the smallest, holds for all
    assert [row.p_holm for row in found] == pytest.approx([3 * (found[2].p_value or 0)] * 3)
    raw = [the_part(row, "observed_hessian").p_value for row in found]
    # gpt's released fit stopped early: .437 for .358; sonnet's to the fourth digit
    assert raw == pytest.approx([0.2480, 0.3583, 0.2310], abs=1e-4)


def test_nothing_was_added_to_the_registered_families(rows: Rows) -> None:
    with pytest.raises(NotInCorpus, match="no study file adds a Holm family"):
        rows("holm_added")


# the gap over replicates


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rubric", RUBRICS)
def test_gaps_over_replicates(rows: Rows, comparison: Any, base: str, rubric: str) -> None:
    theirs = comparison["per_base"][base]["instruments"][rubric]["difference_of_differences"]
    row = the_row(rows("judge_gap", base), measure=rubric)
    assert (row.estimate, row.ci_low, row.ci_high) == exactly((theirs["mean_dod"], *theirs["dod_ci95"]))
    assert row.p_value == exactly(theirs["p_two_sided"])
    assert the_part(row, "signed_rank").estimate == theirs["wilcoxon_W"]
    gaps = [the_part(row, f"r{number}").estimate for number in range(10)]
    assert gaps == exactly(theirs["dod_values"])
    assert (row.n, row.n_dropped) == (10, 0)


def test_exact_means_make_one_gap_a_zero_and_the_note_says_so(rows: Rows) -> None:
    row = the_row(rows("judge_gap", "gemini"), measure="pedagogy")
    # README of the tables: replicate 7 is 8.9e-16 in numpy's means, hence W 17, p .322; exact: W 14, p .359
    assert (the_part(row, "signed_rank").estimate, round(row.p_value or 0, 3)) == (17.0, 0.322)
    exact = the_part(row, "signed_rank_exact_means")
    assert (exact.estimate, round(exact.p_value or 0, 3), exact.n) == (14.0, 0.359, 9)
    assert any(note.startswith("with exact means W is 14 and p 0.359375") for note in row.notes)
    others = [row for base in BASES for row in rows("judge_gap", base) if (base, row.measure) != ("gemini", "pedagogy")]
    assert not any("with exact means" in note for row in others for note in row.notes)


# the order


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("judge", "measure"), [("opus", "helpfulness"), ("sol", "helpfulness"), ("sol", "pedagogy")])
def test_both_contrasts_are_the_released_ones(
    rows: Rows, paper_tables: Path, base: str, judge: str, measure: str
) -> None:
    if judge == "opus":
        theirs = json.loads((paper_tables / f"inference.{base}.json").read_text())["j1"]["P2_helpfulness"]
    else:
        check = "_manipulation_check" if measure == "pedagogy" else ""
        file = json.loads((paper_tables / f"inference.{base}.sol.json").read_text())
        theirs = file[f"session_{measure}_contrast{check}"]
    part = the_part(the_row(rows("judge_ordering"), base=base, measure=measure), judge)
    assert by(part) == exactly((theirs["mean_diff_conv_minus_ped"], *theirs["diff_ci95"]))
    assert part.p_value == exactly(theirs["p_two_sided"])
    assert part.cliffs_delta == exactly(theirs["cliffs_delta_conv_vs_ped"])


def test_the_order_turns_on_two_bases_and_significantly_on_one(rows: Rows) -> None:
    found = rows("judge_ordering")
    flags = {
        (row.base, row.measure): tuple(
            the_part(row, name).estimate for name in ("ordering_reversal", "significant_reversal")
        )
        for row in found
    }
    # Opus sonnet -.094 (p .160), Sol +.115 (.004); Opus gpt -.376 (.002), Sol +.086 (.016); gemini both positive
    assert flags == {
        ("sonnet", "helpfulness"): (1.0, 0.0),
        ("gpt", "helpfulness"): (1.0, 1.0),
        ("gemini", "helpfulness"): (0.0, 0.0),
        ("sonnet", "pedagogy"): (0.0, 0.0),
        ("gpt", "pedagogy"): (0.0, 0.0),
        ("gemini", "pedagogy"): (0.0, 0.0),
        (None, "helpfulness"): (2.0, 1.0),
        (None, "pedagogy"): (0.0, 0.0),
    }
    counted = the_row(found, base=None, measure="helpfulness")
    assert (counted.n, counted.n_dropped) == (3, 0)
    assert "ordering reversal: sonnet, gpt" in counted.notes
    assert "significant reversal: gpt" in counted.notes


# agreement

AGREEMENT = [
    *((base, rubric, "judge_agreement") for base in BASES for rubric in RUBRICS),
    *((None, rubric, "judge_agreement_pooled") for rubric in RUBRICS),
    *((None, rubric, "judge_without_kin") for rubric in RUBRICS),
]
PLACES = {
    "judge_agreement_pooled": "overall_pooled_descriptive",
    "judge_without_kin": "same_family_sensitivity_sonnet_gemini_only",
}


def released_agreement(comparison: Any, base: str | None, rubric: str, analysis: str) -> Any:
    place = comparison["per_base"][base]["instruments"] if base else comparison[PLACES[analysis]]
    return place[rubric]["agreement"]


@pytest.mark.parametrize(("base", "rubric", "analysis"), AGREEMENT)
def test_agreement_and_its_clustered_intervals(
    rows: Rows, comparison: Any, base: str | None, rubric: str, analysis: str
) -> None:
    theirs = released_agreement(comparison, base, rubric, analysis)
    row = the_row(rows(analysis, base), measure=rubric)
    assert by(the_part(row, "spearman")) == exactly(
        (theirs["spearman_of_per_turn_means"], *theirs["spearman_clustered_ci95"])
    )
    assert by(the_part(row, "kappa")) == exactly(
        (theirs["quadratic_weighted_kappa_on_medians"], *theirs["kappa_clustered_ci95"])
    )
    numbers = {
        "mean_difference": "mean_signed_diff_gpt_minus_opus",
        "mean_absolute_difference": "mean_absolute_diff",
        "exact_agreement": "exact_agreement_on_medians",
        "within_one": "within_one_agreement_on_medians",
        "mean_opus": "opus_mean_of_per_turn_means",
        "mean_sol": "gpt_mean_of_per_turn_means",
    }
    for ours, name in numbers.items():
        assert the_part(row, ours).estimate == exactly(theirs[name]), ours
    assert (row.n, row.n_dropped, row.base) == (theirs["n_turns"], 0, base)
    assert any("rounded to the nearest integer, half to even" in note for note in row.notes)


def medians() -> Iterator[tuple[str | None, str, str, str]]:
    for judge, name in (("opus", "opus"), ("sol", "gpt")):
        for base in (*BASES, None):
            for rubric in RUBRICS:
                yield base, rubric, judge, f"{name}_median_distribution"


@pytest.mark.parametrize(("base", "rubric", "judge", "name"), list(medians()))
def test_ceiling_and_median_counts(
    rows: Rows, comparison: Any, base: str | None, rubric: str, judge: str, name: str
) -> None:
    theirs = released_agreement(comparison, base, rubric, "judge_agreement_pooled")[name]
    row = the_row(rows("judge_ceiling"), base=base, measure=rubric, judge=judge)
    assert {part.name: part.n for part in row.components} == {f"median_{key}": count for key, count in theirs.items()}
    assert row.estimate == exactly(theirs["5"] / sum(theirs.values()))


# without the base by the second judge's maker


def test_remaining_members_keep_their_uncorrected_p(rows: Rows) -> None:
    found = rows("judge_without_kin")
    members = [row for row in found if row.base]
    assert [(row.base, row.measure) for row in members] == [
        (base, f"helpfulness.{term}") for term in FAMILIES for base in ("sonnet", "gemini")
    ]
    for row in members:
        full = the_row(rows(f"holm_{row.measure.partition('.')[2]}"), base=row.base)
        assert (row.estimate, row.p_value, row.p_holm) == (full.estimate, full.p_value, None)
        assert any("p is uncorrected" in note for note in row.notes)
    assert "without gpt, by openai as sol is" in found[0].notes
    assert "sonnet shares its maker with opus, which no leaving out removes" in found[0].notes
