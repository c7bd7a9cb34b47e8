"""What is on disk, as frozen records."""

from pytest_tutoreval.records.base import Record
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.claim import (
    Arm,
    Claim,
    ContrastClaim,
    CouplingClaim,
    JointClaim,
    Leg,
    ManyToOneClaim,
    PairedClaim,
    claim_adapter,
)
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.measured import SessionRow, TurnRow, TurnScore
from pytest_tutoreval.records.problem import PHASES, Problem
from pytest_tutoreval.records.rating import RUBRIC_FIELDS, Rating, RatingHeader, TurnId
from pytest_tutoreval.records.session import Route, Session, SessionHeader, SessionKey
from pytest_tutoreval.records.study import Sampling, Study
from pytest_tutoreval.records.verdict import Component, NotEvaluated, Verdict, say

__all__ = [
    "PHASES",
    "RUBRIC_FIELDS",
    "Arm",
    "Call",
    "Claim",
    "Component",
    "ContrastClaim",
    "CorpusManifest",
    "CouplingClaim",
    "JointClaim",
    "Leg",
    "ManyToOneClaim",
    "NotEvaluated",
    "PairedClaim",
    "Problem",
    "Rating",
    "RatingHeader",
    "Record",
    "Route",
    "Sampling",
    "Session",
    "SessionHeader",
    "SessionKey",
    "SessionRow",
    "Study",
    "TurnId",
    "TurnRow",
    "TurnScore",
    "Verdict",
    "claim_adapter",
    "say",
]
