"""The conditions that are registered: what a policy of the user's own may not be called."""

from pytest_tutoreval.records.session import UNTUTORED

__all__ = ["REGISTERED_CONDITIONS"]

REGISTERED_CONDITIONS = (
    UNTUTORED,
    "conv",
    "ped",
    "conv_socratic",
    "conv_no_final_answer",
    "ped_no_gate",
    "ped_no_tracker",
    "ped_no_cascade",
)
