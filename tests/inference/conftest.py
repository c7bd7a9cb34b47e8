import pathlib

import pytest


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    return pathlib.Path(__file__).parents[3] / "shared"
