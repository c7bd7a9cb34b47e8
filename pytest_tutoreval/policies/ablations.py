"""The five ablation variants: two revisions of conv's prompt, three deletions from ped (definitions, section 4).

They run in the session protocol like conv and ped. What they yield is descriptive, and is never pooled with the two.
"""

from pytest_tutoreval.policies.ped import Parts, pedagogical_turn
from pytest_tutoreval.policies.situation import Asking, Situation

__all__ = [
    "conv_no_final_answer_turn",
    "conv_socratic_turn",
    "ped_no_cascade_turn",
    "ped_no_gate_turn",
    "ped_no_tracker_turn",
]


def conv_socratic_turn(situation: Situation) -> Asking:
    """Yield the one request of a conv turn told to guide by questions. The wording is ours: none is printed."""
    return (yield from _revised_turn(situation, "conv_socratic"))


def conv_no_final_answer_turn(situation: Situation) -> Asking:
    """Yield the one request of a conv turn told never to give the final answer. The wording is ours."""
    return (yield from _revised_turn(situation, "conv_no_final_answer"))


def ped_no_gate_turn(situation: Situation) -> Asking:
    """Yield the requests of a ped turn whose requests for the answer go to the decomposer."""
    return (yield from pedagogical_turn(situation, Parts(gate=False)))


def ped_no_cascade_turn(situation: Situation) -> Asking:
    """Yield the requests of a ped turn whose hints go to the decomposer."""
    return (yield from pedagogical_turn(situation, Parts(cascade=False)))


def ped_no_tracker_turn(situation: Situation) -> Asking:
    """Yield the one request of a ped turn without the tracker's estimate."""
    return (yield from pedagogical_turn(situation, Parts(tracker=False)))


def _revised_turn(situation: Situation, name: str) -> Asking:
    prompt = situation.with_statement(situation.instrument.wording[name])
    reply = yield situation.request(prompt, node="conv")
    return reply.text
