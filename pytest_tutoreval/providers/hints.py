"""How long a server asks us to wait."""

import math
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["retry_hint"]


def retry_hint(headers: Mapping[str, str], details: Iterable[Mapping[str, Any]] = (), *, now: float) -> float | None:
    """Return the seconds to wait, or None where nothing legible is said.

    Parameters
    ----------
    headers : lower-case names; `retry-after-ms`, then `retry-after` as seconds or an HTTP date
    details : an error's details, where Gemini puts `RetryInfo` with `retryDelay: "17s"`
    now : the time the answer came, in epoch seconds
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if (after := headers.get("retry-after")) is not None:
        seconds = _number(after)
        if seconds is None:
            seconds = _until(after, now)
        if seconds is not None:
            return seconds
    for detail in details:
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (seconds := _number(delay.removesuffix("s"))) is not None:
            return seconds
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None
