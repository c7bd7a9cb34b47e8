"""Policies of the user's own: a prompt, a function in Python, or nothing at all over a base that is a whole tutor."""

import inspect
from dataclasses import replace
from typing import Any

from pytest_tutoreval.errors import InstrumentError, ProtocolError
from pytest_tutoreval.frozen import OwnPolicy, load_function
from pytest_tutoreval.policies.situation import Asking, Policy, Situation
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest

__all__ = ["check_generator_function", "hold_to_protocol", "open_policy"]


def open_policy(own: OwnPolicy) -> Policy:
    """Return the policy that a user's entry describes. Raises InstrumentError where its function cannot be used."""
    if own.prompt is not None:
        return _prompted(own.prompt)
    if own.callable is not None:
        function = load_function(own.callable, own.folder)
        check_generator_function(f"policy {own.id}: {own.callable}", function)
        return hold_to_protocol(own.callable, function)
    return direct_turn


def direct_turn(situation: Situation) -> Asking:
    """Yield the one request of a turn that tells the base the statement and nothing else."""
    reply = yield situation.request(situation.statement(), node=situation.condition)
    return reply.text


def _prompted(prompt: str) -> Policy:
    def prompted_turn(situation: Situation) -> Asking:
        reply = yield situation.request(situation.with_statement(prompt), node=situation.condition)
        return reply.text

    return prompted_turn


def check_generator_function(where: str, function: Any) -> None:
    """Raise InstrumentError, which says where, unless the function can be a policy."""
    unwrapped = inspect.unwrap(function)
    if not inspect.isgeneratorfunction(unwrapped) and not inspect.isgeneratorfunction(type(unwrapped).__call__):
        raise InstrumentError(
            f"{where} is no generator function. A policy takes a Situation, yields requests "
            "(reply = yield situation.request(prompt, node=...)) and returns the last reply's text. A tutor that is "
            "plain Python is a base with provider = 'python', under a policy with direct = true."
        )


def hold_to_protocol(name: str, policy: Policy) -> Policy:
    """Return a policy that is not the study's, held to what a corpus can record.

    What the student gets is the last call of role `tutor`, word for word: whoever reads the corpus reads that. Drafts
    and estimates the student never sees are calls of role `tracker`. A fault in the user's code ends its session with
    that reason, and no other session.
    """

    def own_turn(situation: Situation) -> Asking:
        where = f"policy {situation.condition} ({name}) at {_place(situation)}"
        shown: str | None = None
        asking = policy(situation)
        request, said = _go_on(where, asking, None)
        while request is not None:
            _check_request(where, situation, request)
            reply = yield request
            if request.role == "tutor":
                shown = reply.text
            request, said = _go_on(where, asking, reply)
        if shown is None:
            raise ProtocolError(f"{where}: it returned without a call of role 'tutor', so the turn would be lost")
        if said != shown:
            raise ProtocolError(
                f"{where}: it returned another text than its last call of role 'tutor' gave, so the corpus would not "
                "hold what the student got. Return that reply's text; private calls have role 'tracker'."
            )
        return shown

    return own_turn


def _go_on(where: str, asking: Asking, reply: ModelReply | None) -> tuple[ModelRequest | None, Any]:
    """Return the policy's next request, or None and what it returned."""
    try:
        return (next(asking) if reply is None else asking.send(reply)), None
    except StopIteration as end:
        return None, end.value
    except Exception as exc:
        raise ProtocolError(f"{where}: it raised {type(exc).__name__}: {exc}") from exc


def _check_request(where: str, situation: Situation, request: object) -> None:
    if not isinstance(request, ModelRequest):
        raise ProtocolError(f"{where}: it yielded {type(request).__name__}; yield situation.request(...)")
    due = situation.request("", node="").site
    if replace(request.site, node=due.node, route=due.route) != due:
        raise ProtocolError(f"{where}: it asked for another turn ({request.site}); yield situation.request(...)")
    if request.role not in ("tutor", "tracker"):
        raise ProtocolError(f"{where}: role {request.role!r} is not a policy's; use 'tutor' or 'tracker'")
    if request.route != situation.route:
        raise ProtocolError(f"{where}: it asked {request.route.model}, a policy speaks through its base alone")


def _place(situation: Situation) -> str:
    key = f"{situation.base}/{situation.condition}/r{situation.replicate}"
    return f"{key}/{situation.problem.id}/t{situation.turn}"
