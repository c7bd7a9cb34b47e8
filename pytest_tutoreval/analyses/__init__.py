"""Everything reported beside the verdicts; nothing here can reach one."""

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.released import compare_with_released

__all__ = ["Analysis", "AnalysisInput", "compare_with_released"]
