"""How fast a route may be asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

__all__ = ["Gate", "RouteLimits", "estimated_tokens"]

# English text is near 4 bytes a token; counting 3 errs towards waiting.
_BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class RouteLimits:
    """The limits of one route; None is no limit."""

    concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ValueError(f"concurrency = {self.concurrency}, expected at least 1")
        for name in ("requests_per_minute", "tokens_per_minute"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise ValueError(f"{name} = {value}, expected at least 1, or None for no limit")


def estimated_tokens(body: bytes, max_tokens: int) -> int:
    """Return about how many tokens a call may be billed: its body, and its answer up to the cap."""
    return len(body) // _BYTES_A_TOKEN + max_tokens


class Gate:
    """A route's turnstile. It belongs to the event loop in which it is first passed.

    Waiting for the per-minute limits comes before a slot is taken, so a waiting call blocks no running one.
    """

    def __init__(self, limits: RouteLimits, *, period: float = 60.0) -> None:
        self._slots = asyncio.Semaphore(limits.concurrency)
        requests, tokens = limits.requests_per_minute, limits.tokens_per_minute
        self._requests = AsyncLimiter(requests, period) if requests is not None else None
        self._tokens = AsyncLimiter(tokens, period) if tokens is not None else None

    @asynccontextmanager
    async def passed(self, tokens: int) -> AsyncIterator[None]:
        """Hold a slot, once the limits allow a call of about `tokens` tokens."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            # A call larger than the whole limit would wait for ever; it waits for all of it.
            await self._tokens.acquire(min(float(tokens), self._tokens.max_rate))
        async with self._slots:
            yield
