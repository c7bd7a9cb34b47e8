"""The cells of a contrast, complete or not evaluable: what is missing is an error with its reason."""

from collections.abc import Iterable, Sequence

from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.measures.conditions import ARMS
from pytest_tutoreval.measures.corpus import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.records.session import SessionKey

__all__ = [
    "ARMS",
    "CellKey",
    "complete_arms",
    "complete_cells",
    "complete_cells_at",
    "complete_scores",
    "complete_scores_at",
]

# Base and condition.
CellKey = tuple[str, str]

_SHOWN = 3


def complete_arms(measures: CorpusMeasures, base: str) -> dict[str, Cell]:
    """Return the conv and ped cells of a base with every registered replicate in both. Raises NotEvaluable."""
    return complete_cells(measures, base, ARMS)


def complete_cells(measures: CorpusMeasures, base: str, conditions: Sequence[str]) -> dict[str, Cell]:
    """Return the cells of some conditions of a base as `complete_cells_at` does."""
    cells = complete_cells_at(measures, [(base, condition) for condition in conditions])
    return {condition: cell for (_, condition), cell in cells.items()}


def complete_cells_at(measures: CorpusMeasures, keys: Iterable[CellKey]) -> dict[CellKey, Cell]:
    """Return some cells with every registered replicate in each.

    Raises
    ------
    NotEvaluable
        A cell without sessions, a missing, broken or unregistered replicate; the message lists them.
    """
    registered = list(measures.instrument.study.registered_replicates())
    cells: dict[CellKey, Cell] = {}
    problems: list[str] = []
    for base, arm in keys:
        try:
            cell = measures.cell(base, arm)
        except CorpusError as exc:
            raise NotEvaluable(str(exc)) from exc
        cells[base, arm] = cell
        if not cell.sessions and not cell.broken:
            problems.append(f"no sessions in cell {base}/{arm}")
            continue
        missing = [number for number in registered if number not in cell.sessions and number not in cell.broken]
        extra = sorted(number for number in cell.sessions if number not in registered)
        if missing:
            problems.append(f"{base}/{arm} lacks {_replicates(missing)} of {len(registered)} registered")
        problems += _last_words(measures, base, arm, [*missing, *cell.broken])
        if extra:
            problems.append(f"{base}/{arm} holds {_replicates(extra)}, not registered (registered n {len(registered)})")
        problems += [f"{base}/{arm}/r{number}: {reason}" for number, reason in sorted(cell.broken.items())]
    if problems:
        raise NotEvaluable(_listed(problems))
    return cells


def complete_scores(
    measures: CorpusMeasures, base: str, judge: str, rubric: str, conditions: Sequence[str] = ARMS
) -> dict[str, CellScores]:
    """Return a judge's scores of both arms, or of other conditions of a base, as `complete_scores_at` does."""
    scores = complete_scores_at(measures, [(base, condition) for condition in conditions], judge, rubric)
    return {condition: found for (_, condition), found in scores.items()}


def complete_scores_at(
    measures: CorpusMeasures, keys: Iterable[CellKey], judge: str, rubric: str
) -> dict[CellKey, CellScores]:
    """Return a judge's scores of some cells, every in-window turn rated as registered.

    Raises
    ------
    NotEvaluable
        Ratings are missing, incomplete, or belong to another dialogue.
    """
    scores = {(base, arm): measures.scores(base, arm, judge, rubric) for base, arm in keys}
    missing = [reason for found in scores.values() for reason in found.missing]
    if missing:
        words = [word for base, arm in scores for word in _last_words_of_judge(measures, base, arm, judge, rubric)]
        raise NotEvaluable(_listed([*dict.fromkeys(words), *missing]))
    return scores


def _last_words(measures: CorpusMeasures, base: str, arm: str, replicates: list[int]) -> list[str]:
    """Return why the last live run left sessions unfinished, each reason once."""
    keys = [SessionKey(base, arm, replicate) for replicate in replicates]
    return _said_once(measures.corpus.reason_unfinished(key) for key in keys)


def _last_words_of_judge(measures: CorpusMeasures, base: str, arm: str, judge: str, rubric: str) -> list[str]:
    """Return why the last live run left ratings of an arm unfinished, each reason once."""
    keys = [SessionKey(base, arm, replicate) for replicate in measures.cell(base, arm).sessions]
    return _said_once(measures.corpus.reason_unrated(judge, rubric, key) for key in keys)


def _said_once(reasons: Iterable[str | None]) -> list[str]:
    said = dict.fromkeys(reason for reason in reasons if reason is not None)
    return [f"the last live run stopped there: {reason}" for reason in said]


def _replicates(numbers: list[int]) -> str:
    return f"replicate{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _listed(reasons: list[str]) -> str:
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    return "; ".join(reasons[:_SHOWN]) + more
