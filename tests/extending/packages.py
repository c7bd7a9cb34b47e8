"""Packages that register something, installed in a folder: the one the documentation shows, and made-up ones."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

from tests.docs.pages import DOCS, Fence, fences

__all__ = ["PARROT", "a_package", "documented", "the_parrot"]

PARROT = "tutoreval-parrot 0.3"
PAGE = DOCS / "reference" / "hooks.md"

_names = count()


def documented() -> Mapping[str, Fence]:
    """Return the files that the page on hooks shows, by name."""
    return {fence.remarks["file"]: fence for fence in fences(PAGE) if "file" in fence.remarks}


def the_parrot(site: Path) -> Path:
    """Install the documented package into a folder and return its module's file."""
    for name, fence in documented().items():
        if name.startswith("tutoreval_parrot/"):
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(fence.text, encoding="utf-8")
    _declare(site, "tutoreval-parrot", "0.3", "tutoreval_parrot")
    return site / "tutoreval_parrot" / "__init__.py"


def a_package(site: Path, body: str, *, name: str | None = None, version: str = "1.0") -> str:
    """Install a module of hooks and return what errors call it. Modules of one process need names of their own."""
    module = f"hooks_of_test_{next(_names)}"
    distribution = name or module.replace("_", "-")
    site.mkdir(parents=True, exist_ok=True)
    (site / f"{module}.py").write_text(f"from pytest_tutoreval import hookimpl\n{body}", encoding="utf-8")
    _declare(site, distribution, version, module)
    return f"{distribution} {version}"


def _declare(site: Path, distribution: str, version: str, module: str) -> None:
    """Write what an installer leaves behind of a distribution."""
    facts = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (facts / "entry_points.txt").write_text(f"[tutoreval]\nhooks = {module}\n")
