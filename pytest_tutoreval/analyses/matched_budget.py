"""Both arms cut to the same number of visible turns a problem, and the numbers anew (definitions, section 11)."""

import json
from collections.abc import Mapping, Sequence

from pytest_tutoreval.analyses.matched_openings import (
    IndependenceBounds,
    MatchedIndependence,
    bound_contrast,
    matched_independence,
)
from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import (
    Replicates,
    Subject,
    change_notes,
    compare,
    contrast_part,
    fit_frame,
    fit_parts,
    leakage_mean_parts,
    slope_part,
    two_stage_part,
)
from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.measures import (
    ARMS,
    Cell,
    CorpusMeasures,
    MatchedBudget,
    ModelFrame,
    complete_arms,
    complete_scores,
    match_budget,
    model_frame,
    session_score,
    turn_frame,
)
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.measured import TurnRow

__all__ = ["LEAKY_FLOOR", "MATCHED_BUDGET", "match_arms"]

# The released analysis tests the ped leaky turns alone against it.
LEAKY_FLOOR = 10

_WINDOW = "full window"


def match_arms(measures: CorpusMeasures, base: str) -> tuple[dict[str, Cell], MatchedBudget]:
    """Return both arms of a base and the budget over its training problems. Raises NotEvaluable."""
    cells = complete_arms(measures, base)
    return cells, match_budget(cells, tuple(problem.id for problem in measures.instrument.training))


def matched_budget(given: AnalysisInput) -> list[AnalysisRow]:
    """Return cells, turns and leaky turns that survive, then leakage, independence and the judge-free leg anew."""
    subject = Subject.of("matched_budget", "sensitivity", given)
    cells, matched = match_arms(given.measures, subject.base)
    rows = [
        _cells_row(subject, matched),
        _turns_row(subject, cells, matched),
        _leaky_row(subject, cells, matched),
    ]
    leakage = {arm: {replicate: _share(turns) for replicate, turns in matched.turns[arm].items()} for arm in ARMS}
    rows.append(_contrast_row(subject, "contrast.leakage", leakage, _full(cells, "leakage")))
    rows.append(_independence_row(subject, given.measures, cells, matched))
    frame = turn_frame("next_turn_independence", _kept(matched))
    rows.append(_leg_row(subject, frame, "next_turn_independence", given.measures, _floor_note(matched)))
    return rows


def matched_helpfulness(given: AnalysisInput) -> list[AnalysisRow]:
    """Return helpfulness and its leg under the budget, by one judge. Scores are those of the full window."""
    subject = Subject.of("matched_budget_helpfulness", "sensitivity", given)
    if subject.judge is None:
        raise ValueError("judge = None; this analysis is run once a base and judge, so name one.")
    _, matched = match_arms(given.measures, subject.base)
    scores = complete_scores(given.measures, subject.base, subject.judge, "helpfulness")
    values = {
        arm: {
            replicate: session_score(scores[arm].turns[turn.id].value for turn in turns)
            for replicate, turns in matched.turns[arm].items()
        }
        for arm in ARMS
    }
    full: Mapping[str, Replicates] = {arm: scores[arm].sessions for arm in ARMS}
    by_turn = {turn: score for arm in ARMS for turn, score in scores[arm].turns.items()}
    frame = turn_frame("helpfulness", _kept(matched), by_turn)
    return [
        _contrast_row(subject, "contrast.helpfulness", values, full),
        _leg_row(subject, frame, "helpfulness", given.measures, _floor_note(matched)),
    ]


# what survives


def _cells_row(subject: Subject, matched: MatchedBudget) -> AnalysisRow:
    listed = [
        f"r{cell.replicate} {cell.problem} (conv {cell.conv_turns}, ped {cell.ped_turns})" for cell in matched.dropped
    ]
    empty = {"conv": sum(not cell.conv_turns for cell in matched.dropped)}
    empty["ped"] = sum(not cell.ped_turns for cell in matched.dropped)
    return subject.row(
        "cells",
        n=len(matched.budget) - len(matched.dropped),
        n_dropped=len(matched.dropped),
        components=(
            AnalysisPart(name="all", n=len(matched.budget)),
            *(AnalysisPart(name=f"{arm}_without_turn", n=number) for arm, number in empty.items()),
        ),
        notes=(f"dropped from both arms: {', '.join(listed) or 'none'}",),
    )


def _turns_row(subject: Subject, cells: Mapping[str, Cell], matched: MatchedBudget) -> AnalysisRow:
    kept = {arm: sum(map(len, matched.turns[arm].values())) for arm in ARMS}
    before = {arm: sum(map(len, cells[arm].turns.values())) for arm in ARMS}
    return subject.row(
        "turns",
        n=sum(kept.values()),
        n_dropped=sum(before.values()) - sum(kept.values()),
        components=tuple(AnalysisPart(name=arm, n=kept[arm], n_dropped=before[arm] - kept[arm]) for arm in ARMS),
    )


def _leaky_row(subject: Subject, cells: Mapping[str, Cell], matched: MatchedBudget) -> AnalysisRow:
    parts = []
    for name, turns in (("", matched.turns), ("full_window_", {arm: cells[arm].turns for arm in ARMS})):
        for arm in ARMS:
            flags = [turn.leaky for rows in turns[arm].values() for turn in rows]
            parts.append(AnalysisPart(name=f"{name}{arm}", n=sum(flags)))
            parts.append(AnalysisPart(name=f"{name}{arm}_non_leaky", n=len(flags) - sum(flags)))
    return subject.row(
        "leaky_turns",
        n=sum(turn.leaky for turn in _kept(matched)),
        components=(*parts, AnalysisPart(name="floor", n=LEAKY_FLOOR)),
        notes=_floor_note(matched),
    )


def _floor_note(matched: MatchedBudget) -> tuple[str, ...]:
    """Return what the floor says; it tests ped's leaky turns alone, as released."""
    leaky = {arm: sum(turn.leaky for turns in matched.turns[arm].values() for turn in turns) for arm in ARMS}
    if leaky["ped"] >= LEAKY_FLOOR:
        return ()
    return (
        f"{leaky['ped']} leaky ped turns survive, below the floor of {LEAKY_FLOOR}: the legs rest mainly on conv "
        f"({leaky['conv']} leaky turns) and are underpowered within ped; nothing is re-specified",
    )


# contrasts


def _contrast_row(
    subject: Subject, measure: str, values: Mapping[str, Replicates], full: Mapping[str, Replicates]
) -> AnalysisRow:
    """Return a contrast under the budget with the full window's beside it."""
    conv, ped = (values[arm] for arm in ARMS)
    try:
        row = subject.contrast_row(measure, conv, ped)
    except NotEvaluable as exc:
        return subject.undecided(measure, exc)
    before = compare(subject.instrument, *(full[arm] for arm in ARMS))
    part = contrast_part("full_window", before)
    changed, notes = change_notes((_WINDOW, part), ("matched budget", row), subject.alpha)
    return row.model_copy(update={"components": (*row.components, part, changed), "notes": (*row.notes, *notes)})


def _independence_row(
    subject: Subject, measures: CorpusMeasures, cells: Mapping[str, Cell], matched: MatchedBudget
) -> AnalysisRow:
    """Return independence under the budget: exact where it is known, else its bounds over all fillings."""
    measure = "contrast.independence"
    full = _full(cells, "independence")
    try:
        independence = matched_independence(cells, matched)
        if independence.is_known:
            known = {arm: independence.known(arm) for arm in ARMS}
            return _contrast_row(subject, measure, known, full)
        bounds = bound_contrast(independence, subject.alpha)
    except NotEvaluable as exc:
        return subject.undecided(measure, exc)
    before = contrast_part("full_window", compare(subject.instrument, *(full[arm] for arm in ARMS)))
    parts = [
        AnalysisPart(name="lowest", estimate=bounds.low),
        AnalysisPart(name="highest", estimate=bounds.high),
        *(AnalysisPart(name=f"{arm}_lowest", estimate=bounds.arms[arm][0]) for arm in ARMS),
        *(AnalysisPart(name=f"{arm}_highest", estimate=bounds.arms[arm][1]) for arm in ARMS),
        AnalysisPart(name="fillings", n=bounds.n_fillings),
        AnalysisPart(name="p_lowest", p_value=bounds.p_low),
        AnalysisPart(name="p_highest", p_value=bounds.p_high),
        AnalysisPart(name="significant", n=bounds.n_significant),
        before,
    ]
    notes = [
        _missing_note(independence, matched),
        _bounds_note(bounds),
        _outcome_note(bounds, before, subject.alpha),
    ]
    released = _released_independence(measures, subject.base)
    if released is not None:
        parts.append(released)
        notes.append(_inside_note(released, bounds))
    return subject.row(
        measure,
        n=bounds.n_pairs,
        n_dropped=len(matched.turns["conv"]) - bounds.n_pairs,
        components=tuple(parts),
        notes=tuple(notes),
    )


def _missing_note(independence: MatchedIndependence, matched: MatchedBudget) -> str:
    open_sessions = [
        f"{arm}/r{replicate}"
        for arm in ARMS
        for replicate, values in independence.values[arm].items()
        if values is not None and len(values) > 1
    ]
    return (
        f"not computable from tables: which opening replies hold a reasoning step is missing for the sessions that "
        f"lost a cell ({', '.join(open_sessions)}); their sum over each session, every reply to a tutor turn and all "
        f"denominators are there. {len(matched.dropped)} of {len(matched.budget)} cells were dropped. Missing with "
        "them: Cliff's delta and the interval of the study's own filling"
    )


def _bounds_note(bounds: IndependenceBounds) -> str:
    p = "" if bounds.p_low is None else f", p from {bounds.p_low:.3g} to {bounds.p_high:.3g}"
    return (
        f"over all {bounds.n_fillings} fillings of the missing replies the difference lies from {bounds.low:+.4f} to "
        f"{bounds.high:+.4f}{p}"
    )


def _outcome_note(bounds: IndependenceBounds, full: AnalysisPart, alpha: float) -> str:
    if bounds.outcomes is None:
        return "too many fillings to test one by one: whether the outcome is the same over all of them is not known"
    assert full.estimate is not None
    assert full.p_value is not None
    words = {(True, 1): "significantly positive", (True, -1): "significantly negative"}
    words |= {(False, 1): "positive, not significant", (False, -1): "negative, not significant"}
    words |= {(False, 0): "zero", (True, 0): "significant with mean zero"}
    before = (full.p_value < alpha, (full.estimate > 0) - (full.estimate < 0))
    found = ", ".join(words[outcome] for outcome in sorted(bounds.outcomes))
    if bounds.outcomes == {before}:
        return f"the outcome is the same over all fillings, and that of the full window: {found}"
    if len(bounds.outcomes) == 1:
        return f"the outcome is the same over all fillings ({found}), unlike the full window's ({words[before]})"
    return f"the outcome depends on the missing replies: {found}; over the full window: {words[before]}"


def _released_independence(measures: CorpusMeasures, base: str) -> AnalysisPart | None:
    """Return the study's own value, which rests on its text, where the corpus keeps the file."""
    name = f"matched_budget.{base}.json"
    data = measures.corpus.reference(name)
    if data is None:
        return None
    try:
        found = json.loads(data)["marginals_full_vs_matched"]["P3_independence"]["matched_budget"]
        low, high = found["diff_ci95"]
        return AnalysisPart(
            name="released",
            estimate=found["mean_diff_conv_minus_ped"],
            ci_low=low,
            ci_high=high,
            p_value=found["p_two_sided"],
            cliffs_delta=found["cliffs_delta_conv_vs_ped"],
            n=found["n"],
        )
    except (ValueError, KeyError, TypeError) as exc:
        raise CorpusError(f"reference/{name}: no readable P3 under the budget ({exc}); restore the file") from exc


def _inside_note(released: AnalysisPart, bounds: IndependenceBounds) -> str:
    assert released.estimate is not None
    assert released.p_value is not None
    inside = bounds.low - 1e-9 <= released.estimate <= bounds.high + 1e-9
    if bounds.p_low is not None and bounds.p_high is not None:
        inside = inside and bounds.p_low - 1e-9 <= released.p_value <= bounds.p_high + 1e-9
    where = "lies inside the bounds" if inside else "DIFFERS: it lies OUTSIDE the bounds"
    return f"the study's own value {released.estimate:+.4f} (p {released.p_value:.3g}) {where}"


# legs


def _leg_row(
    subject: Subject, frame: ModelFrame, outcome: str, measures: CorpusMeasures, floor: tuple[str, ...]
) -> AnalysisRow:
    """Return model (1) on the surviving turns, with the full window's slope and the two-stage value beside it."""
    measure = f"leg.{outcome}"
    means = leakage_mean_parts(frame)
    try:
        fit = fit_frame(frame, adjusted=False)
        before = fit_frame(model_frame(outcome, measures, subject.base, subject.judge), adjusted=False)
    except NotEvaluable as exc:
        return subject.undecided(
            measure, exc, n=len(frame.outcome), n_dropped=frame.dropped, components=means, notes=(*frame.notes, *floor)
        )
    slope = fit.coefficients["leakage"]
    parts, fit_notes = fit_parts(fit)
    full_part = slope_part("full_window", before)
    row = subject.row(
        measure,
        estimate=slope.estimate,
        ci_low=slope.ci_low,
        ci_high=slope.ci_high,
        p_value=slope.p_value,
        se=slope.se,
        n=fit.n,
        n_dropped=frame.dropped,
        components=(*parts, *means, *two_stage_part(frame, subject), full_part),
        notes=(*frame.notes, *fit_notes, *floor),
    )
    changed, notes = change_notes((_WINDOW, full_part), ("matched budget", row), subject.alpha)
    return row.model_copy(update={"components": (*row.components, changed), "notes": (*row.notes, *notes)})


# turns


def _kept(matched: MatchedBudget) -> list[TurnRow]:
    return [turn for arm in ARMS for turns in matched.turns[arm].values() for turn in turns]


def _share(turns: Sequence[TurnRow]) -> float | None:
    return sum(turn.leaky for turn in turns) / len(turns) if turns else None


def _full(cells: Mapping[str, Cell], measure: str) -> dict[str, Replicates]:
    return {arm: {number: getattr(row, measure) for number, row in cells[arm].sessions.items()} for arm in ARMS}


MATCHED_BUDGET: tuple[Analysis, ...] = (
    Analysis(
        "matched_budget",
        "Matched visible-turn budget: leakage, independence and the judge-free leg anew",
        "sensitivity",
        "base",
        matched_budget,
    ),
    Analysis(
        "matched_budget_helpfulness",
        "Matched visible-turn budget: helpfulness and its leg anew",
        "sensitivity",
        "base_judge",
        matched_helpfulness,
    ),
)
