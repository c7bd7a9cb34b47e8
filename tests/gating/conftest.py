"""A tutor and its later versions."""

from tests.gating.candidates import candidates

__all__ = ["candidates"]
