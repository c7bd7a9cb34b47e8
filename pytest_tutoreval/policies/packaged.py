"""Policies that packages bring: conditions any study may use, their sessions stamped as those of own policies are."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_tutoreval.errors import ExtensionError, InstrumentError
from pytest_tutoreval.frozen import PACKAGE_CONDITIONS, REGISTERED_CONDITIONS, text_digest
from pytest_tutoreval.policies.own import check_generator_function, hold_to_protocol
from pytest_tutoreval.policies.situation import Policy
from pytest_tutoreval.registering import add_entry

__all__ = ["PACKAGE_POLICIES", "register_policy"]

# Policies that packages bring, by condition: beside the study's, never in place of one.
PACKAGE_POLICIES: dict[str, Policy] = {}


def register_policy(condition: str, policy: Policy, *, by: str) -> Callable[[], None]:
    """Add a package's policy, and return how it is taken out again.

    Its digest is that of the module it is written in, as for a policy in Python of the user's own: sessions of another
    text are neither used nor gone on with. What the module imports is not in it.

    Raises
    ------
    ExtensionError
        It is no generator function, has no source file, or its condition's name is taken.
    """
    try:
        check_generator_function(f"{by}: policy {condition!r}: {policy!r:.80}", policy)
    except InstrumentError as exc:
        raise ExtensionError(str(exc)) from None
    digest = _digest(condition, policy, by)
    take_out = add_entry(
        PACKAGE_POLICIES, "policy", condition, hold_to_protocol(by, policy), REGISTERED_CONDITIONS, by=by
    )
    PACKAGE_CONDITIONS[condition] = digest

    def forget() -> None:
        del PACKAGE_CONDITIONS[condition]
        take_out()

    return forget


def _digest(condition: str, policy: Policy, by: str) -> str:
    code = _code_of(policy)
    try:
        file = inspect.getsourcefile(code)
        source = Path(file).read_text(encoding="utf-8") if file else None
    except (OSError, TypeError, ValueError):
        source = None
    if source is None:
        raise ExtensionError(
            f"{by}: policy {condition!r}: {policy!r:.80} has no source file that can be read, so nobody could tell "
            "whether it changed; write it in a module of your own"
        )
    return text_digest(f"package {code.__module__}:{code.__qualname__}\n{source}")


def _code_of(policy: Any) -> Any:
    """Return the function, or the class of the object, that a policy is written as."""
    inner = inspect.unwrap(policy)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    return inner if inspect.isfunction(inner) or inspect.ismethod(inner) else type(inner)
