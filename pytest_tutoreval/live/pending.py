"""Ratings that are on their way in a batch: an ordinary run must not pay for them too."""

import time
from collections.abc import Iterable
from pathlib import Path

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.judging.batch import BatchFolder, BatchRecord

__all__ = ["moment", "refuse_while_on_its_way"]


def refuse_while_on_its_way(folder: Path, judges: Iterable[str]) -> None:
    """Raise ConfigurationProblem where a batch has ratings of these judges on their way: they would be paid twice."""
    for judge in judges:
        for name, record in BatchFolder(folder).records(judge).items():
            if record.is_open:
                raise ConfigurationProblem(
                    f"{folder}: {len(record.items)} ratings of {judge} are on their way in a batch ({name}, "
                    f"{_submitted(record)}); fetch them with --batch, or pass --force to pay for them twice"
                )


def _submitted(record: BatchRecord) -> str:
    return f"{record.batch or 'perhaps submitted'}, {moment(record.created)}"


def moment(seconds: float) -> str:
    """Return a moment as people write it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
