"""Writing a corpus's manifest: sealing what is finished, declaring what a growing corpus will hold."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import tomli_w

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.store.corpus import DATA_FOLDERS, LOCKS, MANIFEST, REASONS, file_digest, open_corpus

__all__ = ["declare_corpus", "keep_reasons", "seal_corpus", "seal_files"]


def seal_corpus(folder: Path, manifest: CorpusManifest) -> CorpusManifest:
    """Write the manifest with the digest of every data file, replacing it whole, and return it."""
    files = {
        path.relative_to(folder).as_posix(): file_digest(path.read_bytes())
        for part in DATA_FOLDERS
        for path in (folder / part).rglob("*")
        if path.is_file()
    }
    return _write_manifest(folder, manifest.model_copy(update={"files": dict(sorted(files.items()))}))


def declare_corpus(folder: Path, manifest: CorpusManifest) -> CorpusManifest:
    """Write a growing corpus's manifest, or add this run's bases, conditions and judges to the one that is there.

    Raises
    ------
    ForeignInstrument
        What is there was made under another instrument.
    CorpusError
        What is there is simulated or imported: live data are never mixed with it; or the folder cannot be written.
    """
    with _manifest_lock(folder):
        if not (folder / MANIFEST).exists():
            return _write_manifest(folder, manifest)
        there = open_corpus(folder, instrument=manifest.instrument).manifest
        if there.provenance != manifest.provenance or there.content != manifest.content:
            raise CorpusError(
                f"{folder}: a corpus of {there.provenance} {there.content}; {manifest.provenance} {manifest.content} "
                "are not mixed with it, give another folder"
            )
        merged = {
            name: (*getattr(there, name), *(new for new in getattr(manifest, name) if new not in getattr(there, name)))
            for name in ("bases", "conditions", "judges", "notes")
        }
        return _write_manifest(folder, there.model_copy(update=merged))


def seal_files(folder: Path, names: Iterable[str], *, found: Iterable[str] = ()) -> CorpusManifest:
    """Add the digests of files that are finished to the manifest; safe beside another process that does the same.

    `found` were finished before this run: one without a seal, since its run was killed, gets it now; a seal that is
    there stands, or a file that was changed since would be vouched for.
    """
    digests = {name: file_digest((folder / name).read_bytes()) for name in names}
    with _manifest_lock(folder):
        manifest = open_corpus(folder).manifest
        digests |= {
            name: file_digest((folder / name).read_bytes())
            for name in found
            if name not in manifest.files and name not in digests
        }
        files = dict(sorted({**manifest.files, **digests}.items()))
        return _write_manifest(folder, manifest.model_copy(update={"files": files}))


def keep_reasons(folder: Path, reasons: Mapping[str, str]) -> None:
    """Leave word why the last live run could not finish a session or, by its path, a rating file.

    Whoever misses it can then say so.
    """
    try:
        path = folder / REASONS
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(dict(reasons), indent=1), encoding="utf-8")
    except OSError:
        return  # on a full disk the run's own error says it


@contextmanager
def _manifest_lock(folder: Path) -> Iterator[None]:
    from filelock import FileLock  # only where files grow: workers that read are spared it

    try:
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCKS / f"{MANIFEST}.lock"):
            yield
    except OSError as exc:
        raise CorpusError(f"{folder}: cannot be written ({exc.strerror}); give a folder you may write to") from exc


def _write_manifest(folder: Path, manifest: CorpusManifest) -> CorpusManifest:
    fresh = folder / f"{MANIFEST}.new"
    fresh.write_text(tomli_w.dumps(manifest.model_dump(mode="json", exclude_none=True)), encoding="utf-8", newline="\n")
    os.replace(fresh, folder / MANIFEST)
    return manifest
