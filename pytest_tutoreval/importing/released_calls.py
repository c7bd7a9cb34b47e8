"""Released raw session folders (calls.jsonl and its two side files) as sessions.

Only what the logs hold is taken over: they keep no finish reason and no failed attempt, so those stay absent
rather than being guessed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_tutoreval import __version__
from pytest_tutoreval.errors import ImportFailure
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.session import Route, Session, SessionHeader
from pytest_tutoreval.records.study import Sampling
from pytest_tutoreval.store import seal_corpus
from pytest_tutoreval.store.sessions import session_path, write_session
from pytest_tutoreval.store.validation import first_problem
from pytest_tutoreval.transcript import protocol_breach

__all__ = ["import_released_calls", "read_session_folder"]

CALLS, RESULT, META = "calls.jsonl", "full_session_result.json", "confirmatory_meta.json"

_RUN_ID = re.compile(r"^(?:conf(?:-(?P<base>[a-z0-9_]+))?|abl)-s\d+-(?P<condition>[a-z_]+)-r(?P<replicate>\d+)$")

_PURPOSE = {"student_train": "exchange", "student_probe": "probe", "student_commit": "commitment"}
_JUDGE = "judge"
_PARTS = ("tags", "request", "response", "usage")


@dataclass(frozen=True)
class _Identity:
    base: str
    condition: str
    replicate: int
    seed: int


def import_released_calls(source: Path, target: Path, instrument: Instrument) -> tuple[CorpusManifest, list[str]]:
    """Write every session folder below `source` as a corpus in `target`; return its manifest and what was left out.

    Raises
    ------
    ImportFailure
        No session folder, a folder without its side files (an episode that was never finished), contradictory
        identities, two folders with one session key, a session that breaks the protocol, or `target` is not empty.
    """
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ImportFailure(f"{target}: not empty; give a new folder")
    folders = sorted(path.parent for path in source.rglob(CALLS))
    if not folders:
        raise ImportFailure(f"{source}: no {CALLS} below it; give the folder that holds the session folders")
    sessions: dict[str, tuple[Path, Session]] = {}
    left_out: list[str] = []
    for folder in folders:
        session, skipped = read_session_folder(folder, instrument)
        place = session_path(session.key)
        if place in sessions:
            raise ImportFailure(f"{folder}: session {session.key} stands in {sessions[place][0]} already")
        sessions[place] = (folder, session)
        left_out += skipped
    for _, session in sessions.values():
        write_session(target, session.header, session.calls, sync=lambda _: None)
    keys = [session.key for _, session in sessions.values()]
    manifest = seal_corpus(
        target,
        CorpusManifest(
            name="released-calls",
            provenance="imported",
            content="sessions",
            instrument=instrument.sha256,
            study=instrument.study.name,
            producer=f"pytest-tutoreval {__version__}",
            bases=tuple(dict.fromkeys(key.base for key in keys)),
            conditions=tuple(dict.fromkeys(key.condition for key in keys)),
            source="released call logs of the study",
            notes=("finish reasons and failed attempts are not in the logs",),
        ),
    )
    return manifest, left_out


def read_session_folder(folder: Path, instrument: Instrument) -> tuple[Session, list[str]]:
    """Return the session in one released folder and a line for each kind of call left out of it.

    Raises
    ------
    ImportFailure
    """
    meta, result = _json(folder / META), _json(folder / RESULT)
    lines = _lines(folder / CALLS)
    identity = _identity(folder, meta, result, lines, instrument)
    judged = [line for line in lines if line.get("role") == _JUDGE]
    spoken = [line for line in lines if line.get("role") != _JUDGE]
    calls = _calls(folder, spoken)
    session = Session(header=_header(identity, meta, spoken, instrument), calls=tuple(calls))
    breach = protocol_breach(session, instrument.problems, instrument.study.protocol.tutor_turns)
    if breach:
        raise ImportFailure(f"{folder}: {breach}")
    left_out = (
        [f"{folder.name}: {len(judged)} judge calls left out (they are no part of the session)"] if judged else []
    )
    return session, left_out


def _json(path: Path) -> Mapping[str, Any]:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise ImportFailure(f"{path}: missing, so the session was never finished; collect it anew") from exc
    except (OSError, ValueError) as exc:
        raise ImportFailure(f"{path}: cannot be read: {exc}") from exc
    if not isinstance(parsed, dict):
        raise ImportFailure(f"{path}: not a JSON object")
    return parsed


def _lines(path: Path) -> list[dict[str, Any]]:
    lines = []
    try:
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if text.strip():
                line = json.loads(text)
                if not isinstance(line, dict):
                    raise ImportFailure(f"{path}: line {number} is no JSON object")
                for part in _PARTS:
                    if not isinstance(line.get(part) or {}, dict):
                        raise ImportFailure(
                            f"{path}: call {line.get('seq')}: {part} is {line[part]!r}, expected an object"
                        )
                lines.append(line)
    except (OSError, ValueError) as exc:
        raise ImportFailure(f"{path}: cannot be read: {exc}") from exc
    if not lines:
        raise ImportFailure(f"{path}: holds no calls")
    return lines


def _identity(
    folder: Path,
    meta: Mapping[str, Any],
    result: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    instrument: Instrument,
) -> _Identity:
    """Return who the session is; run id, side files and call tags must agree. An absent base is the primary one."""
    run_id = str(meta.get("run_id", folder.name))
    named = _RUN_ID.match(run_id)
    if named is None:
        raise ImportFailure(
            f"{folder}: run id {run_id!r} is none of the study's (conf-s0-conv-r0, conf-gpt-s0-ped-r3, …)"
        )
    seed = meta.get("seed")
    if not isinstance(seed, int):
        raise ImportFailure(f"{folder / META}: seed is {seed!r}, expected a whole number")
    identity = _Identity(
        base=str(meta.get("base") or named["base"] or instrument.study.primary_base),
        condition=named["condition"],
        replicate=int(named["replicate"]),
        seed=seed,
    )
    stated: list[tuple[str, object, object]] = [
        (f"{META} condition", meta.get("condition"), identity.condition),
        (f"{META} replicate_id", meta.get("replicate_id"), identity.replicate),
        (f"{RESULT} condition", result.get("condition"), identity.condition),
        (f"{RESULT} seed", result.get("seed"), identity.seed),
    ]
    for line in lines:
        tags = line.get("tags") or {}
        where = f"{CALLS} call {line.get('seq')}"
        stated.append((f"{where} condition", tags.get("condition"), identity.condition))
        stated.append((f"{where} replicate_id", tags.get("replicate_id"), identity.replicate))
        stated.append((f"{where} base", tags.get("base"), identity.base))
    for what, found, expected in stated:
        if found is not None and str(found) != str(expected):
            raise ImportFailure(f"{folder}: {what} is {found!r}, the run id {run_id} says {expected!r}")
    return identity


def _header(
    identity: _Identity, meta: Mapping[str, Any], lines: Sequence[Mapping[str, Any]], instrument: Instrument
) -> SessionHeader:
    routes = {}
    for role in ("student", "tutor"):
        line = next((line for line in lines if line.get("role") == role), None)
        if line is not None:
            routes[role] = _route(line)
    return SessionHeader(
        base=identity.base,
        condition=identity.condition,
        replicate=identity.replicate,
        seed=identity.seed,
        provenance="imported",
        instrument=instrument.sha256,
        producer=f"pytest-tutoreval {__version__}",
        routes=routes,
        source=str(meta.get("run_id", "")) or None,
    )


def _route(line: Mapping[str, Any]) -> Route:
    request = line.get("request") or {}
    pin = ((request.get("extra_body") or {}).get("provider") or {}).get("order") or ()
    sampling = None
    if isinstance(request.get("max_tokens"), int):
        sampling = Sampling(
            temperature=request.get("temperature"),
            max_tokens=request["max_tokens"],
            reasoning=request.get("reasoning_effort"),
        )
    return Route(
        provider=str(line.get("provider") or "unknown"),
        model=str(line.get("model") or "unknown"),
        sampling=sampling,
        pin=tuple(map(str, pin)),
    )


def _calls(folder: Path, lines: Sequence[Mapping[str, Any]]) -> list[Call]:
    """Return the calls in sequence order. In old logs a tutor call without an item takes that of the call before it."""
    calls: list[Call] = []
    position = 0
    for line in lines:
        tags = line.get("tags") or {}
        seq = line.get("seq")
        if not isinstance(seq, int) or seq <= position:
            raise ImportFailure(f"{folder / CALLS}: call {seq!r} after call {position}: twice or out of order")
        position = seq
        component = str(tags.get("component", ""))
        if component == "student":
            raise ImportFailure(f"{folder / CALLS}: call {seq}: a bare student call is no part of a full session")
        is_student = component in _PURPOSE
        if not is_student and component not in ("conv_tutor", "ped_tutor"):
            raise ImportFailure(f"{folder / CALLS}: call {seq}: component {component!r} is not known")
        problem = tags.get("problem_id") or (calls[-1].problem if calls and not is_student else None)
        usage = line.get("usage") or {}
        node = tags.get("node") or ("conv" if component == "conv_tutor" else None)
        try:
            calls.append(
                Call.model_validate(
                    {
                        "seq": len(calls) + 1,
                        "role": "student" if is_student else "tracker" if node == "state_tracker" else "tutor",
                        "purpose": _PURPOSE.get(component, "exchange"),
                        "problem": problem,
                        "turn": None if is_student else tags.get("turn_index"),
                        "node": node,
                        "route": tags.get("branch"),
                        "text": (line.get("response") or {}).get("text"),
                        "served_model": "",
                        "served_provider": line.get("served_provider"),
                        "input_tokens": usage.get("input_tokens") or 0,
                        "output_tokens": usage.get("output_tokens") or 0,
                        "started": line.get("ts"),
                    }
                )
            )
        except ValidationError as exc:
            raise ImportFailure(f"{folder / CALLS}: call {seq}: {first_problem(exc)}") from exc
    return calls
