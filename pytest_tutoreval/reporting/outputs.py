"""The output set of a run: `verdicts.json` and what is rendered from it, put in place as one.

Everything is rendered into a staging folder beside the old set. Then the old `verdicts.json` is moved away first and
the new one put in place last: it is the commit marker, so whoever starts there never meets half a set. What fails on
the way puts the old set back; what is killed on the way is put right by the next run. A file that no `verdicts.json`
listed as an output is somebody else's, and is neither replaced nor removed.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pytest_tutoreval.errors import ExtensionError
from pytest_tutoreval.registering import take_name
from pytest_tutoreval.reporting.plain import visible

__all__ = ["RENDERERS", "VERDICTS", "OutputSet", "Renderer", "register_renderer", "write_outputs"]

Row = Mapping[str, Any]

VERDICTS = "verdicts.json"

_STAGE = ".tutoreval-"
_PATIENCE = 30.0
_WAITING = 0.05


class Renderer(NamedTuple):
    """Something made of the document.

    `render(document, folder)` writes files into the folder and returns their names, as paths below it with `/`. `owns`
    are the top-level files and folders it may write to. `name` is what a reader is told when it fails.
    """

    name: str
    owns: tuple[str, ...]
    render: Callable[[Row, Path], Iterable[str]]


@dataclass(frozen=True)
class OutputSet:
    """A set that is in place: the document as it was written, its path, and what could not be made."""

    document: Row
    path: Path

    @property
    def whole(self) -> bool:
        """Whether every renderer did its part."""
        return not self.document["run"]["not_written"]


def _render_summary(document: Row, folder: Path) -> list[str]:
    from pytest_tutoreval.reporting.markdown import SUMMARY, render_summary

    (folder / SUMMARY).write_text(render_summary(document), encoding="utf-8", newline="\n")
    return [SUMMARY]


# In the order they run; the summary comes last, since it says which of the others failed.
RENDERERS: list[Renderer] = [Renderer("summary.md", ("summary.md",), _render_summary)]

# What of a report folder is this package's own, the page's files included.
_OWN = (VERDICTS, "summary.md", "report.html", "transcripts")


def register_renderer(renderer: Renderer, *, by: str) -> Callable[[], None]:
    """Add a package's renderer before the summary, and return how it is taken out again.

    Raises
    ------
    ExtensionError
        It is no Renderer, its name is taken, or a file or folder it wants to write to is no plain name or another's.
    """
    if not isinstance(renderer, Renderer) or not callable(renderer.render):
        raise ExtensionError(f"{by}: renderer {renderer!r:.80} is no Renderer(name, owns, render)")
    if not isinstance(renderer.owns, tuple) or not renderer.owns:
        raise ExtensionError(
            f"{by}: renderer {renderer.name!r} owns {renderer.owns!r:.80}; expected a tuple of the top-level files and "
            "folders it writes"
        )
    with ExitStack() as taken:
        taken.callback(take_name("renderer", renderer.name, _OWN, by=by))
        for root in renderer.owns:
            taken.callback(take_name("output", root, _OWN, by=by))
        RENDERERS.insert(-1, renderer)
        taken.callback(RENDERERS.remove, renderer)
        return taken.pop_all().close


def write_outputs(document: Row, folder: Path, renderers: Sequence[Renderer] = RENDERERS) -> OutputSet:
    """Render a document and put the whole set in place; `run` gains `outputs` and `not_written`.

    A renderer that fails is named in `run.not_written`, and the rest of the set is written all the same.

    Raises
    ------
    OSError
        The set could not be put in place: the old one, if there was one, still stands.
    ValueError
        The document holds a NaN; nothing was touched.
    """
    roots = {root for renderer in (*RENDERERS, *renderers) for root in renderer.owns}
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _put_right(folder)
        stage = _Stage(folder, Path(tempfile.mkdtemp(prefix=_STAGE, dir=folder)))
        try:
            old = _standing_set(folder, roots)
            written = _render(document, stage, renderers, standing=old)
        except BaseException:
            stage.drop()
            raise
        stage.promote(old)
        stage.drop()
    return OutputSet(written, folder / VERDICTS)


def _render(document: Row, stage: "_Stage", renderers: Sequence[Renderer], *, standing: Sequence[str]) -> Row:
    """Fill the staging folder and return the document as it is written there, last of all."""
    stage.new.mkdir()
    outputs: dict[str, str] = {}
    failures: list[dict[str, str]] = []
    whole = {**document, "run": {**document["run"], "not_written": failures, "outputs": outputs}}
    json.dumps(whole, allow_nan=False)  # a NaN is found before any renderer meets it
    for renderer in renderers:
        try:
            names = sorted(renderer.render(whole, stage.new))
            if misplaced := [name for name in names if not _is_within(name, renderer.owns)]:
                raise ValueError(f"{misplaced[0]!r} is not in {', '.join(renderer.owns)}")
            if foreign := [name for name in names if name not in standing and _is_taken(stage.folder, name)]:
                raise FileExistsError(f"{foreign[0]} stands there and is in no set of ours; move it away")
            outputs |= {name: hashlib.sha256((stage.new / name).read_bytes()).hexdigest() for name in names}
        except Exception as exc:  # whatever it was, the verdicts are not lost over it
            reason = visible(f"{type(exc).__name__}: {exc}", limit=500)
            failures.append({"output": renderer.name, "reason": reason})
    (stage.new / VERDICTS).write_text(_as_json(whole), encoding="utf-8", newline="\n")
    return whole


def _as_json(document: Row) -> str:
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _standing_set(folder: Path, roots: Iterable[str]) -> list[str]:
    """Return the files of the set that is in place, its `verdicts.json` first."""
    if not (folder / VERDICTS).is_file():
        return []
    names = [name for name in _listed(folder / VERDICTS) if _is_within(name, roots) and (folder / name).is_file()]
    return [VERDICTS, *sorted(names)]


def _listed(verdicts: Path) -> list[str]:
    """Return the outputs a document lists; none where it is not one of ours or lists none."""
    try:
        outputs = json.loads(verdicts.read_bytes())["run"]["outputs"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    return list(outputs) if isinstance(outputs, dict) else []


def _is_within(name: str, roots: Iterable[str]) -> bool:
    """Return whether a name is a plain path to or below one of the roots: a list is only as good as who wrote it."""
    path = PurePosixPath(name)
    plain = name == path.as_posix() and not path.is_absolute() and ".." not in path.parts and not set("\\:\0") & {*name}
    return plain and path.parts[:1] in {(root,) for root in roots}


def _is_taken(folder: Path, name: str) -> bool:
    """Return whether a file, or something that is no plain folder on the way to it, stands where an output would."""
    *parents, target = (folder / part for part in [*_parents(name), name])
    in_the_way = any(os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir()) for parent in parents)
    return in_the_way or os.path.lexists(target)


def _parents(name: str) -> list[str]:
    """Return the folders on the way to a name, outermost first."""
    return [str(parent) for parent in reversed(PurePosixPath(name).parents)][1:]


@dataclass(frozen=True)
class _Stage:
    """The staging folder in the report folder: `new` is on its way in, `old` was taken out."""

    folder: Path
    path: Path

    @property
    def new(self) -> Path:
        return self.path / "new"

    @property
    def old(self) -> Path:
        return self.path / "old"

    def promote(self, old: Sequence[str]) -> None:
        """Take the old set out, `verdicts.json` first; put the new one in, `verdicts.json` last."""
        try:
            for name in old:
                _move(self.folder / name, self.old / name)
            for name in [*_listed(self.new / VERDICTS), VERDICTS]:
                _move(self.new / name, self.folder / name)
        except BaseException:
            self.undo()
            self.drop()
            raise
        self._remove_empty(old)

    def undo(self) -> None:
        """Put the old set back, unless the new one is in place. It can be begun again wherever it stopped."""
        if not (self.new / VERDICTS).exists():
            return  # committed, or never whole: either way nothing is out of its place
        listed = _listed(self.new / VERDICTS)
        for name in listed:
            if not (self.new / name).exists() and (self.folder / name).exists():
                _move(self.folder / name, self.new / name)
        taken = [path.relative_to(self.old).as_posix() for path in self.old.rglob("*") if path.is_file()]
        for name in sorted(taken, key=lambda name: (name == VERDICTS, name)):
            _move(self.old / name, self.folder / name)
        self._remove_empty(listed)

    def drop(self) -> None:
        """Remove the staging folder."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _remove_empty(self, names: Iterable[str]) -> None:
        for parent in sorted({parent for name in names for parent in _parents(name)}, key=len, reverse=True):
            with suppress(OSError):  # somebody's files are in it, or it is gone
                (self.folder / parent).rmdir()


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)


def _put_right(folder: Path) -> None:
    """Undo what a run that was killed had begun."""
    for path in sorted(folder.glob(f"{_STAGE}*")):
        stage = _Stage(folder, path)
        stage.undo()
        stage.drop()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder against other runs; the system lets go of it when a process dies. Where there are no locks, none.

    Raises
    ------
    TimeoutError
        Another run holds it for longer than rendering takes.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows has no lock on folders
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    break  # a file system without locks
                if time.monotonic() > until:
                    raise TimeoutError(f"{folder}: another run has been writing there for {_PATIENCE:g} s") from exc
                time.sleep(_WAITING)
            else:
                break
        yield
    finally:
        os.close(handle)
