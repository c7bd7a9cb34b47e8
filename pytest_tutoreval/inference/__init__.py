"""Statistics on arrays: paired contrast, crossed fit, rater agreement, Holm families, margins and looks of a gate."""

from pytest_tutoreval.inference.agreement import (
    ClusterInterval,
    cluster_interval,
    quadratic_kappa,
    quadratic_kappa_of_draws,
    spearman,
    spearman_of_draws,
)
from pytest_tutoreval.inference.bootstrap import Interval, percentile_interval
from pytest_tutoreval.inference.cliffs_delta import cliffs_delta
from pytest_tutoreval.inference.contrast import Contrast, paired_contrast
from pytest_tutoreval.inference.crossed import Coefficient, CrossedFit, fit_crossed, profile_log_likelihood
from pytest_tutoreval.inference.holm import holm
from pytest_tutoreval.inference.non_inferiority import (
    GuardDecision,
    MarginPValues,
    decide_guard,
    decide_guards,
    margin_p_values,
    needed_replicates,
    smallest_deciding_n,
)
from pytest_tutoreval.inference.sequential import Look, nominal_levels, spent
from pytest_tutoreval.inference.signed_rank import SignedRank, attainable_floor, signed_rank
from pytest_tutoreval.inference.two_stage import TwoStage, two_stage

__all__ = [
    "ClusterInterval",
    "Coefficient",
    "Contrast",
    "CrossedFit",
    "GuardDecision",
    "Interval",
    "Look",
    "MarginPValues",
    "SignedRank",
    "TwoStage",
    "attainable_floor",
    "cliffs_delta",
    "cluster_interval",
    "decide_guard",
    "decide_guards",
    "fit_crossed",
    "holm",
    "margin_p_values",
    "needed_replicates",
    "nominal_levels",
    "paired_contrast",
    "percentile_interval",
    "profile_log_likelihood",
    "quadratic_kappa",
    "quadratic_kappa_of_draws",
    "signed_rank",
    "smallest_deciding_n",
    "spearman",
    "spearman_of_draws",
    "spent",
    "two_stage",
]
