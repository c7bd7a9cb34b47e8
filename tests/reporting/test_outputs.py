"""The output set: in place as one, whatever fails or is killed on the way, and nobody else's file is touched."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.reporting.outputs import RENDERERS, VERDICTS, Renderer, write_outputs
from tests.reporting.documents import a_document

PAGES = ("transcripts/a.html", "transcripts/deep/b.html")
FOREIGN = {"reference/table1.csv": "theirs", "notes.txt": "mine", "transcripts/mine.txt": "mine too"}


def pages(number: int, names: Sequence[str] = ("report.html", *PAGES)) -> Renderer:
    """A renderer of files that say which run they are of."""

    def render(document: Mapping[str, Any], folder: Path) -> Iterable[str]:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{name} of run {number}", encoding="utf-8")
        return names

    return Renderer("report.html", ("report.html", "transcripts"), render)


def failing(exc: BaseException) -> Renderer:
    def render(document: Mapping[str, Any], folder: Path) -> Iterable[str]:
        (folder / "report.html").write_text("half", encoding="utf-8")
        raise exc

    return Renderer("report.html", ("report.html", "transcripts"), render)


def write(folder: Path, number: int, *, renderers: Sequence[Renderer] | None = None) -> Mapping[str, Any]:
    document = a_document(run={"id": f"{number}" * 32, "started": float(number)})
    return write_outputs(document, folder, [pages(number), *RENDERERS] if renderers is None else renderers).document


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def settled(folder: Path) -> None:
    """Hold a folder to what a reader relies on: the set is the one verdicts.json lists, and nothing is left over."""
    listed = json.loads((folder / VERDICTS).read_bytes())["run"]["outputs"]
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    assert not list(folder.glob(".tutoreval-*"))
    assert not [path for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())]


def test_a_set_is_verdicts_and_what_was_rendered_with_their_digests(tmp_path: Path) -> None:
    written = write_outputs(a_document(), tmp_path / "new" / "reports", [pages(1), *RENDERERS])
    assert written.path == tmp_path / "new" / "reports" / VERDICTS
    assert written.whole
    assert set(tree(written.path.parent)) == {VERDICTS, "summary.md", "report.html", *PAGES}
    assert json.loads(written.path.read_bytes()) == written.document
    assert written.path.read_bytes().isascii()
    assert written.path.read_bytes().endswith(b"}\n")
    settled(written.path.parent)


def test_the_standard_set_has_a_summary(tmp_path: Path) -> None:
    write_outputs(a_document(), tmp_path)
    assert {VERDICTS, "summary.md"} <= set(tree(tmp_path))


def test_stale_files_of_the_last_set_do_not_survive(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2, renderers=[pages(2, ["report.html", PAGES[0]])])
    assert set(tree(tmp_path)) == {VERDICTS, "report.html", PAGES[0]}
    settled(tmp_path)


def test_a_renderer_that_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path, 1, renderers=RENDERERS)
    write(tmp_path, 2, renderers=[])
    assert set(tree(tmp_path)) == {VERDICTS}


def plant(folder: Path) -> None:
    for name, text in FOREIGN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_what_is_not_ours_is_never_touched(tmp_path: Path) -> None:
    plant(tmp_path)
    for number in (1, 2):
        write(tmp_path, number)
    write(tmp_path, 3, renderers=[pages(3, [])])
    assert tree(tmp_path) == {**FOREIGN, VERDICTS: tree(tmp_path)[VERDICTS]}


@pytest.mark.parametrize(
    "name",
    [
        "reference/table1.csv",
        "notes.txt",
        "../outside.txt",
        "/etc/hostname",
        "transcripts/../notes.txt",
        "",
        ".",
        "a\\b",
    ],
)
def test_a_list_that_names_somebody_elses_files_takes_none_away(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "reports"
    write(folder, 1)
    plant(folder)
    (tmp_path / "outside.txt").write_text("outside", encoding="utf-8")
    document = json.loads((folder / VERDICTS).read_bytes())
    document["run"]["outputs"] = {name: "0" * 64}
    (folder / VERDICTS).write_text(json.dumps(document), encoding="utf-8")
    for ours in ("summary.md", "report.html", *PAGES):
        (folder / ours).unlink()
    write(folder, 2)
    assert {name: text for name, text in tree(folder).items() if name in FOREIGN} == FOREIGN
    assert (tmp_path / "outside.txt").read_text(encoding="utf-8") == "outside"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run": 1}', '{"run": {"outputs": ["summary.md"]}}', "\x00"])
def test_an_old_document_that_lists_nothing_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / VERDICTS).write_text(content, encoding="utf-8")
    write(tmp_path, 2)
    settled(tmp_path)


@pytest.mark.parametrize("name", ["report.html", "transcripts", PAGES[1]])
def test_a_file_that_is_in_the_way_and_not_ours_stays_and_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    written = write_outputs(a_document(), tmp_path, [pages(1), *RENDERERS])
    assert not written.whole
    ((failure),) = written.document["run"]["not_written"]
    assert failure["output"] == "report.html"
    assert "stands there and is in no set of ours; move it away" in failure["reason"]
    assert tree(tmp_path)[name] == "mine"
    assert set(tree(tmp_path)) == {VERDICTS, "summary.md", name}
    settled(tmp_path)


def test_a_folder_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "reports", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "transcripts").symlink_to(elsewhere)
    assert not write_outputs(a_document(), folder, [pages(1)]).whole
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("exc", [ValueError("no\nsuch \x1b[31mthing"), RuntimeError("x" * 10_000), OSError(28, "full")])
def test_a_renderer_that_fails_is_named_and_the_rest_is_written(tmp_path: Path, exc: Exception) -> None:
    write(tmp_path, 1)
    written = write_outputs(a_document(), tmp_path, [failing(exc), *RENDERERS])
    assert not written.whole
    (failure,) = written.document["run"]["not_written"]
    assert failure["reason"].startswith(type(exc).__name__)
    assert len(failure["reason"].splitlines()) == 1
    assert len(failure["reason"]) < 600
    assert set(tree(tmp_path)) == {VERDICTS, "summary.md"}, "neither half a page nor the last run's"
    assert "NOT WRITTEN" in tree(tmp_path)["summary.md"]
    settled(tmp_path)


@pytest.mark.parametrize("name", ["../x", "elsewhere.txt", "/tmp/x", "transcripts/../../x"])
def test_a_renderer_that_writes_where_it_may_not_fails(tmp_path: Path, name: str) -> None:
    def render(document: Mapping[str, Any], folder: Path) -> Iterable[str]:
        return [name]

    written = write_outputs(a_document(), tmp_path, [Renderer("page", ("report.html", "transcripts"), render)])
    assert "is not in report.html, transcripts" in written.document["run"]["not_written"][0]["reason"]
    assert set(tree(tmp_path)) == {VERDICTS}


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_nan_is_refused_and_the_old_set_stays(tmp_path: Path, number: float) -> None:
    write(tmp_path, 1)
    before = tree(tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_outputs(a_document(claims=[{"estimate": number}]), tmp_path, [pages(2)])
    assert tree(tmp_path) == before


# failures on the way


class Disk:
    """os.replace that fails from its nth call on, `lasting` calls long."""

    def __init__(self, nth: int, *, lasting: int = 1, exc: Callable[[], BaseException] = lambda: OSError(28, "full")):
        self.nth, self.lasting, self.exc, self.calls = nth, lasting, exc, 0
        self._replace = os.replace

    def __call__(self, source: Any, target: Any) -> None:
        self.calls += 1
        if self.nth <= self.calls < self.nth + self.lasting:
            raise self.exc()
        self._replace(source, target)


def steps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many moves it takes to put the second set in the place of the first."""
    write(folder, 1)
    disk = Disk(0, lasting=0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", disk)
        write(folder, 2)
    return disk.calls


N_STEPS = 2 * len((VERDICTS, "summary.md", "report.html", *PAGES))


def test_a_promotion_has_as_many_steps_as_are_tried_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert steps(tmp_path, monkeypatch) == N_STEPS


@pytest.mark.parametrize("exc", [lambda: OSError(28, "full"), KeyboardInterrupt], ids=["full-disk", "ctrl-c"])
@pytest.mark.parametrize("nth", range(1, N_STEPS + 1))
def test_a_step_that_fails_puts_the_old_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int, exc: Callable[[], BaseException]
) -> None:
    plant(tmp_path)
    write(tmp_path, 1)
    before = tree(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", Disk(nth, exc=exc))
        with pytest.raises((OSError, KeyboardInterrupt)):
            write(tmp_path, 2)
    assert tree(tmp_path) == before
    settled(tmp_path)


@pytest.mark.parametrize("nth", range(1, N_STEPS // 2 + 1))
def test_a_step_that_fails_where_nothing_was_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", Disk(nth))
        with pytest.raises(OSError, match="full"):
            write(tmp_path, 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("nth", range(1, N_STEPS + 1))
def test_a_disk_that_stays_broken_leaves_no_half_set_and_the_next_run_puts_it_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    plant(tmp_path)
    write(tmp_path, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", Disk(nth, lasting=1_000))
        with pytest.raises(OSError, match="full"):
            write(tmp_path, 2)
    if (tmp_path / VERDICTS).exists():
        assert nth == 1, "from the first step on there is no verdicts.json to start at"
    write(tmp_path, 3)
    settled(tmp_path)
    assert json.loads((tmp_path / VERDICTS).read_bytes())["run"]["started"] == 3.0
    assert {name: text for name, text in tree(tmp_path).items() if name in FOREIGN} == FOREIGN


def test_a_reader_never_meets_half_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 1)
    replace, seen = os.replace, []

    def watched(source: Any, target: Any) -> None:
        replace(source, target)
        if (tmp_path / VERDICTS).exists():
            listed = json.loads((tmp_path / VERDICTS).read_bytes())["run"]
            settled_names = {name for name in listed["outputs"] if (tmp_path / name).is_file()}
            assert settled_names == set(listed["outputs"])
            assert all("of run 2" in tree(tmp_path)[name] for name in PAGES)
            seen.append(listed["started"])

    monkeypatch.setattr(os, "replace", watched)
    write(tmp_path, 2)
    assert seen == [2.0], "there is none between the old one and the new one"


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.reporting.test_outputs import write
replace, calls = os.replace, 0
def killing(source, target):
    global calls
    calls += 1
    if calls == int(sys.argv[2]) and sys.argv[3] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = killing
write(Path(sys.argv[1]), 2)
"""
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(
    ("nth", "moment"),
    [(1, "before"), (1, "after"), (3, "after"), (6, "after"), (N_STEPS, "before"), (N_STEPS, "after")],
)
def test_a_run_that_was_killed_leaves_no_half_set_and_is_cleaned_up_after(
    tmp_path: Path, nth: int, moment: str
) -> None:
    plant(tmp_path)
    write(tmp_path, 1)
    before = tree(tmp_path)
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(nth), moment]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    there = (tmp_path / VERDICTS).exists()
    committed = (nth, moment) == (N_STEPS, "after")
    assert there == (committed or (nth, moment) == (1, "before"))
    if not committed:
        with pytest.raises(ValueError, match="not JSON compliant"):  # a next run that comes to nothing itself
            write_outputs(a_document(claims=[{"estimate": float("nan")}]), tmp_path)
        assert tree(tmp_path) == before, "the old set is back"
    write(tmp_path, 3)
    settled(tmp_path)
    assert {name: text for name, text in tree(tmp_path).items() if name in FOREIGN} == FOREIGN


def test_two_runs_wait_for_each_other(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.reporting.test_outputs import write\n"
        "[write(Path(sys.argv[1]), number) for number in (int(sys.argv[2]),) * 20]"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(number)], cwd=ROOT) for number in (1, 2, 3)
    ]
    assert [run.wait(timeout=120) for run in runs] == [0, 0, 0]
    settled(tmp_path)


def test_a_run_that_waits_too_long_says_who_is_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tutoreval.reporting.outputs._PATIENCE", 0.2)
    holding = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import fcntl, os, sys, time; f = os.open(sys.argv[1], os.O_RDONLY); fcntl.flock(f, fcntl.LOCK_EX); "
            "print(flush=True); time.sleep(60)",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holding.stdout is not None
        holding.stdout.readline()
        started = time.monotonic()
        with pytest.raises(TimeoutError, match="another run has been writing there"):
            write(tmp_path, 1)
        assert time.monotonic() - started < 30
    finally:
        holding.kill()
        holding.communicate()
