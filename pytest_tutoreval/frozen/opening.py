"""A user's study, opened: read, held against its lock, and laid over the frozen one."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen.extension import extend_instrument, read_study_file
from pytest_tutoreval.frozen.instrument import Instrument, load_instrument
from pytest_tutoreval.frozen.lock import verify_lock
from pytest_tutoreval.records.lock import StudyLock
from pytest_tutoreval.records.study_file import StudyFile

__all__ = ["STUDY_FILE", "OpenedStudy", "find_study", "lay_over", "open_study"]

STUDY_FILE = "tutoreval.toml"


@dataclass(frozen=True)
class OpenedStudy:
    """The instrument as the user's study extends it. `path` and `lock` are None where there is none."""

    instrument: Instrument
    file: StudyFile
    path: Path | None = None
    lock: StudyLock | None = None

    @cached_property
    def claims(self) -> Path | None:
        """The folder of claim files the study file names, or None."""
        return None if self.path is None or self.file.claims is None else self.path.parent / self.file.claims


def find_study(*folders: Path) -> Path | None:
    """Return the study file of the first of these folders that has one, or None."""
    return next((path for folder in folders if (path := folder / STUDY_FILE).is_file()), None)


def open_study(path: Path | None) -> OpenedStudy:
    """Return the study in a file, verified against its lock; the frozen study where there is no file.

    Whether it is locked, and every amendment of the lock, is declared: reports say it.

    Raises
    ------
    InstrumentError
        The file or what it names cannot be used.
    StudyChanged
        Something is not what was locked.
    """
    core = load_instrument()
    if path is None:
        return OpenedStudy(core, StudyFile())
    file = read_study_file(path)
    lock = verify_lock(path, file, core=core.sha256)
    extended = lay_over(core, path, file)
    declared = (*extended.declared, *_said_of_lock(path, lock))
    return OpenedStudy(replace(extended, declared=declared), file, path, lock)


def lay_over(core: Instrument, path: Path, file: StudyFile) -> Instrument:
    """Return the frozen instrument as the study in `path` extends it, whatever its lock says."""
    if file.claims is not None and not (path.parent / file.claims).is_dir():
        raise InstrumentError(f"{path}: claims: there is no folder {path.parent / file.claims}")
    return extend_instrument(core, file, folder=path.parent)


def _said_of_lock(path: Path, lock: StudyLock | None) -> tuple[str, ...]:
    if lock is None:
        return (f"study file {path.name} is not locked: what it says may have been changed after the data were seen",)
    return (
        f"study file {path.name} locked on {lock.date}",
        *(
            f"{amendment.date}: {', '.join(change.name for change in amendment.changes)} amended: {amendment.reason}"
            for amendment in lock.amendments
        ),
    )
