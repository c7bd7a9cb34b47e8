"""The corpus a run decides claims from: opened when the first claim is collected, read when one is decided."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tutoreval.analyses import compare_with_released
from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.claim import Claim
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.reporting import RunRecord, build_document
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus

__all__ = ["DEMO", "Workbench"]

DEMO = "demo"


class Workbench:
    """One corpus under one instrument, with every verdict asked for so far."""

    def __init__(self, corpus: Path | None) -> None:
        instrument = load_instrument()
        folder = corpus or data_folder("fixtures") / DEMO
        self.measures = CorpusMeasures(open_corpus(folder, instrument=instrument.sha256), instrument)
        self._verdicts: dict[tuple[Claim, str, str | None], Verdict] = {}

    @property
    def bases(self) -> Sequence[str]:
        """The bases the corpus holds, in its own order."""
        return self.measures.corpus.manifest.bases

    @property
    def judges(self) -> Sequence[str]:
        """The judges the corpus holds ratings of, in its own order."""
        return self.measures.corpus.manifest.judges

    def decide(self, claim: Claim, known: Mapping[str, Claim], base: str, judge: str | None) -> Verdict:
        """Return a claim's verdict, with notes that hold it against the released result where there is one.

        Raises
        ------
        NotEvaluable
        """
        key = (claim, base, judge)
        if key not in self._verdicts:
            verdict = decide_claim(claim, known, self.measures, base, judge)
            compared = compare_with_released(verdict, self.measures)
            self._verdicts[key] = verdict.model_copy(update={"notes": (*verdict.notes, *compared)})
        return self._verdicts[key]

    def document(
        self, run: RunRecord, *, bases: Sequence[str], judges: Sequence[str], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the document of a finished run."""
        return build_document(
            run, self.measures, claim_order=list(bundled_claims()), bases=bases, judges=judges, facts=facts
        )
