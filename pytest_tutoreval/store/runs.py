"""What the live runs of a corpus were billed, from the ledgers they left."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.records.base import Record
from pytest_tutoreval.store.validation import first_problem

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

    A run that was killed left no last line, or half of one: what it was billed is not in the sum.

    Raises
    ------
    CorpusError
        A ledger cannot be read.
    """
    runs = list(_billed(folder))
    routes = [route for billed in runs for route in billed]
    costs = [route.dollars for route in routes]
    return Metered(
        runs=len(runs),
        calls=sum(route.calls for route in routes),
        failed_attempts=sum(route.failed_attempts for route in routes),
        input_tokens=sum(route.input_tokens for route in routes),
        output_tokens=sum(route.output_tokens for route in routes),
        dollars=None if None in costs or not costs else sum(cost for cost in costs if cost is not None),
    )


class _Billed(Record):
    """One route's line in a ledger."""

    calls: int
    failed_attempts: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    estimated_calls: int = 0


def _billed(folder: Path) -> Iterator[list[_Billed]]:
    for path in sorted((folder / "runs").glob("*.jsonl")):
        try:
            for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
                if '"spending"' in line:
                    yield [_Billed.model_validate(route) for route in json.loads(line)["spending"].values()]
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
            problem = first_problem(exc) if isinstance(exc, ValidationError) else exc
            raise CorpusError(
                f"{path}: a ledger that cannot be read ({problem}); move it away to report without"
            ) from exc
