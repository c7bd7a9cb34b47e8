"""The replication report: every number the study printed beside what a corpus gives, and why a digit is another.

Verdicts come in as records; nothing here can change one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from platform import python_version

from pytest_tutoreval.analyses.replication_checks import Check, Judged, Outcome
from pytest_tutoreval.analyses.replication_entries import NOTE, comparators_of
from pytest_tutoreval.analyses.replication_evidence import Evidence
from pytest_tutoreval.analyses.replication_printed import Printed, PublishedEntry
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.study import Family, RegisterEntry, Study

__all__ = [
    "DEVIATIONS",
    "OUTCOMES",
    "REPORTING_RULES",
    "ReplicatedEntry",
    "ReplicatedValue",
    "Replication",
    "replicate",
]

# An entry is as its worst value; the first of these it has is its outcome.
OUTCOMES: tuple[Outcome, ...] = ("different", "not_evaluable", "reproduced_with_cause", "reproduced", "not_compared")

# Definitions, section 15.
REPORTING_RULES = (
    "Every registered claim is reported whatever its outcome.",
    "A manipulation check that does not separate is inconclusive, not falsified; a live test null or reversed is not "
    "supported; a reversal is named.",
    "No analysis is re-specified to move a p-value; concerns stand beside the registered fit.",
    "Judges reported separately; bases analysed separately; turn-level averages never the basis of inference.",
    "Ten pairs: session nulls rule out only large effects.",
)
DEVIATIONS = (
    "The model-based verification pass of independence was not run.",
    "The accuracy-primary hypothesis was abandoned before confirmatory data.",
)


@dataclass(frozen=True)
class ReplicatedValue:
    """A printed value and what became of it."""

    printed: Printed
    judged: Judged


@dataclass(frozen=True)
class ReplicatedEntry:
    """An entry with all its values. `note` is what the study says beside the numbers."""

    id: str
    where: str
    note: str | None
    values: tuple[ReplicatedValue, ...]

    @property
    def outcome(self) -> Outcome:
        """The outcome of its worst value: different, then not evaluable, then reproduced with a cause."""
        found = {value.judged.outcome for value in self.values}
        return next(outcome for outcome in OUTCOMES if outcome in found)


@dataclass(frozen=True)
class Replication:
    """The whole comparison, with the register it is to be read beside.

    `added_bases` and `added_judges` are what a user's study file adds to the frozen study.
    """

    corpus: CorpusManifest
    corpus_sha256: str
    instrument_sha256: str
    study: Study
    entries: tuple[ReplicatedEntry, ...]
    added_bases: tuple[str, ...]
    added_judges: tuple[str, ...]
    versions: dict[str, str]

    @property
    def simulated(self) -> bool:
        """Whether the corpus is simulated, so that there is nothing to replicate."""
        return self.corpus.provenance == "simulated"

    @property
    def register(self) -> tuple[RegisterEntry, ...]:
        """Specification status and declared deviations."""
        return self.study.register_entries

    @property
    def families(self) -> tuple[Family, ...]:
        """The Holm families, registered and added."""
        return self.study.families

    def count_entries(self) -> dict[Outcome, int]:
        """Return how many entries came to each outcome."""
        return _counted([entry.outcome for entry in self.entries])

    def count_values(self) -> dict[Outcome, int]:
        """Return how many values came to each outcome."""
        return _counted([value.judged.outcome for entry in self.entries for value in entry.values])


def _counted(outcomes: Sequence[Outcome]) -> dict[Outcome, int]:
    counts = Counter(outcomes)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def replicate(evidence: Evidence, entries: Sequence[PublishedEntry]) -> Replication:
    """Return every entry held against the evidence, in the order of the file.

    On a simulated corpus nothing is compared: its numbers stand beside the printed ones, without an outcome.

    Raises
    ------
    ValueError
        An entry or one of its values has no comparator.
    CorpusError
        A file of the corpus cannot be read.
    """
    checks = comparators_of(entries)
    corpus, study = evidence.measures.corpus, evidence.study
    simulated = corpus.manifest.provenance == "simulated"
    replicated = []
    for entry in entries:
        printed = [*entry.values, *([Printed(NOTE, entry.note)] if NOTE in checks[entry.id] else [])]
        values = [ReplicatedValue(value, _judge(evidence, checks[entry.id][value.path], value)) for value in printed]
        if simulated:
            values = [ReplicatedValue(value.printed, _uncompared(value.judged)) for value in values]
        replicated.append(ReplicatedEntry(entry.id, entry.where, entry.note, tuple(values)))
    frozen = load_instrument().study
    return Replication(
        corpus=corpus.manifest,
        corpus_sha256=corpus.sha256,
        instrument_sha256=evidence.measures.instrument.sha256,
        study=study,
        entries=tuple(replicated),
        added_bases=tuple(base.id for base in study.bases if frozen.base(base.id) is None),
        added_judges=tuple(judge.id for judge in study.judges if frozen.judge(judge.id) is None),
        versions={"python": python_version()}
        | {name: metadata.version(name) for name in ("pytest-tutoreval", "numpy")},
    )


def _judge(evidence: Evidence, check: Check, printed: Printed) -> Judged:
    try:
        return check.judge(evidence, printed)
    except NotEvaluable as exc:
        return Judged("not_evaluable", said=str(exc))


def _uncompared(judged: Judged) -> Judged:
    """Return a simulated number without its comparison; a reason why there is none stays."""
    return Judged("not_compared", judged.ours, judged.said if judged.ours is None else "")
