"""The conversational policy: one plain call per visible turn."""

from pytest_tutoreval.policies.situation import Asking, Situation

__all__ = ["conv_turn"]


def conv_turn(situation: Situation) -> Asking:
    """Yield the one request of a conv turn and return its text. Nothing is said about disclosing or withholding."""
    reply = yield situation.request(situation.prompt("convtutor"), node="conv")
    return reply.text
