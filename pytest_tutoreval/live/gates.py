"""The gate readings a corpus keeps, and the refusal to pay for sessions after a failed one."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tutoreval.collecting.preflight import GateReading, Preflight
from pytest_tutoreval.errors import CorpusError, GateFailed

__all__ = ["keep_gates", "kept_gates", "kept_reading", "refuse_after_failed_gate"]

FILE = "preflight.json"


def keep_gates(folder: Path, preflights: Sequence[Preflight]) -> None:
    """Write the readings whole, each base's last ones replacing its earlier. An unreadable file is set aside.

    Raises
    ------
    CorpusError
        The folder cannot be written.
    """
    path = folder / FILE
    try:
        try:
            kept = kept_gates(folder)
        except CorpusError:  # what was paid for just now is kept all the same
            os.replace(path, folder / f"{FILE}.unreadable")
            kept = {}
        kept |= {preflight.base: preflight.as_record() for preflight in preflights}
        fresh = folder / f"{FILE}.new"
        fresh.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(fresh, path)
    except OSError as exc:
        raise CorpusError(
            f"{path}: cannot be written ({exc.strerror}); make room, then run the preflight again"
        ) from exc


def kept_gates(folder: Path) -> dict[str, Any]:
    """Return the readings a corpus keeps, by base; empty where no preflight was run.

    Raises
    ------
    CorpusError
        The file cannot be read: a gate that cannot be seen has not passed.
    """
    path = folder / FILE
    try:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for record in kept.values():
            _ = [GateReading(**gate) for gate in record["gates"]]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as exc:
        raise CorpusError(f"{path}: cannot be read ({exc}); run the preflight again") from exc
    except (AttributeError, KeyError, TypeError) as exc:
        raise CorpusError(f"{path}: not a record of gates; run the preflight again") from exc
    return kept


def kept_reading(folder: Path, base: str, gate: str) -> GateReading:
    """Return one gate's kept reading.

    Raises
    ------
    GateFailed
        It was not read: no preflight, or an earlier gate failed.
    """
    gates = {kept["name"]: kept for kept in kept_gates(folder).get(base, {}).get("gates", ())}
    if gate not in gates:
        failed = [name for name, kept in gates.items() if not kept["passed"]]
        why = f"{', '.join(failed)} failed before it" if failed else "no preflight is on record"
        raise GateFailed(f"{base}: gate {gate} was not read, {why}")
    return GateReading(**gates[gate])


def refuse_after_failed_gate(folder: Path, bases: Sequence[str]) -> None:
    """Raise GateFailed where the last preflight of one of the bases failed a blocking gate."""
    kept = kept_gates(folder)
    failed = [
        f"{base}: {gate['name']} read {gate['reading']}, limit {gate['limit']}"
        for base in bases
        for gate in kept.get(base, {}).get("gates", ())
        if gate["blocking"] and not gate["passed"]
    ]
    if failed:
        raise GateFailed(
            f"the preflight failed, no session was paid for: {'; '.join(failed)}. "
            "Mend the cause and run the preflight again."
        )
