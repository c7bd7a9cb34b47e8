"""What writing the report costs: each file of the corpus is read once, and the garbage collector is left as it was."""

import gc
from collections import Counter
from pathlib import Path

import pytest

from pytest_tutoreval.reporting.html import write_html
from tests.reporting.documents import a_document
from tests.store.corpora import DEMO, measures_of


def test_each_file_of_the_corpus_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = measures_of(DEMO)
    read: Counter[Path] = Counter()
    read_bytes = Path.read_bytes

    def counting(path: Path) -> bytes:
        data = read_bytes(path)
        read[path] += path.is_relative_to(DEMO)
        return data

    monkeypatch.setattr(Path, "read_bytes", counting)
    write_html(a_document(), measures, tmp_path)
    there = {path for part in ("sessions", "ratings") for path in (DEMO / part).rglob("*.jsonl")}
    assert {path: times for path, times in read.items() if times} == dict.fromkeys(there, 1)


@pytest.mark.parametrize("on", [True, False])
def test_garbage_collection_is_as_it_was_before_even_where_nothing_can_be_written(on: bool, tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_bytes(b"")
    was_on = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with pytest.raises(OSError, match="file"):
            write_html(a_document(), measures_of(DEMO), no_folder)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was_on else gc.disable)()
