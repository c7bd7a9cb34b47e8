"""Sensitivities and controls: what stands beside the registered tests and moves none of them."""

from pytest_tutoreval.analyses.adjusted import ADJUSTED
from pytest_tutoreval.analyses.exposure import EXPOSURE
from pytest_tutoreval.analyses.full_window import FULL_WINDOW
from pytest_tutoreval.analyses.matched_budget import MATCHED_BUDGET
from pytest_tutoreval.analyses.registry import Analysis
from pytest_tutoreval.analyses.token_control import TOKEN_CONTROL
from pytest_tutoreval.analyses.two_stage import TWO_STAGE

__all__ = ["ANALYSES"]

ANALYSES: tuple[Analysis, ...] = (
    *ADJUSTED,
    *TWO_STAGE,
    *MATCHED_BUDGET,
    *TOKEN_CONTROL,
    *EXPOSURE,
    *FULL_WINDOW,
)
