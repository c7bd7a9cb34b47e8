"""Chance as a pure function of a name: what makes a simulated corpus the same bytes every time."""

from collections.abc import Sequence
from hashlib import sha256
from struct import Struct

__all__ = ["Uniforms", "bell", "pick", "series", "uniforms"]

Uniforms = tuple[float, float, float, float]

_words = Struct(">4Q").unpack
_PER_DIGEST = 4
_STEP = 2.0**-53
_SQRT3 = 1.7320508075688772


def uniforms(key: str) -> Uniforms:
    """Return four independent draws from [0, 1) that belong to `key`: the words of its sha256."""
    first, second, third, fourth = _words(sha256(key.encode()).digest())
    return (first >> 11) * _STEP, (second >> 11) * _STEP, (third >> 11) * _STEP, (fourth >> 11) * _STEP


def series(key: str, n: int) -> list[float]:
    """Return the first `n` draws of the endless series that belongs to `key`; four share a digest."""
    draws: list[float] = []
    for block in range(-(-n // _PER_DIGEST)):
        draws += uniforms(f"{key}|{block}")
    return draws[:n]


def bell(key: str) -> float:
    """Return a draw with mean 0 and variance 1, bell-shaped, within 3.5 either side.

    The sum of four uniforms rather than a normal quantile: it needs no logarithm, so no platform rounds it
    differently.
    """
    return (sum(uniforms(key)) - 2.0) * _SQRT3


def pick(family: Sequence[str], u: float) -> str:
    """Return the member of `family` a draw `u` from [0, 1) falls on."""
    return family[int(u * len(family))]
