"""What an installed plugin costs everyone else: nothing is imported until it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "numpy",
    "scipy",
    "pandas",
    "statsmodels",
    "pydantic",
    "httpx",
    "typer",
    "rich",
    "matplotlib",
    "xdist.workermanage",
)
ROOT = Path(__file__).resolve().parent.parent


def loaded_after(code: str, folder: Path, *names: str) -> list[str]:
    """Return which of `names` a fresh interpreter has loaded once `code` has run."""
    script = f"{code}\nimport sys\nprint('LOADED', *[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_importing_the_plugin_needs_only_pytest(tmp_path: Path) -> None:
    assert loaded_after("import pytest_tutoreval.plugin", tmp_path, *HEAVY) == []


@pytest.mark.parametrize("arguments", [["--collect-only"], [], ["--help"]], ids=["collect-only", "a-run", "help"])
def test_a_project_without_claims_imports_nothing_of_ours(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    ours = [f"pytest_tutoreval.{room}" for room in ("workbench", "claims", "store", "reporting", "records", "frozen")]
    code = f"import pytest; assert pytest.main(['-q', '-p', 'no:cacheprovider', *{arguments!r}]) == 0"
    assert loaded_after(code, tmp_path, *HEAVY[:-1], *ours) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"test_mine.py", "__pycache__"}


def test_collecting_claims_imports_no_statistics(tmp_path: Path) -> None:
    suite = str(ROOT / "suites" / "test_claims.py")
    code = f"import pytest; assert pytest.main(['-q', '--collect-only', '-p', 'no:cacheprovider', {suite!r}]) == 0"
    assert loaded_after(code, tmp_path, "numpy", "scipy", "pandas", "statsmodels", "httpx") == []


def test_deciding_claims_needs_numpy_alone(tmp_path: Path) -> None:
    suite = str(ROOT / "suites" / "test_claims.py")
    arguments = ["-q", "-p", "no:cacheprovider", "-m", "sonnet", "--tutoreval-report", str(tmp_path), suite]
    code = f"import pytest; assert pytest.main({arguments!r}) == 0"
    assert loaded_after(code, tmp_path, "numpy", "scipy", "pandas", "statsmodels", "httpx", "typer") == ["numpy"]
