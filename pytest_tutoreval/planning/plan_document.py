"""A study plan as plain data, which every rendering reads."""

from typing import Any

from pytest_tutoreval.planning.power import Power
from pytest_tutoreval.planning.study_plan import PlannedSize, StudyPlan

__all__ = ["FORMAT", "plan_document"]

FORMAT = "tutoreval-power/1"


def plan_document(plan: StudyPlan) -> dict[str, Any]:
    """Return the plan as plain data. Every number is finite or None; `power` is the share of the wanted outcome."""
    return {
        "format": FORMAT,
        "source": plan.source,
        "simulated": plan.simulated_data,
        "seed": plan.seed,
        "simulations": plan.simulations,
        "target": plan.target,
        "registered_n": {what: plan.smallest_n(what) for what in plan.wanted},
        "rows": [_row(plan, planned, power) for planned, power in plan.rows()],
        "notes": list(plan.notes),
        "unpriced": list(dict.fromkeys(planned.unpriced for planned in plan.sizes if planned.unpriced)),
    }


def _row(plan: StudyPlan, planned: PlannedSize, power: Power) -> dict[str, Any]:
    wanted = plan.wanted[power.what]
    return {
        "planned": power.what,
        "base": power.base,
        "judge": power.judge,
        "replicates": power.size.replicates,
        "problems": power.size.problems,
        "repetitions": power.size.repetitions,
        "wanted": wanted,
        "power": power.share(wanted),
        "error": power.error(wanted),
        "outcomes": dict(sorted(power.outcomes.items())),
        "p_floor": power.floor,
        "reason": power.reason,
        "dollars": planned.dollars,
        "hours": planned.hours,
    }
