"""The main job against an empty run: every claim on the bundled corpus at -n 8, and as many empty items."""

import tempfile
from pathlib import Path
from statistics import median

from benchmarks.timing import paired_ratio, python_command, time_pairs

RUNS = 7
ITEMS = 137
ROOT = Path(__file__).resolve().parent.parent


def measure() -> str:
    """Return the wall-time ratio of the two."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        test = "import pytest\n\n\n@pytest.mark.parametrize('i', range({}))\ndef test_empty(i):\n    pass\n"
        (project / "test_empty.py").write_text(test.format(ITEMS))
        report = str(project / "reports")
        full = ("-m", "pytest", str(ROOT / "suites"), "--base", "all", "-n", "8", "-q", "--tutoreval-report", report)
        empty = ("-m", "pytest", str(project), "-n", "8", "-q")
        deciding, idle = time_pairs(
            python_command(*full), python_command(*empty), runs=RUNS, cwd=project, accept=lambda code: code == 0
        )
    ratio = paired_ratio([cost.wall for cost in deciding], [cost.wall for cost in idle])
    walls = median(cost.wall for cost in deciding), median(cost.wall for cost in idle)
    return f"verdict run -n 8: {ratio:.2f}x an empty run's wall ({walls[0]:.2f} s, {walls[1]:.2f} s); target at most 2x"


if __name__ == "__main__":
    print(measure())
