"""Every benchmark, a line each: ratios with medians, to be read with the machine they were run on."""

import platform
import sys
from datetime import UTC, datetime
from os import cpu_count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import crossed_fit, live, measures, unused_plugin, verdict_run


def main() -> None:
    """Print the table."""
    now = datetime.now(tz=UTC).date()
    print(f"{now}, {cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}")
    for benchmark in (unused_plugin, verdict_run, crossed_fit, measures, live):
        print(benchmark.measure(), flush=True)


if __name__ == "__main__":
    main()
