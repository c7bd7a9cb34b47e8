"""A tutor that is a Python function of the user's own: imported once, called in this process, never over a network."""

import asyncio
import contextvars
import inspect
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen import load_function
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.client import Client
from pytest_tutoreval.providers.faults import ConfigurationError, ProviderFault
from pytest_tutoreval.providers.keys import Redactor
from pytest_tutoreval.providers.token_estimate import prompt_tokens
from pytest_tutoreval.providers.tutor_turn import (
    BrokenContract,
    TutorTurnReply,
    TutorTurnRequest,
    model_reply,
    read_turn_reply,
    turn_request,
)
from pytest_tutoreval.records.attempt import FaultKind
from pytest_tutoreval.records.session import Route

__all__ = ["PythonTutor", "Tutor", "import_tutor"]

Said = str | TutorTurnReply
Tutor = Callable[[TutorTurnRequest], Said | Awaitable[Said]]

_TARGET = re.compile(r"[\w.]+:\w+")


class PythonTutor(Client[TutorTurnRequest]):
    """Calls a tutor function: a plain one in a thread of its own, an async one in the event loop.

    An exception is a fault that fails the one call; only what reads as a passing trouble of a network is tried again.
    """

    def __init__(self, route: Route, tutor: Tutor, **given: Any) -> None:
        super().__init__(route, **given)
        self._tutor = tutor

    def _prepared(self, request: ModelRequest) -> tuple[TutorTurnRequest, int]:
        return turn_request(request), prompt_tokens(request) + self._cap

    async def _answered(self, turn: TutorTurnRequest, request: ModelRequest, timeout: float) -> ModelReply:
        said = await self._said(turn, timeout)
        fields = {"text": said} if isinstance(said, str) else _fields_of(said)
        try:
            if fields is None:
                raise BrokenContract(f"it returned {type(said).__name__}, expected a str or a TutorTurnReply")
            reply = model_reply(request, read_turn_reply(fields))
        except BrokenContract as exc:
            problem = self._redact(str(exc))
        else:
            return reply if reply.served_model else _served_by(self.route, reply)
        raise ProviderFault("tutor_error", problem)

    async def _said(self, turn: TutorTurnRequest, timeout: float) -> object:
        """Return what the function returned. What it raised is named, without its frames: they may hold anything."""
        try:
            async with asyncio.timeout(timeout):
                if _is_async(self._tutor):
                    said: object = self._tutor(turn)
                else:
                    said = await _in_a_thread(self._tutor, turn)
                return await said if inspect.isawaitable(said) else said
        except (Exception, SystemExit) as exc:
            fault = self._fault(exc, timeout)
        raise fault

    def _fault(self, exc: BaseException, timeout: float) -> ProviderFault:
        named = f"{type(exc).__name__}: {_message_of(exc)}".rstrip(": ")
        if isinstance(exc, TimeoutError):
            return ProviderFault("timeout", self._redact(f"{named} (a turn may take {timeout:.0f} s)"))
        kind: FaultKind = "connection" if isinstance(exc, ConnectionError) else "tutor_error"
        return ProviderFault(kind, self._redact(named))


def _served_by(route: Route, reply: ModelReply) -> ModelReply:
    """Return the reply as served by the function itself: nobody else could have."""
    return replace(reply, served_model=route.model)


def _fields_of(said: object) -> dict[str, Any] | None:
    if not isinstance(said, TutorTurnReply):
        return None
    return {field.name: getattr(said, field.name) for field in fields(said)}


def _message_of(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # its message is code of the tutor's too
        return "(its message cannot be shown)"


def _is_async(tutor: Tutor) -> bool:
    return inspect.iscoroutinefunction(tutor) or inspect.iscoroutinefunction(getattr(tutor, "__call__", None))  # noqa: B004 - whether it is async, not whether it is there


async def _in_a_thread(tutor: Tutor, turn: TutorTurnRequest) -> object:
    """Return what a plain function returns, called in a daemon thread.

    Not in an executor: its threads are waited for at the end, and a tutor that hangs would hang the run with it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: tuple[object, BaseException | None]) -> None:
        if not done.done():  # nobody waits for one that came too late
            done.set_result(outcome)

    def work() -> None:
        outcome: tuple[object, BaseException | None]
        try:
            outcome = context.run(tutor, turn), None
        except BaseException as exc:  # a StopIteration or SystemExit cannot pass through a future
            outcome = None, exc
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:
            return  # the loop has ended meanwhile

    threading.Thread(target=work, name="tutoreval-tutor", daemon=True).start()
    said, raised = await done
    if raised is not None:
        raise raised
    return said


def import_tutor(route: Route, folder: Path, redact: Redactor) -> Tutor:
    """Return the function a route's model names, its module imported once in this process.

    Parameters
    ----------
    folder : the study file's: the module is looked for there first. It is importable during this import and no longer

    Raises
    ------
    ConfigurationError
        The model is not `module:function`, the module cannot be imported, or holds no such function.
    """
    if not _TARGET.fullmatch(route.model):
        raise ConfigurationError(
            route, "model", f"= {route.model!r} is not module:function.", "Write it like mytutor:tutor."
        )
    try:
        tutor: Tutor = load_function(route.model, folder)
    except InstrumentError as exc:
        problem = str(exc)
    except SystemExit as exc:
        problem = f"importing {route.model} ended in SystemExit: {exc}."
    else:
        return tutor
    # Outside the handler: the frames of a failed import hold whatever the module had read.
    raise ConfigurationError(route, "model", "names no tutor.", redact(problem))
