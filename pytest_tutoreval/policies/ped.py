"""The pedagogical policy: a private tracker, then exactly one responder chosen by the fixed router."""

from dataclasses import dataclass

from pytest_tutoreval.policies.router import DEFER, HINT, Routing, hint_level, route_turn
from pytest_tutoreval.policies.situation import Asking, Situation
from pytest_tutoreval.policies.tracker import Estimate, planning_notes, read_estimate

__all__ = ["Parts", "ped_turn", "pedagogical_turn"]


@dataclass(frozen=True, slots=True)
class Parts:
    """Which parts of the policy there are: all in ped, all but one in a deletion (definitions, section 4)."""

    gate: bool = True
    cascade: bool = True
    tracker: bool = True

    def node(self, route: str) -> str:
        """Return who answers a route: without gate or cascade their turns go to the decomposer."""
        if route == DEFER and self.gate:
            return "deferral_gate"
        if route == HINT and self.cascade:
            return "hint_cascade"
        return "decomposer"


def ped_turn(situation: Situation) -> Asking:
    """Yield the tracker's and the responder's requests and return what the student gets to see.

    The tracker's text stays private; routing never reads it.
    """
    return (yield from pedagogical_turn(situation, Parts()))


def pedagogical_turn(situation: Situation, parts: Parts) -> Asking:
    """Yield the requests of a turn of the policy made of `parts`, and return what the student gets to see.

    Routing is the same whatever is deleted. A rerouted turn keeps its route tag; the node tag shows who answered.
    Without the tracker its call is not made, and the notes are those of a tracker that said nothing usable.
    """
    rules = situation.instrument.router
    routing = route_turn(situation.student_turns, rules)
    estimate = None
    if parts.tracker:
        tracked = yield situation.request(
            situation.prompt("pedtutor_tracker"), node="state_tracker", route=routing.route, role="tracker"
        )
        estimate = read_estimate(tracked.text)
    node = parts.node(routing.route)
    reply = yield situation.request(
        _responder_prompt(situation, node, routing, estimate), node=node, route=routing.route
    )
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
