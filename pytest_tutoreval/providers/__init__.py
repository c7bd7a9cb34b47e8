"""Models behind one protocol."""

from pytest_tutoreval.providers.agent import Agent, CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.faults import (
    CallFailed,
    ConfigurationError,
    MissingKey,
    ProviderFault,
    RouteStopped,
    UnknownProvider,
    UnsentSetting,
)
from pytest_tutoreval.providers.tutor_turn import TutorTurnReply, TutorTurnRequest

# Clients are opened by `providers.routes`, which imports the HTTP library; this room does not.
__all__ = [
    "Agent",
    "CallFailed",
    "CallSite",
    "ConfigurationError",
    "Message",
    "MissingKey",
    "ModelReply",
    "ModelRequest",
    "ProviderFault",
    "RouteStopped",
    "TutorTurnReply",
    "TutorTurnRequest",
    "UnknownProvider",
    "UnsentSetting",
]
