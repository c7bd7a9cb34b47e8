"""The divergence view: helpfulness, pedagogy and next-turn independence on one scale (released procedure, section 7).

A description, in no verdict. How the study standardised is only said in words; here z-scores take the population SD
over all in-window turns of both arms (or all their sessions), and spread is the population SD of a unit's three.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject, mean_part
from pytest_tutoreval.errors import DegenerateData, NotEvaluable
from pytest_tutoreval.measures import ARMS, complete_arms, complete_scores
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["DIVERGENCE"]

MEASURES = ("helpfulness", "pedagogy", "next_turn_independence")
RUBRICS = MEASURES[:2]

# A unit, a turn or a session: its arm, and its three values in the order of MEASURES.
Unit = tuple[str, tuple[float, float, float]]


def divergence(given: AnalysisInput) -> list[AnalysisRow]:
    """Return spread, z means by arm and correlations by pair, over turns and over sessions.

    Raises
    ------
    NotEvaluable
        The study rates other rubrics, an arm or its ratings are missing.
    """
    subject = Subject.of("divergence", "descriptive", given)
    study = subject.instrument.study
    if subject.judge is None:
        raise ValueError("judge = None; this analysis is run once a base and judge, so name one.")
    if absent := [rubric for rubric in RUBRICS if rubric not in study.rubrics]:
        raise NotEvaluable(f"the view needs the rubrics {' and '.join(RUBRICS)}; the study lacks {', '.join(absent)}")
    by_session, n_turns = _turns(given, subject.base, subject.judge)
    turns: list[Unit] = [(arm, values) for arm, _, found in by_session for values in found]
    sessions: list[Unit] = [
        (arm, (_mean([v[0] for v in found]), _mean([v[1] for v in found]), _mean([v[2] for v in found])))
        for arm, _, found in by_session
        if found
    ]
    rows = _view(subject, "turns", turns, n_turns - len(turns))
    return rows + _view(subject, "sessions", sessions, len(by_session) - len(sessions))


def _turns(
    given: AnalysisInput, base: str, judge: str
) -> tuple[list[tuple[str, int, list[tuple[float, float, float]]]], int]:
    """Return each session's turns that have all three values, and how many turns there are."""
    cells = complete_arms(given.measures, base)
    scores = {rubric: complete_scores(given.measures, base, judge, rubric) for rubric in RUBRICS}
    found = []
    n_turns = 0
    for arm in ARMS:
        for replicate, rows in sorted(cells[arm].turns.items()):
            session = []
            for row in sorted(rows, key=lambda row: row.id):
                helpful, pedagogic = (scores[rubric][arm].turns[row.id].value for rubric in RUBRICS)
                if helpful is not None and pedagogic is not None and row.next_turn_independence is not None:
                    session.append((helpful, pedagogic, float(row.next_turn_independence)))
            n_turns += len(rows)
            found.append((arm, replicate, session))
    return found, n_turns


def _view(subject: Subject, unit: str, units: Sequence[Unit], n_dropped: int) -> list[AnalysisRow]:
    columns = {name: [values[at] for _, values in units] for at, name in enumerate(MEASURES)}
    counts = {"n": len(units), "n_dropped": n_dropped}
    constant = [name for name, values in columns.items() if not values or min(values) == max(values)]
    rows = []
    if constant:
        reason = f"{', '.join(constant)} is the same in all {len(units)} {unit}, so there is no z-score"
        rows.append(subject.undecided(f"{unit}.spread", reason, **counts))
    else:
        rows.append(_spread_row(subject, unit, units, columns, counts))
    for first, second in combinations(MEASURES, 2):
        rows.append(_pair_row(subject, f"{unit}.{first}~{second}", columns[first], columns[second], counts))
    return rows


def _spread_row(
    subject: Subject,
    unit: str,
    units: Sequence[Unit],
    columns: Mapping[str, Sequence[float]],
    counts: Mapping[str, int],
) -> AnalysisRow:
    standard = {name: _z(values) for name, values in columns.items()}
    spreads = [_sd([standard[name][at] for name in MEASURES]) for at in range(len(units))]
    arms = [arm for arm, _ in units]
    parts = [mean_part(arm, (s for s, of in zip(spreads, arms, strict=True) if of == arm)) for arm in ARMS]
    parts += [
        mean_part(f"{arm}_z_{name}", (z for z, of in zip(standard[name], arms, strict=True) if of == arm))
        for name in MEASURES
        for arm in ARMS
    ]
    parts += [AnalysisPart(name="min", estimate=min(spreads)), AnalysisPart(name="max", estimate=max(spreads))]
    return subject.row(f"{unit}.spread", estimate=_mean(spreads), components=tuple(parts), **counts)


def _pair_row(
    subject: Subject, measure: str, first: Sequence[float], second: Sequence[float], counts: Mapping[str, int]
) -> AnalysisRow:
    """Return Pearson's and Spearman's correlation as parts; `estimate` is Spearman's."""
    from pytest_tutoreval.inference import spearman

    try:
        rank = spearman(first, second)
    except (DegenerateData, ValueError) as exc:
        return subject.undecided(measure, exc, **counts)
    pearson = _mean([a * b for a, b in zip(_z(first), _z(second), strict=True)])
    parts = (AnalysisPart(name="pearson", estimate=pearson), AnalysisPart(name="spearman", estimate=rank))
    return subject.row(measure, estimate=rank, components=parts, **counts)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _sd(values: Sequence[float]) -> float:
    centre = _mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))


def _z(values: Sequence[float]) -> list[float]:
    centre, sd = _mean(values), _sd(values)
    return [(value - centre) / sd for value in values]


DIVERGENCE: tuple[Analysis, ...] = (
    Analysis(
        "divergence",
        "Divergence view: standardised helpfulness, pedagogy and next-turn independence",
        "descriptive",
        "base_judge",
        divergence,
    ),
)
