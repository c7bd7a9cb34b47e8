"""A baseline: what a complete run came to, kept so that later runs can be held against it."""

import hashlib
import json
from typing import Any, Literal

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record, Sha256
from pytest_tutoreval.records.session import Provenance
from pytest_tutoreval.records.verdict import VerdictWord

__all__ = ["BASELINE_FORMAT", "Baseline", "BaselineClaim", "BaselineCorpus", "BaselineRun", "GuardedSeries"]

BASELINE_FORMAT = "tutoreval-baseline/1"


class BaselineCorpus(Record):
    """The data a baseline rests on."""

    name: Name
    sha256: Sha256
    provenance: Provenance


class BaselineRun(Record):
    """The run a baseline was made from: its id, its beginning (UTC), its verdicts.json by digest, the versions used."""

    id: str
    started: str
    document_sha256: Sha256
    versions: dict[str, str]


class BaselineClaim(Record):
    """A claim as it was decided.

    `rule` is the digest of what it was decided by, so that a claim that now says otherwise is not taken for it; None
    where that is not known.
    """

    claim: Name
    base: Name
    judge: Name | None
    verdict: VerdictWord
    reversed: bool
    rule: Sha256 | None = None


class GuardedSeries(Record):
    """One guarded measure of a base under a condition: a value a replicate and problem, None where it is undefined.

    `unit` says what the values are in. Where a measure exists only for whole sessions, its one problem is `session`.
    """

    measure: Name
    unit: str
    base: Name
    condition: Name
    judge: Name | None
    values: dict[int, dict[str, float | None]]


class Baseline(Record):
    """The whole file. `sha256` is over everything else in it, so that an edited value shows."""

    format: Literal["tutoreval-baseline/1"] = "tutoreval-baseline/1"
    study: Name
    instrument: Sha256
    amendments: tuple[str, ...] = ()
    corpus: BaselineCorpus
    bases: tuple[Name, ...] = Field(min_length=1)
    judges: tuple[Name, ...]
    run: BaselineRun
    claims: tuple[BaselineClaim, ...] = Field(min_length=1)
    series: tuple[GuardedSeries, ...]
    sha256: str = ""

    def digest(self) -> str:
        """Return the sha256 over everything but itself."""
        fields: dict[str, Any] = self.model_dump(mode="json", exclude={"sha256"})
        text = json.dumps(fields, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def sealed(self) -> "Baseline":
        """Return the record with its digest."""
        return self.model_copy(update={"sha256": self.digest()})

    def claim(self, claim: str, base: str, judge: str | None) -> BaselineClaim | None:
        """Return how a claim was decided, or None where it was not."""
        return next((row for row in self.claims if (row.claim, row.base, row.judge) == (claim, base, judge)), None)
