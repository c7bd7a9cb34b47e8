"""The document as a model: what `verdicts.json` must hold to be read, and the JSON schema of it.

The compatibility rule (docs/reference/verdicts-json.md): within one major version of the format keys are only ever
added, so a reader ignores keys it does not know and takes a key that an older document lacks at its default. A change
of meaning, a removed key or a new verdict word is a new major, and is refused.
"""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from pytest_tutoreval.errors import BrokenDocument
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow, NotAnalysed
from pytest_tutoreval.records.base import Sha256
from pytest_tutoreval.records.gate import GateRow, GateSettings, SequentialRule
from pytest_tutoreval.records.verdict import Component, NotEvaluated, Verdict
from pytest_tutoreval.reporting.document import FORMAT
from pytest_tutoreval.store.validation import first_problem

__all__ = ["Document", "document_schema", "read_document"]

_TOLERANT = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

_NAME, _MAJOR = FORMAT.split("/")


class _Part(BaseModel):
    model_config = _TOLERANT


class StudyPart(_Part):
    """The study the claims were registered in, and the digest of its frozen instrument.

    `notes` are what a study file of the user's own changes or adds, and whether it was locked.
    """

    name: str
    instrument_sha256: str
    notes: tuple[str, ...] = ()


class CorpusPart(_Part):
    """The data: `sha256` is over the digests of all its data files."""

    name: str
    provenance: str
    sha256: str
    notes: tuple[str, ...] = ()


class Registration(_Part):
    """What was registered of a claim; `rule` is its decision rule in words.

    `measure` and `arms` are those of a contrast; None and empty where the claim's form has none.
    """

    claim: str
    title: str
    form: str
    kind: str
    measure: str | None = None
    arms: tuple[str, ...] = ()
    judge_bound: bool
    role: str
    status: str
    evidence_visible: str
    rule: str


class ComponentRow(Component):
    """A part of a claim's row."""

    model_config = _TOLERANT


class VerdictRow(Verdict):
    """A claim decided for a base and, where it is judge-bound, a judge."""

    model_config = _TOLERANT
    components: tuple[ComponentRow, ...] = ()


class NotEvaluatedRow(NotEvaluated):
    """A claim that could not be decided, with the reason."""

    model_config = _TOLERANT


class AnalysisPartRow(AnalysisPart):
    """A part of an analysis's row."""

    model_config = _TOLERANT


class AnalysisResult(AnalysisRow):
    """One result of an analysis; it is in no verdict."""

    model_config = _TOLERANT
    components: tuple[AnalysisPartRow, ...] = ()


class NotAnalysedRow(NotAnalysed):
    """An analysis that could not be run, with the reason."""

    model_config = _TOLERANT


class SequentialPart(SequentialRule):
    """The looks of a sequential gate."""

    model_config = _TOLERANT


class GateSettingsPart(GateSettings):
    """The registered gate."""

    model_config = _TOLERANT
    sequential: SequentialPart | None = None


class GuardRow(GateRow):
    """One guard, read."""

    model_config = _TOLERANT


class BaselinePart(_Part):
    """The baseline a gate was read against, and the corpus it was written from."""

    path: str
    sha256: str
    corpus: str
    provenance: str


class GatePart(_Part):
    """A gate that was read; `failed` counts the guards that fail the run."""

    settings: GateSettingsPart
    baseline: BaselinePart
    rows: tuple[GuardRow, ...]
    failed: int = Field(ge=0)


class CostPart(_Part):
    """What the corpus's live runs were billed; `dollars` is null where a price was unknown, or nothing was metered."""

    runs: int
    calls: int
    failed_attempts: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


class MissingOutput(_Part):
    """An output of the set that was tried and could not be made."""

    output: str
    reason: str


class RunPart(_Part):
    """The run itself: all that may differ between two runs over the same claims and corpus.

    `stopped` says what ended the run before its end. `outputs` holds the digest of every other file of the set, by its
    path beside `verdicts.json`. `started` is in seconds since 1970, `corpus_folder` is as it was given.
    """

    id: str | None = None
    started: float | None = None
    seconds: float | None = None
    complete: bool
    partial: bool
    interrupted: bool = False
    stopped: str | None = None
    lost_workers: int = 0
    last_failed: bool = False
    selected: int
    deselected: int
    unfinished: tuple[str, ...]
    evaluated: int
    not_evaluable: int
    analysed: int
    not_analysed: int
    bases: tuple[str, ...]
    judges: tuple[str, ...]
    corpus_folder: str | None = None
    versions: dict[str, str]
    not_written: tuple[MissingOutput, ...] = ()
    outputs: dict[str, Sha256] = Field(default_factory=dict)


class Document(_Part):
    """The verdicts of a run, with everything a reader needs to weigh them.

    Everything outside `run` is the same however the run was split over workers or ordered.
    """

    format: Annotated[str, StringConstraints(pattern=f"^{FORMAT}$")]
    study: StudyPart
    corpus: CorpusPart
    registrations: tuple[Registration, ...] = ()
    claims: tuple[VerdictRow, ...]
    not_evaluable: tuple[NotEvaluatedRow, ...]
    analyses: tuple[AnalysisResult, ...]
    not_analysed: tuple[NotAnalysedRow, ...]
    gate: GatePart | None = None
    cost: CostPart
    run: RunPart


def read_document(path: Path) -> Document:
    """Return the document in a file.

    Raises
    ------
    BrokenDocument
        It cannot be read, is of another format or a newer major version, or does not hold what it must.
    """
    try:
        parsed = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as exc:
        raise BrokenDocument(path, f"cannot be read as JSON ({exc})") from exc
    stated = parsed.get("format") if isinstance(parsed, dict) else None
    if stated != FORMAT:
        raise BrokenDocument(path, _foreign(stated))
    try:
        return Document.model_validate(parsed)
    except ValidationError as exc:
        raise BrokenDocument(path, f"not a {FORMAT} document: {first_problem(exc)}") from exc


def _foreign(stated: object) -> str:
    name, _, major = str(stated).partition("/")
    if name == _NAME and major.isdecimal() and int(major) > int(_MAJOR):
        return f"format {stated!r:.60} is newer than this version reads ({FORMAT}); update pytest-tutoreval"
    return f"format is {stated!r:.60}, expected {FORMAT!r}; give the verdicts.json a run of pytest wrote"


def document_schema() -> dict[str, Any]:
    """Return the JSON schema of the document: what a reader may rely on."""
    schema = Document.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **schema}
