r"""Text nobody vouches for, made safe to show: it is read, and it steers nothing.

Names, reasons, notes and transcripts may hold what a model wrote. Escape sequences would drive the terminal, bidi marks
would reorder a line, a newline would forge one, a lone surrogate cannot be written at all.
"""

import re

__all__ = ["MOST_SHOWN", "console", "visible"]

# Characters of one text a report shows before it says how many more there are.
MOST_SHOWN = 2_000

# C0 and C1 controls, line and paragraph separators, surrogates, noncharacters, and every format character that shows
# nothing (bidi marks, zero-width space, tags, byte order mark). ZWJ and ZWNJ stay: emoji and whole scripts need them.
_UNSEEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
) + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
_ESCAPED = re.compile(f"[{_UNSEEN}\t\n]")
_ESCAPED_BUT_LINES = re.compile(f"[{_UNSEEN}]")


def visible(text: str, *, lines: bool = False, limit: int | None = MOST_SHOWN) -> str:
    r"""Return the text with everything unseen spelled out: `\x1b`, `\n`, `\u202e`, `\ud800`.

    What is left can be encoded, keeps its order on screen and stays on its line. A backslash that was there stays as it
    is: formulas are full of them.

    Parameters
    ----------
    lines : whether newlines and tabs stay
    limit : most characters of the text that are kept; what is cut is counted. None keeps everything
    """
    cut = "" if limit is None or len(text) <= limit else f" ... ({len(text) - limit} characters more)"
    pattern = _ESCAPED_BUT_LINES if lines else _ESCAPED
    return pattern.sub(_spell, text[:limit]) + cut


def _spell(found: re.Match[str]) -> str:
    return found[0].encode("unicode-escape", "surrogatepass").decode("ascii")


def console(text: str, encoding: str | None) -> str:
    r"""Return a line as a console of this encoding can show it, what it cannot as `\u...`; None is a console of ASCII.

    GitHub's runner takes `##[` anywhere in a line for a command of its own, so that is broken up.
    """
    known = encoding or "ascii"
    return text.encode(known, "backslashreplace").decode(known).replace("##[", r"#\x23[")
