"""Session files: written, read back, and everything that can be wrong with one."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import BrokenSession
from pytest_tutoreval.records import Session, SessionKey
from pytest_tutoreval.store import TornLineWarning, open_corpus, parse_session, session_path, write_session
from tests.store.corpora import DEMO, edit_lines

KEY = SessionKey("sonnet", "ped", 3)
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def session() -> Session:
    return open_corpus(DEMO).session(KEY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "r3.jsonl"
    path.write_bytes((DEMO / session_path(KEY)).read_bytes())
    return path


def test_a_session_is_written_as_it_is_read(session: Session, tmp_path: Path) -> None:
    written = write_session(tmp_path, session.header, session.calls, sync=lambda _: None)
    assert written == tmp_path / "sessions/sonnet/ped/r3.jsonl"
    assert written.read_bytes() == (DEMO / session_path(KEY)).read_bytes()
    assert parse_session(written.read_bytes(), written, KEY) == session


def replaced(number: int, **fields: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines[:number], lines[number] | fields, *lines[number + 1 :]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        pytest.param(
            lambda lines: [*lines[:6], *lines[5:]],
            "line 7: call 5 stands twice, call 6 was due; restore the file",
            id="a-duplicated-call",
        ),
        pytest.param(
            lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]],
            "line 6: call 6 is out of order, call 5 was due",
            id="out-of-order",
        ),
        pytest.param(lambda lines: [*lines[:5], *lines[6:]], "line 6: call 6 is out of order", id="a-call-missing"),
        pytest.param(replaced(4, surprise=1), "line 5: surprise: Extra inputs are not permitted", id="unknown-field"),
        pytest.param(replaced(0, surprise=1), "header: surprise: Extra inputs", id="unknown-field-in-the-header"),
        pytest.param(replaced(2, role="oracle"), "line 3: role: Input should be 'student'", id="unknown-role"),
        pytest.param(replaced(2, text=None), "line 3: text: Input should be a valid string", id="no-text"),
        pytest.param(
            replaced(0, replicate=4),
            "holds session sonnet/ped/r4, which belongs in sessions/sonnet/ped/r4.jsonl: one key, one file",
            id="another-sessions-key",
        ),
        pytest.param(
            lambda lines: lines[:-1],
            "the session is not finished: it has no closing line after .* calls; resume it",
            id="never-finished",
        ),
        pytest.param(
            lambda lines: [*lines[:-1], lines[-1] | {"n_calls": 3}],
            "the closing line says 3 calls, the file holds",
            id="closing-count",
        ),
        pytest.param(lambda lines: [], "holds no header line; delete the file", id="empty"),
    ],
)
def test_a_broken_session_says_where_and_what(path: Path, edit: Callable[[Lines], Lines], message: str) -> None:
    edit_lines(path, edit)
    with pytest.raises(BrokenSession, match=f"^{re.escape(str(path))}: {message}"):
        parse_session(path.read_bytes(), path, KEY)


def test_a_torn_last_line_is_dropped_with_a_warning_and_the_session_is_not_finished(path: Path) -> None:
    data = path.read_bytes()
    cut = data[: data.rindex(b'{"seq"') + 30]
    with (
        pytest.warns(TornLineWarning, match="dropped as torn"),
        pytest.raises(BrokenSession, match="not finished: its last line was torn and dropped after"),
    ):
        parse_session(cut, path, KEY)


def test_something_after_the_closing_line_is_not_ignored(path: Path) -> None:
    with pytest.warns(TornLineWarning), pytest.raises(BrokenSession, match="the closing line says"):
        parse_session(path.read_bytes() + b'{"seq"', path, KEY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda data: data.replace(b"\n", b"\r\n"), "line 1 ends in CRLF, expected LF", id="crlf"),
        pytest.param(lambda data: data.replace(b'"text":"', b'"text":"\xe9', 1), "line 2 is not UTF-8", id="latin-1"),
        pytest.param(lambda data: data.replace(b'"text":"', b'"text":', 1), "line 2 is not JSON", id="not-json"),
    ],
)
def test_broken_bytes_say_where_and_what(path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(BrokenSession, match=message):
        parse_session(change(path.read_bytes()), path, KEY)
