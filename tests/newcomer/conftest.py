"""A fresh environment with the built wheel in it."""

from tests.test_wheel import installed, wheel

__all__ = ["installed", "wheel"]
