"""Released raw session folders, made from a session of ours (released procedure, section 8)."""

import json
from pathlib import Path
from typing import Any

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import Call, Session
from pytest_tutoreval.simulating import simulate_session

__all__ = ["a_session", "edit_calls", "edit_json", "log_line", "run_id", "write_log"]

_COMPONENT = {"exchange": "student_train", "probe": "student_probe", "commitment": "student_commit"}
_CONFIGURED = {
    "student": ("openrouter", "meta-llama/llama-3.1-8b-instruct"),
    "tutor": ("anthropic", "claude-sonnet-4-6"),
}
_PINNED = {"provider": {"order": ["groq"], "allow_fallbacks": False}}


def a_session(condition: str = "ped", replicate: int = 2, base: str = "sonnet") -> Session:
    """Return a finished simulated session."""
    instrument = load_instrument()
    cast = ScriptedCast(instrument.problems, SCRIPTS[base], seed=7)
    return simulate_session(instrument, cast, base=base, condition=condition, replicate=replicate)


def run_id(session: Session) -> str:
    """Return the study's run id of a session; the primary base is not named in it."""
    base, condition, replicate = session.key
    return f"conf-{'' if base == 'sonnet' else f'{base}-'}s0-{condition}-r{replicate}"


def log_line(session: Session, call: Call) -> dict[str, Any]:
    """Return a call as the study logged it."""
    header = session.header
    tags: dict[str, Any] = {
        "condition": header.condition,
        "replicate_id": header.replicate,
        "problem_id": call.problem,
    }
    if header.base != "sonnet":
        tags["base"] = header.base
    if call.role == "student":
        tags["component"] = _COMPONENT[call.purpose]
    else:
        tags |= {"component": "conv_tutor" if call.node == "conv" else "ped_tutor", "turn_index": call.turn}
        if call.node != "conv":
            tags |= {"node": call.node, "branch": call.route}
    role = "student" if call.role == "student" else "tutor"
    provider, model = _CONFIGURED[role]
    request: dict[str, Any] = {"system": "…", "messages": [], "temperature": 0.8, "max_tokens": 512}
    if role == "student":
        request["extra_body"] = _PINNED
    return {
        "seq": call.seq,
        "ts": call.started,
        "run_id": run_id(session),
        "role": role,
        "backend": "live",
        "provider": provider,
        "served_provider": "Groq" if role == "student" else None,
        "model": model,
        "seed": header.seed,
        "tags": tags,
        "request": request,
        "response": {"text": call.text},
        "usage": {"input_tokens": call.input_tokens, "output_tokens": call.output_tokens},
    }


def write_log(session: Session, logs: Path, *, name: str | None = None) -> Path:
    """Write a session as the study would have and return its folder."""
    header = session.header
    folder = logs / (name or run_id(session))
    folder.mkdir(parents=True)
    lines = [log_line(session, call) for call in session.calls]
    (folder / "calls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    meta = {
        "run_id": run_id(session),
        "condition": header.condition,
        "replicate_id": header.replicate,
        "seed": header.seed,
        "backend": "live",
        "max_train_turns": 4,
        "written_at": 1767225600.0,
    }
    if header.base != "sonnet":
        meta |= {"base": header.base, "tutor_model": "gpt-5.5-2026-04-23"}
    (folder / "confirmatory_meta.json").write_text(json.dumps(meta), encoding="utf-8")
    result = {"condition": header.condition, "seed": header.seed, "items": [], "totals": {}}
    (folder / "full_session_result.json").write_text(json.dumps(result), encoding="utf-8")
    return folder


def edit_calls(folder: Path, number: int, **fields: Any) -> None:
    """Change fields of one logged call; `tags` are merged, None removes a tag."""
    path = folder / "calls.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tags = fields.pop("tags", None)
    lines[number] |= fields
    if isinstance(tags, dict):
        merged = lines[number]["tags"] | tags
        lines[number]["tags"] = {name: value for name, value in merged.items() if value is not None}
    elif tags is not None:
        lines[number]["tags"] = tags
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def edit_json(path: Path, **fields: Any) -> None:
    """Change fields of a side file."""
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")
