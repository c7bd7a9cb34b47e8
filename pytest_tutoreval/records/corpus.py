"""The manifest of a corpus: corpus.toml."""

from typing import Literal

from pydantic import Field

from pytest_tutoreval.records.base import Name, Record, Sha256
from pytest_tutoreval.records.session import Provenance

__all__ = ["CorpusManifest"]


class CorpusManifest(Record):
    """What a corpus holds and which instrument it was made under.

    `files` maps each sealed file to its sha256; a file that is not listed is still being written. A `tables`
    corpus holds per-turn and per-session numbers but no text.
    """

    format: Literal["tutoreval-corpus/1"] = "tutoreval-corpus/1"
    name: Name
    provenance: Provenance
    content: Literal["sessions", "tables"]
    instrument: Sha256
    study: Name
    producer: str
    bases: tuple[Name, ...]
    conditions: tuple[Name, ...]
    judges: tuple[Name, ...] = ()
    source: str | None = None
    notes: tuple[str, ...] = ()
    files: dict[str, Sha256] = Field(default_factory=dict)
