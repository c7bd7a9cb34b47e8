"""How far two judges agree turn by turn, and how often each is at its ceiling (definitions, section 13)."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pytest_tutoreval.analyses.judge_pairs import (
    AlignedTurns,
    JudgePair,
    Part,
    align_turns,
    gather_rows,
    judge_pairs,
    rounded_median,
)
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import DegenerateData, NotEvaluable, NotInCorpus
from pytest_tutoreval.measures import ARMS, CorpusMeasures, complete_arms, complete_scores
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.measured import TurnScore

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Statistic = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], float]
    StatisticOfDraws = Callable[
        [npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.int64]], npt.NDArray[np.float64]
    ]

__all__ = ["agreement_row", "judge_agreement", "judge_agreement_pooled", "judge_ceiling"]

CATEGORIES = range(1, 6)
CEILING = 5
DRAWS = 2000
# One fresh generator an interval (released procedure, section 7).
SPEARMAN_SEED, KAPPA_SEED = 0, 1

_TABLES = "medians are not in the tables: each turn's mean rating rounded to the nearest integer, half to even, instead"
_MEDIANS = "kappa on per-turn medians, half to even"


def judge_agreement(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the agreement of each pair of judges on one base, by rubric."""
    if given.base is None:
        raise ValueError("base = None; this analysis is run once a base, so name one.")
    return gather_rows(_parts("judge_agreement", given, given.base, (given.base,)))


def judge_agreement_pooled(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the agreement of each pair of judges over all turns of all bases of the corpus, by rubric."""
    return gather_rows(_parts("judge_agreement_pooled", given, None, given.bases))


def _parts(analysis: str, given: AnalysisInput, base: str | None, bases: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    for pair in judge_pairs(given):
        for rubric in given.measures.instrument.study.rubrics:
            blank = AnalysisRow(
                analysis=analysis, base=base, judge=pair.name, measure=rubric, role="audit", notes=pair.notes
            )
            parts.append((blank, partial(agreement_row, blank, given.measures, pair, rubric, bases)))
    return parts


def agreement_row(
    blank: AnalysisRow, measures: CorpusMeasures, pair: JudgePair, rubric: str, bases: Sequence[str]
) -> list[AnalysisRow]:
    """Return `blank` with the agreement of two judges over the turns of the bases given.

    Raises
    ------
    NotEvaluable
        A base's turns cannot be aligned: turns are pooled over all the bases given or not at all.
    """
    aligned: list[AlignedTurns] = []
    notes = list(blank.notes)
    for base in bases:
        try:
            aligned.append(align_turns(measures, base, pair, rubric))
        except NotEvaluable as exc:
            raise NotEvaluable(f"{base}: {exc}" if blank.base is None else str(exc)) from exc
        notes += [f"{base}: {note}" if blank.base is None else note for note in aligned[-1].notes]
    if blank.base is None:
        notes.append(f"turns pooled over {', '.join(bases)}: descriptive")
    dropped = sum(part.dropped for part in aligned)
    components, found = _agreement(aligned, pair)
    return [
        blank.model_copy(
            update={
                "n": sum(len(part.turns) for part in aligned),
                "n_dropped": dropped,
                "components": components,
                "notes": (*notes, *found),
            }
        )
    ]


def _agreement(aligned: Sequence[AlignedTurns], pair: JudgePair) -> tuple[tuple[AnalysisPart, ...], list[str]]:
    import numpy as np

    from pytest_tutoreval.inference import quadratic_kappa, quadratic_kappa_of_draws, spearman, spearman_of_draws

    means = _by_conversation(aligned, _value)
    medians = _by_conversation(aligned, _category)
    first, second = (np.concatenate([cluster[judge] for cluster in means]) for judge in (0, 1))
    first_median, second_median = (np.concatenate([cluster[judge] for cluster in medians]) for judge in (0, 1))
    n = int(first.size)
    difference, gap = second - first, np.abs(second_median - first_median)
    from_tables = any(score.median is None for part in aligned for score in (*part.first, *part.second))
    notes = [_TABLES if from_tables else _MEDIANS]
    parts = [
        _interval_part("spearman", spearman, spearman_of_draws, means, SPEARMAN_SEED, notes),
        _interval_part(
            "kappa",
            partial(quadratic_kappa, categories=CATEGORIES),
            partial(quadratic_kappa_of_draws, categories=CATEGORIES),
            medians,
            KAPPA_SEED,
            notes,
        ),
        AnalysisPart(name="mean_difference", estimate=float(difference.mean()), n=n),
        AnalysisPart(name="mean_absolute_difference", estimate=float(np.abs(difference).mean()), n=n),
        AnalysisPart(name="exact_agreement", estimate=float((gap == 0).mean()), n=int((gap == 0).sum())),
        AnalysisPart(name="within_one", estimate=float((gap <= 1).mean()), n=int((gap <= 1).sum())),
        AnalysisPart(name=f"mean_{pair.second}", estimate=float(second.mean()), n=n),
        AnalysisPart(name=f"mean_{pair.first}", estimate=float(first.mean()), n=n),
    ]
    if not from_tables:
        for judge, scores in (
            (pair.second, [score for part in aligned for score in part.second]),
            (pair.first, [score for part in aligned for score in part.first]),
        ):
            parts += _rating_parts(judge, scores)
    return tuple(parts), notes


def _interval_part(
    name: str,
    statistic: "Statistic",
    of_draws: "StatisticOfDraws",
    clusters: Sequence[tuple["npt.NDArray[np.float64]", "npt.NDArray[np.float64]"]],
    seed: int,
    notes: list[str],
) -> AnalysisPart:
    """Return a statistic over all turns with its interval over whole conversations; without numbers if undefined."""
    import numpy as np

    from pytest_tutoreval.inference import cluster_interval

    first, second = (np.concatenate([cluster[judge] for cluster in clusters]) for judge in (0, 1))
    try:
        estimate = statistic(first, second)
        interval = cluster_interval(of_draws, clusters, rng=np.random.default_rng(seed), draws=DRAWS)
    except DegenerateData as exc:
        notes.append(f"{name} is not defined: {exc}")
        return AnalysisPart(name=name, n=int(first.size))
    notes.append(f"{name}: 95 % percentile interval, {DRAWS} draws of {len(clusters)} whole conversations, seed {seed}")
    if interval.n_undefined:
        notes.append(f"{name} was undefined in {interval.n_undefined} draws, which the interval leaves out")
    return AnalysisPart(name=name, estimate=estimate, ci_low=interval.low, ci_high=interval.high, n=int(first.size))


def _by_conversation(
    aligned: Sequence[AlignedTurns], number: Callable[[TurnScore], float]
) -> list[tuple["npt.NDArray[np.float64]", "npt.NDArray[np.float64]"]]:
    """Return both judges' numbers by conversation: bases as given, in each conv by replicate, then ped."""
    import numpy as np

    clusters = []
    for part in aligned:
        first, second = (np.array([number(score) for score in scores]) for scores in (part.first, part.second))
        clusters += [
            (first[turns.start : turns.stop], second[turns.start : turns.stop]) for turns in part.conversations()
        ]
    return clusters


def _rating_parts(judge: str, scores: Sequence[TurnScore]) -> list[AnalysisPart]:
    """Return what single ratings show, which tables do not hold: usable share and variance within a turn."""
    given, usable = sum(score.n_ratings for score in scores), sum(score.n_usable for score in scores)
    spreads = [score.spread for score in scores if score.spread is not None]
    within = math.fsum(spreads) / len(spreads) if spreads else None
    return [
        AnalysisPart(name=f"usable_ratings_{judge}", estimate=usable / given, n=usable, n_dropped=given - usable),
        AnalysisPart(name=f"within_turn_variance_{judge}", estimate=within, n=len(spreads)),
    ]


def _value(score: TurnScore) -> float:
    assert score.value is not None
    return score.value


def _category(score: TurnScore) -> float:
    median = rounded_median(score)
    assert median is not None
    return float(median)


# ceiling


def judge_ceiling(given: AnalysisInput) -> list[AnalysisRow]:
    """Return how many turns have a median rating of 5, by judge, rubric and base, and over all bases."""
    if not given.judges:
        raise NotInCorpus("the corpus holds no ratings; run a judge over it first")
    parts: list[Part] = []
    for judge in given.judges:
        for rubric in given.measures.instrument.study.rubrics:
            for base in (*given.bases, None):
                blank = AnalysisRow(analysis="judge_ceiling", base=base, judge=judge, measure=rubric, role="audit")
                bases = given.bases if base is None else (base,)
                parts.append((blank, partial(_ceiling, blank, given.measures, judge, rubric, bases)))
    return gather_rows(parts)


def _ceiling(
    blank: AnalysisRow, measures: CorpusMeasures, judge: str, rubric: str, bases: Sequence[str]
) -> list[AnalysisRow]:
    scores: list[TurnScore] = []
    for base in bases:
        try:
            cells = complete_arms(measures, base)
            by_arm = complete_scores(measures, base, judge, rubric)
        except NotEvaluable as exc:
            raise NotEvaluable(f"{base}: {exc}" if blank.base is None else str(exc)) from exc
        scores += [by_arm[arm].turns[turn.id] for arm in ARMS for turns in cells[arm].turns.values() for turn in turns]
    medians = [median for score in scores if (median := rounded_median(score)) is not None]
    if not medians:
        raise NotEvaluable(f"no turn has a {rubric} score by {judge}")
    notes = [_TABLES] if any(score.median is None and score.value is not None for score in scores) else []
    if blank.base is None:
        notes.append(f"turns pooled over {', '.join(bases)}: descriptive")
    counts = {category: medians.count(category) for category in CATEGORIES}
    return [
        blank.model_copy(
            update={
                "estimate": counts[CEILING] / len(medians),
                "n": len(medians),
                "n_dropped": len(scores) - len(medians),
                "components": tuple(AnalysisPart(name=f"median_{value}", n=count) for value, count in counts.items()),
                "notes": tuple(notes),
            }
        )
    ]
