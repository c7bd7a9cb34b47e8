"""The frozen study as a user's file extends it: bases and judges are added, a student is replaced on the record."""

import tomllib
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen.instrument import Instrument
from pytest_tutoreval.records.study import Family, Student
from pytest_tutoreval.records.study_file import StudyFile

__all__ = ["extend_instrument", "read_study_file"]


def read_study_file(path: Path) -> StudyFile:
    """Return the study file at `path`. Raises InstrumentError naming every field that is wrong."""
    try:
        return StudyFile.parse(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as exc:
        lines = [
            f"{path}: {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in exc.errors(include_url=False, include_context=False)
        ]
        raise InstrumentError("\n".join(lines)) from exc
    except (OSError, ValueError) as exc:
        raise InstrumentError(f"{path}: cannot be read as a study file: {exc}") from exc


def extend_instrument(instrument: Instrument, file: StudyFile) -> Instrument:
    """Return the instrument with the file's bases, judges and student; its digest stays that of the frozen core.

    Raises
    ------
    InstrumentError
        An id that is registered already, or stands twice: what is there is extended, never redefined.
    """
    study = instrument.study
    for kind, new, known in (
        ("base", file.bases, {base.id for base in study.bases}),
        ("judge", file.judges, {judge.id for judge in study.judges}),
    ):
        ids = [entry.id for entry in new]
        if clash := sorted(set(ids) & known):
            raise InstrumentError(f"study file: {kind} {', '.join(clash)} is registered already; choose another id")
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise InstrumentError(f"study file: {kind} {', '.join(twice)} stands twice; choose another id")
    student = study.student
    if file.student is not None:
        amended = file.student.model_dump(exclude={"date", "reason"})
        student = Student.model_validate(amended)
    return replace(
        instrument,
        study=study.model_copy(
            update={
                "bases": (*study.bases, *file.bases),
                "judges": (*study.judges, *file.judges),
                "student": student,
                "families": (*study.families, *(_added(family) for family in file.families)),
            }
        ),
        amendments=instrument.amendments + _amendments(file, study.student),
    )


def _added(family: Family) -> Family:
    """Return a family of the user's own, marked as not registered by the study."""
    return family.model_copy(update={"registered": False})


def _amendments(file: StudyFile, registered: Student) -> tuple[str, ...]:
    if file.student is None:
        return ()
    new = file.student
    return (
        f"{new.date}: student {registered.model} on {registered.provider} ({', '.join(registered.pin) or 'no pin'}) "
        f"replaced by {new.model} on {new.provider} ({', '.join(new.pin) or 'no pin'}): {new.reason}",
    )
