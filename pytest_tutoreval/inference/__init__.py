"""Statistics on arrays: the paired contrast, and the certified crossed random-intercept fit."""

from pytest_tutoreval.inference.bootstrap import Interval, percentile_interval
from pytest_tutoreval.inference.cliffs_delta import cliffs_delta
from pytest_tutoreval.inference.contrast import Contrast, paired_contrast
from pytest_tutoreval.inference.crossed import Coefficient, CrossedFit, fit_crossed, profile_log_likelihood
from pytest_tutoreval.inference.signed_rank import SignedRank, attainable_floor, signed_rank

__all__ = [
    "Coefficient",
    "Contrast",
    "CrossedFit",
    "Interval",
    "SignedRank",
    "attainable_floor",
    "cliffs_delta",
    "fit_crossed",
    "paired_contrast",
    "percentile_interval",
    "profile_log_likelihood",
    "signed_rank",
]
