"""A session measure contrasted over replicates: P1, P2, P3 (definitions, section 9)."""

import math
from collections.abc import Mapping

from pytest_tutoreval.claims.rule import decide, unmet
from pytest_tutoreval.errors import DegenerateData, NotEvaluable
from pytest_tutoreval.measures import ARMS, SESSION_MEASURES, CorpusMeasures, complete_arms, complete_scores
from pytest_tutoreval.records.claim import PairedClaim
from pytest_tutoreval.records.verdict import Verdict

__all__ = ["decide_paired"]


def decide_paired(claim: PairedClaim, measures: CorpusMeasures, base: str, judge: str | None) -> Verdict:
    """Return the verdict of a paired contrast.

    A pair whose measure is undefined (no in-window turn, no usable rating) is dropped and counted; the claim is decided
    on the rest, with the registered minimum of pairs.

    Raises
    ------
    NotEvaluable
    """
    import numpy as np

    from pytest_tutoreval.inference import paired_contrast

    study = measures.instrument.study
    values, notes = _session_values(claim.measure, measures, base, judge)
    replicates = list(study.registered_replicates())
    conv, ped = (
        np.array([_nan_if_undefined(values[arm][replicate]) for replicate in replicates], dtype=float) for arm in ARMS
    )
    undefined = [f"{arm}/r{replicate}" for arm in ARMS for replicate in replicates if values[arm][replicate] is None]
    if undefined:
        notes.append(f"{claim.measure} undefined in {', '.join(undefined)}: pair dropped")
    defined = int(np.sum(np.isfinite(conv) & np.isfinite(ped)))
    if defined < study.inference.minimum_pairs:
        raise NotEvaluable(
            f"{claim.measure} is defined in {defined} of {len(replicates)} pairs, at least "
            f"{study.inference.minimum_pairs} are needed: fewer can never reach .05"
        )
    try:
        contrast = paired_contrast(
            conv,
            ped,
            rng=np.random.default_rng(study.inference.bootstrap_seed),
            draws=study.inference.bootstrap_draws,
        )
    except DegenerateData as exc:
        raise NotEvaluable(f"{claim.measure}: {exc}") from exc
    sign = 1 if claim.direction == "conv > ped" else -1
    outcome = decide(contrast.value, contrast.p_value, sign=sign, alpha=study.inference.alpha)
    if outcome.reversed:
        notes.append("significant in the direction opposite to the registered one")
    if not math.isclose(contrast.p_value, contrast.p_value_rounded, rel_tol=1e-9):
        notes.append(
            f"on differences rounded to 12 decimals p is {contrast.p_value_rounded:.6g}; "
            "the registered test ranks raw doubles, and this decides nothing"
        )
    return Verdict(
        claim=claim.id,
        base=base,
        judge=judge,
        verdict="supported" if outcome.holds else unmet(claim.kind),
        reversed=outcome.reversed,
        role=claim.role,
        status=claim.status,
        direction=claim.direction,
        estimate=contrast.value,
        ci_low=contrast.ci_low,
        ci_high=contrast.ci_high,
        p_value=contrast.p_value,
        cliffs_delta=contrast.cliffs_delta,
        n=contrast.n_pairs,
        n_dropped=contrast.n_dropped,
        notes=tuple(notes),
    )


def _session_values(
    measure: str, measures: CorpusMeasures, base: str, judge: str | None
) -> tuple[Mapping[str, Mapping[int, float | None]], list[str]]:
    """Return the measure by arm and replicate, None where undefined, and what a reader should know about it."""
    cells = complete_arms(measures, base)
    notes = [note for arm in ARMS for note in cells[arm].notes if note.startswith("sessions.csv") and measure in note]
    if not SESSION_MEASURES[measure]:
        return {arm: {r: getattr(row, measure) for r, row in cells[arm].sessions.items()} for arm in ARMS}, notes
    if judge is None:
        raise NotEvaluable(f"{measure} needs a judge, and the corpus holds no ratings; run a judge over it first")
    excluded = tuple(f"{table} {judge}/{measure}/" for table in ("scores.csv", "session_scores.csv"))
    notes += [note for arm in ARMS for note in cells[arm].notes if note.startswith(excluded)]
    scores = complete_scores(measures, base, judge, measure)
    notes += [note for arm in ARMS for note in scores[arm].notes]
    notes += [f"{arm}: {usability}" for arm in ARMS if (usability := scores[arm].usability())]
    return {arm: scores[arm].sessions for arm in ARMS}, notes


def _nan_if_undefined(value: float | None) -> float:
    return math.nan if value is None else value
