"""Before the first call: what a run will cost, and how often a study of a given size would decide."""

from pytest_tutoreval.planning.cost import Assumptions, CostPlan, RoleCost, plan_cost
from pytest_tutoreval.planning.gate_power import (
    PilotTutor,
    family_note,
    gate_power,
    plan_gate,
    plan_stated_gate,
    whole_gate_note,
)
from pytest_tutoreval.planning.plan_document import FORMAT, plan_document
from pytest_tutoreval.planning.power import Power, Simulation, claim_power, simulate_power
from pytest_tutoreval.planning.resampling import ResampledMeasures, StudySize, pilot_replicates
from pytest_tutoreval.planning.stated import StatedEffect, StatedMeasures, parse_effect, shifted_arms
from pytest_tutoreval.planning.study_plan import (
    PilotSource,
    PlannedSize,
    Pricing,
    Source,
    StatedSource,
    StudyPlan,
    plan_claims,
    sizes_of,
)

__all__ = [
    "FORMAT",
    "Assumptions",
    "CostPlan",
    "PilotSource",
    "PilotTutor",
    "PlannedSize",
    "Power",
    "Pricing",
    "ResampledMeasures",
    "RoleCost",
    "Simulation",
    "Source",
    "StatedEffect",
    "StatedMeasures",
    "StatedSource",
    "StudyPlan",
    "StudySize",
    "claim_power",
    "family_note",
    "gate_power",
    "parse_effect",
    "pilot_replicates",
    "plan_claims",
    "plan_cost",
    "plan_document",
    "plan_gate",
    "plan_stated_gate",
    "shifted_arms",
    "simulate_power",
    "sizes_of",
    "whole_gate_note",
]
