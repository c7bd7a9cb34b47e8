"""The report as one page: what the document says, laid out by templates, sealed by its content security policy."""

import gc
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pytest_tutoreval.reporting.gate_words import gate_words
from pytest_tutoreval.reporting.html.analyses import read_analyses
from pytest_tutoreval.reporting.html.claims import ReadClaims
from pytest_tutoreval.reporting.html.csp import content_security_policy
from pytest_tutoreval.reporting.html.gate import flat_facts, read_gate
from pytest_tutoreval.reporting.html.shown import Outcome, outcome
from pytest_tutoreval.reporting.html.viewer import DATA_ID, TranscriptPage, Viewer, turns_href
from pytest_tutoreval.reporting.html.views import Anchors, TurnsLink
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.reporting.words import SIMULATED, cost_words, count_outcomes, run_words

if TYPE_CHECKING:
    from jinja2 import Environment

    from pytest_tutoreval.measures import CorpusMeasures
    from pytest_tutoreval.reporting.html.slopes import SlopeFigure

__all__ = ["REPORT", "render_page", "render_transcript_page", "write_html"]

REPORT = "report.html"

Row = Mapping[str, Any]

_HERE = Path(__file__).parent
_NO_CORPUS = "rendered from verdicts.json alone: the corpus was not at hand"


def write_html(
    document: Row, measures: "CorpusMeasures | None", folder: Path, *, figures: Mapping[str, str] | None = None
) -> list[str]:
    """Write the report and return the names of its files: `report.html`, and pages of transcripts where they are many.

    Parameters
    ----------
    measures : the corpus the document was decided from; None re-renders without transcripts and without figures
    figures : title and SVG text of figures drawn elsewhere
    """
    figures = figures or {}
    if measures is None:
        page = render_page(document, viewer=None, no_transcripts=_NO_CORPUS, figures=figures)
        return [_write(folder, REPORT, page)]
    from pytest_tutoreval.reporting.html.viewer import INLINE_BYTES

    # What fits on one page is read once, for the figures and for the transcripts.
    with _uncollected(), measures.corpus.remembering(INLINE_BYTES):
        return _write_with_corpus(document, measures, folder, figures)


def _write_with_corpus(
    document: Row, measures: "CorpusMeasures", folder: Path, figures: Mapping[str, str]
) -> list[str]:
    from pytest_tutoreval.reporting.evidence import evidence_index, session_evidence
    from pytest_tutoreval.reporting.html.slopes import corpus_slopes
    from pytest_tutoreval.reporting.html.viewer import build_viewer, plan_pages

    judges = measures.corpus.manifest.judges
    index = evidence_index(measures, judges)
    pages = plan_pages(index)
    slopes = corpus_slopes(measures)
    if not pages:
        viewer = build_viewer([session_evidence(measures, *listed.key, judges) for listed in index]) if index else None
        reason = None if index else "the corpus holds no sessions"
        page = render_page(document, viewer=viewer, no_transcripts=reason, figures=figures, slopes=slopes)
        return [_write(folder, REPORT, page)]
    written = []
    for listed in pages:
        viewer = build_viewer([session_evidence(measures, *key, judges) for key in listed.keys])
        back = "../" * listed.name.count("/") + REPORT
        page = render_transcript_page(listed.title, viewer, document, report=back)
        written.append(_write(folder, listed.name, page))
    page = render_page(document, viewer=None, pages=pages, figures=figures, slopes=slopes)
    return [_write(folder, REPORT, page), *written]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave the garbage collector out: evidence has no cycles, and every round would walk all of it again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def render_page(
    document: Row,
    *,
    viewer: Viewer | None,
    pages: Sequence[TranscriptPage] = (),
    no_transcripts: str | None = None,
    figures: Mapping[str, str] | None = None,
    slopes: "Sequence[SlopeFigure] | None" = None,
) -> str:
    """Return the report as HTML that needs nothing but itself.

    Parameters
    ----------
    document : as `build_document` makes it, or as an older version did; what it lacks is left out
    viewer : the transcripts of all sessions, None where they stand on `pages` or nowhere
    pages : the pages of transcripts beside the report
    no_transcripts : why there are neither
    figures : title and SVG text of figures drawn elsewhere; they are shown as images, in which nothing can run
    slopes : figures of the corpus; None says that there was no corpus to draw from
    """
    turns = _turns_link(viewer, pages)
    anchors = Anchors()
    claims = ReadClaims(document, anchors, turns)
    grids = claims.grids()
    return _render(
        "report.html.j2",
        document,
        viewer=viewer,
        unfinished=document.get("run", {}).get("unfinished", ()),
        summary=_summary(document),
        grids=grids,
        sections=claims.sections(),
        gate=read_gate(document, turns),
        gate_words=gate_words(document),
        not_evaluable=list(_reasons(document.get("not_evaluable", ()), anchors, "not evaluable")),
        not_analysed=list(_reasons(document.get("not_analysed", ()), anchors, "not analysed")),
        analyses=read_analyses(document, _analysis_titles(document)),
        slopes=slopes,
        no_figures=_NO_CORPUS if slopes is None else None,
        figures=[(title, _as_image(svg)) for title, svg in (figures or {}).items()],
        pages=[(page, turns_href([page])) for page in pages],
        no_transcripts=None if viewer or pages else no_transcripts or _NO_CORPUS,
        facts=list(_run_facts(document)),
        versions=list(document.get("run", {}).get("versions", {}).items()),
    )


def render_transcript_page(title: str, viewer: Viewer, document: Row, *, report: str = REPORT) -> str:
    """Return a page of transcripts of a report too large to hold them; `report` is that page's address from here."""
    return _render("transcripts.html.j2", document, viewer=viewer, title=title, report=report)


# the shell of both


@dataclass(frozen=True)
class _Shell:
    """What every page has: its policy, style and scripts, and what its data are."""

    policy: str
    css: str
    script: str
    viewer_script: str | None
    data_id: str
    simulated: bool
    provenance: str
    notes: Sequence[str]
    warnings: Sequence[str]


def _render(template: str, document: Row, *, viewer: Viewer | None, **given: object) -> str:
    css = _asset("report.css") + (_lines(viewer.css) if viewer else "")
    script = _asset("report.js")
    viewer_script = _lines(viewer.script) if viewer else None
    corpus = document.get("corpus", {})
    provenance = corpus.get("provenance", "unknown")
    shell = _Shell(
        policy=content_security_policy(styles=[css], scripts=[script, *([viewer_script] if viewer_script else [])]),
        css=Markup(css),
        script=Markup(script),
        viewer_script=Markup(viewer_script) if viewer_script else None,
        data_id=DATA_ID,
        simulated=provenance == "simulated",
        provenance=SIMULATED if provenance == "simulated" else f"{provenance} data",
        notes=(*document.get("study", {}).get("notes", ()), *corpus.get("notes", ())),
        warnings=run_words(document["run"]) if "run" in document else (),
    )
    page = _environment().get_template(template)
    return page.render(shell=shell, viewer=viewer, study=document.get("study", {}), corpus=corpus, **given)


@cache
def _environment() -> "Environment":
    """Return the templates: everything they print is made visible and escaped, and a name they mistype is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE / "templates", encoding="utf-8"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _printable(value: object) -> object:
    """Return text with everything unseen spelled out; markup is ours and stays."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _asset(name: str) -> str:
    return _lines((_HERE / name).read_text(encoding="utf-8"))


def _lines(text: str) -> str:
    """Return text as a browser reads it, so that its digest is the browser's."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _write(folder: Path, name: str, page: str) -> str:
    """Write a file and return its name; whoever calls promotes all files of a run as one set."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8", newline="\n")
    return name


# what the report's page says beside claims, gate and analyses


def _turns_link(viewer: Viewer | None, pages: Sequence[TranscriptPage]) -> TurnsLink:
    """Return what links to turns: to this page's viewer, to a page of transcripts, or nowhere."""

    def link(**keys: Any) -> str | None:
        if viewer is None and not pages:
            return None
        try:
            return turns_href(pages, **keys)
        except (LookupError, UnicodeError):  # no page shows it, or no address can name it
            return None

    return link


@dataclass(frozen=True)
class _Reason:
    """Something that has no number, and why."""

    anchor: str
    what: str
    base: str | None
    judge: str | None
    reason: str


def _reasons(rows: Sequence[Row], anchors: Anchors, kind: str) -> Iterator[_Reason]:
    for row in rows:
        what = row.get("claim") or row["analysis"]
        anchor = anchors.of(kind, what, row["base"], row["judge"])
        yield _Reason(anchor, what, row["base"], row["judge"], row["reason"])


def _summary(document: Row) -> list[tuple[int, Outcome]]:
    return [(number, outcome(word)) for word, number in count_outcomes(document).items()]


def _analysis_titles(document: Row) -> Mapping[str, str]:
    """Return what the analyses that are known are called; none is imported for a document without any."""
    if not document.get("analyses"):
        return {}
    from pytest_tutoreval.analyses.catalogue import all_analyses

    return {name: analysis.title for name, analysis in all_analyses().items()}


def _run_facts(document: Row) -> Iterator[tuple[str, str]]:
    run, study, corpus = (document.get(part, {}) for part in ("run", "study", "corpus"))
    with suppress(KeyError, TypeError, ValueError, OverflowError, OSError):  # not said, or no time of this era
        yield "started", datetime.fromtimestamp(run["started"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    yield from flat_facts(run, without=("started", "versions", "unfinished", "not_written", "outputs"))
    yield "study", study.get("name", "unknown")
    yield "instrument sha256", study.get("instrument_sha256", "unknown")
    yield "corpus sha256", corpus.get("sha256", "unknown")
    yield "document format", document.get("format", "unknown")
    if "cost" in document:
        yield "cost", cost_words(document["cost"])


def _as_image(svg: str) -> Markup:
    """Return an SVG as the address of an image: no script in an image runs, and its ids are its own."""
    return Markup("data:image/svg+xml;base64,") + b64encode(svg.encode("utf-8", "replace")).decode()
