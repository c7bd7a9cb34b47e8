"""One row a turn, one row a session: text and ratings as numbers."""

from pytest_tutoreval.measures.arms import (
    ARMS,
    CellKey,
    complete_arms,
    complete_cells,
    complete_cells_at,
    complete_scores,
    complete_scores_at,
)
from pytest_tutoreval.measures.conditions import BASELINES
from pytest_tutoreval.measures.corpus import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.measures.first import FirstReplicates
from pytest_tutoreval.measures.frame import ModelFrame, model_frame, turn_frame
from pytest_tutoreval.measures.matched import DroppedCell, MatchedBudget, Openings, match_budget, openings
from pytest_tutoreval.measures.registry import (
    PACKAGE_MEASURES,
    SESSION_MEASURES,
    TURN_OUTCOMES,
    SessionMeasure,
    is_judged,
    known_measures,
    register_measure,
)
from pytest_tutoreval.measures.scores import session_score, turn_score
from pytest_tutoreval.measures.sessions import SessionValues, session_values
from pytest_tutoreval.measures.turns import MeasuredSession, SessionMeasurer

__all__ = [
    "ARMS",
    "BASELINES",
    "PACKAGE_MEASURES",
    "SESSION_MEASURES",
    "TURN_OUTCOMES",
    "Cell",
    "CellKey",
    "CellScores",
    "CorpusMeasures",
    "DroppedCell",
    "FirstReplicates",
    "MatchedBudget",
    "MeasuredSession",
    "ModelFrame",
    "Openings",
    "SessionMeasure",
    "SessionMeasurer",
    "SessionValues",
    "complete_arms",
    "complete_cells",
    "complete_cells_at",
    "complete_scores",
    "complete_scores_at",
    "is_judged",
    "known_measures",
    "match_budget",
    "model_frame",
    "openings",
    "register_measure",
    "session_score",
    "session_values",
    "turn_frame",
    "turn_score",
]
