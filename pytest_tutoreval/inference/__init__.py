"""Statistics on arrays: paired contrast, certified crossed random-intercept fit, rater agreement, Holm families."""

from pytest_tutoreval.inference.agreement import ClusterInterval, cluster_interval, quadratic_kappa, spearman
from pytest_tutoreval.inference.bootstrap import Interval, percentile_interval
from pytest_tutoreval.inference.cliffs_delta import cliffs_delta
from pytest_tutoreval.inference.contrast import Contrast, paired_contrast
from pytest_tutoreval.inference.crossed import Coefficient, CrossedFit, fit_crossed, profile_log_likelihood
from pytest_tutoreval.inference.holm import holm
from pytest_tutoreval.inference.signed_rank import SignedRank, attainable_floor, signed_rank
from pytest_tutoreval.inference.two_stage import TwoStage, two_stage

__all__ = [
    "ClusterInterval",
    "Coefficient",
    "Contrast",
    "CrossedFit",
    "Interval",
    "SignedRank",
    "TwoStage",
    "attainable_floor",
    "cliffs_delta",
    "cluster_interval",
    "fit_crossed",
    "holm",
    "paired_contrast",
    "percentile_interval",
    "profile_log_likelihood",
    "quadratic_kappa",
    "signed_rank",
    "spearman",
    "two_stage",
]
