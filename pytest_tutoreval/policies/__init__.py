"""Tutor policies: dialogue in, next tutor turn out. Looked up by condition name."""

from pytest_tutoreval.policies.conv import conv_turn
from pytest_tutoreval.policies.ped import ped_turn
from pytest_tutoreval.policies.router import count_attempts, hint_level, requests_answer, route_turn
from pytest_tutoreval.policies.situation import Asking, Policy, Situation, Utterance

__all__ = [
    "POLICIES",
    "Asking",
    "Policy",
    "Situation",
    "Utterance",
    "conv_turn",
    "count_attempts",
    "hint_level",
    "ped_turn",
    "requests_answer",
    "route_turn",
]

POLICIES: dict[str, Policy] = {"conv": conv_turn, "ped": ped_turn}
