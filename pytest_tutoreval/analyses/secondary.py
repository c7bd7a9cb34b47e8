"""Secondary and descriptive: accuracy, cost, who answered, and how the measures hang together."""

from pytest_tutoreval.analyses.accuracy import ACCURACY
from pytest_tutoreval.analyses.cost import COST
from pytest_tutoreval.analyses.divergence import DIVERGENCE
from pytest_tutoreval.analyses.judged_gaps import JUDGED_GAPS
from pytest_tutoreval.analyses.registry import Analysis
from pytest_tutoreval.analyses.routes import ROUTES

__all__ = ["ANALYSES"]

ANALYSES: tuple[Analysis, ...] = (*JUDGED_GAPS, *ACCURACY, *COST, *ROUTES, *DIVERGENCE)
