"""Fixtures every room's tests share."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is not a failure: examples are bounded by their number, never by the clock.
settings.register_profile("tutoreval", deadline=None)
settings.load_profile("tutoreval")

# A shell that starts the tests in the background has SIGINT ignored; a child told to stop by it would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the released tables, real dialogues and golden fits; never part of the project."""
    folder = Path(os.environ.get("TUTOREVAL_SHARED", ROOT.parent / "shared")).resolve()
    if not folder.is_dir():
        message = (
            f"{folder}: no shared reference data; set TUTOREVAL_SHARED to the folder that holds data/ and reference/"
        )
        if os.environ.get("TUTOREVAL_REQUIRE_SHARED") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(autouse=True)
def without_allure(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep allure-pytest out of inner runs, each of which it costs half a second; tests about Allure let it in."""
    if "pytester" in request.fixturenames:
        request.getfixturevalue("pytester")  # which forgets the variable as it begins
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:allure_pytest")
