"""Measures made up in memory: every registered session of both arms, and what each judge makes of every turn."""

import contextlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pytest_tutoreval.analyses.judge_audit import ANALYSES
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import NotInCorpus
from pytest_tutoreval.frozen import Instrument, extend_instrument, load_instrument
from pytest_tutoreval.measures import Cell, CellScores, CorpusMeasures, session_score, turn_score
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.measured import SessionRow, TurnRow, TurnScore
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.records.study import Family
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.store import open_corpus
from tests.store.corpora import DEMO

ARMS = ("conv", "ped")
PROBLEMS = ("train-1", "train-2", "train-3", "train-4", "train-5", "train-6")

# What a judge says of a turn: its ratings, None where one cannot be read.
Rate = Callable[[str, str, str, TurnRow], Sequence[int | None] | TurnScore]


class MadeMeasures(CorpusMeasures):
    """Measures that were never on disk."""

    def __init__(
        self,
        cells: Mapping[tuple[str, str], Cell],
        scores: Mapping[tuple[str, str, str, str], CellScores],
        instrument: Instrument,
        bases: Sequence[str],
        judges: Sequence[str],
    ) -> None:
        super().__init__(open_corpus(DEMO), instrument)
        self.made_cells, self.made_scores = dict(cells), dict(scores)
        self.bases, self.judges = tuple(bases), tuple(judges)

    def cell(self, base: str, condition: str) -> Cell:
        return self.made_cells.get((base, condition), Cell())

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        key = (base, condition, judge, rubric)
        return self.made_scores.get(key, CellScores(missing=[f"{base}/{condition}: no {rubric} ratings by {judge}"]))


def a_turn(condition: str, replicate: int, problem: str = "train-1", turn: int = 0, *, leaky: bool = False) -> TurnRow:
    return TurnRow(TurnId(condition, replicate, problem, turn), leaky, True, 1, 1, None)


def some_turns(seed: int = 0, *, per_problem: int = 2, leak: float = 0.3) -> list[TurnRow]:
    """Two turns a problem in every registered session, some of them leaky; the same for the same seed."""
    rng = np.random.default_rng(seed)
    return [
        a_turn(arm, replicate, problem, number, leaky=bool(rng.random() < leak))
        for arm in ARMS
        for replicate in range(10)
        for problem in PROBLEMS
        for number in range(per_problem)
    ]


def chance(*names: object) -> np.random.Generator:
    """A stream of its own for every name, whatever else is drawn."""
    return np.random.default_rng(zlib.crc32("/".join(map(str, names)).encode()))


def at_random(seed: int = 0, *, repetitions: int = 3, unusable: float = 0.0) -> Rate:
    """Ratings with a taste by judge, an effect of leakage and policy, and noise."""

    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        taste = chance(seed, judge, rubric)
        level, leaky, ped = taste.normal(3.6, 0.5), taste.normal(0, 0.8), taste.normal(0, 0.8)
        rng = chance(seed, base, judge, rubric, turn.id)
        shared = chance(seed, base, rubric, turn.id).normal(0, 0.7)
        centre = level + leaky * turn.leaky + ped * (turn.id.condition == "ped") + shared
        drawn = np.clip(np.rint(centre + rng.normal(0, 0.5, repetitions)), 1, 5)
        return [None if rng.random() < unusable else int(value) for value in drawn]

    return rate


def made(
    rate: Rate,
    *,
    bases: Sequence[str] = ("sonnet", "gpt", "gemini"),
    judges: Sequence[str] = ("opus", "sol"),
    turns: Callable[[str], Iterable[TurnRow]] | None = None,
    instrument: Instrument | None = None,
) -> MadeMeasures:
    """Return measures of a complete corpus; `turns` gives the turns of a base, in the order they are to stand."""
    instrument = instrument or load_instrument()
    cells: dict[tuple[str, str], Cell] = {}
    scores: dict[tuple[str, str, str, str], CellScores] = {}
    for base in bases:
        rows = list(turns(base) if turns else some_turns(zlib.crc32(base.encode())))
        for arm in ARMS:
            cell = cells[base, arm] = Cell()
            for replicate in range(10):
                cell.turns[replicate] = tuple(
                    row for row in rows if (row.id.condition, row.id.replicate) == (arm, replicate)
                )
                cell.sessions[replicate] = a_session_row(base, arm, replicate, len(cell.turns[replicate]))
            for judge in judges:
                for rubric in instrument.study.rubrics:
                    scores[base, arm, judge, rubric] = _scored(cell, partial(rate, base, judge, rubric))
    return MadeMeasures(cells, scores, instrument, bases, judges)


def _scored(cell: Cell, rate: Callable[[TurnRow], Sequence[int | None] | TurnScore]) -> CellScores:
    scores = CellScores()
    for replicate, turns in cell.turns.items():
        for turn in turns:
            rated = rate(turn)
            scores.turns[turn.id] = rated if isinstance(rated, TurnScore) else turn_score(rated)
        scores.sessions[replicate] = session_score(scores.turns[turn.id].value for turn in turns)
    return scores


def a_session_row(base: str, condition: str, replicate: int, n_turns: int) -> SessionRow:
    counts = (n_turns, n_turns + 6, 24, 43, 67, 1, 1, 1, 1)
    return SessionRow(SessionKey(base, condition, replicate), replicate, 0.0, 0.0, 1.0, 1.0, 1.0, *counts)


def with_families(*families: Family, registered: bool = True) -> Instrument:
    """The bundled instrument with these families in place of its own."""
    instrument = load_instrument()
    own = tuple(family.model_copy(update={"registered": registered}) for family in families)
    return replace(instrument, study=instrument.study.model_copy(update={"families": own}))


def extended(**fields: object) -> Instrument:
    """The bundled instrument extended by a study file of these fields."""
    return extend_instrument(load_instrument(), StudyFile.parse(dict(fields)))


def a_base(name: str, model: str, provider: str = "openrouter") -> dict[str, object]:
    return {"id": name, "label": name, "model": model, "provider": provider, "sampling": {"max_tokens": 512}}


def a_judge(name: str, model: str, provider: str = "openrouter") -> dict[str, object]:
    return a_base(name, model, provider) | {"status": "added"}


# results


def run(name: str, measures: MadeMeasures, base: str | None = None) -> list[AnalysisRow]:
    """Run one analysis on one base, or on the corpus."""
    (analysis,) = (analysis for analysis in ANALYSES if analysis.name == name)
    return analysis.run(AnalysisInput(measures, base, None, measures.bases, measures.judges))


def run_all(measures: MadeMeasures) -> list[AnalysisRow]:
    """Run every audit analysis the corpus has something for, those of a base on every base."""
    rows: list[AnalysisRow] = []
    for analysis in ANALYSES:
        for base in measures.bases if analysis.scope == "base" else (None,):
            with contextlib.suppress(NotInCorpus):
                rows += run(analysis.name, measures, base)
    return rows


def the_row(rows: Iterable[AnalysisRow], **fields: object) -> AnalysisRow:
    """The one row with these fields."""
    (row,) = (row for row in rows if all(getattr(row, name) == value for name, value in fields.items()))
    return row


def the_part(row: AnalysisRow, name: str) -> AnalysisPart:
    """The one part of a row with this name."""
    (part,) = (part for part in row.components if part.name == name)
    return part
