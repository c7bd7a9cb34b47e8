"""Where calls of a live run are asked: stop, purse and route clients behind one coroutine."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.money import Purse
from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.records.session import Route

__all__ = ["Answerer", "Desk", "Stop", "Stopped"]


# A model may have answered before these were noticed: such an attempt is counted as if it had cost all it could.
_POSSIBLY_BILLED = ("timeout", "connection", "malformed", "wrong_provider")


class Stopped(TutorEvalError):
    """The run was asked to stop: calls in flight finish, no new one is sent."""


@dataclass
class Stop:
    """Whether the run was asked to stop; set by a signal, read between calls."""

    requested: bool = False


class Answerer(Protocol):
    """Whoever completes a request: a route client, or a recorded run that is replayed."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply."""
        ...


class Desk:
    """Asks each request on its own route, once the run may go on and can pay for it.

    `open_route` makes the answerer of a route when its first request comes; `done` hears of every completed call,
    `failed` of every call that failed for good, with its attempts.
    """

    def __init__(
        self,
        open_route: Callable[[Route], Answerer],
        purse: Purse,
        stop: Stop,
        *,
        done: Callable[[ModelRequest, ModelReply], None] = lambda _request, _reply: None,
        failed: Callable[[str, tuple[FailedAttempt, ...], str], None] = lambda _where, _failures, _message: None,
    ) -> None:
        self.purse, self.stop = purse, stop
        self._open_route, self._done, self._failed = open_route, done, failed
        self._answerers: dict[Route, Answerer] = {}
        self._settled = asyncio.Event()

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the reply to a request.

        Raises
        ------
        Stopped, BudgetSpent, UnknownPrice
            Before anything was sent.
        CallFailed
            The route gave up on the call; its attempts are in the error.
        """
        answerer = self._answerers.get(request.route)
        if answerer is None:
            answerer = self._answerers[request.route] = self._open_route(request.route)
        reserved = await self._reserve(request)
        try:
            reply = await answerer.complete(request)
        except BaseException as exc:
            failures: tuple[FailedAttempt, ...] = getattr(exc, "failures", ())
            billed = sum(failure.kind == "timeout" for failure in failures) + isinstance(exc, asyncio.CancelledError)
            self.purse.forfeit(request, reserved, failed_attempts=len(failures), billed=billed)
            self._wake()
            if isinstance(exc, TutorEvalError):
                self._failed(_where(request), failures, str(exc))
            raise
        self.purse.settle(request, reserved, reply)
        self._wake()
        self._done(request, reply)
        return reply

    async def _reserve(self, request: ModelRequest) -> float:
        """Return what is put aside for a call. It costs less in the end, so another may wait for the difference."""
        while True:
            if self.stop.requested:
                raise Stopped("the run was asked to stop; run again to resume")
            if (reserved := self.purse.reserve(request)) is not None:
                return reserved
            await self._settled.wait()

    def _wake(self) -> None:
        self._settled.set()
        self._settled = asyncio.Event()


def _where(request: ModelRequest) -> str:
    """Return where a call stands, as a ledger names it."""
    site = request.site
    place = [site.base, site.condition, f"r{site.replicate}", site.problem, request.role]
    place += [str(part) for part in (site.turn, site.rubric, site.repetition) if part is not None]
    return "/".join(place)
