"""The pages as they are written: their fenced blocks, what is remarked about each, and the commands in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DOCS", "PAGES", "README", "ROOT", "Command", "Fence", "commands", "fences", "plain_text"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, *sorted(DOCS.rglob("*.md")))

ELISION = "…"

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w-]*)\s*$")
_REMARK = re.compile(r"^ *<!-- (?P<name>[a-z]+): (?P<value>.+?) -->$")


@dataclass(frozen=True)
class Fence:
    """A fenced block. `remarks` are the comments right before it, as `<!-- exit: 1 -->`.

    Known remarks: `exit` the exit code of the block's last command; `file` and `append` where the block is written to;
    `folder` where the page's commands run from here on (`empty`, `tutorial`, `checkout`); `released` the name under
    which the folder shows the study's released tables; `same` the file of this repository that the block repeats.
    """

    page: Path
    line: int
    language: str
    text: str
    remarks: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines the page shows of its output; none where it shows nothing."""

    line: str
    output: tuple[str, ...]

    @property
    def background(self) -> bool:
        """Whether it runs on behind what follows."""
        return self.line.endswith(" &")

    def shows(self, said: str) -> bool:
        """Return whether the page's output is what was said. An ellipsis stands for anything, alone for any lines."""
        pattern = "".join(
            r"(?:.*\n)*?" if line.strip() == ELISION else _line_pattern(line) for line in _stripped(self.output)
        )
        lines = _stripped(said.splitlines())
        return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.rstrip().split(ELISION))) + "\n"


def _stripped(lines: list[str] | tuple[str, ...]) -> list[str]:
    """Return lines without trailing blanks, and without empty lines at the end."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def fences(page: Path) -> list[Fence]:
    """Return the fenced blocks of a page, in order."""
    return list(_read(page))


def _read(page: Path) -> Iterator[Fence]:
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    remarks: dict[str, str] = {}
    for number, line in lines:
        if remark := _REMARK.match(line):
            remarks[remark["name"]] = remark["value"]
        elif opening := _FENCE.match(line):
            indent, closing = len(opening["indent"]), opening["ticks"]
            body = []
            for _, inner in lines:
                if inner.strip() == closing:
                    break
                body.append(inner[indent:])
            else:
                raise AssertionError(f"{page}:{number}: a fence that is never closed")
            yield Fence(page, number, opening["language"], "".join(f"{text}\n" for text in body), remarks)
            remarks = {}
        elif line.strip():
            remarks = {}


def commands(fence: Fence) -> list[Command]:
    """Return the commands of a console block: a line after `$ `, continued where it ends in a backslash."""
    found: list[Command] = []
    said: list[str] = []
    lines = iter(fence.text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1].rstrip() + " " + next(lines).strip()
            said = []
            found.append(Command(command.partition("   #")[0].rstrip(), ()))
        else:
            assert found, f"{fence}: output before the first command: {line!r}"
            said.append(line)
            found[-1] = Command(found[-1].line, tuple(said))
    assert found, f"{fence}: a console block without a command"
    return found


def plain_text(page: Path) -> str:
    """Return a page without its fenced blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ *(`{3,})[^\n]*\n.*?^ *\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
