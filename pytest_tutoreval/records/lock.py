"""The lock of a user's study: what each of its files was when it was frozen, and every amendment since."""

from typing import Literal

from pydantic import Field

from pytest_tutoreval.records.base import Record, Sha256

__all__ = ["LockAmendment", "LockedChange", "StudyLock"]


class LockedChange(Record):
    """A file that is not what was locked: digests of its bytes, absent where there is no such file on that side."""

    name: str
    before: Sha256 | None = None
    after: Sha256 | None = None


class LockAmendment(Record):
    """A dated, reasoned change of a locked study."""

    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    reason: str = Field(min_length=1)
    changes: tuple[LockedChange, ...] = Field(min_length=1)


class StudyLock(Record):
    """The whole file. `instrument` is the frozen core's digest; `files` are digests of bytes by path.

    Paths are relative to the study file's folder. A module from elsewhere stands as `module NAME`.
    """

    format: Literal["tutoreval-lock/1"] = "tutoreval-lock/1"
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    instrument: Sha256
    files: dict[str, Sha256]
    amendments: tuple[LockAmendment, ...] = ()
