"""The built wheel, as a user gets it: one name, the shipped suites, the command, few distributions."""

import json
import os
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = "Scripts" if sys.platform == "win32" else "bin"
MOST_DISTRIBUTIONS = 42


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a user's shell would: nothing of this process's pytest or coverage in its environment."""
    ours = ("PYTEST_", "COV_", "COVERAGE_", "PYTHONPATH", "PYTHONHASHSEED")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    shown = [str(word) for word in command]
    return subprocess.run(shown, cwd=cwd, env=clean, capture_output=True, text=True, check=False)


def once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that is made once a run: the worker that comes first makes it, the others wait for it."""
    base = folders.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    ready = folder / "ready"
    try:
        folder.mkdir()
    except FileExistsError:
        for _ in range(3000):
            if ready.exists():
                return folder
            time.sleep(0.1)
        pytest.fail(f"{folder}: another worker did not get it ready in five minutes")
    try:
        make(folder)
    finally:
        ready.touch()  # also where it failed: the others then fail on what is missing, and do not wait
    return folder


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once."""

    def build(folder: Path) -> None:
        isolation = ["--no-isolation"] if find_spec("hatchling") else []
        done = call(sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", folder, ROOT, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    (built,) = once(tmp_path_factory, "wheel", build).glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with the wheel and its dependencies in it, and nothing else."""

    def install(folder: Path) -> None:
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / SCRIPTS / "python"
        done = call(python, "-m", "pip", "install", "--disable-pip-version-check", wheel, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    return once(tmp_path_factory, "fresh", install) / "venv" / SCRIPTS


def test_the_wheel_has_one_top_level_name_and_everything_below_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert sorted(top for top in tops if not top.endswith(".dist-info")) == ["pytest_tutoreval"]
    assert len(tops) == 2
    for needed in (
        "pytest_tutoreval/suites/test_claims.py",
        "pytest_tutoreval/instrument/MANIFEST.sha256",
        "pytest_tutoreval/instrument/claims/P1.toml",
        "pytest_tutoreval/fixtures/demo/corpus.toml",
        "pytest_tutoreval/examples/own_tutor/tutoreval.toml",
        "pytest_tutoreval/examples/own_tutor/.gitignore",
        "pytest_tutoreval/reports/reference/published.json",
        "pytest_tutoreval/plugin.py",
    ):
        assert needed in names
    assert not [name for name in names if "/tests/" in name or name.endswith((".pyc", "verdicts.json"))]


def test_the_wheel_carries_the_frozen_bytes(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    for path in (ROOT / "instrument").rglob("*"):
        if path.is_file():
            place = f"pytest_tutoreval/instrument/{path.relative_to(ROOT / 'instrument').as_posix()}"
            assert archive.read(place) == path.read_bytes()


def test_the_shipped_suites_run_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = call(installed / "python", "-m", "pytest", "--pyargs", "pytest_tutoreval.suites", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 supported, 9 not supported, 1 inconclusive" in done.stdout
    assert "SIMULATED DATA, scripted agents took part" in done.stdout
    written = json.loads((tmp_path / "reports" / "verdicts.json").read_bytes())
    assert (written["run"]["evaluated"], written["run"]["complete"]) == (24, True)
    assert written["corpus"]["provenance"] == "simulated"


def test_the_command_works_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = call(installed / "tutoreval", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "import" in done.stdout
    assert "simulate" in done.stdout


def test_an_installation_brings_few_distributions(installed: Path, tmp_path: Path) -> None:
    done = call(installed / "python", "-m", "pip", "list", "--format=json", "--disable-pip-version-check", cwd=tmp_path)
    names = sorted(entry["name"] for entry in json.loads(done.stdout))
    assert "pytest-tutoreval" in names
    assert len(names) <= MOST_DISTRIBUTIONS, names
