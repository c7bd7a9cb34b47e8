"""Evidence of a corpus for the replication report, and published entries made up to order."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.analyses.replication import ReplicatedEntry, Replication, replicate
from pytest_tutoreval.analyses.replication_checks import Judged
from pytest_tutoreval.analyses.replication_entries import comparators
from pytest_tutoreval.analyses.replication_evidence import Evidence
from pytest_tutoreval.analyses.replication_printed import PublishedEntry, published_entries
from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records.verdict import NotEvaluated, Verdict
from pytest_tutoreval.resources import data_folder
from tests.store.corpora import DEMO, measures_of

__all__ = [
    "PUBLISHED",
    "demo_evidence",
    "evidence",
    "evidence_of",
    "judged",
    "published_with",
    "replicated_with",
    "replication",
    "simulated",
]

PUBLISHED = data_folder("reports/reference") / "published.json"

# One computation a process, whichever folder of tests asks first: the contents are the same.
_EVIDENCE: dict[str, Evidence] = {}
_REPLICATIONS: dict[str, Replication] = {}


def _evidence(name: str, folder: Path) -> Evidence:
    if name not in _EVIDENCE:
        _EVIDENCE[name] = evidence_of(folder)
    return _EVIDENCE[name]


def _replication(name: str, folder: Path) -> Replication:
    if name not in _REPLICATIONS:
        _REPLICATIONS[name] = replicate(_evidence(name, folder), published_entries())
    return _REPLICATIONS[name]


@pytest.fixture(scope="session")
def evidence(released: Path) -> Evidence:
    """What the released tables hold."""
    return _evidence("released", released)


@pytest.fixture(scope="session")
def replication(released: Path) -> Replication:
    """The comparison on the released tables."""
    return _replication("released", released)


@pytest.fixture(scope="session")
def demo_evidence() -> Evidence:
    """What the simulated demo holds."""
    return _evidence("demo", DEMO)


@pytest.fixture(scope="session")
def simulated() -> Replication:
    """The report on the simulated demo."""
    return _replication("demo", DEMO)


def evidence_of(folder: Path, *, marker_rate_gate: float | None = 0.95) -> Evidence:
    """Return a corpus's evidence, every bundled claim decided or its reason kept."""
    measures, claims = measures_of(folder), bundled_claims()
    manifest = measures.corpus.manifest
    decided: list[Verdict] = []
    undecided: list[NotEvaluated] = []
    for claim in claims.values():
        for base in manifest.bases:
            for judge in manifest.judges if claim.judge_bound else (None,):
                try:
                    decided.append(decide_claim(claim, claims, measures, base, judge))
                except NotEvaluable as exc:
                    undecided.append(NotEvaluated(claim=claim.id, base=base, judge=judge, reason=str(exc)))
    return Evidence(measures, decided, undecided, marker_rate_gate=marker_rate_gate)


def published_with(**changes: Any) -> tuple[PublishedEntry, ...]:
    """Return the published entries with an entry's fields changed: `entry` names it, a field of None stays."""
    file = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    (entry,) = (entry for entry in file["entries"] if entry["id"] == changes["entry"])
    entry.update({name: value for name, value in changes.items() if name != "entry"})
    return published_entries(json.dumps(file))


def judged(evidence: Evidence, name: str, path: str, entries: Sequence[PublishedEntry] | None = None) -> Judged:
    """Return what becomes of one value, computed alone."""
    (entry,) = (entry for entry in (entries or published_entries()) if entry.id == name)
    (printed,) = (value for value in entry.values if value.path == path)
    return comparators()[name][path].judge(evidence, printed)


def replicated_with(evidence: Evidence, **changes: Any) -> ReplicatedEntry:
    """Return the changed entry, replicated among all others."""
    found = replicate(evidence, published_with(**changes)).entries
    (entry,) = (entry for entry in found if entry.id == changes["entry"])
    return entry
