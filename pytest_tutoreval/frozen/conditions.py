"""The conditions that are registered, by the study and by packages: what an own policy may not be called."""

from pytest_tutoreval.records.session import UNTUTORED

__all__ = ["PACKAGE_CONDITIONS", "REGISTERED_CONDITIONS", "registered_conditions"]

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

# Conditions that packages register, each with the digest of its policy that is stamped into its sessions.
PACKAGE_CONDITIONS: dict[str, str] = {}


def registered_conditions() -> tuple[str, ...]:
    """Return the study's conditions, then those of packages."""
    return (*REGISTERED_CONDITIONS, *PACKAGE_CONDITIONS)
