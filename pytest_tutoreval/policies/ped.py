"""The pedagogical policy: a private tracker, then exactly one responder chosen by the fixed router."""

from pytest_tutoreval.policies.router import DECOMPOSE, DEFER, Routing, hint_level, route_turn
from pytest_tutoreval.policies.situation import Asking, Situation
from pytest_tutoreval.policies.tracker import Estimate, planning_notes, read_estimate

__all__ = ["ped_turn"]

_NODE = {DEFER: "deferral_gate", DECOMPOSE: "decomposer"}


def ped_turn(situation: Situation) -> Asking:
    """Yield the tracker's and the responder's requests and return what the student gets to see.

    The tracker's text stays private; routing never reads it.
    """
    rules = situation.instrument.router
    routing = route_turn(situation.student_turns, rules)
    tracked = yield situation.request(
        situation.prompt("pedtutor_tracker"), node="state_tracker", route=routing.route, role="tracker"
    )
    node = _NODE.get(routing.route, "hint_cascade")
    system = _responder_prompt(situation, node, routing, read_estimate(tracked.text))
    reply = yield situation.request(system, node=node, route=routing.route)
    return reply.text


def _responder_prompt(situation: Situation, node: str, routing: Routing, estimate: Estimate | None) -> str:
    notes = planning_notes(estimate, situation.instrument)
    directive = _directive(situation, node, routing)
    return f"{situation.prompt(f'pedtutor_{node}')}\n\n{notes}\n{directive}"


def _directive(situation: Situation, node: str, routing: Routing) -> str:
    """Return what the node is told beyond its prompt; nothing for the decomposer."""
    rules, prompts = situation.instrument.router, situation.instrument.prompts
    if node == "deferral_gate":
        reached = routing.n_attempts >= rules.attempts_threshold
        return prompts[f"pedtutor_gate_directive_{'at' if reached else 'below'}_threshold"]
    if node == "hint_cascade":
        level = hint_level(situation.turn, routing.n_attempts, rules)
        return prompts["template_hint_level"].format(level=level, name=rules.hint_levels[level])
    return ""
