"""The frozen study as a user's file extends it: entries are added, and what is changed is on the record.

What changes the meaning of data changes the digest they are stamped with: own problems, the tutor turns of a problem
and the repetitions of a rating. More of the same does not: a base, a judge, a condition, a guard, a route, or another
number of replicates, since replicate r holds the same problems in the same order under the same seed however many
there are. A policy of one's own is what is measured and no part of the instrument, just like a base: its digest is
stamped into its own sessions, so that a candidate can be edited without making its reference's sessions foreign.
"""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval.errors import InstrumentError
from pytest_tutoreval.frozen.conditions import registered_conditions
from pytest_tutoreval.frozen.constraints import check_constraints
from pytest_tutoreval.frozen.instrument import Instrument, OwnPolicy
from pytest_tutoreval.frozen.manifest import text_digest
from pytest_tutoreval.frozen.user_code import module_file
from pytest_tutoreval.records.problem import PHASES, Problem
from pytest_tutoreval.records.study import Family, Protocol, Student, Study
from pytest_tutoreval.records.study_file import PolicyEntry, StudyFile

__all__ = ["extend_instrument", "prompt_file", "read_study_file"]

# The protocol's numbers that decide what a session or a rating is.
_MEANING = ("tutor_turns", "repetitions")


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


def extend_instrument(instrument: Instrument, file: StudyFile, *, folder: Path = Path()) -> Instrument:
    """Return the instrument with what the file adds and changes.

    Parameters
    ----------
    folder : the study file's: prompts are read there, and callables looked for

    Raises
    ------
    InstrumentError
        An id that is registered already, or stands twice: what is there is extended, never redefined. A condition that
        does not exist, a prompt that cannot be read, a module that cannot be found.
    ConstraintViolated
        Own problems break a constraint the frozen ones keep.
    """
    study = instrument.study
    _refuse_clashes("base", (base.id for base in file.bases), {base.id for base in study.bases})
    _refuse_clashes("judge", (judge.id for judge in file.judges), {judge.id for judge in study.judges})
    _refuse_clashes("policy", (own.id for own in file.policies), {*registered_conditions(), *instrument.own_policies})
    policies = {**instrument.own_policies, **{entry.id: _read_policy(entry, folder) for entry in file.policies}}
    problems = file.problems or instrument.problems
    protocol = _changed_protocol(study.protocol, file, known=(*registered_conditions(), *policies))
    if file.problems:
        check_constraints(problems, protocol.phase_counts, where="study file: problems")
        if not protocol.phase_counts.get("training"):
            raise InstrumentError("study file: problems: none is of phase training, so nothing would be tutored")
    digest = _extended_digest(instrument, problems, protocol)
    return replace(
        instrument,
        sha256=digest,
        core_sha256=instrument.core_sha256 or (instrument.sha256 if digest != instrument.sha256 else None),
        problems=problems,
        own_policies=policies,
        study=study.model_copy(
            update={
                "name": file.name or study.name,
                "protocol": protocol,
                "bases": (*study.bases, *file.bases),
                "judges": (*study.judges, *file.judges),
                "student": _student(file, study.student),
                "families": (*study.families, *(_added(family) for family in file.families)),
            }
        ),
        amendments=(*instrument.amendments, *_amendments(file, study), *_changes_of_meaning(file, instrument)),
        declared=(*instrument.declared, *_more_of_the_same(file, study)),
    )


def _refuse_clashes(kind: str, new: Iterable[str], known: set[str]) -> None:
    ids = list(new)
    if clash := sorted(set(ids) & known):
        raise InstrumentError(f"study file: {kind} {', '.join(clash)} is registered already; choose another id")
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InstrumentError(f"study file: {kind} {', '.join(twice)} stands twice; choose another id")


# policies


def prompt_file(entry: PolicyEntry, folder: Path) -> Path:
    """Return where a policy's prompt is. Raises InstrumentError where that is not inside the study file's folder."""
    path = folder / (entry.prompt or "")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InstrumentError(
            f"study file: policy {entry.id}: prompt {entry.prompt} is outside {folder}; keep prompts beside the study "
            "file, so that they are locked and shared with it"
        )
    return path


def _read_policy(entry: PolicyEntry, folder: Path) -> OwnPolicy:
    if entry.prompt is not None:
        path = prompt_file(entry, folder)
        prompt = _text(path, f"policy {entry.id}: prompt").removesuffix("\n")
        if not prompt.strip():
            raise InstrumentError(f"{path}: the prompt of policy {entry.id} is empty; direct = true sends none")
        return OwnPolicy(entry.id, text_digest(f"prompt\n{prompt}"), folder, prompt=prompt)
    if entry.callable is not None:
        source = _text(module_file(entry.callable, folder), f"policy {entry.id}: module")
        return OwnPolicy(entry.id, text_digest(f"callable {entry.callable}\n{source}"), folder, callable=entry.callable)
    return OwnPolicy(entry.id, text_digest("direct"), folder)


def _text(path: Path, what: str) -> str:
    """Return a file's text with one kind of line end, so that a checkout on another system has the same digest."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise InstrumentError(f"study file: {what} {path} cannot be read: {exc}") from exc


# protocol and problems


def _changed_protocol(protocol: Protocol, file: StudyFile, *, known: Sequence[str]) -> Protocol:
    numbers = ("replicates", *_MEANING)
    update: dict[str, Any] = {name: value for name in numbers if (value := getattr(file.protocol, name)) is not None}
    conditions = file.protocol.conditions
    if conditions is not None:
        if unknown := [name for name in conditions if name not in known]:
            raise InstrumentError(
                f"study file: protocol.conditions: {', '.join(unknown)} is not known (known: {', '.join(known)}); add "
                "a [[policies]] entry"
            )
        update["condition_order"] = tuple(dict.fromkeys(conditions))
    if file.problems:
        counts = Counter(problem.phase for problem in file.problems)
        update["phase_counts"] = {phase: counts[phase] for phase in PHASES if counts[phase]}
    return protocol.model_copy(update=update)


def _extended_digest(instrument: Instrument, problems: tuple[Problem, ...], protocol: Protocol) -> str:
    """Return the digest data are stamped with: the instrument's own unless what data mean was changed."""
    changed: dict[str, Any] = {}
    if problems != instrument.problems:
        changed["problems"] = [problem.model_dump(mode="json") for problem in problems]
    before = instrument.study.protocol
    changed |= {name: getattr(protocol, name) for name in _MEANING if getattr(protocol, name) != getattr(before, name)}
    if not changed:
        return instrument.sha256
    digests = {
        name: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
        for name, value in ({"core": instrument.sha256} | changed).items()
    }
    return hashlib.sha256(
        "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()
    ).hexdigest()


def _student(file: StudyFile, registered: Student) -> Student:
    if file.student is None:
        return registered
    return Student.model_validate(file.student.model_dump(exclude={"date", "reason"}))


def _added(family: Family) -> Family:
    """Return a family of the user's own, marked as not registered by the study."""
    return family.model_copy(update={"registered": False})


# what is said of it


def _amendments(file: StudyFile, study: Study) -> tuple[str, ...]:
    if file.student is None:
        return ()
    new, registered = file.student, study.student
    return (
        f"{new.date}: student {registered.model} on {registered.provider} ({', '.join(registered.pin) or 'no pin'}) "
        f"replaced by {new.model} on {new.provider} ({', '.join(new.pin) or 'no pin'}): {new.reason}",
    )


def _changes_of_meaning(file: StudyFile, instrument: Instrument) -> tuple[str, ...]:
    lines = [
        f"{name} {before} -> {now}"
        for name in _MEANING
        for before, now in [(getattr(instrument.study.protocol, name), getattr(file.protocol, name))]
        if now not in (None, before)
    ]
    if file.problems and file.problems != instrument.problems:
        counts = Counter(problem.phase for problem in file.problems)
        shown = ", ".join(f"{counts[phase]} {phase}" for phase in PHASES if counts[phase])
        lines.append(
            f"{len(instrument.problems)} problems replaced by {len(file.problems)} of the user's own ({shown})"
        )
    return tuple(_said(file, line) for line in lines)


def _more_of_the_same(file: StudyFile, study: Study) -> tuple[str, ...]:
    change, protocol = file.protocol, study.protocol
    lines = []
    if change.replicates not in (None, protocol.replicates):
        lines.append(_said(file, f"replicates {protocol.replicates} -> {change.replicates}"))
    if change.conditions is not None and change.conditions != protocol.condition_order:
        lines.append(f"conditions {', '.join(protocol.condition_order)} -> {', '.join(change.conditions)}")
    for entry in file.policies:
        how = f"prompt {entry.prompt}" if entry.prompt else f"callable {entry.callable}" if entry.callable else "direct"
        lines.append(f"policy {entry.id} added: {how}")
    return tuple(lines)


def _said(file: StudyFile, line: str) -> str:
    dated = f"{file.protocol.date}: {line}" if file.protocol.date else line
    return f"{dated}: {file.protocol.reason or 'no reason given'}"
