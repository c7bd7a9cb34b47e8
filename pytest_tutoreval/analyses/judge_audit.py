"""The cross-judge audit: every analysis that sets two judges beside each other (definitions, section 13).

Judges are never averaged: no function here or below returns a number that mixes their scores.
"""

from pytest_tutoreval.analyses.judge_agreement import judge_agreement, judge_agreement_pooled, judge_ceiling
from pytest_tutoreval.analyses.judge_contrasts import judge_gap, judge_ordering
from pytest_tutoreval.analyses.judge_kin import without_kin
from pytest_tutoreval.analyses.judge_models import (
    added_families,
    judge_difference,
    registered_families,
    second_judge_slopes,
)
from pytest_tutoreval.analyses.registry import Analysis

__all__ = ["ANALYSES"]

ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        "judge_difference",
        "Model (2) on second - first judge: judge-by-leakage and judge-by-policy, raw and standardised",
        "audit",
        "base",
        judge_difference,
    ),
    Analysis(
        "second_judge_slopes",
        "Policy-adjusted leakage slope of the second judge's scores, model (2)",
        "audit",
        "base",
        second_judge_slopes,
    ),
    Analysis(
        "holm_adjusted_slope",
        "Holm family: the second judge's policy-adjusted leakage slopes",
        "audit",
        "corpus",
        registered_families("adjusted_slope"),
    ),
    Analysis(
        "holm_judge_by_leakage",
        "Holm family: judge-by-leakage",
        "audit",
        "corpus",
        registered_families("judge_by_leakage"),
    ),
    Analysis(
        "holm_judge_by_policy",
        "Holm family: judge-by-policy",
        "audit",
        "corpus",
        registered_families("judge_by_policy"),
    ),
    Analysis("holm_added", "Holm families added by the user's study file", "audit", "corpus", added_families),
    Analysis(
        "judge_gap", "(conv - ped) by the second judge minus the first, over replicates", "audit", "base", judge_gap
    ),
    Analysis(
        "judge_ordering",
        "Ordering reversals and significant reversals between two judges",
        "audit",
        "corpus",
        judge_ordering,
    ),
    Analysis("judge_agreement", "Agreement of two judges, turn by turn", "audit", "base", judge_agreement),
    Analysis(
        "judge_agreement_pooled",
        "Agreement of two judges, turns pooled over bases",
        "audit",
        "corpus",
        judge_agreement_pooled,
    ),
    Analysis("judge_ceiling", "Turns whose median rating is 5", "audit", "corpus", judge_ceiling),
    Analysis(
        "judge_without_kin",
        "The audit without the base that shares the second judge's maker",
        "audit",
        "corpus",
        without_kin,
    ),
)
