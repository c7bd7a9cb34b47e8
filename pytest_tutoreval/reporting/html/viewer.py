"""The transcript viewer: evidence as data, with the markup, style and script that show it, and the pages it fills."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup

from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.reporting.evidence import SessionEvidence, SessionListing

__all__ = ["DATA_ID", "DISAGREEMENT", "TranscriptPage", "Viewer", "build_viewer", "plan_pages", "turns_href"]

FORMAT = "tutoreval-evidence/1"

# The id of the <script type="application/json"> that holds the data.
DATA_ID = "tutoreval-evidence"

# Two judges disagree about a turn where their scores under one rubric differ by at least this much.
DISAGREEMENT = 1

# What stays on the report's own page: 90 sessions of the study do, and a browser still opens it at once.
INLINE_SESSIONS = 150
INLINE_BYTES = 12_000_000
PAGE_SESSIONS = 100

# Everything that could end a script element, be read as a comment there, break a line, hide or reorder text in an
# editor, or has no UTF-8 form. Only strings hold such characters, and there an escape means the same.
_UNSAFE = re.compile(
    "[<>&\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]"
)

_HERE = Path(__file__).parent

_MARKUP = Markup("""\
<div class="viewer" id="viewer">
<noscript><p class="viewer-notice">The transcripts need JavaScript: without it the dialogues, the highlighted leaks and
attempts, the judges' ratings and the filters are missing here. Nothing is fetched: the data are in this file.</p>
</noscript>
<div class="viewer-tools"></div>
<p class="viewer-status" role="status"></p>
<div class="viewer-matches"></div>
<div class="viewer-session"></div>
</div>
""")


@dataclass(frozen=True)
class Viewer:
    """What a page embeds: `markup` in its body, `css` and `script` inline, `data` inside a JSON script element.

    `data` is safe there as it stands: it holds no `<`, `>`, `&`, line separator, bidi control or lone surrogate.
    """

    markup: Markup
    css: str
    script: str
    data: str


def build_viewer(sessions: Sequence[SessionEvidence]) -> Viewer:
    """Return the viewer of these sessions, in this order."""
    return Viewer(_MARKUP, _asset("viewer.css"), _asset("viewer.js"), _data(sessions))


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _data(sessions: Sequence[SessionEvidence]) -> str:
    document = {"format": FORMAT, "disagreement": DISAGREEMENT, "sessions": sessions}
    text = json.dumps(document, default=_compact, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _compact(record: Any) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults."""
    if not is_dataclass(record) or isinstance(record, type):
        raise TypeError(f"{type(record).__name__} is no evidence and has no JSON form")
    return {name: value for name, default in _defaults(type(record)) if (value := getattr(record, name)) != default}


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, {} if field.default_factory is not MISSING else field.default) for field in fields(kind))


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """A page of transcripts beside the report: some sessions of one cell. `name` is its file name."""

    name: str
    base: str
    condition: str
    replicates: tuple[int, ...]

    @property
    def keys(self) -> tuple[SessionKey, ...]:
        """The sessions it shows."""
        return tuple(SessionKey(self.base, self.condition, replicate) for replicate in self.replicates)

    @property
    def title(self) -> str:
        """What it shows, for people."""
        first, last = self.replicates[0], self.replicates[-1]
        which = f"replicate {first}" if first == last else f"replicates {first} to {last}"
        return f"{self.base} {self.condition}, {which}"

    def covers(self, base: str | None = None, condition: str | None = None, replicate: int | None = None) -> bool:
        """Return whether it shows such a session; None stands for any."""
        return (
            base in (None, self.base)
            and condition in (None, self.condition)
            and (replicate is None or replicate in self.replicates)
        )


def plan_pages(
    index: Iterable[SessionListing],
    *,
    inline_sessions: int = INLINE_SESSIONS,
    inline_bytes: int = INLINE_BYTES,
    page_sessions: int = PAGE_SESSIONS,
) -> list[TranscriptPage]:
    """Return the pages that hold the transcripts, or none where everything fits into the report's own page.

    Sizes are bytes on disk, which is more than the evidence made of them. A page holds sessions of one cell, and holds
    at most `page_sessions` of them and `inline_bytes`, but for a session that alone is larger.
    """
    listed = list(index)
    if len(listed) <= inline_sessions and sum(listing.size for listing in listed) <= inline_bytes:
        return []
    pages: list[TranscriptPage] = []
    for (base, condition), cell in groupby(listed, key=lambda listing: listing.key[:2]):
        for replicates in _portions(cell, page_sessions, inline_bytes):
            # Numbered: names that differ only in case, or in where a dash stands, are still two files.
            name = f"transcripts/{len(pages) + 1:04d}-{base}-{condition}.html"
            pages.append(TranscriptPage(name, base, condition, replicates))
    return pages


def _portions(cell: Iterable[SessionListing], most: int, most_bytes: int) -> Iterable[tuple[int, ...]]:
    portion: list[int] = []
    size = 0
    for listing in cell:
        if portion and (len(portion) == most or size + listing.size > most_bytes):
            yield tuple(portion)
            portion, size = [], 0
        portion.append(listing.key.replicate)
        size += listing.size
    yield tuple(portion)


def turns_href(
    pages: Sequence[TranscriptPage],
    *,
    base: str | None = None,
    condition: str | None = None,
    replicate: int | None = None,
    **keys: object,
) -> str:
    """Return the address of turns: of one, or of all that match.

    Parameters
    ----------
    pages : as planned; empty where the viewer stands on the page that links
    base, condition, replicate : which session; the first page that covers them is linked
    **keys : problem, turn, filter (leaky, disagreement, unusable, gaps) and judge; None leaves a key out

    Raises
    ------
    LookupError
        No page covers such a session.
    """
    given: Mapping[str, object] = {"base": base, "condition": condition, "replicate": replicate, **keys}
    query = urlencode({name: value for name, value in given.items() if value is not None}, quote_via=quote)
    address = f"#/turns?{query}" if query else "#/turns"
    if not pages:
        return address
    page = next((page for page in pages if page.covers(base, condition, replicate)), None)
    if page is None:
        raise LookupError(f"no page shows base={base} condition={condition} replicate={replicate}; plan the pages anew")
    return page.name + address
