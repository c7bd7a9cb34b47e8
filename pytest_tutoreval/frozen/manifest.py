"""The lock: every frozen file's digest, and the one digest that names them all."""

import hashlib
from pathlib import Path

from pytest_tutoreval.errors import TamperedInstrument

__all__ = ["MANIFEST", "file_sha256", "instrument_digest", "text_digest", "verify_files", "write_manifest"]

MANIFEST = "MANIFEST.sha256"

_WAY_OUT = "Restore the file, or register the change as a dated amendment under a digest of its own."


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_manifest(folder: Path) -> str:
    """Write the digests of every file in `folder` and return the instrument digest: what freezing is."""
    lines = [f"{digest}  {name}\n" for name, digest in _digests(folder).items()]
    (folder / MANIFEST).write_text("".join(lines), encoding="utf-8", newline="\n")
    return instrument_digest(folder)


def instrument_digest(folder: Path) -> str:
    """Return the sha256 of the manifest: the name under which sessions, ratings and reports are stamped."""
    path = folder / MANIFEST
    if not path.is_file():
        raise TamperedInstrument(f"{path}: the manifest is missing. {_WAY_OUT}", path=path, expected=None, found=None)
    return file_sha256(path)


def text_digest(text: str) -> str:
    """Return the sha256 of a text as it is sent."""
    return hashlib.sha256(text.encode()).hexdigest()


def verify_files(folder: Path) -> str:
    """Check every frozen file against the manifest and return the instrument digest.

    Raises
    ------
    TamperedInstrument
        A file is missing, unlisted, or one byte off; the message names it and both digests.
    """
    digest = instrument_digest(folder)
    listed: dict[str, str] = {}
    # A byte that is no UTF-8 makes a digest or a name that fits no file, which is then named below.
    for line in (folder / MANIFEST).read_text(encoding="utf-8", errors="replace").split("\n"):
        if line:
            expected, _, name = line.partition("  ")
            listed[name] = expected
    found = _digests(folder)
    for name in sorted(listed.keys() | found.keys()):
        if listed.get(name) != found.get(name):
            raise TamperedInstrument(
                f"{folder / name}: sha256 is {found.get(name, 'absent')}, "
                f"the manifest says {listed.get(name, 'not listed')}. {_WAY_OUT}",
                path=folder / name,
                expected=listed.get(name),
                found=found.get(name),
            )
    return digest
