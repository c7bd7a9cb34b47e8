"""Python of the user's own, named `module:function`: found beside the study file first, then wherever Python looks."""

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_tutoreval.errors import InstrumentError

__all__ = ["load_function", "module_file"]


def module_file(name: str, folder: Path) -> Path:
    """Return the source file of the module in `module:function`; the module itself is not run for it.

    Raises
    ------
    InstrumentError
        There is no such module, or it has no source file.
    """
    module = name.partition(":")[0]
    if (beside := _beside(module, folder)) is not None:
        return beside
    try:
        spec = find_spec(module)
    except Exception as exc:  # a package that the module is in is run for it, and may raise anything
        raise InstrumentError(f"{name}: module {module} cannot be found: {type(exc).__name__}: {exc}") from exc
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise InstrumentError(
            f"{name}: no module {module} with a source file. Looked in {folder} and on Python's own path; put "
            f"{module.replace('.', '/')}.py beside the study file, or install the package that has it."
        )
    return Path(spec.origin)


def load_function(name: str, folder: Path) -> Any:
    """Return the function in `module:function`.

    `folder` is importable during this import and no longer: what the module needs from beside it, it imports at its
    top.

    Raises
    ------
    InstrumentError
        The module cannot be found or fails to import, a module of the same name was imported from elsewhere before,
        or it has no such function.
    """
    module, _, function = name.partition(":")
    file = module_file(name, folder)
    try:
        with _importable(folder):
            loaded = importlib.import_module(module)
    except Exception as exc:
        raise InstrumentError(f"{name}: importing {file} failed: {type(exc).__name__}: {exc}") from exc
    found = getattr(loaded, "__file__", None)
    if found is None or Path(found).resolve() != file.resolve():
        raise InstrumentError(
            f"{name}: module {module} is {found}, not {file}: a module of that name was imported before. Rename yours."
        )
    if not callable(getattr(loaded, function, None)):
        raise InstrumentError(f"{name}: {file} has no function {function!r}")
    return getattr(loaded, function)


def _beside(module: str, folder: Path) -> Path | None:
    place = folder.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@contextmanager
def _importable(folder: Path) -> Generator[None]:
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if entry in sys.path:  # a module may have taken it out itself
            sys.path.remove(entry)
