"""Text nobody vouches for: everything unseen is spelled out, and what is left cannot steer anything."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.reporting.plain import MOST_SHOWN, console, visible

ANYTHING = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="ansi"),
        pytest.param("\x9b31m\x85", r"\x9b31m\x85", id="c1"),
        pytest.param("a\r\nb\tc", r"a\r\nb\tc", id="newlines"),
        pytest.param("\u2028\u2029", r"\u2028\u2029", id="separators"),
        pytest.param("\u202egnp.exe\u2066\u061c", r"\u202egnp.exe\u2066\u061c", id="bidi"),
        pytest.param("\ud83d", r"\ud83d", id="lone-surrogate"),
        pytest.param("\x00", r"\x00", id="nul"),
        pytest.param("a\u200b\ufeffb\U000e0041", r"a\u200b\ufeffb\U000e0041", id="zero-width"),
        pytest.param("\uffff\U0010fffe", r"\uffff\U0010fffe", id="noncharacters"),
        pytest.param("👩‍👩‍👧 שלום π", "👩‍👩‍👧 שלום π", id="scripts-and-emoji-stay"),
        pytest.param(r"\frac{1}{2} \x1b", r"\frac{1}{2} \x1b", id="backslashes-stay"),
    ],
)
def test_what_is_unseen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_and_tabs_stay_where_lines_are_shown() -> None:
    assert visible("a\n\tb\r\x1b", lines=True) == "a\n\tb\\r\\x1b"


def test_two_million_characters_are_cut_and_counted() -> None:
    shown = visible("x" * 2_000_000)
    assert shown == "x" * MOST_SHOWN + f" ... ({2_000_000 - MOST_SHOWN} characters more)"
    assert visible("x" * MOST_SHOWN) == "x" * MOST_SHOWN
    assert len(visible("x" * 2_000_000, limit=None)) == 2_000_000


@given(ANYTHING)
def test_what_is_shown_is_one_line_of_seen_characters(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not {unicodedata.bidirectional(char) for char in shown} & {"LRE", "RLE", "LRO", "RLO", "LRI", "RLI", "PDI"}


@given(ANYTHING)
def test_showing_twice_changes_nothing(text: str) -> None:
    assert visible(visible(text, limit=None), limit=None) == visible(text, limit=None)


@given(ANYTHING)
def test_only_unseen_characters_are_changed(text: str) -> None:
    kept = iter(visible(text, limit=None))
    seen = [char for char in text if char.isprintable()]
    assert all(char in kept for char in seen), "in order, each is still there"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8", None])
@given(text=ANYTHING)
def test_every_console_can_show_it(encoding: str | None, text: str) -> None:
    console(visible(text), encoding).encode(encoding or "ascii")


def test_a_console_shows_what_it_can_and_spells_the_rest() -> None:
    assert console("é → π", "cp1252") == r"é \u2192 \u03c0"
    assert console("é", None) == r"\xe9"


def test_a_console_line_opens_no_command_of_the_old_kind() -> None:
    assert not re.search(r"##\[", console("a ##[add-mask]x ##[error]", "utf-8"))
