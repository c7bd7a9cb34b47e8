"""Tutor policies: dialogue in, next tutor turn out. Looked up by condition name."""

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import Instrument, registered_conditions
from pytest_tutoreval.policies.ablations import (
    conv_no_final_answer_turn,
    conv_socratic_turn,
    ped_no_cascade_turn,
    ped_no_gate_turn,
    ped_no_tracker_turn,
)
from pytest_tutoreval.policies.conv import conv_turn
from pytest_tutoreval.policies.own import open_policy
from pytest_tutoreval.policies.packaged import PACKAGE_POLICIES, register_policy
from pytest_tutoreval.policies.ped import ped_turn
from pytest_tutoreval.policies.router import count_attempts, hint_level, requests_answer, route_turn
from pytest_tutoreval.policies.situation import Asking, Policy, Situation, Utterance
from pytest_tutoreval.records.session import UNTUTORED

__all__ = [
    "PACKAGE_POLICIES",
    "POLICIES",
    "Asking",
    "Policy",
    "Situation",
    "Utterance",
    "conv_turn",
    "count_attempts",
    "hint_level",
    "known_conditions",
    "ped_turn",
    "policy_of",
    "register_policy",
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


def policy_of(instrument: Instrument, condition: str) -> Policy | None:
    """Return a condition's policy: the study's, a package's, or one of the user's own; None in the untutored condition.

    Raises
    ------
    ConfigurationProblem
        No such condition.
    InstrumentError
        A policy in Python that cannot be loaded.
    """
    if condition == UNTUTORED:
        return None
    if condition in POLICIES:
        return POLICIES[condition]
    if condition in PACKAGE_POLICIES:
        return PACKAGE_POLICIES[condition]
    if condition not in instrument.own_policies:
        known = ", ".join(known_conditions(instrument))
        raise ConfigurationProblem(
            f"condition {condition} is not known (known: {known}); add a [[policies]] entry to your study file"
        )
    return open_policy(instrument.own_policies[condition])


def known_conditions(instrument: Instrument) -> tuple[str, ...]:
    """Return every condition a session can be collected under."""
    return (*registered_conditions(), *instrument.own_policies)
