"""What a package can register, a hook each. No hook is firstresult: every package is asked, and all answers count."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from pytest_tutoreval.measures import SessionMeasure
    from pytest_tutoreval.policies import Policy
    from pytest_tutoreval.providers.routes import Provider
    from pytest_tutoreval.reporting import Renderer

__all__ = [
    "PROJECT",
    "tutoreval_claims",
    "tutoreval_measures",
    "tutoreval_policies",
    "tutoreval_providers",
    "tutoreval_renderers",
]

# Of the hooks, and of the entry points by which packages are found.
PROJECT = "tutoreval"

# A spec is never called, only read for its name and its arguments; its body is there for the type checker.
_hookspec = pluggy.HookspecMarker(PROJECT)


@_hookspec
def tutoreval_providers() -> "Mapping[str, Provider]":
    """Return providers by the name that a study file's `provider` says: wire formats, or what opens a Client.

    Not firstresult: the providers of all packages are known, and a name two of them give is an error.
    """
    raise NotImplementedError


@_hookspec
def tutoreval_policies() -> "Mapping[str, Policy]":
    """Return policies by the condition they are of, each a generator function of a Situation.

    Not firstresult: the conditions of all packages can be collected, and one that two of them name is an error.
    """
    raise NotImplementedError


@_hookspec
def tutoreval_measures() -> "Iterable[SessionMeasure]":
    """Return session measures that claim files and guards can name.

    Not firstresult: the measures of all packages are known, and a name two of them give is an error.
    """
    raise NotImplementedError


@_hookspec
def tutoreval_claims() -> Iterable[Path]:
    """Return folders of claim files, each `ID.toml`, which tests name as they name the bundled ones.

    Not firstresult: the claims of all packages are registered, and an id two of them have is an error.
    """
    raise NotImplementedError


@_hookspec
def tutoreval_renderers() -> "Iterable[Renderer]":
    """Return renderers whose files join a run's output set.

    Not firstresult: the renderers of all packages run, and a name or a file two of them claim is an error.
    """
    raise NotImplementedError
