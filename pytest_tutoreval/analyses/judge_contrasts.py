"""conv - ped as two judges see it: whether the gap differs by judge, and whether the order turns (section 13)."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pytest_tutoreval.analyses.judge_pairs import AlignedTurns, JudgePair, Part, align_turns, gather_rows, judge_pairs
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.subject import contrast_part
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, CorpusMeasures, complete_arms, complete_scores
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

if TYPE_CHECKING:
    from pytest_tutoreval.inference import Contrast

__all__ = ["judge_gap", "judge_ordering"]


# the gap


def judge_gap(given: AnalysisInput) -> list[AnalysisRow]:
    """Return (conv - ped) by the second judge minus the first over replicates, with signed-rank test and interval."""
    if given.base is None:
        raise ValueError("base = None; this analysis is run once a base, so name one.")
    parts: list[Part] = []
    for pair in judge_pairs(given):
        for rubric in given.measures.instrument.study.rubrics:
            blank = AnalysisRow(
                analysis="judge_gap", base=given.base, judge=pair.name, measure=rubric, role="audit", notes=pair.notes
            )
            parts.append((blank, partial(_gap, blank, given.measures, pair, rubric)))
    return gather_rows(parts)


def _gap(blank: AnalysisRow, measures: CorpusMeasures, pair: JudgePair, rubric: str) -> list[AnalysisRow]:
    import numpy as np

    from pytest_tutoreval.inference import percentile_interval, signed_rank

    assert blank.base is not None
    inference = measures.instrument.study.inference
    aligned = align_turns(measures, blank.base, pair, rubric)
    registered = list(measures.instrument.study.registered_replicates())
    # numpy's means, as released: their last digit decides whether a gap is a zero, which the test would leave out.
    gaps = _gaps(aligned, registered, exact=False)
    defined = [gap for gap in gaps.values() if gap is not None]
    if len(defined) < inference.minimum_pairs:
        raise NotEvaluable(
            f"the gap is defined in {len(defined)} of {len(registered)} replicates, at least "
            f"{inference.minimum_pairs} are needed: fewer can never reach .05"
        )
    test = signed_rank(defined)
    interval = percentile_interval(
        defined, rng=np.random.default_rng(inference.bootstrap_seed), draws=inference.bootstrap_draws
    )
    notes = [*blank.notes, *aligned.notes]
    undefined = [f"r{replicate}" for replicate, gap in gaps.items() if gap is None]
    if undefined:
        notes.append(f"no turn with both scores in an arm of {', '.join(undefined)}: replicate dropped")
    exact = signed_rank([gap for gap in _gaps(aligned, registered, exact=True).values() if gap is not None])
    if not math.isclose(exact.p_value, test.p_value, rel_tol=1e-9):
        notes.append(
            f"with exact means W is {exact.statistic:g} and p {exact.p_value:.6g}: a gap that is zero there is not "
            "zero in numpy's means, which the released numbers rest on"
        )
    numbers = {
        "estimate": float(np.mean(defined)),
        "ci_low": interval.low,
        "ci_high": interval.high,
        "p_value": test.p_value,
        "n": len(defined),
        "n_dropped": len(undefined),
        "components": (
            *(AnalysisPart(name=f"r{replicate}", estimate=gap) for replicate, gap in gaps.items()),
            AnalysisPart(name="signed_rank", estimate=test.statistic, p_value=test.p_value, n=test.n_used),
            AnalysisPart(
                name="signed_rank_exact_means", estimate=exact.statistic, p_value=exact.p_value, n=exact.n_used
            ),
        ),
        "notes": tuple(notes),
    }
    return [blank.model_copy(update=numbers)]


def _gaps(aligned: AlignedTurns, replicates: Sequence[int], *, exact: bool) -> dict[int, float | None]:
    """Return the second judge's conv - ped minus the first's by replicate; None where an arm has no turn."""
    positions: dict[tuple[str, int], list[int]] = {}
    for position, turn in enumerate(aligned.turns):
        positions.setdefault((turn.id.condition, turn.id.replicate), []).append(position)
    gaps: dict[int, float | None] = {}
    for replicate in replicates:
        conv, ped = (positions.get((arm, replicate), []) for arm in ARMS)
        if not conv or not ped:
            gaps[replicate] = None
            continue
        second, first = (
            _mean([values[i] for i in conv], exact) - _mean([values[i] for i in ped], exact)
            for values in (aligned.second_values, aligned.first_values)
        )
        gaps[replicate] = second - first
    return gaps


def _mean(values: Sequence[float], exact: bool) -> float:
    import numpy as np

    return math.fsum(values) / len(values) if exact else float(np.mean(values))


# the order


def judge_ordering(given: AnalysisInput) -> list[AnalysisRow]:
    """Return each pair's two contrasts by base and rubric, whether their order turns, and the counts over bases.

    An ordering reversal is a change of sign; a significant reversal is two significant contrasts of opposite sign.
    """
    parts: list[Part] = []
    pairs = judge_pairs(given)
    rubrics = given.measures.instrument.study.rubrics
    for pair in pairs:
        for rubric in rubrics:
            for base in given.bases:
                blank = AnalysisRow(
                    analysis="judge_ordering",
                    base=base,
                    judge=pair.name,
                    measure=rubric,
                    role="audit",
                    notes=pair.notes,
                )
                parts.append((blank, partial(_ordering, blank, given.measures, pair, rubric)))
    rows = gather_rows(parts)
    counts = [_counted(rows, pair, rubric) for pair in pairs for rubric in rubrics]
    return rows + counts


def _ordering(blank: AnalysisRow, measures: CorpusMeasures, pair: JudgePair, rubric: str) -> list[AnalysisRow]:
    assert blank.base is not None
    alpha = measures.instrument.study.inference.alpha
    contrasts: dict[str, Contrast] = {}
    notes = list(blank.notes)
    for judge in (pair.second, pair.first):
        contrasts[judge], found = _contrast(measures, blank.base, judge, rubric)
        notes += found
    values = [contrast.value for contrast in contrasts.values()]
    turned = values[0] * values[1] < 0
    significant = turned and all(contrast.p_value < alpha for contrast in contrasts.values())
    if 0.0 in values:
        notes.append("a difference of exactly zero has no order, so it turns none")
    arms = [contrast_part(judge, contrast) for judge, contrast in contrasts.items()]
    flags = [
        AnalysisPart(name="ordering_reversal", estimate=float(turned)),
        AnalysisPart(name="significant_reversal", estimate=float(significant)),
    ]
    n = min(contrast.n_pairs for contrast in contrasts.values())
    return [blank.model_copy(update={"n": n, "components": (*arms, *flags), "notes": tuple(notes)})]


def _contrast(measures: CorpusMeasures, base: str, judge: str, rubric: str) -> tuple["Contrast", list[str]]:
    """Return conv - ped of a judge's session means, as the claims contrast them."""
    import numpy as np

    from pytest_tutoreval.inference import paired_contrast

    study = measures.instrument.study
    complete_arms(measures, base)
    scores = complete_scores(measures, base, judge, rubric)
    replicates = study.registered_replicates()
    sessions: list[Mapping[int, float | None]] = [scores[arm].sessions for arm in ARMS]
    conv, ped = (np.array([_nan(values[number]) for number in replicates]) for values in sessions)
    defined = int(np.sum(np.isfinite(conv) & np.isfinite(ped)))
    if defined < study.inference.minimum_pairs:
        raise NotEvaluable(f"{judge}: {rubric} is defined in {defined} of {len(replicates)} pairs")
    contrast = paired_contrast(
        conv,
        ped,
        rng=np.random.default_rng(study.inference.bootstrap_seed),
        draws=study.inference.bootstrap_draws,
    )
    return contrast, [f"{judge} {note}" for arm in ARMS for note in scores[arm].notes]


def _counted(rows: Sequence[AnalysisRow], pair: JudgePair, rubric: str) -> AnalysisRow:
    """Return how many bases turn the order, and how many significantly."""
    all_bases = [row for row in rows if (row.judge, row.measure) == (pair.name, rubric)]
    counted = [row for row in all_bases if row.components]
    flags = ("ordering_reversal", "significant_reversal")
    turned = {flag: [row.base or "" for row in counted if _flag(row, flag)] for flag in flags}
    notes = [f"{flag.replace('_', ' ')}: {', '.join(bases) or 'no base'}" for flag, bases in turned.items()]
    if left_out := [row.base or "" for row in all_bases if not row.components]:
        notes.append(f"not evaluable, so not counted: {', '.join(left_out)}")
    return AnalysisRow(
        analysis="judge_ordering",
        judge=pair.name,
        measure=rubric,
        role="audit",
        n=len(counted),
        n_dropped=len(all_bases) - len(counted),
        components=tuple(AnalysisPart(name=flag, estimate=float(len(turned[flag])), n=len(counted)) for flag in flags),
        notes=(*pair.notes, *notes),
    )


def _flag(row: AnalysisRow, name: str) -> bool:
    return any(part.name == name and part.estimate == 1.0 for part in row.components)


def _nan(value: float | None) -> float:
    return math.nan if value is None else value
