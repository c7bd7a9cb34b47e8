"""Everything reported beside the verdicts: sensitivities, the cross-judge audit, the ablation, descriptions.

Each test runs one analysis; its rows stand under `analyses` in verdicts.json, and none of them can reach a verdict.
An analysis of something the corpus does not have at all (text, ablations, a second judge) is skipped with that reason;
missing data are an error.
"""

import pytest

from pytest_tutoreval.records.analysis import AnalysisRow


@pytest.mark.analysis("policy_adjusted_helpfulness")
def test_policy_adjusted_helpfulness(analysed: list[AnalysisRow]) -> None:
    """Model (2): leakage and helpfulness with the policy held fixed."""
    assert analysed


@pytest.mark.analysis("policy_adjusted_independence")
def test_policy_adjusted_independence(analysed: list[AnalysisRow]) -> None:
    """Model (2): leakage and next-turn independence with the policy held fixed."""
    assert analysed


@pytest.mark.analysis("two_stage_helpfulness")
def test_two_stage_helpfulness(analysed: list[AnalysisRow]) -> None:
    """Two-stage clustered: helpfulness of leaky against non-leaky turns within replicates."""
    assert analysed


@pytest.mark.analysis("two_stage_independence")
def test_two_stage_independence(analysed: list[AnalysisRow]) -> None:
    """Two-stage clustered: next-turn independence after leaky against non-leaky turns within replicates."""
    assert analysed


@pytest.mark.analysis("matched_budget")
def test_matched_budget(analysed: list[AnalysisRow]) -> None:
    """Matched visible-turn budget: leakage, independence and the judge-free leg anew."""
    assert analysed


@pytest.mark.analysis("matched_budget_helpfulness")
def test_matched_budget_helpfulness(analysed: list[AnalysisRow]) -> None:
    """Matched visible-turn budget: helpfulness and its leg anew."""
    assert analysed


@pytest.mark.analysis("token_control")
def test_token_control(analysed: list[AnalysisRow]) -> None:
    """Leaky and independent turns per 1000 tutor tokens."""
    assert analysed


@pytest.mark.analysis("exposure")
def test_exposure(analysed: list[AnalysisRow]) -> None:
    """Turns per session, their gap, and leaky turns by condition."""
    assert analysed


@pytest.mark.analysis("leakage_means_helpfulness")
def test_leakage_means_helpfulness(analysed: list[AnalysisRow]) -> None:
    """Mean helpfulness of leaky and non-leaky turns."""
    assert analysed


@pytest.mark.analysis("leakage_means_independence")
def test_leakage_means_independence(analysed: list[AnalysisRow]) -> None:
    """Mean next-turn independence after leaky and non-leaky turns."""
    assert analysed


@pytest.mark.analysis("full_window")
def test_full_window(analysed: list[AnalysisRow]) -> None:
    """Leakage, independence and the judge-free leg over all visible turns against the answer-phase window."""
    assert analysed


@pytest.mark.analysis("judge_difference")
def test_judge_difference(analysed: list[AnalysisRow]) -> None:
    """Model (2) on second - first judge: judge-by-leakage and judge-by-policy, raw and standardised."""
    assert analysed


@pytest.mark.analysis("second_judge_slopes")
def test_second_judge_slopes(analysed: list[AnalysisRow]) -> None:
    """Policy-adjusted leakage slope of the second judge's scores, model (2)."""
    assert analysed


@pytest.mark.analysis("holm_adjusted_slope")
def test_holm_adjusted_slope(analysed: list[AnalysisRow]) -> None:
    """Holm family: the second judge's policy-adjusted leakage slopes."""
    assert analysed


@pytest.mark.analysis("holm_judge_by_leakage")
def test_holm_judge_by_leakage(analysed: list[AnalysisRow]) -> None:
    """Holm family: judge-by-leakage."""
    assert analysed


@pytest.mark.analysis("holm_judge_by_policy")
def test_holm_judge_by_policy(analysed: list[AnalysisRow]) -> None:
    """Holm family: judge-by-policy."""
    assert analysed


@pytest.mark.analysis("holm_added")
def test_holm_added(analysed: list[AnalysisRow]) -> None:
    """Holm families added by the user's study file."""
    assert analysed


@pytest.mark.analysis("judge_gap")
def test_judge_gap(analysed: list[AnalysisRow]) -> None:
    """(conv - ped) by the second judge minus the first, over replicates."""
    assert analysed


@pytest.mark.analysis("judge_ordering")
def test_judge_ordering(analysed: list[AnalysisRow]) -> None:
    """Ordering reversals and significant reversals between two judges."""
    assert analysed


@pytest.mark.analysis("judge_agreement")
def test_judge_agreement(analysed: list[AnalysisRow]) -> None:
    """Agreement of two judges, turn by turn."""
    assert analysed


@pytest.mark.analysis("judge_agreement_pooled")
def test_judge_agreement_pooled(analysed: list[AnalysisRow]) -> None:
    """Agreement of two judges, turns pooled over bases."""
    assert analysed


@pytest.mark.analysis("judge_ceiling")
def test_judge_ceiling(analysed: list[AnalysisRow]) -> None:
    """Turns whose median rating is 5."""
    assert analysed


@pytest.mark.analysis("judge_without_kin")
def test_judge_without_kin(analysed: list[AnalysisRow]) -> None:
    """The audit without the base that shares the second judge's maker."""
    assert analysed


@pytest.mark.analysis("ablation_contrasts")
def test_ablation_contrasts(analysed: list[AnalysisRow]) -> None:
    """Ablation: each variant against conv and against ped."""
    assert analysed


@pytest.mark.analysis("ablation_scores")
def test_ablation_scores(analysed: list[AnalysisRow]) -> None:
    """Ablation: replicate-averaged measures of every policy, their spans and leakage shares."""
    assert analysed


@pytest.mark.analysis("ablation_couplings")
def test_ablation_couplings(analysed: list[AnalysisRow]) -> None:
    """Ablation: next-turn independence after leaky and non-leaky turns, policy by policy."""
    assert analysed


@pytest.mark.analysis("judged_gaps")
def test_judged_gaps(analysed: list[AnalysisRow]) -> None:
    """Conv - ped of every rubric, by judge."""
    assert analysed


@pytest.mark.analysis("accuracy")
def test_accuracy(analysed: list[AnalysisRow]) -> None:
    """Probe accuracy by phase and condition."""
    assert analysed


@pytest.mark.analysis("cost")
def test_cost(analysed: list[AnalysisRow]) -> None:
    """Calls and tokens a session by condition."""
    assert analysed


@pytest.mark.analysis("routes")
def test_routes(analysed: list[AnalysisRow]) -> None:
    """Which node of ped answered, in-window turns."""
    assert analysed


@pytest.mark.analysis("divergence")
def test_divergence(analysed: list[AnalysisRow]) -> None:
    """Divergence view: standardised helpfulness, pedagogy and next-turn independence."""
    assert analysed
