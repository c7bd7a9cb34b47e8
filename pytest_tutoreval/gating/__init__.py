"""A run held against a baseline: verdicts that may not regress, measures that may not be worse beyond a margin."""

from pytest_tutoreval.gating.baseline import (
    make_baseline,
    read_baseline,
    refuse_other_provenance,
    tutored_conditions,
    write_baseline,
)
from pytest_tutoreval.gating.decision import Gate, GuardPlace, match_bases, standing
from pytest_tutoreval.gating.guards import DEFAULT_GUARDS, GUARDED_MEASURES, check_guards, guard_measure
from pytest_tutoreval.gating.wording import failure_message

__all__ = [
    "DEFAULT_GUARDS",
    "GUARDED_MEASURES",
    "Gate",
    "GuardPlace",
    "check_guards",
    "failure_message",
    "guard_measure",
    "make_baseline",
    "match_bases",
    "read_baseline",
    "refuse_other_provenance",
    "standing",
    "tutored_conditions",
    "write_baseline",
]
