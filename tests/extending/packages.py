"""Packages that register something, installed in a folder: the one the documentation shows, and made-up ones."""

import shutil
from itertools import count
from pathlib import Path

__all__ = ["PARROT", "SOURCE", "a_package", "the_parrot"]

PARROT = "tutoreval-parrot 0.3"
SOURCE = Path(__file__).parent / "parrot" / "tutoreval_parrot"

_names = count()


def the_parrot(site: Path) -> Path:
    """Install the documented package into a folder and return its module's file."""
    shutil.copytree(SOURCE, site / "tutoreval_parrot", ignore=shutil.ignore_patterns("__pycache__"))
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
