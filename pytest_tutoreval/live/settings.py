"""What a live run is told."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.live.jobs import Needs
from pytest_tutoreval.providers.desk import Answerer
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.records.study_file import Price, StudyFile

__all__ = ["LiveRun", "OpenRoute"]

OpenRoute = Callable[[Route], Answerer]


@dataclass(frozen=True)
class LiveRun:
    """Everything a live run is told.

    `budget` is in dollars over all routes, None for no cap. `max_retries` None leaves the default. `at_once` bounds the
    sessions that are open together. `answerer` replaces the network, as a replay does. `pay_for_pending` rates anew
    what is on its way in a batch. `study_folder` is the study file's: a tutor in Python is looked for there first.
    `replicates` are those of cells whose needs leave the number to the run, None for those the study registers.
    """

    instrument: Instrument
    folder: Path
    needs: Needs
    study_file: StudyFile = field(default_factory=StudyFile)
    study_folder: Path = Path()
    prices: Mapping[str, Price] = field(default_factory=dict)
    budget: float | None = None
    max_retries: int | None = None
    at_once: int = 256
    session_deadline: float | None = None
    replicates: tuple[int, ...] | None = None
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    answerer: OpenRoute | None = None
    pay_for_pending: bool = False
    sync: Callable[[int], None] = os.fsync

    def session_keys(self) -> list[SessionKey]:
        """Return the sessions this run is to have."""
        registered = tuple(self.instrument.study.registered_replicates())
        return list(self.needs.session_keys(registered if self.replicates is None else self.replicates))
