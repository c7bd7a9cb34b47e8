"""Allure result files from a document, without running anything again, and the files that describe a run."""

import hashlib
import json
import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.reporting.allure import (
    NOT_EVALUABLE,
    NOT_RUN,
    AllureEntry,
    Setting,
    analysis_entry,
    categories,
    claim_entry,
    environment,
    gate_entry,
    gate_message,
    stated_message,
)
from pytest_tutoreval.reporting.plain import visible

__all__ = ["write_allure_facts", "write_allure_results"]

Row = Mapping[str, Any]
Status = Literal["passed", "failed", "broken", "skipped"]

_NAMESPACE = uuid.UUID("6f1c5d0e-2a37-5c3b-9d53-6c1d1f0b7a44")
_FACTS = ("categories.json", "environment.properties")
# An exception that is not a failed assertion, as `reason` tells it: `the test failed at call: module.Error: ...`.
_CRASHED = re.compile(r"the test failed at \w+: (?!AssertionError\b|assert\b)[A-Za-z_][\w.]*(?:: |$)")


@dataclass(frozen=True)
class _Result:
    """One result: what is shown, how it ended, and what it is, whatever it came to.

    `room` is claims, analyses or gate; `what` the claim, analysis or guard; `place` its parameters.
    """

    room: str
    what: str
    entry: AllureEntry
    status: Status
    place: Mapping[str, str] = field(default_factory=dict)
    message: str | None = None


def write_allure_results(document: Row, folder: Path) -> list[str]:
    """Write a document as Allure result files and return their names; the folder changes as one set.

    The same document gives the same files, byte for byte. Ids are functions of what was asked (claim, base, judge) and
    never of what came out, so Allure's history follows a claim through its verdicts.

    Raises
    ------
    ConfigurationProblem
        The folder holds something that was not written by this function.
    """
    _refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}.new")
    fresh.mkdir()
    try:
        setting = _setting(document)
        _write_results(
            [*_claims(document, setting), *_analyses(document, setting), *_guards(document, setting)], document, fresh
        )
        write_allure_facts(document, fresh)
        names = sorted(path.name for path in fresh.iterdir())
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return names


def write_allure_facts(document: Row, folder: Path) -> None:
    """Write categories.json and environment.properties beside results, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "categories.json", json.dumps(categories(), indent=1) + "\n")
    _write(folder / "environment.properties", _properties(environment(document)))


def _refuse_foreign(folder: Path) -> None:
    if folder.is_file():
        raise ConfigurationProblem(f"{folder}: a file; Allure results need a folder, name a new one")
    foreign = sorted(path.name for path in folder.iterdir() if not _is_ours(path.name)) if folder.is_dir() else []
    if foreign:
        raise ConfigurationProblem(
            f"{folder}: holds {foreign[0]}, which is not of a report rendered from a document; name a new folder"
        )


def _is_ours(name: str) -> bool:
    """Tell files written here from allure-pytest's: name-based uuids, never random ones."""
    try:
        return name in _FACTS or uuid.UUID(name[:36]).version == 5
    except ValueError:
        return False


def _setting(document: Row) -> Setting:
    return Setting(document["study"]["name"], document["corpus"]["provenance"])


def _claims(document: Row, setting: Setting) -> Iterator[_Result]:
    registered: dict[str, Row] = {}
    for registration in document.get("registrations", ()):
        registered.setdefault(registration["claim"], registration)
    guards = {_asked(row["guard"], row): row for row in _gate_rows(document) if row["kind"] == "verdict"}
    for row in (*document["claims"], *document["not_evaluable"]):
        guard = guards.get(_asked(row["claim"], row))
        entry = claim_entry({**row, "gate": guard} if guard else row, setting, registered.get(row["claim"]))
        ending = _gate_ending(guard) if guard and "verdict" in row else _ending(row, NOT_EVALUABLE)
        yield _Result("claims", row["claim"], entry, *ending)


def _guards(document: Row, setting: Setting) -> Iterator[_Result]:
    """Yield a result for each guarded measure; a guarded verdict is told where its claim is, if that is here."""
    told = {_asked(row["claim"], row) for row in (*document["claims"], *document["not_evaluable"])}
    for row in _gate_rows(document):
        if row["kind"] == "measure" or _asked(row["guard"], row) not in told:
            yield _Result("gate", row["guard"], gate_entry(row, setting), *_gate_ending(row))


def _gate_rows(document: Row) -> Sequence[Row]:
    rows: Sequence[Row] = (document.get("gate") or {}).get("rows", ())
    return rows


def _asked(claim: str, row: Row) -> tuple[str, str, str | None]:
    return claim, row["base"], row["judge"]


def _gate_ending(row: Row) -> tuple[Status, dict[str, str], str | None]:
    if not row["failed"]:
        return "passed", _place(row), None
    return "failed", _place(row), visible(gate_message(row), lines=True)


def _analyses(document: Row, setting: Setting) -> Iterator[_Result]:
    """Yield one result for each time an analysis was run: its scope says what its rows belong together by."""
    items: dict[tuple[str, str | None, str | None], list[Row]] = {}
    for row in document["analyses"]:
        items.setdefault(_item_of(row), []).append(row)
    for (name, base, judge), rows in items.items():
        entry = analysis_entry(name, base, judge, setting, **_known(name), rows=rows)
        yield _Result("analyses", name, entry, "passed", _place({"base": base, "judge": judge}))
    for row in document["not_analysed"]:
        name = row["analysis"]
        entry = analysis_entry(name, row["base"], row["judge"], setting, **_known(name), reason=row["reason"])
        yield _Result("analyses", name, entry, *_ending(row, NOT_RUN, otherwise="skipped"))


def _known(name: str) -> dict[str, Any]:
    from pytest_tutoreval.analyses.catalogue import all_analyses

    known = all_analyses().get(name)
    return {"title": known.title, "role": known.role} if known else {}


def _item_of(row: Row) -> tuple[str, str | None, str | None]:
    """Return which item a row is from; of an analysis that nobody knows any more, the row's own place."""
    from pytest_tutoreval.analyses.catalogue import all_analyses

    known = all_analyses().get(row["analysis"])
    scope = known.scope if known else "base_judge"
    return row["analysis"], None if scope == "corpus" else row["base"], row["judge"] if scope == "base_judge" else None


def _place(row: Row) -> dict[str, str]:
    return {name: visible(row[name]) for name in ("base", "condition", "judge") if row.get(name)}


def _ending(row: Row, outcome: str, *, otherwise: Status = "failed") -> tuple[Status, dict[str, str], str | None]:
    """Return how an item ended, where it stands and its message, as allure-pytest would have told it."""
    reason = row.get("reason")
    if reason is None:
        return "passed", _place(row), None
    status: Status = otherwise
    if reason.startswith("the test was skipped"):
        status = "skipped"
    elif reason.startswith("the test failed at"):
        status = "broken" if _CRASHED.match(reason) else "failed"
    return status, _place(row), visible(stated_message(outcome, reason), lines=True)


def _write_results(results: Iterable[_Result], document: Row, folder: Path) -> None:
    run = document["run"]
    at = round(1000 * ((run.get("started") or 0) + (run.get("seconds") or 0)))
    asked: Counter[tuple[str, ...]] = Counter()
    for result in results:
        key = (result.room, result.what, *(word for pair in result.place.items() for word in pair))
        # Two tests may ask one claim; a second answer is a result of its own, not a retry of the first.
        again = [str(asked[key])] if asked[key] else []
        asked[key] += 1
        _write_result(result, folder, at=at, run=str(run.get("id") or at), key=[*key, *again])


def _write_result(result: _Result, folder: Path, *, at: int, run: str, key: list[str]) -> None:
    entry = result.entry
    uid = uuid.uuid5(_NAMESPACE, json.dumps([run, *key]))
    labels = [
        *entry.labels.items(),
        ("severity", entry.severity),
        ("parentSuite", result.room),
        ("suite", result.what),
        ("framework", "pytest-tutoreval"),
        *(("tag", tag) for tag in entry.tags),
    ]
    attachments = []
    for attached in entry.attachments:
        name = f"{uuid.uuid5(uid, attached.name)}-attachment.{attached.extension}"
        _write(folder / name, attached.text)
        attachments.append({"name": attached.name, "source": name, "type": attached.mime})
    written: dict[str, Any] = {
        "uuid": str(uid),
        "historyId": _digest(key),
        "testCaseId": _digest([result.room, result.what]),
        "fullName": f"tutoreval.{result.room}#{visible(result.what)}",
        "titlePath": [result.room, visible(result.what)],
        "name": entry.title,
        "status": result.status,
        "stage": "finished",
        "descriptionHtml": entry.description,
        "parameters": [{"name": name, "value": value} for name, value in result.place.items()],
        "labels": [{"name": name, "value": visible(value)} for name, value in labels],
        "attachments": attachments,
        "start": at,
        "stop": at,
    }
    if result.message is not None:
        written["statusDetails"] = {"message": result.message}
    _write(folder / f"{uid}-result.json", json.dumps(written, indent=1, ensure_ascii=True, allow_nan=False) + "\n")


def _digest(words: Iterable[str]) -> str:
    return hashlib.md5(json.dumps(list(words)).encode(), usedforsecurity=False).hexdigest()


def _properties(facts: Mapping[str, str]) -> str:
    """Return lines of a Java properties file: ASCII, one fact a line, whatever a name or a value holds."""
    return "".join(f"{_property(name, separators=True)}={_property(value)}\n" for name, value in facts.items())


def _property(text: str, *, separators: bool = False) -> str:
    escaped = "".join(_property_character(character, separators) for character in visible(text))
    return "\\" + escaped if escaped.startswith(" ") else escaped


def _property_character(character: str, separators: bool) -> str:
    if character in "\\#!" or (separators and character in " :="):
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    fresh.write_text(text, encoding="utf-8", newline="\n")
    os.replace(fresh, path)
