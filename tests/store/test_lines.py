"""Line files: append-only, durable line by line, torn ends recognised."""

from pathlib import Path

import pytest

from pytest_tutoreval.store import LineWriter, TornLineWarning
from pytest_tutoreval.store.lines import LineFileError, read_lines

HERE = Path("r0.jsonl")


def test_each_line_is_on_disk_before_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r0.jsonl"
    synced: list[bytes] = []
    with LineWriter(path, sync=lambda _: synced.append(path.read_bytes())) as writer:
        writer.append({"seq": 1})
        assert synced == [b'{"seq":1}\n']
        writer.append({"seq": 2})
    assert synced == [b'{"seq":1}\n', b'{"seq":1}\n{"seq":2}\n']


def test_the_disk_is_waited_for_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LineWriter(tmp_path / "r0.jsonl") as writer:
        writer.append({"seq": 1})
    assert (tmp_path / "r0.jsonl").read_bytes() == b'{"seq":1}\n'


def test_a_writer_appends_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r0.jsonl"
    path.write_bytes(b'{"seq":1}\n')
    with LineWriter(path, sync=lambda _: None) as writer:
        writer.append({"seq": 2})
    assert path.read_bytes() == b'{"seq":1}\n{"seq":2}\n'


def test_a_nan_is_refused_and_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "r0.jsonl"
    with LineWriter(path, sync=lambda _: None) as writer, pytest.raises(ValueError, match="not JSON compliant"):
        writer.append({"seconds": float("nan")})
    assert path.read_bytes() == b""


def test_text_is_kept_as_it_was_said(tmp_path: Path) -> None:
    path = tmp_path / "r0.jsonl"
    said = {"text": "π ≈ 3.14\r\n\u2028 and a tab\t"}
    with LineWriter(path, sync=lambda _: None) as writer:
        writer.append(said)
    assert read_lines(path.read_bytes(), path) == ([said], False)


def test_a_torn_last_line_is_dropped_with_a_warning() -> None:
    with pytest.warns(TornLineWarning, match=r"r0\.jsonl: the last line has no line end \(6 bytes\)"):
        lines, torn = read_lines(b'{"seq":1}\n{"seq"', HERE)
    assert (lines, torn) == ([{"seq": 1}], True)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b'{"seq":1}\r\n', "line 1 ends in CRLF, expected LF.*restore its bytes", id="crlf"),
        pytest.param(b'{"seq":1}\n{"t":"\xff"}\n', "line 2 is not UTF-8 .byte 6: 0xff.; restore", id="not-utf-8"),
        pytest.param(b"{seq}\n", "line 1 is not JSON", id="not-json"),
        pytest.param(b"[1]\n", "line 1 is JSON but not an object", id="not-an-object"),
        pytest.param(b"\n", "line 1 is not JSON", id="empty-line"),
        pytest.param(b"[" * 100_000 + b"\n", "line 1 is not JSON", id="too-deep"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(data: bytes, message: str) -> None:
    with pytest.raises(LineFileError, match=message):
        read_lines(data, HERE)
