"""Runs the commands of a page, block by block, and holds what they say against what the page shows."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.docs.pages import ROOT, Command, Fence, commands, fences
from tests.docs.shell import Shell

__all__ = ["CHECKED_ELSEWHERE", "run_page"]

# What is not run here, and where it is: installing (tests/test_wheel.py, from the built wheel), and make, which runs
# these very tests. Their words are checked: extras and targets have to exist.
CHECKED_ELSEWHERE = re.compile(r"python -m pip install |make ")


def run_page(page: Path, base: Path, *, package: Path, starts: Callable[[Fence, Path], None]) -> Path:
    """Run every command of a page and return the folder it ends in.

    `starts` fills a folder that a block asks for by its `folder` and `released` remarks.
    """
    shell: Shell | None = None
    folder = base
    try:
        for number, fence in enumerate(fences(page)):
            if shell is None or "folder" in fence.remarks:
                folder = base / f"{number}"
                starts(fence, folder)
                if shell is not None:
                    shell.__exit__(None, None, None)
                shell = Shell(folder, package=package).__enter__()
            write_file(fence, folder)
            if fence.language == "console":
                run_block(fence, shell)
    finally:
        if shell is not None:
            shell.__exit__(None, None, None)
    return folder


def write_file(fence: Fence, folder: Path) -> None:
    """Write a block to the file it is remarked to be."""
    for remark, mode in (("file", "w"), ("append", "a")):
        if remark in fence.remarks:
            path = folder / fence.remarks[remark]
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="utf-8", newline="\n") as file:
                file.write(fence.text)


def run_block(fence: Fence, shell: Shell) -> None:
    """Run a console block: the last command exits as is remarked, the others with 0, and all say what is shown."""
    block = commands(fence)
    for command in block:
        if CHECKED_ELSEWHERE.match(command.line):
            check_words(fence, command)
            continue
        ran = shell.run(command)
        expected = int(fence.remarks.get("exit", 0)) if command is block[-1] else 0
        assert ran.code == expected, f"{fence}: $ {command.line}\nexit code {ran.code}, not {expected}\n{ran.said}"
        if command.output:
            shown = "\n".join(command.output)
            assert command.shows(ran.said), f"{fence}: $ {command.line}\nshown:\n{shown}\n\nsaid:\n{ran.said}"


def check_words(fence: Fence, command: Command) -> None:
    """Check a command that is run elsewhere: it may show no output, and what it names has to exist."""
    assert not command.output, f"{fence}: output of a command that is not run here: {command.line}"
    if command.line.startswith("make "):
        targets = re.findall(r"^(?P<target>[\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(command.line.split()[1:]) <= set(targets), f"{fence}: no such target: {command.line}"
    else:
        project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        named = [name for extras in re.findall(r"\[([\w,]+)\]", command.line) for name in extras.split(",")]
        unknown = [name for name in named if not re.search(rf"^{name} = \[", project, re.MULTILINE)]
        assert not unknown, f"{fence}: no such extra: {unknown}"


def start_from_checkout(folder: Path) -> None:
    """Fill a folder with what a checkout shows a user: the suites and the examples."""
    for name in ("suites", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def show_released(released: str, folder: Path, tables: Path) -> None:
    """Show the released tables in a folder under the name a page has for them."""
    place = folder / released
    place.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(tables, place, target_is_directory=True)
