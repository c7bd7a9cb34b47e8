"""Folders the pages begin in: empty, a checkout's, or the one the tutorial ends in, which is made once a run."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.docs.pages import DOCS, Fence
from tests.docs.session import run_page, show_released, start_from_checkout
from tests.docs.shell import lay_out_like_the_wheel

TUTORIAL = DOCS / "tutorial.md"


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder to import the package from, laid out as the wheel is: `--pyargs` finds the suites."""
    return lay_out_like_the_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def tutorial(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    """The folder the tutorial ends in: two corpora, a baseline and reports. For reading; commands run in a copy.

    The worker that comes first runs the tutorial, the others wait for it.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place, end, failure = shared / "tutorial", shared / "tutorial.end", shared / "tutorial.failure"
    with FileLock(shared / "tutorial.lock"):
        if failure.exists():
            pytest.fail(failure.read_text(encoding="utf-8"), pytrace=False)
        if not end.exists():
            try:
                place.mkdir()
                ended = run_page(TUTORIAL, place, package=package, starts=lambda _, folder: folder.mkdir())
            except AssertionError as exc:
                failure.write_text(str(exc), encoding="utf-8")
                raise
            end.write_text(str(ended), encoding="utf-8")
    return Path(end.read_text(encoding="utf-8"))


@pytest.fixture
def starts(request: pytest.FixtureRequest) -> Callable[[Fence, Path], None]:
    """Fills the folder a block asks for; the tutorial's and the released tables are had only where asked for."""

    def start(fence: Fence, folder: Path) -> None:
        match fence.remarks.get("folder", "empty"):
            case "empty":
                folder.mkdir()
            case "tutorial":
                shutil.copytree(request.getfixturevalue("tutorial"), folder)
            case "checkout":
                folder.mkdir()
                start_from_checkout(folder)
            case other:
                raise AssertionError(f"{fence}: folder {other!r}; expected empty, tutorial or checkout")
        if "released" in fence.remarks:
            shared: Path = request.getfixturevalue("shared")
            show_released(fence.remarks["released"], folder, shared / "data" / "paper-tables")

    return start
