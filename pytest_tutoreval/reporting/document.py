"""The one document every renderer reads: verdicts.json."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from platform import python_version
from typing import Any

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow, NotAnalysed
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.reporting.run import ClaimRow, RunRecord
from pytest_tutoreval.store import metered_cost

__all__ = ["FORMAT", "build_document", "write_document"]

FORMAT = "tutoreval-verdicts/1"

_LIBRARIES = ("pytest-tutoreval", "pytest", "pytest-xdist", "numpy", "pydantic")


def build_document(
    run: RunRecord,
    measures: CorpusMeasures,
    *,
    claim_order: Sequence[str],
    analysis_order: Sequence[str],
    bases: Sequence[str],
    judges: Sequence[str],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the document of a run. Everything outside `run` is the same however the run was split or ordered.

    Parameters
    ----------
    claim_order, analysis_order, bases, judges : the order of rows; a name that is not listed comes last, by name
    facts : what the caller knows of the run (start, duration, workers)
    """
    manifest = measures.corpus.manifest
    order = _Order([*claim_order, *analysis_order], bases, judges)
    verdicts = sorted(run.verdicts, key=order.key)
    not_evaluated = sorted(run.not_evaluated, key=order.key)
    return {
        "format": FORMAT,
        "study": {"name": manifest.study, "instrument_sha256": measures.instrument.sha256},
        "corpus": {
            "name": manifest.name,
            "provenance": manifest.provenance,
            "sha256": measures.corpus.sha256,
            "notes": list(manifest.notes),
        },
        "claims": [_verdict_row(verdict) for verdict in verdicts],
        "not_evaluable": [row.model_dump(mode="json") for row in not_evaluated],
        "analyses": [row.model_dump(mode="json") for row in sorted(run.analysis_rows, key=order.key)],
        "not_analysed": [row.model_dump(mode="json") for row in sorted(run.not_analysed, key=order.key)],
        "cost": asdict(metered_cost(measures.corpus.folder)),
        "run": {
            "complete": run.complete,
            "partial": run.partial,
            "selected": len(run.selected),
            "deselected": run.deselected,
            "unfinished": run.unfinished,
            "evaluated": len(verdicts),
            "not_evaluable": len(not_evaluated),
            "analysed": len(run.analysed) - len(run.not_analysed),
            "not_analysed": len(run.not_analysed),
            "bases": list(bases),
            "judges": list(judges),
            "versions": _versions(),
            **facts,
        },
    }


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    return verdict.model_dump(mode="json")


def _versions() -> dict[str, str]:
    return {"python": python_version()} | {name: metadata.version(name) for name in _LIBRARIES}


class _Order:
    """Sorts rows by claim or analysis, base and judge as registered; unlisted names come last, by name."""

    def __init__(self, names: Sequence[str], bases: Sequence[str], judges: Sequence[str]) -> None:
        self._ranks = [{name: rank for rank, name in enumerate(known)} for known in (names, bases, judges)]

    def key(self, row: ClaimRow | AnalysisRow | NotAnalysed) -> tuple[tuple[int, str], ...]:
        """Return the sort key of a row; results over all bases come before those of one."""
        what = row.analysis if isinstance(row, AnalysisRow | NotAnalysed) else row.claim
        names = (what, row.base or "", row.judge or "")
        return tuple(
            (ranks.get(name, len(ranks) if name else -1), name) for ranks, name in zip(self._ranks, names, strict=True)
        )


def write_document(document: Mapping[str, Any], folder: Path) -> Path:
    """Write verdicts.json whole or not at all, and return its path. A NaN raises ValueError; it never gets there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "verdicts.json"
    fresh = folder / f"verdicts.json.{os.getpid()}.new"
    text = json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)
    fresh.write_text(text + "\n", encoding="utf-8", newline="\n")
    os.replace(fresh, path)
    return path
