"""Figure 1: the design, and a matched excerpt: the first answer-phase turn of each policy on one problem."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.measures import ARMS
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.reporting.figures.diagram import draw_arrow, draw_box, draw_lines
from pytest_tutoreval.reporting.figures.style import BLUE, GREY, LINE, VERMILLION, WIDTH, Drawing, Page, printable, wrap
from pytest_tutoreval.reporting.tables import ABSENT
from pytest_tutoreval.reporting.tables_source import StudyResults
from pytest_tutoreval.transcript import answer_window, read_transcript

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_excerpt"]

PROBLEM, REPLICATE = "train-1", 0

_LEFT, _ROOM = 0.05, WIDTH - 0.1
_MOST_LINES = 10
_DESIGN = 1.42
_COLOURS = {"conv": BLUE, "ped": VERMILLION}


@dataclass(frozen=True)
class _Excerpt:
    """A policy's turn: its text, or why there is none; its scores, a line a judge."""

    policy: str
    said: str | None
    why_not: str | None
    scores: tuple[str, ...]


def draw_excerpt(results: StudyResults) -> Drawing:
    """Return Figure 1. Of a corpus of tables the excerpt is the scores alone, and says so."""
    base = results.lead_base
    excerpts = [_excerpt(results, base, policy) for policy in ARMS]
    blocks = [(excerpt, *_block(excerpt)) for excerpt in excerpts]
    cut = any(was_cut for _, _, was_cut in blocks)
    title = f"(b) {PROBLEM}, replicate {REPLICATE}: first answer-phase turn"
    titles = wrap(title, _ROOM, bold=True)
    height = _DESIGN + len(titles) * LINE + sum(_height(excerpt, lines) for excerpt, lines, _ in blocks) + 0.05
    notes = ["Score: mean of a turn's usable ratings, 1 to 5. An illustration, chosen by its place, not by its scores."]
    if cut:
        notes.append("[\N{HORIZONTAL ELLIPSIS}]: the turn is longer than shown.")
    if not results.measures.corpus.has_text:
        notes.append("This corpus holds tables only: the words of the turns are not in it.")
    page = Page(
        "1",
        f"Two policies over one base, and a matched excerpt: {results.base_label(base)}",
        height,
        results.simulated,
        notes,
    )
    canvas = page.canvas()
    _draw_design(canvas, page.height, results)
    top = draw_lines(canvas, _LEFT, page.height - _DESIGN, titles, bold=True)
    for excerpt, lines, _ in blocks:
        top = _draw_block(canvas, top - 0.03, excerpt, lines)
    said = " ".join(
        f"{excerpt.policy}: {excerpt.said or excerpt.why_not} Scores: {'; '.join(excerpt.scores)}."
        for excerpt in excerpts
    )
    return page.finish(
        "Diagram: a simulated student talks to a tutor; conv is one call a turn, ped a private tracker and one of "
        f"three responders over the same base; deterministic detectors and blinded judges read the turns. "
        f"Excerpt: {said}"
    )


# (a)


def _draw_design(canvas: "Axes", height: float, results: StudyResults) -> None:
    top = draw_lines(canvas, _LEFT, height, ["(a) Design"], bold=True) - 0.03
    student, tutors, readers = (0.05, 0.78), (0.98, 1.22), (2.35, 0.9)
    tall, gap = 0.54, 0.1
    upper, lower = top - tall, top - 2 * tall - gap
    whole = (student[0], lower, student[1], 2 * tall + gap)
    draw_box(canvas, whole, f"simulated student: {results.study.student.label}", face="#F2F2F2")
    draw_box(canvas, (tutors[0], upper, tutors[1], tall), "conv: one call a turn, no rule on disclosing", edge=BLUE)
    ped = "ped: tracker, then gate, decomposer or hint cascade"
    draw_box(canvas, (tutors[0], lower, tutors[1], tall), ped, edge=VERMILLION, style="--")
    draw_box(canvas, (readers[0], upper, readers[1], tall), "detectors: leakage, independence")
    rubrics = ", ".join(results.study.rubrics)
    draw_box(canvas, (readers[0], lower, readers[1], tall), f"judges, blind: {rubrics}")
    for bottom in (upper, lower):
        y = bottom + tall / 2
        draw_arrow(canvas, (student[0] + student[1], y), (tutors[0], y), both=True)
    for of in (upper, lower):
        for to in (upper, lower):
            draw_arrow(canvas, (tutors[0] + tutors[1], of + tall / 2), (readers[0], to + tall / 2), colour=GREY)


# (b)


def _excerpt(results: StudyResults, base: str, policy: str) -> _Excerpt:
    try:
        turns = [
            turn for turn in results.measures.cell(base, policy).turns.get(REPLICATE, ()) if turn.id.problem == PROBLEM
        ]
    except CorpusError as exc:
        return _Excerpt(policy, None, f"not evaluable: {exc}", ())
    first = min(turns, key=lambda turn: turn.id.turn, default=None)
    if first is None:
        return _Excerpt(policy, None, _why_no_turn(results, base, policy), ())
    scores = tuple(_scores(results, base, judge, first.id) for judge in results.judges)
    if not results.measures.corpus.has_text:
        return _Excerpt(policy, None, "(the words are not in this corpus: tables only)", scores)
    transcript = read_transcript(results.measures.corpus.session(SessionKey(base, policy, REPLICATE)))
    window = answer_window(transcript.exchanges[PROBLEM])
    return _Excerpt(policy, next(turn.text for turn in window.tutor if turn.turn == first.id.turn), None, scores)


def _why_no_turn(results: StudyResults, base: str, policy: str) -> str:
    cell = results.measures.cell(base, policy)
    if REPLICATE in cell.broken:
        return f"not evaluable: {cell.broken[REPLICATE]}"
    if REPLICATE not in cell.sessions:
        return f"not evaluable: no session {base}/{policy}/r{REPLICATE} in the corpus"
    return "no tutor turn in the window: the student's opening reply commits to an answer"


def _scores(results: StudyResults, base: str, judge: str, turn: TurnId) -> str:
    given = []
    for rubric in results.study.rubrics:
        scores = results.measures.scores(base, turn.condition, judge, rubric).turns.get(turn)
        if scores is None:
            given.append(f"{rubric} {ABSENT} (not rated)")
        elif scores.value is None:
            given.append(f"{rubric} {ABSENT} (no usable rating)")
        else:
            given.append(f"{rubric} {scores.value:.2f}")
    return f"{results.judge_label(judge)}: {', '.join(given)}"


def _block(excerpt: _Excerpt) -> tuple[list[str], bool]:
    """Return the lines of a turn, and whether it was cut."""
    if excerpt.said is None:
        return wrap(excerpt.why_not or "", _ROOM - 0.14), False
    words = printable(excerpt.said)
    lines = wrap(f"\N{LEFT DOUBLE QUOTATION MARK}{words}\N{RIGHT DOUBLE QUOTATION MARK}", _ROOM - 0.14)
    if len(lines) <= _MOST_LINES:
        return lines, False
    return [*lines[: _MOST_LINES - 1], "[\N{HORIZONTAL ELLIPSIS}]"], True


def _score_lines(excerpt: _Excerpt) -> list[str]:
    return [line for score in excerpt.scores for line in wrap(score, _ROOM - 0.14, bold=True)]


def _height(excerpt: _Excerpt, lines: list[str]) -> float:
    return (1 + len(lines) + len(_score_lines(excerpt))) * LINE + 0.08 + 0.03


def _draw_block(canvas: "Axes", top: float, excerpt: _Excerpt, lines: list[str]) -> float:
    height = _height(excerpt, lines) - 0.03
    colour = _COLOURS[excerpt.policy]
    style = "-" if excerpt.policy == "conv" else "--"
    draw_box(canvas, (_LEFT, top - height, _ROOM, height), edge=colour, style=style)
    at = draw_lines(canvas, _LEFT + 0.07, top - 0.04, [excerpt.policy], colour=colour, bold=True)
    at = draw_lines(canvas, _LEFT + 0.07, at, lines, colour="black" if excerpt.said is not None else GREY)
    draw_lines(canvas, _LEFT + 0.07, at, _score_lines(excerpt), bold=True)
    return top - height
