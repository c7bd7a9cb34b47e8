"""Gates are read with paid calls, so their tests are there under --live alone."""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the preflight out of offline runs."""
    offline = not config.getoption("tutoreval_live", default=False)
    return True if offline and collection_path.name == "test_preflight.py" else None
