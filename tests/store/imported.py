"""The study's released tables as a corpus, imported once a folder of tests."""

from pathlib import Path

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.importing import import_released_tables

__all__ = ["paper_tables", "released"]


@pytest.fixture(scope="session")
def paper_tables(shared: Path) -> Path:
    """The folder with the released tables."""
    return shared / "data" / "paper-tables"


@pytest.fixture(scope="session")
def released(paper_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported corpus; copy it before changing anything."""
    target = tmp_path_factory.mktemp("released") / "corpus"
    import_released_tables(paper_tables, target, load_instrument())
    return target
