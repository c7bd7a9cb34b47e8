"""Every analysis there is, by name, in report order."""

from collections.abc import Mapping

from pytest_tutoreval.analyses import ablation, judge_audit, secondary, sensitivities
from pytest_tutoreval.analyses.registry import Analysis

__all__ = ["all_analyses"]


def all_analyses() -> Mapping[str, Analysis]:
    """Return the analyses; none of them can reach a verdict."""
    parts = (sensitivities.ANALYSES, judge_audit.ANALYSES, ablation.ANALYSES, secondary.ANALYSES)
    return {analysis.name: analysis for part in parts for analysis in part}
