"""Texts no detector has seen: every code point, surrogates included, and pieces that nearly match."""

from hypothesis import strategies as st

PIECES = (
    "final answer",
    "FINAL ANSWER: ",
    "finalanswer",
    "24",
    "12",
    "12.0",
    "1,200",
    "1/0",
    "9" * 400,
    "x = ",
    "add twelve",
    "\n",
    "\x00",
    "\r\n",
    "\u202e",
    "\u2066",
    "\ud800",
    "\udfff",
    "{",
    "}",
    '{"overall": 4}',
    "−",
    "İ",
    "ſ",
    "²",
    "٢",
)

any_text = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=8), max_size=12).map("".join)
