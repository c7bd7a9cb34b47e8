"""Names that packages give to what they bring: one meaning each, and on record who gave it."""

import re
from collections.abc import Callable, Container
from typing import TypeVar

from pytest_tutoreval.errors import ExtensionError

__all__ = ["add_entry", "take_name"]

# Names become folder names, pytest ids and marks.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

# Who registered a name, by kind and name. What this package has itself is not in it.
_OWNERS: dict[tuple[str, str], str] = {}

Entry = TypeVar("Entry")


def take_name(kind: str, name: str, reserved: Container[str] = (), *, by: str) -> Callable[[], None]:
    """Give a name to who registers it, and return how it is given back.

    Parameters
    ----------
    kind : what is registered, as people call it
    reserved : names that are taken where no package has them
    by : the package that registers it

    Raises
    ------
    ExtensionError
        It is no name, or somebody has it already: what is there is extended, never redefined.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ExtensionError(
            f"{by}: {kind} {name!r:.80} is no name; expected a letter or digit, then letters, digits, '_', '.', '-', "
            "at most 64 in all"
        )
    owner = _OWNERS.get((kind, name)) or ("pytest-tutoreval" if name in reserved else None)
    if owner is not None:
        raise ExtensionError(f"{by}: {kind} {name!r} is registered already by {owner}; choose another name")
    _OWNERS[kind, name] = by
    return lambda: _OWNERS.__delitem__((kind, name))


def add_entry(
    registry: dict[str, Entry], kind: str, name: str, entry: Entry, reserved: Container[str] = (), *, by: str
) -> Callable[[], None]:
    """Add an entry under a name that nobody has, and return how it is taken out again. Raises as `take_name` does."""
    give_back = take_name(kind, name, reserved, by=by)
    registry[name] = entry

    def take_out() -> None:
        del registry[name]
        give_back()

    return take_out
