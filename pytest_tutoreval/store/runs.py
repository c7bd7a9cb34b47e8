"""What the live runs of a corpus were billed, from the ledgers they left."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tutoreval.errors import CorpusError

__all__ = ["Metered", "metered_cost"]


@dataclass(frozen=True)
class Metered:
    """All live runs of a corpus together. `dollars` is None where a price was unknown, or nothing was metered."""

    runs: int = 0
    calls: int = 0
    failed_attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float | None = None


def metered_cost(folder: Path) -> Metered:
    """Return what a corpus cost so far; no run where nothing was collected live.

    A run that was killed left no last line: what it was billed is not in the sum.

    Raises
    ------
    CorpusError
        A ledger cannot be read.
    """
    runs, routes = 0, []
    for billed in _billed(folder):
        runs += 1
        routes += list(billed.values())
    costs = [route["dollars"] for route in routes]
    return Metered(
        runs=runs,
        calls=sum(route["calls"] for route in routes),
        failed_attempts=sum(route["failed_attempts"] for route in routes),
        input_tokens=sum(route["input_tokens"] for route in routes),
        output_tokens=sum(route["output_tokens"] for route in routes),
        dollars=None if None in costs or not costs else sum(costs),
    )


def _billed(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((folder / "runs").glob("*.jsonl")):
        try:
            for line in path.read_text(encoding="utf-8").split("\n"):
                if '"spending"' in line:
                    yield json.loads(line)["spending"]
        except (OSError, ValueError, KeyError) as exc:
            raise CorpusError(f"{path}: a ledger that cannot be read ({exc}); move it away to report without") from exc
