"""Before the first call: what a run will cost."""

from pytest_tutoreval.planning.cost import Assumptions, CostPlan, RoleCost, plan_cost

__all__ = ["Assumptions", "CostPlan", "RoleCost", "plan_cost"]
