"""The rows of a turn-level model (definitions, section 10)."""

from dataclasses import dataclass

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures.arms import ARMS, complete_arms, complete_scores
from pytest_tutoreval.measures.corpus import CorpusMeasures
from pytest_tutoreval.measures.registry import TURN_OUTCOMES

__all__ = ["ModelFrame", "model_frame"]


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


def model_frame(outcome: str, measures: CorpusMeasures, base: str, judge: str | None) -> ModelFrame:
    """Return the rows of a turn-level model; `policy` is 1 for ped.

    Raises
    ------
    NotEvaluable
    """
    cells = complete_arms(measures, base)
    rows = sorted(
        (turn for arm in ARMS for turns in cells[arm].turns.values() for turn in turns), key=lambda turn: turn.id
    )
    notes: list[str] = []
    values: list[float | None]
    if TURN_OUTCOMES[outcome]:
        if judge is None:
            raise NotEvaluable(f"{outcome} needs a judge, and the corpus holds no ratings; run a judge over it first")
        scores = complete_scores(measures, base, judge, outcome)
        values = [scores[row.id.condition].turns[row.id].value for row in rows]
        notes += [f"{arm}: {usability}" for arm in ARMS if (usability := scores[arm].usability())]
        excluded = f"scores.csv {judge}/{outcome}/"
        notes += [note for arm in ARMS for note in cells[arm].notes if note.startswith(excluded)]
    else:
        values = [None if row.next_turn_independence is None else float(row.next_turn_independence) for row in rows]
    kept = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
    dropped = len(rows) - len(kept)
    if dropped:
        notes.append(f"{outcome}: {dropped} of {len(rows)} turns have no value and were dropped")
    return ModelFrame(
        outcome=[value for _, value in kept],
        leakage=[float(row.leaky) for row, _ in kept],
        policy=[float(row.id.condition == "ped") for row, _ in kept],
        replicate=[f"r{row.id.replicate}" for row, _ in kept],
        problem=[row.id.problem for row, _ in kept],
        dropped=dropped,
        notes=tuple(notes),
    )
