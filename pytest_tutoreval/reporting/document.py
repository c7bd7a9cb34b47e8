"""The one document every renderer reads, made of a run: what `verdicts.json` holds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from platform import python_version
from types import MappingProxyType
from typing import Any

from pytest_tutoreval.claims.wording import rule_in_words
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow, NotAnalysed
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.study import Inference
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.reporting.run import ClaimRow, GateReport, RunRecord
from pytest_tutoreval.store import metered_cost

__all__ = ["FORMAT", "build_document"]

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
    packages: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the document of a run. Everything outside `run` is the same however the run was split or ordered.

    Parameters
    ----------
    claim_order, analysis_order, bases, judges : the order of rows; a name that is not listed comes last, by name
    facts : what the caller knows of the run (its id, start, duration)
    packages : the versions of packages that registered something the results may depend on
    """
    manifest = measures.corpus.manifest
    order = _Order([*claim_order, *analysis_order], bases, judges)
    verdicts = sorted(run.verdicts, key=order.key)
    not_evaluated = sorted(run.not_evaluated, key=order.key)
    return {
        "format": FORMAT,
        "study": _study(manifest.study, measures.instrument),
        "corpus": {
            "name": manifest.name,
            "provenance": manifest.provenance,
            "sha256": measures.corpus.sha256,
            "notes": list(manifest.notes),
        },
        "registrations": _registrations(run, measures.instrument.study.inference, order),
        "claims": [_verdict_row(verdict) for verdict in verdicts],
        "not_evaluable": [row.model_dump(mode="json") for row in not_evaluated],
        "analyses": [row.model_dump(mode="json") for row in sorted(run.analysis_rows, key=order.key)],
        "not_analysed": [row.model_dump(mode="json") for row in sorted(run.not_analysed, key=order.key)],
        "gate": None if run.gate is None else _gate(run.gate),
        "cost": asdict(metered_cost(measures.corpus.folder)),
        "run": {
            "complete": run.complete,
            "partial": run.partial,
            "interrupted": run.interrupted,
            "stopped": run.stopped,
            "lost_workers": run.lost_workers,
            "last_failed": run.last_failed,
            "selected": len(run.selected),
            "deselected": run.deselected,
            "unfinished": run.unfinished,
            "evaluated": len(verdicts),
            "not_evaluable": len(not_evaluated),
            "analysed": len(run.analysed) - len(run.not_analysed),
            "not_analysed": len(run.not_analysed),
            "bases": list(bases),
            "judges": list(judges),
            "corpus_folder": str(measures.corpus.folder),
            "versions": {**_versions(), **packages},
            **facts,
        },
    }


def _study(name: str, instrument: Instrument) -> dict[str, Any]:
    """Return which study this is, with what a file of the user's own adds to the frozen one, where there is one."""
    notes = [*instrument.amendments, *instrument.declared]
    return {"name": name, "instrument_sha256": instrument.sha256} | ({"notes": notes} if notes else {})


def _verdict_row(verdict: Verdict) -> dict[str, Any]:
    return verdict.model_dump(mode="json")


def _registrations(run: RunRecord, inference: Inference, order: "_Order") -> list[dict[str, Any]]:
    """Return what was registered of each claim a row is about; two files that share an id are two entries."""
    entries = [_registration(claim, inference) for claim in run.registered]
    return sorted(entries, key=lambda entry: (order.rank(entry["claim"]), entry["rule"], entry["title"]))


def _registration(claim: Claim, inference: Inference) -> dict[str, Any]:
    return {
        "claim": claim.id,
        "title": claim.title,
        "form": claim.form,
        "kind": claim.kind,
        "measure": getattr(claim, "measure", None),
        "arms": list(getattr(claim, "arms", ())),
        "judge_bound": claim.judge_bound,
        "role": claim.role,
        "status": claim.status,
        "evidence_visible": claim.evidence_visible,
        "rule": rule_in_words(claim, inference),
    }


def _gate(gate: GateReport) -> dict[str, Any]:
    return {
        "settings": gate.settings.model_dump(mode="json"),
        "baseline": dict(gate.baseline),
        "rows": [row.model_dump(mode="json") for row in gate.rows],
        "failed": gate.failed,
    }


def _versions() -> dict[str, str]:
    return {"python": python_version()} | {name: metadata.version(name) for name in _LIBRARIES}


class _Order:
    """Sorts rows by claim or analysis, base and judge as registered; unlisted names come last, by name."""

    def __init__(self, names: Sequence[str], bases: Sequence[str], judges: Sequence[str]) -> None:
        self._ranks = [{name: rank for rank, name in enumerate(known)} for known in (names, bases, judges)]

    def rank(self, name: str) -> tuple[int, str]:
        """Return the sort key of a claim or analysis alone."""
        return self._rank(0, name)

    def key(self, row: ClaimRow | AnalysisRow | NotAnalysed) -> tuple[tuple[int, str], ...]:
        """Return the sort key of a row; results over all bases come before those of one."""
        what = row.analysis if isinstance(row, AnalysisRow | NotAnalysed) else row.claim
        return tuple(self._rank(part, name or "") for part, name in enumerate((what, row.base, row.judge)))

    def _rank(self, part: int, name: str) -> tuple[int, str]:
        ranks = self._ranks[part]
        return ranks.get(name, len(ranks) if name else -1), name
