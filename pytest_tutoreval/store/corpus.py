"""A corpus folder: its manifest, its seal, and how its files are read."""

import hashlib
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval.errors import BrokenRatings, BrokenSession, BrokenTable, CorpusError, ForeignInstrument
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.rating import Rating
from pytest_tutoreval.records.session import Session, SessionKey
from pytest_tutoreval.store.ratings import parse_ratings, ratings_path
from pytest_tutoreval.store.sessions import parse_session, session_path
from pytest_tutoreval.store.tables import COLUMNS, TableSet, parse_tables
from pytest_tutoreval.store.validation import first_problem

__all__ = ["DATA_FOLDERS", "LOCKS", "MANIFEST", "REASONS", "Corpus", "file_digest", "open_corpus"]

MANIFEST = "corpus.toml"

# Where a corpus keeps its lock files: beside the data and never part of them.
LOCKS = ".locks"

# Why the last live run left sessions unfinished, or rating files by their path: no data, so under no seal.
REASONS = "runs/unfinished.json"

DATA_FOLDERS = ("sessions", "ratings", "tables", "reference")


def open_corpus(folder: Path, *, instrument: str | None = None) -> "Corpus":
    """Return the corpus in `folder`; nothing but its manifest is read yet.

    Parameters
    ----------
    instrument : digest the data must be stamped with; None where nothing will be decided from it

    Raises
    ------
    CorpusError
        No manifest, one that cannot be read, or one that names no base.
    ForeignInstrument
        The manifest is stamped with another instrument digest.
    """
    path = folder / MANIFEST
    try:
        manifest = CorpusManifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as exc:
        raise CorpusError(f"{folder}: no {MANIFEST} there; give --corpus a folder made by tutoreval") from exc
    except ValidationError as exc:
        raise CorpusError(f"{path}: {first_problem(exc)}") from exc
    except (OSError, ValueError) as exc:
        raise CorpusError(f"{path}: cannot be read: {exc}") from exc
    if not manifest.bases:
        raise CorpusError(f"{path}: bases is empty, so there is no base to decide claims for; make the corpus anew")
    if instrument is not None:
        _same_instrument(path, manifest.instrument, instrument)
    return Corpus(folder, manifest)


def _same_instrument(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise ForeignInstrument(
            f"{path}: made under instrument {found[:12]}, this one is {expected[:12]}. Data of two instruments are "
            "never mixed: use the version of the instrument it was made under, or make the corpus anew."
        )


def file_digest(data: bytes) -> str:
    """Return the sha256 a file is sealed with."""
    return hashlib.sha256(data).hexdigest()


def _stated_provenance(path: Path) -> str | None:
    try:
        with path.open("rb") as lines:
            header = json.loads(lines.readline())
        return header.get("provenance") if isinstance(header, dict) else None
    except (OSError, ValueError):
        return None


class Corpus:
    """An opened corpus. Files are read when asked for, and a sealed file must still have its digest."""

    def __init__(self, folder: Path, manifest: CorpusManifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._kept: dict[Path, Session | tuple[Rating, ...]] = {}
        self._room = 0

    @contextmanager
    def remembering(self, most: int) -> Iterator[None]:
        """Keep the sessions and ratings that are read within, so that no file is read and checked twice.

        `most` is how many bytes on disk are kept, first come, first kept; in memory they are some four times as many.
        """
        self._room = most
        try:
            yield
        finally:
            self._room = 0
            self._kept.clear()

    def _keep(self, path: Path, data: bytes, read: Session | tuple[Rating, ...]) -> None:
        if len(data) <= self._room:
            self._room -= len(data)
            self._kept[path] = read

    @property
    def has_text(self) -> bool:
        """Whether there are sessions with text, or tables only."""
        return self.manifest.content == "sessions"

    @cached_property
    def sha256(self) -> str:
        """Digest over the digests of all data files, sealed or not: which data a report rests on."""
        digests = dict(self.manifest.files)
        for part in DATA_FOLDERS:
            for path in sorted((self.folder / part).rglob("*")):
                name = path.relative_to(self.folder).as_posix()
                if path.is_file() and name not in digests:
                    digests[name] = file_digest(path.read_bytes())
        return file_digest("".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode())

    @cached_property
    def stray(self) -> tuple[Path, str] | None:
        """A session or rating file that states another provenance than the manifest, and which; None where none does.

        A header that cannot be read is for the file's reader to diagnose.
        """
        for part in ("sessions", "ratings"):
            for path in sorted((self.folder / part).rglob("*.jsonl")):
                found = _stated_provenance(path)
                if found not in (None, self.manifest.provenance):
                    return path, str(found)
        return None

    def session_keys(self, base: str, condition: str) -> list[SessionKey]:
        """Return the sessions of a cell, in replicate order.

        Raises
        ------
        BrokenSession
            A file of the cell is not named as a replicate: two files could then hold one session.
        """
        cell = self.folder / "sessions" / base / condition
        keys = []
        for path in cell.glob("*.jsonl"):
            number = path.stem.removeprefix("r")
            if not number.isdecimal() or path.stem != f"r{int(number)}":
                raise BrokenSession(
                    path, "not a session file's name (r0.jsonl, r1.jsonl, …); move it out of the corpus"
                )
            keys.append(SessionKey(base, condition, int(number)))
        return sorted(keys)

    def session(self, key: SessionKey) -> Session:
        """Return a finished session. Raises BrokenSession or ForeignInstrument."""
        path = self.folder / session_path(key)
        if isinstance(kept := self._kept.get(path), Session):
            return kept
        try:
            data = path.read_bytes()
        except OSError as exc:
            raise BrokenSession(path, f"cannot be read: {exc.strerror}") from exc
        session = parse_session(data, path, key)
        self._same_seal(path, data, BrokenSession)
        _same_instrument(path, session.header.instrument, self.manifest.instrument)
        self._keep(path, data, session)
        return session

    @cached_property
    def _reasons(self) -> dict[str, str]:
        try:
            reasons = json.loads((self.folder / REASONS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(key): str(reason) for key, reason in reasons.items()} if isinstance(reasons, dict) else {}

    def reason_unfinished(self, key: SessionKey) -> str | None:
        """Return why the last live run could not finish a session, or None where it left no word."""
        return self._reasons.get(str(key))

    def reason_unrated(self, judge: str, rubric: str, key: SessionKey) -> str | None:
        """Return why the last live run could not finish a session's ratings, or None where it left no word."""
        return self._reasons.get(ratings_path(judge, rubric, key))

    def ratings(self, judge: str, rubric: str, key: SessionKey) -> list[Rating] | None:
        """Return a judge's ratings of a session, or None where there is no such file."""
        path = self.folder / ratings_path(judge, rubric, key)
        if isinstance(kept := self._kept.get(path), tuple):
            return [*kept]
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise BrokenRatings(path, f"cannot be read: {exc.strerror}") from exc
        header, ratings = parse_ratings(data, path, judge, rubric, key)
        self._same_seal(path, data, BrokenRatings)
        _same_instrument(path, header.instrument, self.manifest.instrument)
        self._keep(path, data, tuple(ratings))
        return ratings

    def tables(self, part: str = "") -> TableSet:
        """Return the tables of an imported corpus by base; `part` is "ablation" for those conditions."""
        folder = self.folder / "tables" / part
        return parse_tables({name: (folder / name, self._table_text(folder / name)) for name in COLUMNS})

    def _table_text(self, path: Path) -> str:
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise BrokenTable(path, f"cannot be read: {exc}") from exc
        self._same_seal(path, data, BrokenTable)
        return text

    def reference(self, name: str) -> bytes | None:
        """Return a released result file an import kept, or None; it is for comparison only."""
        path = self.folder / "reference" / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        self._same_seal(path, data, BrokenTable)
        return data

    def _same_seal(
        self, path: Path, data: bytes, error: type[BrokenSession] | type[BrokenRatings] | type[BrokenTable]
    ) -> None:
        sealed = self.manifest.files.get(path.relative_to(self.folder).as_posix())
        if sealed is not None and sealed != file_digest(data):
            raise error(path, f"sha256 is {file_digest(data)}, sealed as {sealed}: changed since; restore the file")
