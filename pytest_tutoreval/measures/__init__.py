"""One row a turn, one row a session: text and ratings as numbers."""

from pytest_tutoreval.measures.arms import ARMS, complete_arms, complete_cells, complete_scores
from pytest_tutoreval.measures.conditions import BASELINES
from pytest_tutoreval.measures.corpus import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.measures.frame import ModelFrame, model_frame, turn_frame
from pytest_tutoreval.measures.matched import DroppedCell, MatchedBudget, Openings, match_budget, openings
from pytest_tutoreval.measures.registry import SESSION_MEASURES, TURN_OUTCOMES, is_judged
from pytest_tutoreval.measures.scores import session_score, turn_score
from pytest_tutoreval.measures.turns import MeasuredSession, SessionMeasurer

__all__ = [
    "ARMS",
    "BASELINES",
    "SESSION_MEASURES",
    "TURN_OUTCOMES",
    "Cell",
    "CellScores",
    "CorpusMeasures",
    "DroppedCell",
    "MatchedBudget",
    "MeasuredSession",
    "ModelFrame",
    "Openings",
    "SessionMeasurer",
    "complete_arms",
    "complete_cells",
    "complete_scores",
    "is_judged",
    "match_budget",
    "model_frame",
    "openings",
    "session_score",
    "turn_frame",
    "turn_score",
]
