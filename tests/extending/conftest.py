"""A folder that packages are installed in, for this process or for children."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of this process; what was imported from it is forgotten."""
    folder = tmp_path / "site"
    folder.mkdir(exist_ok=True)
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def child_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder on the path of child processes, and of theirs."""
    folder = tmp_path / "site"
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder
