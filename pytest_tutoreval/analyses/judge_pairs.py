"""Two judges over the same turns: which pairs there are, and their scores aligned by turn identity.

Scores of two judges are set side by side or subtracted; nothing here or in any other module averages them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import NotEvaluable, NotInCorpus
from pytest_tutoreval.measures import ARMS, CorpusMeasures, complete_arms, complete_scores
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.measured import TurnRow, TurnScore
from pytest_tutoreval.records.rating import TurnId

__all__ = ["AlignedTurns", "JudgePair", "align_turns", "gather_rows", "judge_pairs", "rounded_median"]

_SHOWN = 3

# A row as it stands without numbers, and what fills it.
Part = tuple[AnalysisRow, Callable[[], Sequence[AnalysisRow]]]


@dataclass(frozen=True)
class JudgePair:
    """Two judges; every difference is second - first. `declared` says whether a Holm family names the pair."""

    second: str
    first: str
    declared: bool

    @property
    def name(self) -> str:
        """`second-first`, as rows name it."""
        return f"{self.second}-{self.first}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the pair."""
        return () if self.declared else (f"no Holm family is declared for {self.name}: shown uncorrected",)


def judge_pairs(given: AnalysisInput) -> list[JudgePair]:
    """Return the pairs a Holm family of the study names, then all other pairs of the corpus's judges.

    The order within a declared pair is the family's. In any other pair the first judge is the one that comes first in
    the corpus, the primary judge before all. Adding a judge adds pairs at the end and changes none.

    Raises
    ------
    NotEvaluable
        The corpus holds ratings by fewer than two judges.
    """
    study = given.measures.instrument.study
    if len(given.judges) < 2:
        found = f"ratings by {given.judges[0]} only" if given.judges else "no ratings"
        raise NotInCorpus(f"the corpus holds {found}; a cross-judge audit needs two judges: run another over it")
    declared = dict.fromkeys(family.judges for family in study.families if set(family.judges) <= set(given.judges))
    pairs = [JudgePair(second, first, declared=True) for second, first in declared]
    ordered = sorted(given.judges, key=lambda judge: judge != study.primary_judge)
    for position, second in enumerate(ordered):
        for first in ordered[:position]:
            if (second, first) not in declared and (first, second) not in declared:
                pairs.append(JudgePair(second, first, declared=False))
    return pairs


@dataclass(frozen=True)
class AlignedTurns:
    """The in-window turns of a base's two arms that both judges scored, and both scores, in one order.

    The order is condition, replicate, problem, turn. `dropped` counts turns that a judge read without one usable
    rating. Every score's `value` is a number.
    """

    base: str
    turns: tuple[TurnRow, ...]
    first: tuple[TurnScore, ...]
    second: tuple[TurnScore, ...]
    dropped: int
    notes: tuple[str, ...]

    @property
    def first_values(self) -> list[float]:
        """The first judge's scores."""
        return [_known(score.value) for score in self.first]

    @property
    def second_values(self) -> list[float]:
        """The second judge's scores."""
        return [_known(score.value) for score in self.second]

    def conversations(self) -> Iterator[range]:
        """Yield the positions of each conversation's turns: conv by replicate, then ped by replicate."""
        numbered = enumerate(turn.id for turn in self.turns)
        for _, group in groupby(numbered, key=lambda item: (item[1].condition, item[1].replicate)):
            positions = [position for position, _ in group]
            yield range(positions[0], positions[-1] + 1)


def align_turns(measures: CorpusMeasures, base: str, pair: JudgePair, rubric: str) -> AlignedTurns:
    """Return both judges' scores of the same turns, aligned by exact turn identity.

    Raises
    ------
    NotEvaluable
        An arm is incomplete, a judge has not rated every turn as registered (the turns are named), or no turn has
        both scores.
    """
    cells = complete_arms(measures, base)
    rows = sorted((turn for arm in ARMS for turns in cells[arm].turns.values() for turn in turns), key=_identity)
    known = {row.id for row in rows}
    scores: dict[str, dict[TurnId, TurnScore]] = {}
    notes: list[str] = []
    for judge in (pair.first, pair.second):
        by_arm = complete_scores(measures, base, judge, rubric)
        scores[judge] = {turn: score for arm in ARMS for turn, score in by_arm[arm].turns.items()}
        excluded = f"scores.csv {judge}/{rubric}/"
        notes += [note for arm in ARMS for note in cells[arm].notes if note.startswith(excluded)]
        notes += [f"{judge} {arm}: {usability}" for arm in ARMS if (usability := by_arm[arm].usability())]
        if strangers := sorted(scores[judge].keys() - known):
            notes.append(f"{judge} scored {_named(strangers)}, no in-window turns of the corpus: left out")
    unusable = {
        row.id: [judge for judge, given in scores.items() if given[row.id].value is None]
        for row in rows
        if any(given[row.id].value is None for given in scores.values())
    }
    kept = tuple(row for row in rows if row.id not in unusable)
    if unusable:
        notes.append(
            f"{len(unusable)} of {len(rows)} turns lack a usable {rubric} rating by one judge and were dropped: "
            + _named([f"{turn} ({', '.join(judges)})" for turn, judges in unusable.items()])
        )
    if not kept:
        raise NotEvaluable(f"{base}: no turn has a {rubric} score by both {pair.first} and {pair.second}")
    return AlignedTurns(
        base=base,
        turns=kept,
        first=tuple(scores[pair.first][row.id] for row in kept),
        second=tuple(scores[pair.second][row.id] for row in kept),
        dropped=len(unusable),
        notes=tuple(notes),
    )


def rounded_median(score: TurnScore) -> int | None:
    """Return the median rating as a category, half to even; None without a usable rating.

    Imported tables hold means only: there the mean is rounded to the nearest integer, half to even. On the released
    tables that reproduces every published kappa and median count.
    """
    centre = score.value if score.median is None else score.median
    return None if centre is None else round(centre)


def gather_rows(parts: Iterable[Part]) -> list[AnalysisRow]:
    """Return the rows of every part in order; one that cannot be evaluated keeps its place, with the reason.

    Raises
    ------
    NotEvaluable
        No part can be evaluated.
    """
    rows: list[AnalysisRow] = []
    reasons: list[str] = []
    evaluated = False
    for blank, fill in parts:
        try:
            rows += fill()
            evaluated = True
        except NotEvaluable as exc:
            reasons.append(f"{blank.base or 'all bases'}, {blank.judge}, {blank.measure}: {exc}")
            rows.append(blank.model_copy(update={"notes": (*blank.notes, f"not evaluable: {exc}")}))
    if reasons and not evaluated:
        raise NotEvaluable(_named(reasons, "; "))
    return rows


def _identity(turn: TurnRow) -> TurnId:
    return turn.id


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("a turn without a score is among the aligned ones; align_turns drops it")
    return value


def _named(names: Sequence[object], separator: str = ", ") -> str:
    more = f"{separator}and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return separator.join(map(str, names[:_SHOWN])) + more
