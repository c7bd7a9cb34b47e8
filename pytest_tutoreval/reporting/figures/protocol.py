"""Figure 4: design, protocol and answer-phase window, drawn from the study file."""

from typing import TYPE_CHECKING

from pytest_tutoreval.records.problem import PHASES
from pytest_tutoreval.records.session import UNTUTORED
from pytest_tutoreval.reporting.figures.diagram import draw_arrow, draw_box, draw_lines
from pytest_tutoreval.reporting.figures.style import (
    BLUE,
    GREY,
    LINE,
    ORANGE,
    WIDTH,
    Drawing,
    Page,
    fade,
    text_width,
    wrap,
)
from pytest_tutoreval.reporting.tables_source import StudyResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_tutoreval.records.study import Study

__all__ = ["draw_protocol"]

_LEFT, _ROOM = 0.05, WIDTH - 0.1


def draw_protocol(results: StudyResults) -> Drawing:
    """Return Figure 4."""
    study = results.study
    # Drawn twice: how high it is only shows once it is drawn.
    height = 1.0 - _draw_parts(_page(results, 1.0).canvas(), 1.0, study)
    page = _page(results, height)
    _draw_parts(page.canvas(), height, study)
    counts = study.protocol.phase_counts
    return page.finish(
        f"Diagram in four parts. {_design_words(study)} Phases in order: "
        f"{', '.join(f'{phase} {counts[phase]}' for phase in PHASES)} problems. A tutored training problem runs "
        f"{' '.join(_turns(study))}, S the student and T the tutor. A probe is one reply, then a forced commitment and "
        "one retry where no answer was given."
    )


def _page(results: StudyResults, height: float) -> Page:
    return Page("4", "Design, session protocol and answer-phase window", height, results.simulated, [_window_note()])


def _draw_parts(canvas: "Axes", top: float, study: "Study") -> float:
    """Draw all four parts downwards from `top` and return where they end."""
    top = _draw_design(canvas, top, study)
    top = _draw_phases(canvas, top - 0.06, study)
    top = _draw_exchange(canvas, top - 0.06, study)
    return _draw_probe(canvas, top - 0.06)


def _window_note() -> str:
    return (
        "Shown: a commitment at c in the middle of the exchange. The window holds the student's turns up to and "
        "including c and the tutor's before it; what follows is exchanged all the same and counts in no turn-level "
        "measure. Without a commitment the window is the whole exchange."
    )


def _design_words(study: "Study") -> str:
    protocol = study.protocol
    bases, conditions = len(study.bases), len(protocol.condition_order)
    sessions = bases * conditions * protocol.replicates
    return (
        f"{bases} bases \N{MULTIPLICATION SIGN} {conditions} conditions ({', '.join(protocol.condition_order)}) "
        f"\N{MULTIPLICATION SIGN} {protocol.replicates} replicates = {sessions} sessions. Every in-window tutor turn: "
        f"{len(study.judges)} judges \N{MULTIPLICATION SIGN} {len(study.rubrics)} rubrics \N{MULTIPLICATION SIGN} "
        f"{protocol.repetitions} repetitions."
    )


def _turns(study: "Study") -> list[str]:
    return ["S", *["T", "S"] * study.protocol.tutor_turns]


def _draw_design(canvas: "Axes", top: float, study: "Study") -> float:
    top = draw_lines(canvas, _LEFT, top, ["(a) Design"], bold=True)
    return draw_lines(canvas, _LEFT, top, wrap(_design_words(study), _ROOM))


def _draw_phases(canvas: "Axes", top: float, study: "Study") -> float:
    """Draw the phases in order, a square for each problem: filled where it is tutored."""
    top = draw_lines(canvas, _LEFT, top, ["(b) One session: phases in fixed order"], bold=True) - 0.03
    counts = study.protocol.phase_counts
    gap, height = 0.06, 0.42
    least = {phase: max(text_width(phase), 0.1 * counts[phase]) + 0.06 for phase in PHASES}
    shared = (_ROOM - gap * (len(PHASES) - 1) - sum(least.values())) / len(PHASES)
    left = _LEFT
    for phase in PHASES:
        width = least[phase] + shared
        draw_box(canvas, (left, top - height, width, height))
        middle = left + width / 2
        draw_lines(canvas, middle, top - 0.02, [phase], centred=True)
        draw_lines(canvas, middle, top - height + LINE + 0.02, [str(counts[phase])], centred=True)
        _draw_squares(canvas, middle, top - height / 2, counts[phase], width - 0.08, filled=phase == "training")
        if phase != PHASES[-1]:
            draw_arrow(canvas, (left + width, top - height / 2), (left + width + gap, top - height / 2))
        left += width + gap
    said = wrap(f"Filled: tutored in conv and ped, a probe in {UNTUTORED}. Hollow: probes.", _ROOM)
    return draw_lines(canvas, _LEFT, top - height - 0.03, said, colour=GREY)


def _draw_squares(canvas: "Axes", middle: float, y: float, n: int, width: float, *, filled: bool) -> None:
    from matplotlib.patches import Rectangle

    pitch = min(0.1, width / n)
    side = pitch * 0.7
    for at in range(n):
        x = middle + (at - (n - 1) / 2) * pitch - side / 2
        colour = BLUE if filled else "white"
        canvas.add_patch(Rectangle((x, y - side / 2), side, side, facecolor=colour, edgecolor=BLUE, linewidth=0.6))


def _draw_exchange(canvas: "Axes", top: float, study: "Study") -> float:
    """Draw S T S … T S with the window of a commitment in the middle."""
    from matplotlib.patches import Circle, Rectangle

    heading = f"(c) One tutored problem: {study.protocol.tutor_turns} tutor turns"
    top = draw_lines(canvas, _LEFT, top, [heading], bold=True) - 0.03
    turns = _turns(study)
    commitment = 2 * (study.protocol.tutor_turns // 2)
    pitch = _ROOM / len(turns)
    radius = min(0.115, pitch * 0.38)
    y = top - LINE - 0.08 - radius
    for at, who in enumerate(turns):
        x = _LEFT + pitch * (at + 0.5)
        inside = at <= commitment
        colour = BLUE if who == "S" else ORANGE
        edge, face = (colour, fade(colour)) if inside else ("#999999", "white")
        if who == "S":
            canvas.add_patch(Circle((x, y), radius, edgecolor=edge, facecolor=face, linewidth=0.9))
        else:
            corner = (x - radius, y - radius)
            canvas.add_patch(Rectangle(corner, 2 * radius, 2 * radius, edgecolor=edge, facecolor=face, linewidth=0.9))
        canvas.text(x, y, who, ha="center", va="center_baseline", color="black" if inside else GREY)
        if at + 1 < len(turns):
            draw_arrow(canvas, (x + radius, y), (x + pitch - radius, y), colour=GREY)
    end = _LEFT + pitch * (commitment + 0.5) + radius + 0.02
    over, under = top - LINE - 0.02, top - LINE - 0.06
    canvas.plot([_LEFT, _LEFT, end, end], [under, over, over, under], color="black", linewidth=0.8)
    draw_lines(canvas, (_LEFT + end) / 2, top, ["answer-phase window"], centred=True)
    after = f"not counted ({len(turns) - commitment - 1} turns)"
    draw_lines(canvas, (end + WIDTH - 0.05) / 2, top, [after], colour=GREY, centred=True)
    low = y - radius - 0.03
    return draw_lines(canvas, end - radius - 0.02, low, ["c: first FINAL ANSWER"], centred=True)


def _draw_probe(canvas: "Axes", top: float) -> float:
    top = draw_lines(canvas, _LEFT, top, [f"(d) One probe (and every problem in {UNTUTORED})"], bold=True) - 0.03
    steps = ("student replies once", "no answer: forced commitment", "no number: one retry", "item ends")
    gap, height = 0.14, 3 * LINE + 0.06
    width = (_ROOM - gap * (len(steps) - 1)) / len(steps)
    for at, step in enumerate(steps):
        left = _LEFT + at * (width + gap)
        draw_box(canvas, (left, top - height, width, height), step, style="--" if at in (1, 2) else "-")
        if at:
            draw_arrow(canvas, (left - gap, top - height / 2), (left, top - height / 2))
    said = wrap("An answer at any step ends the item. Dashed: only where none was given.", _ROOM)
    return draw_lines(canvas, _LEFT, top - height - 0.03, said, colour=GREY)
