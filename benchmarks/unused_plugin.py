"""What an installed but unused plugin costs every other project: `--collect-only` with and without it."""

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import python_command, time_pairs

RUNS = 15


def measure() -> str:
    """Return the extra CPU milliseconds over bare pytest."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        (project / "test_other.py").write_text("def test_other() -> None:\n    pass\n")
        bare = python_command("-m", "pytest", "-q", "--collect-only", "-p", "no:pytest_tutoreval.plugin")
        loaded = python_command("-m", "pytest", "-q", "--collect-only")
        with_it, without = time_pairs(loaded, bare, runs=RUNS, cwd=project, accept=lambda code: code == 0)
    extra = median(a.cpu - b.cpu for a, b in zip(with_it, without, strict=True))
    base = median(cost.cpu for cost in without)
    return f"unused plugin: {1000 * extra:+.0f} ms CPU over bare pytest ({1000 * base:.0f} ms); target at most 50 ms"


if __name__ == "__main__":
    print(measure())
