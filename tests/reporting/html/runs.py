"""Whole runs on the demo corpus without pytest around them, and what a page of one is made of."""

from functools import cache
from typing import Any

from pytest_tutoreval.analyses.catalogue import all_analyses
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.reporting import RunRecord, build_document
from tests.store.corpora import DEMO, decide, measures_of

__all__ = ["demo_document", "demo_measures"]

_ANALYSES = ("exposure", "token_control", "routes")  # of every shape: rows with parts, with notes, with a test


@cache
def demo_measures() -> CorpusMeasures:
    return measures_of(DEMO)


@cache
def demo_document() -> dict[str, Any]:
    """All claims on the demo corpus, and some analyses."""
    measures, claims, run = demo_measures(), bundled_claims(), RunRecord()
    bases, judges = measures.corpus.manifest.bases, measures.corpus.manifest.judges
    for claim in claims.values():
        for base in bases:
            for judge in judges if claim.judge_bound else [None]:
                nodeid = f"{claim.id}[{base}-{judge}]"
                run.add_row(nodeid, decide(DEMO, claim.id, base, judge).model_dump(mode="json"))
    for name in _ANALYSES:
        for base in bases:
            rows = all_analyses()[name].run(AnalysisInput(measures, base, None, bases, judges))
            run.add_row(f"{name}[{base}]", {"analysis": name, "rows": [row.model_dump(mode="json") for row in rows]})
    return build_document(
        run,
        measures,
        claim_order=list(claims),
        analysis_order=_ANALYSES,
        bases=bases,
        judges=judges,
        facts={"started": 1e9},
    )
