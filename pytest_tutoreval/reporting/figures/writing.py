"""Every figure of the study as SVG and PNG: text stays text, and the same corpus gives the same bytes."""

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.reporting.figures.excerpt import draw_excerpt
from pytest_tutoreval.reporting.figures.judged_gaps import draw_judged_gaps
from pytest_tutoreval.reporting.figures.leakage_slopes import draw_leakage_slopes
from pytest_tutoreval.reporting.figures.policy_couplings import draw_policy_couplings
from pytest_tutoreval.reporting.figures.policy_scores import draw_policy_scores
from pytest_tutoreval.reporting.figures.protocol import draw_protocol
from pytest_tutoreval.reporting.figures.style import Drawing, styled
from pytest_tutoreval.reporting.tables_source import StudyResults

__all__ = ["FIGURES", "svg_bytes", "write_figures"]

# In the study's order.
FIGURES: Sequence[Callable[[StudyResults], Drawing]] = (
    draw_excerpt,
    draw_judged_gaps,
    draw_policy_scores,
    draw_leakage_slopes,
    draw_policy_couplings,
    draw_protocol,
)
_DPI = 300
_SVG = re.compile(r"<svg\b[^>]*>")
# Neither a date nor a library's version: the bytes are the corpus's alone.
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def write_figures(measures: CorpusMeasures, folder: Path) -> list[Path]:
    """Write Figures 1 to 4 and return the paths.

    Raises
    ------
    ConfigurationProblem
        matplotlib is not installed; nothing was written.
    """
    with styled():
        results = StudyResults(measures)
        written = []
        for draw in FIGURES:
            drawing = draw(results)
            files = {"svg": svg_bytes(drawing), "png": _png_bytes(drawing)}
            folder.mkdir(parents=True, exist_ok=True)
            for suffix, data in files.items():
                path = folder / f"{drawing.stem}.{suffix}"
                path.write_bytes(data)
                written.append(path)
    return written


def svg_bytes(drawing: Drawing) -> bytes:
    """Return the SVG with a title and a description for who hears it rather than sees it."""
    out = io.BytesIO()
    drawing.figure.savefig(out, format="svg", metadata=_NO_METADATA)
    spoken = (
        f'<title id="{drawing.stem}-title">{escape(drawing.caption)}</title>\n'
        f'<desc id="{drawing.stem}-desc">{escape(drawing.description)}</desc>\n'
    )
    named = f' role="img" aria-labelledby="{drawing.stem}-title {drawing.stem}-desc">'

    def add(tag: re.Match[str]) -> str:
        return f"{tag[0][:-1]}{named}\n{spoken}"

    return _SVG.sub(add, out.getvalue().decode("utf-8"), count=1).encode("utf-8")


def _png_bytes(drawing: Drawing) -> bytes:
    out = io.BytesIO()
    words = {"Title": drawing.caption, "Description": drawing.description}
    drawing.figure.savefig(out, format="png", dpi=_DPI, metadata={"Software": None, **words})
    return out.getvalue()
