"""To be filled."""

from pytest_tutoreval.analyses.registry import Analysis

__all__ = ["ANALYSES"]

ANALYSES: tuple[Analysis, ...] = ()
