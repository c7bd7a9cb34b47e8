"""Tutor policies: dialogue in, next tutor turn out. Looked up by condition name."""

from pytest_tutoreval.policies.ablations import (
    conv_no_final_answer_turn,
    conv_socratic_turn,
    ped_no_cascade_turn,
    ped_no_gate_turn,
    ped_no_tracker_turn,
)
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

# The study's two, then the ablation variants: a default takes its conditions from the study file, never from here.
POLICIES: dict[str, Policy] = {
    "conv": conv_turn,
    "ped": ped_turn,
    "conv_socratic": conv_socratic_turn,
    "conv_no_final_answer": conv_no_final_answer_turn,
    "ped_no_gate": ped_no_gate_turn,
    "ped_no_tracker": ped_no_tracker_turn,
    "ped_no_cascade": ped_no_cascade_turn,
}
