"""A page's commands as a reader would type them: one shell a page, in a folder of its own."""

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.docs.pages import ROOT, Command

__all__ = ["Ran", "Shell", "lay_out_like_the_wheel"]

# The example tutor's port, as the pages say it. Tests take a free one in its place, and nothing else is changed.
SHOWN_PORT = 8765

_DONE = "tutoreval-docs-done"
_PATIENCE = 300.0
_STARTING = 60.0


@dataclass(frozen=True)
class Ran:
    """What a command came to: its exit code, and what it said on both streams."""

    code: int
    said: str


class Shell:
    """A bash that keeps its folder, variables and background jobs from command to command, as a terminal does.

    The environment is bare: the project's scripts, a home of its own, and none of the caller's keys.
    """

    def __init__(self, folder: Path, *, package: Path, variables: dict[str, str] | None = None) -> None:
        self.folder = folder
        self._output = folder.parent / f"{folder.name}.said"
        home = folder.parent / f"{folder.name}.home"
        home.mkdir(exist_ok=True)
        scripts = str(Path(sys.executable).parent)
        self._environ = {
            "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
            "PYTHONPATH": str(package),
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
            **(variables or {}),
        }
        self._port: int | None = None

    def __enter__(self) -> "Shell":
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=self.folder,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()

    def run(self, command: Command) -> Ran:
        """Run a command to its end; one that goes on in the background, until it has said something."""
        line = command.line
        if "example_tutor.py" in line:
            line = re.sub(r"(example_tutor\.py)", rf"\1 --port {self._tutor_port()}", line)
        if line.startswith("kill "):
            line += "; wait"  # a reader's next command comes later than ours
        ran = self._run(line)
        if command.background:
            ran = self._first_words()
        self._point_at_the_tutor()
        return ran if self._port is None else Ran(ran.code, ran.said.replace(str(self._port), str(SHOWN_PORT)))

    def _run(self, line: str) -> Ran:
        assert self._bash.stdin is not None
        self._output.write_bytes(b"")
        script = f"{{ {line}\n}} >'{self._output}' 2>&1 </dev/null; echo {_DONE} $?\n"
        self._bash.stdin.write(script.encode())
        self._bash.stdin.flush()
        return Ran(self._wait_for_code(line), self._said)

    @property
    def _said(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def _wait_for_code(self, line: str) -> int:
        assert self._bash.stdout is not None
        fd, heard, end = self._bash.stdout.fileno(), b"", time.monotonic() + _PATIENCE
        while not (found := re.search(rb"%s (\d+)\n" % _DONE.encode(), heard)):
            readable, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
            more = os.read(fd, 4096) if readable else b""
            assert more, f"{line}: no end after {_PATIENCE:g} s, or the shell died; it said\n{self._said}"
            heard += more
        return int(found[1])

    def _first_words(self) -> Ran:
        end = time.monotonic() + _STARTING
        while not self._said.endswith("\n"):
            assert time.monotonic() < end, f"nothing said in {_STARTING:g} s"
            time.sleep(0.05)
        assert "Traceback" not in self._said, self._said
        return Ran(0, self._said)

    def _tutor_port(self) -> int:
        """Return the port the folder's study file names, or else a free one."""
        if self._port is None:
            study = self.folder / "tutoreval.toml"
            named = re.search(r"127\.0\.0\.1:(\d+)", study.read_text(encoding="utf-8")) if study.exists() else None
            self._port = int(named[1]) if named and int(named[1]) != SHOWN_PORT else _free_port()
            self._point_at_the_tutor()
        return self._port

    def _point_at_the_tutor(self) -> None:
        """Put the port in the place of the one that is shown, before a study is locked."""
        study = self.folder / "tutoreval.toml"
        if not study.exists():
            return
        text = study.read_bytes()
        if (shown := b"127.0.0.1:%d" % SHOWN_PORT) in text:
            self._port = self._port or _free_port()
            study.write_bytes(text.replace(shown, b"127.0.0.1:%d" % self._port))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def lay_out_like_the_wheel(folder: Path) -> Path:
    """Make a folder to import the package from with its data inside, as in the wheel; return it."""
    package = folder / "pytest_tutoreval"
    (package / "reports").mkdir(parents=True)
    for path in (ROOT / "pytest_tutoreval").iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    for name in ("suites", "instrument", "fixtures", "examples", "reports/reference"):
        (package / name).symlink_to(ROOT / name)
    return folder


def copy_of(source: Path, target: Path) -> Path:
    """Return a copy of a folder that commands may change."""
    shutil.copytree(source, target, symlinks=True)
    return target
