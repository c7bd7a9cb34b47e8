"""The lock of a user's study: written beside the study file, checked whenever the study is opened.

Digests are of bytes: another line end is another file. What is locked is the study file, each prompt, each claim file
of its claims folder and the module of each policy in Python; the frozen core's digest stands beside them. The tutors
themselves are not locked: they are what is measured.
"""

import datetime
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

import tomli_w
from pydantic import ValidationError

from pytest_tutoreval.errors import InstrumentError, StudyChanged
from pytest_tutoreval.frozen.extension import prompt_file
from pytest_tutoreval.frozen.manifest import file_sha256
from pytest_tutoreval.frozen.user_code import module_file
from pytest_tutoreval.records.lock import LockAmendment, LockedChange, StudyLock
from pytest_tutoreval.records.study_file import StudyFile

__all__ = ["CORE", "amend_lock", "changes_since_lock", "lock_path", "read_lock", "verify_lock", "write_lock"]

# What the frozen core is called among the names of files.
CORE = "the frozen core"


def lock_path(study: Path) -> Path:
    """Return where a study's lock is: `tutoreval.lock` beside `tutoreval.toml`."""
    return study.with_suffix(".lock")


def read_lock(study: Path) -> StudyLock | None:
    """Return a study's lock, or None where it was never locked. Raises InstrumentError where it cannot be read."""
    path = lock_path(study)
    try:
        return StudyLock.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except ValidationError as exc:
        problem = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"]))
        raise InstrumentError(f"{path}: not a lock: {where}: {problem['msg']}. {_RESTORE}") from exc
    except (OSError, ValueError) as exc:
        raise InstrumentError(f"{path}: cannot be read as a lock: {exc}. {_RESTORE}") from exc


def write_lock(study: Path, file: StudyFile, *, core: str, today: datetime.date) -> StudyLock:
    """Freeze a study and return its lock.

    Raises
    ------
    StudyChanged
        It is locked already and has changed since: a lock is amended, never replaced.
    InstrumentError
        A file that the study names does not exist.
    """
    lock = verify_lock(study, file, core=core)
    if lock is None:
        lock = StudyLock(date=today.isoformat(), instrument=core, files=_digests(study, file))
        _write(study, lock)
    return lock


def amend_lock(study: Path, file: StudyFile, *, core: str, reason: str, today: datetime.date) -> StudyLock:
    """Record what changed since the lock, with its reason, and return the lock, which now holds the new digests.

    Raises
    ------
    InstrumentError
        There is no lock, nothing changed, or a file that the study names does not exist.
    """
    lock = read_lock(study)
    if lock is None:
        raise InstrumentError(f"{study}: not locked, so there is nothing to amend; lock it first: tutoreval lock")
    changes = changes_since_lock(lock, study, file, core=core)
    if not changes:
        raise InstrumentError(f"{study}: nothing changed since it was locked, so there is nothing to amend")
    amendment = LockAmendment(date=today.isoformat(), reason=reason, changes=tuple(changes))
    amended = lock.model_copy(
        update={
            "instrument": core,
            "files": _digests(study, file),
            "amendments": (*lock.amendments, amendment),
        }
    )
    _write(study, amended)
    return amended


def verify_lock(study: Path, file: StudyFile, *, core: str) -> StudyLock | None:
    """Return a study's lock once everything is what was locked; None where it was never locked.

    Raises
    ------
    StudyChanged
        A file changed, was added or is gone; the message names each with both digests.
    """
    lock = read_lock(study)
    if lock is None:
        return None
    if changes := changes_since_lock(lock, study, file, core=core):
        raise StudyChanged(
            "\n".join([f"{study}: not what was locked on {_last_date(lock)}.", *map(_shown, changes), _WAY_OUT]),
            names=tuple(change.name for change in changes),
        )
    return lock


def changes_since_lock(lock: StudyLock, study: Path, file: StudyFile, *, core: str) -> Sequence[LockedChange]:
    """Return what is not as it was locked, by name; the core's digest goes first."""
    found = _digests(study, file, absent_too=True)
    changes = [LockedChange(name=CORE, before=lock.instrument, after=core)] if lock.instrument != core else []
    return [
        *changes,
        *(
            LockedChange(name=name, before=lock.files.get(name), after=found.get(name))
            for name in sorted(lock.files.keys() | found.keys())
            if lock.files.get(name) != found.get(name)
        ),
    ]


_RESTORE = "Restore it from version control: a lock is never written by hand."
_WAY_OUT = 'Restore the files, or record the change: tutoreval lock --amend "why it was changed"'


def _last_date(lock: StudyLock) -> str:
    return lock.amendments[-1].date if lock.amendments else lock.date


def _shown(change: LockedChange) -> str:
    before = f"locked as {change.before}" if change.before else "not in the lock"
    return f"  {change.name}: sha256 is {change.after or 'absent'}, {before}"


def _digests(study: Path, file: StudyFile, *, absent_too: bool = False) -> dict[str, str]:
    """Return the digest of each file of a study by name; one that does not exist is left out or refused."""
    found, missing = {}, []
    for name, path in _files(study, file).items():
        if path.is_file():
            found[name] = file_sha256(path)
        else:
            missing.append(name)
    if missing and not absent_too:
        raise InstrumentError(f"{study}: {', '.join(missing)} does not exist, so the study cannot be locked")
    return found


def _files(study: Path, file: StudyFile) -> dict[str, Path]:
    folder = study.parent
    paths = [study]
    modules: dict[str, Path] = {}
    for entry in file.policies:
        if entry.prompt is not None:
            paths.append(prompt_file(entry, folder))
        elif entry.callable is not None:
            module = entry.callable.partition(":")[0]
            try:
                path = module_file(entry.callable, folder)
            except InstrumentError:  # where it would be: it does not exist there either
                path = folder / f"{module.replace('.', '/')}.py"
            if path.resolve().is_relative_to(folder.resolve()):
                paths.append(path)
            else:
                modules[f"module {module}"] = path
    if file.claims is not None:
        paths += sorted((folder / file.claims).glob("*.toml"))
    named = {Path(os.path.relpath(path, folder)).as_posix(): path for path in paths}
    return named | modules


def _write(study: Path, lock: StudyLock) -> None:
    """Write the lock whole or not at all."""
    path = lock_path(study)
    fresh = path.with_name(f"{path.name}.new")
    text = tomli_w.dumps(lock.model_dump(mode="json", exclude_none=True))
    fresh.write_text(text, encoding="utf-8", newline="\n")
    os.replace(fresh, path)
