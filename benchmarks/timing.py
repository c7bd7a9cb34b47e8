"""Commands timed in turn, A B A B …, so that a ratio holds when the machine's speed drifts."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ["Cost", "python_command", "time_pairs"]


@dataclass(frozen=True)
class Cost:
    """One run of a command, its children included, in seconds."""

    cpu: float
    wall: float


def python_command(*arguments: str) -> list[str]:
    """Return a command that runs this interpreter."""
    return [sys.executable, *arguments]


def time_pairs(
    first: Sequence[str], second: Sequence[str], *, runs: int, cwd: Path, accept: Callable[[int], bool]
) -> tuple[list[Cost], list[Cost]]:
    """Return the costs of two commands run in turn after one warm-up each; an unexpected exit code stops it."""
    costs: tuple[list[Cost], list[Cost]] = ([], [])
    for run in range(runs + 1):
        for kept, command in zip(costs, (first, second), strict=True):
            cost = _run(command, cwd, accept)
            if run:
                kept.append(cost)
    return costs


def _run(command: Sequence[str], cwd: Path, accept: Callable[[int], bool]) -> Cost:
    # Compiled files are kept, as they are for a user: else every process compiles what it imports anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = os.times(), time.perf_counter()
    finished = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, os.times()
    if not accept(finished.returncode):
        raise SystemExit(f"{' '.join(command)}: exit {finished.returncode}\n{finished.stdout}{finished.stderr}")
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return Cost(cpu, wall)


def paired_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the median of the ratios run by run."""
    return median(a / b for a, b in zip(first, second, strict=True))
