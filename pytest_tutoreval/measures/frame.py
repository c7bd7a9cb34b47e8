"""The rows of a turn-level model (definitions, section 10)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures.arms import ARMS, complete_cells, complete_scores
from pytest_tutoreval.measures.corpus import CorpusMeasures
from pytest_tutoreval.measures.registry import TURN_OUTCOMES
from pytest_tutoreval.records.measured import TurnRow, TurnScore
from pytest_tutoreval.records.rating import TurnId

__all__ = ["ModelFrame", "model_frame", "turn_frame"]


@dataclass(frozen=True)
class ModelFrame:
    """Pooled in-window turns of both arms, in a fixed order: condition, replicate, problem, turn.

    `dropped` counts turns whose outcome is undefined.
    """

    outcome: list[float]
    leakage: list[float]
    policy: list[float]
    replicate: list[str]
    problem: list[str]
    dropped: int
    notes: tuple[str, ...]


def model_frame(
    outcome: str, measures: CorpusMeasures, base: str, judge: str | None, *, arms: Sequence[str] = ARMS
) -> ModelFrame:
    """Return the rows of a turn-level model over two conditions of a base; `policy` is 1 for the second, ped.

    Raises
    ------
    NotEvaluable
    """
    cells = complete_cells(measures, base, arms)
    rows = [turn for arm in arms for turns in cells[arm].turns.values() for turn in turns]
    if not TURN_OUTCOMES[outcome]:
        return turn_frame(outcome, rows, arms=arms)
    if judge is None:
        raise NotEvaluable(f"{outcome} needs a judge, and the corpus holds no ratings; run a judge over it first")
    scores = complete_scores(measures, base, judge, outcome, arms)
    excluded = f"scores.csv {judge}/{outcome}/"
    notes = [f"{arm}: {usability}" for arm in arms if (usability := scores[arm].usability())]
    notes += [note for arm in arms for note in cells[arm].notes if note.startswith(excluded)]
    by_turn = {turn: score for arm in arms for turn, score in scores[arm].turns.items()}
    return turn_frame(outcome, rows, by_turn, notes, arms=arms)


def turn_frame(
    outcome: str,
    rows: Iterable[TurnRow],
    scores: Mapping[TurnId, TurnScore] | None = None,
    notes: Iterable[str] = (),
    *,
    arms: Sequence[str] = ARMS,
) -> ModelFrame:
    """Return the model rows of just these turns; a judged outcome is looked up in `scores`."""
    ordered = sorted(rows, key=lambda row: row.id)
    values = [_value(row, scores if TURN_OUTCOMES[outcome] else None) for row in ordered]
    kept = [(row, value) for row, value in zip(ordered, values, strict=True) if value is not None]
    dropped = len(ordered) - len(kept)
    said = list(notes)
    if dropped:
        said.append(f"{outcome}: {dropped} of {len(ordered)} turns have no value and were dropped")
    return ModelFrame(
        outcome=[value for _, value in kept],
        leakage=[float(row.leaky) for row, _ in kept],
        policy=[float(row.id.condition == arms[1]) for row, _ in kept],
        replicate=[f"r{row.id.replicate}" for row, _ in kept],
        problem=[row.id.problem for row, _ in kept],
        dropped=dropped,
        notes=tuple(said),
    )


def _value(row: TurnRow, scores: Mapping[TurnId, TurnScore] | None) -> float | None:
    if scores is not None:
        return scores[row.id].value
    return None if row.next_turn_independence is None else float(row.next_turn_independence)
