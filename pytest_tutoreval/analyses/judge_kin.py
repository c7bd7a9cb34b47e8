"""The audit without the base whose maker is also the second judge's (definitions, section 13)."""

from collections.abc import Sequence
from functools import partial

from pytest_tutoreval.analyses.judge_agreement import agreement_row
from pytest_tutoreval.analyses.judge_models import family_members
from pytest_tutoreval.analyses.judge_pairs import JudgePair, Part, gather_rows, judge_pairs
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.study import Base, Family, Judge, Study

__all__ = ["maker", "without_kin"]

# A provider that passes models of other makers on says nothing about who made one.
_PASSES_ON = ("compatible", "openrouter")
# The same maker under two names: as OpenRouter spells it, and as the provider's own route.
_SAME = {"google": "gemini"}


def maker(entry: Base | Judge | None) -> str | None:
    """Return who made a model, or None where the study does not tell: `maker/model`, else the maker's own route."""
    if entry is None:
        return None
    if "/" in entry.model:
        name = entry.model.split("/", 1)[0]
        return _SAME.get(name, name)
    return None if entry.provider in _PASSES_ON else entry.provider


def without_kin(given: AnalysisInput) -> list[AnalysisRow]:
    """Return pooled agreement and the families' remaining members, uncorrected, without the second judge's kin.

    Members keep their own p-value: a family is corrected at its fixed size or not at all.
    """
    study = given.measures.instrument.study
    parts: list[Part] = []
    for pair in judge_pairs(given):
        kin = [base for base in given.bases if _are_kin(study, base, pair.second)]
        left = [base for base in given.bases if base not in kin]
        notes = (*pair.notes, *_kin_notes(study, pair, kin, left))
        for rubric in study.rubrics:
            blank = _blank(pair, rubric, notes=notes)
            # Nothing left out is no sensitivity: the row stays, without numbers, and says so.
            fill = partial(agreement_row, blank, given.measures, pair, rubric, left) if kin and left else _as_is(blank)
            parts.append((blank, fill))
        if not kin:
            continue
        for family in study.families:
            if family.judges == (pair.second, pair.first):
                parts += _remaining(family, pair, given, [base for base in family.bases if base not in kin], notes)
    return gather_rows(parts)


def _remaining(
    family: Family, pair: JudgePair, given: AnalysisInput, bases: Sequence[str], notes: tuple[str, ...]
) -> list[Part]:
    origin = "registered by the study" if family.registered else "added by the user's study file, not registered"
    of = f"member of the Holm family of {len(family.bases)} ({', '.join(family.bases)}), {origin}; p is uncorrected"
    parts: list[Part] = []
    for base in bases:
        blank = _blank(pair, f"{family.rubric}.{family.term}", base=base, notes=(*notes, of))
        parts.append((blank, partial(_uncorrected, blank, family, given, base)))
    return parts


def _uncorrected(blank: AnalysisRow, family: Family, given: AnalysisInput, base: str) -> list[AnalysisRow]:
    (member,) = family_members(family, given, (base,))
    numbers = {
        "estimate": member.test.estimate,
        "ci_low": member.test.ci_low,
        "ci_high": member.test.ci_high,
        "p_value": member.test.p_value,
        "se": member.test.se,
        "n": member.n,
        "n_dropped": member.n_dropped,
        "notes": (*blank.notes, *member.notes),
    }
    return [blank.model_copy(update=numbers)]


def _are_kin(study: Study, base: str, judge: str) -> bool:
    made = maker(study.judge(judge))
    return made is not None and made == maker(study.base(base))


def _kin_notes(study: Study, pair: JudgePair, kin: Sequence[str], left: Sequence[str]) -> list[str]:
    made = maker(study.judge(pair.second))
    if made is None:
        return [f"the study does not say who made {pair.second}: nothing left out"]
    if not kin:
        return [f"no base of the corpus is by {made}, the maker of {pair.second}: nothing left out"]
    notes = [f"without {', '.join(kin)}, by {made} as {pair.second} is"]
    if not left:
        return [*notes, "no base is left"]
    remaining = [base for base in left if _are_kin(study, base, pair.first)]
    if remaining:
        notes.append(f"{', '.join(remaining)} shares its maker with {pair.first}, which no leaving out removes")
    return notes


def _blank(pair: JudgePair, measure: str, *, notes: tuple[str, ...], base: str | None = None) -> AnalysisRow:
    return AnalysisRow(
        analysis="judge_without_kin", base=base, judge=pair.name, measure=measure, role="audit", notes=notes
    )


def _as_is(row: AnalysisRow) -> "partial[list[AnalysisRow]]":
    return partial(list, [row])
