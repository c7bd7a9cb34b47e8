"""Models behind one protocol."""

from pytest_tutoreval.providers.agent import Agent, CallSite, Message, ModelReply, ModelRequest

__all__ = ["Agent", "CallSite", "Message", "ModelReply", "ModelRequest"]
