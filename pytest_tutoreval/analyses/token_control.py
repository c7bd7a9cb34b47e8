"""The token-normalised control: leaky and independent turns per 1000 tutor tokens (definitions, section 12).

Registered, and in no verdict. Tokens are prompt plus completion of all the session's tutor calls, tracker included,
unwindowed; the numerators are in-window.
"""

from collections.abc import Mapping

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import (
    REGISTERED_CONTRASTS,
    Replicates,
    Subject,
    compare,
    contrast_part,
    outcome_words,
    significance,
)
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, Cell, complete_arms
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.measured import SessionRow

__all__ = ["TOKEN_CONTROL", "per_thousand"]

# Marginal -> the session measure it normalises.
_MARGINALS: Mapping[str, str] = {"leaky_turns_per_1k": "leakage", "independent_turns_per_1k": "independence"}


def per_thousand(row: SessionRow, measure: str) -> float | None:
    """Return a session's in-window turns of a kind per 1000 tutor tokens; None with no tutor token or no rate."""
    rate: float | None = getattr(row, measure)
    if rate is None or not row.tutor_tokens:
        return None
    # A rate is a count over a count, so the count comes back whole.
    n_turns = row.n_tutor_turns if measure == "leakage" else row.n_student_turns
    return 1000 * round(rate * n_turns) / row.tutor_tokens


def token_control(given: AnalysisInput) -> list[AnalysisRow]:
    """Return the two normalised contrasts, each with its unnormalised one, the flag and what the flag cannot see."""
    subject = Subject.of("token_control", "sensitivity", given)
    cells = complete_arms(given.measures, subject.base)
    return [_marginal(subject, cells, marginal, measure) for marginal, measure in _MARGINALS.items()]


def _marginal(subject: Subject, cells: Mapping[str, Cell], marginal: str, measure: str) -> AnalysisRow:
    normalised: list[Replicates] = [
        {number: per_thousand(row, measure) for number, row in cells[arm].sessions.items()} for arm in ARMS
    ]
    raw: list[Replicates] = [
        {number: getattr(row, measure) for number, row in cells[arm].sessions.items()} for arm in ARMS
    ]
    try:
        row = subject.contrast_row(marginal, *normalised)
        before = contrast_part("unnormalised", compare(subject.instrument, *raw))
    except NotEvaluable as exc:
        return subject.undecided(marginal, exc)
    assert row.estimate is not None
    assert row.p_value is not None
    assert before.estimate is not None
    assert before.p_value is not None
    sign = REGISTERED_CONTRASTS[measure]
    old = significance(before.estimate, before.p_value, subject.alpha)
    new = significance(row.estimate, row.p_value, subject.alpha)
    flag = (old == sign) != (new == sign)
    notes = []
    if old != new:
        words = (
            f"unnormalised {outcome_words(before.estimate, before.p_value, subject.alpha)}; "
            f"per 1000 tutor tokens {outcome_words(row.estimate, row.p_value, subject.alpha)}"
        )
        registered = "conv > ped" if sign > 0 else "ped > conv"
        if flag:
            notes.append(f"flagged: significance in the registered direction ({registered}) differs. {words}")
        else:
            notes.append(
                f"not flagged, and yet the result changes: {words}. The automatic flag compares significance in the "
                f"registered direction ({registered}) alone, so it cannot see a null that becomes a significant "
                "reversal, nor a reversal that becomes a null"
            )
    parts = (*row.components, before, AnalysisPart(name="flag", n=int(flag)))
    return row.model_copy(update={"components": parts, "notes": tuple(notes)})


TOKEN_CONTROL: tuple[Analysis, ...] = (
    Analysis(
        "token_control",
        "Leaky and independent turns per 1000 tutor tokens",
        "sensitivity",
        "base",
        token_control,
    ),
)
