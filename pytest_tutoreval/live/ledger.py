"""What a run did that is in no session or rating: failed calls with their attempts, and what it was billed."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pytest_tutoreval.providers.money import Spending
from pytest_tutoreval.records.attempt import FailedAttempt

__all__ = ["Ledger"]


class Ledger:
    """One file a run in the corpus's `runs` folder, a line for each failed call and one for the whole."""

    def __init__(self, folder: Path, started: float) -> None:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(started))
        self._path = folder / "runs" / f"{moment}-{os.getpid()}.jsonl"
        self.started = started

    def failed(self, where: str, failures: tuple[FailedAttempt, ...], message: str) -> None:
        """Keep a call that failed for good, as it happens."""
        attempts = [failure.compact() for failure in failures]
        self._write({"failed_call": where, "message": message, "attempts": attempts})

    def close(self, counts: Mapping[str, object], *, spending: Mapping[str, Spending]) -> None:
        """Keep the run's counts and what each route was billed."""
        billed = {name: asdict(route) for name, route in spending.items()}
        self._write({"started": round(self.started, 3), **counts, "spending": billed})

    def _write(self, fields: Mapping[str, object]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(fields, ensure_ascii=True) + "\n")
        except OSError:
            return  # a full disk must not hide the error that is being logged
