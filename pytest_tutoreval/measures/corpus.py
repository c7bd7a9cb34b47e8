"""A corpus as numbers: cells of sessions, and each judge's scores of them.

Whether the numbers come from text or from imported tables makes no difference to whoever reads them here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pytest_tutoreval.errors import CorpusError, NotInCorpus
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.measures.conditions import BASELINES
from pytest_tutoreval.measures.scores import session_score, turn_score
from pytest_tutoreval.measures.turns import MeasuredSession, SessionMeasurer
from pytest_tutoreval.records.measured import SessionRow, TurnRow, TurnScore
from pytest_tutoreval.records.rating import Rating, TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.store import BaseTables, Corpus, TableSet
from pytest_tutoreval.transcript import protocol_breach

__all__ = ["Cell", "CellScores", "CorpusMeasures"]


@dataclass
class Cell:
    """Base x condition: sessions by replicate, and why any that exists could not be read.

    `attempts` says by replicate and problem which student turns of the window hold a reasoning step, in order: the
    opening reply, then the reply to each tutor turn. Tables do not hold it. `notes` name values an import brought
    along that were left out.
    """

    sessions: dict[int, SessionRow] = field(default_factory=dict)
    turns: dict[int, tuple[TurnRow, ...]] = field(default_factory=dict)
    dialogues: dict[TurnId, str] = field(default_factory=dict)
    attempts: dict[int, Mapping[str, tuple[bool, ...]]] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class CellScores:
    """One judge's scores of a cell under one rubric.

    `missing` says what should be rated and is not: never the same as a turn whose ratings were all unusable, which
    has a score of None.
    """

    turns: dict[TurnId, TurnScore] = field(default_factory=dict)
    sessions: dict[int, float | None] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def usability(self) -> str | None:
        """Return how many turns had no usable rating or fewer than all, or None where every one was usable."""
        none = sum(score.n_usable == 0 for score in self.turns.values())
        some = sum(0 < score.n_usable < score.n_ratings for score in self.turns.values())
        if not none and not some:
            return None
        return f"{none} turns without a usable rating (dropped), {some} with some unusable"


class CorpusMeasures:
    """Measures of a corpus, computed when asked for and then kept."""

    def __init__(self, corpus: Corpus, instrument: Instrument) -> None:
        self.corpus, self.instrument = corpus, instrument
        self._measurer = SessionMeasurer(instrument)
        self._cells: dict[tuple[str, str], Cell] = {}
        self._whole: dict[tuple[str, str], Cell] = {}
        self._scores: dict[tuple[str, str, str, str], CellScores] = {}

    def cell(self, base: str, condition: str) -> Cell:
        """Return a cell. A broken session is listed in it; a broken table raises CorpusError."""
        key = (base, condition)
        if key not in self._cells:
            self._cells[key] = (
                self._cell_from_text(base, condition)
                if self.corpus.has_text
                else _cell_from_tables(self._base_tables(base, condition), condition)
            )
        return self._cells[key]

    def whole_cell(self, base: str, condition: str) -> Cell:
        """Return a cell measured over all visible turns instead of the answer-phase window.

        Raises
        ------
        NotInCorpus
            The corpus holds tables only.
        """
        if not self.corpus.has_text:
            raise NotInCorpus(
                "the tables hold in-window turns only; measures over all visible turns need the sessions' text"
            )
        key = (base, condition)
        if key not in self._whole:
            self._whole[key] = self._cell_from_text(base, condition, windowed=False)
        return self._whole[key]

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        """Return a judge's scores of a cell."""
        key = (base, condition, judge, rubric)
        if key not in self._scores:
            cell = self.cell(base, condition)
            self._scores[key] = (
                self._scores_from_ratings(cell, judge, rubric)
                if self.corpus.has_text
                else _scores_from_tables(self._base_tables(base, condition), cell, condition, judge, rubric)
            )
        return self._scores[key]

    # from text

    def _cell_from_text(self, base: str, condition: str, *, windowed: bool = True) -> Cell:
        cell = Cell()
        for key in self.corpus.session_keys(base, condition):
            try:
                measured = self._measure(key, windowed)
            except CorpusError as exc:
                cell.broken[key.replicate] = str(exc)
                continue
            cell.sessions[key.replicate] = measured.row
            cell.turns[key.replicate] = measured.turns
            cell.dialogues.update(measured.dialogues)
            cell.attempts[key.replicate] = measured.attempts
        return cell

    def _measure(self, key: SessionKey, windowed: bool) -> MeasuredSession:
        session = self.corpus.session(key)
        protocol = self.instrument.study.protocol
        breach = protocol_breach(session, self.instrument.problems, protocol.tutor_turns)
        if breach:
            raise CorpusError(f"session {key}: {breach}; resume it or restore the file")
        if session.header.seed != self.instrument.study.seed(key.replicate):
            raise CorpusError(
                f"session {key}: seed {session.header.seed}, registered {self.instrument.study.seed(key.replicate)}"
            )
        own = self.instrument.policy_sha256(key.condition)
        if own is not None and session.header.policy != own:
            whose = "the study file's" if key.condition in self.instrument.own_policies else "the installed package's"
            raise CorpusError(
                f"session {key}: collected under another text of policy {key.condition} "
                f"({(session.header.policy or 'none')[:12]}, {whose} is {own[:12]}); restore that text, or "
                "collect its sessions anew"
            )
        return self._measurer.measure(session, windowed=windowed)

    def _scores_from_ratings(self, cell: Cell, judge: str, rubric: str) -> CellScores:
        scores = CellScores()
        repetitions = self.instrument.study.protocol.repetitions
        for replicate, row in cell.sessions.items():
            turns = cell.turns[replicate]
            try:
                ratings = self.corpus.ratings(judge, rubric, row.key)
            except CorpusError as exc:
                scores.missing.append(str(exc))
                continue
            if ratings is None:
                if turns:
                    scores.missing.append(f"session {row.key}: no {rubric} ratings by {judge}")
                else:  # nothing to rate, so no file is due: the mean is undefined, not missing
                    scores.sessions[replicate] = None
                continue
            current, stale = _by_turn(row.key, ratings, cell.dialogues)
            for turn in turns:
                found = current.get(turn.id, {})
                present = sum(number in found for number in range(repetitions))
                if present < repetitions:
                    gap = f"{present} of {repetitions} repetitions on record"
                    if turn.id in stale:
                        gap += ", others were rated on another dialogue than the session holds; rate it anew"
                    scores.missing.append(f"turn {turn.id}: {gap} ({rubric}, {judge})")
                else:
                    scores.turns[turn.id] = turn_score([found[number].overall for number in range(repetitions)])
            scores.sessions[replicate] = session_score(
                scores.turns[turn.id].value for turn in turns if turn.id in scores.turns
            )
        return scores

    # from tables

    @cached_property
    def _tables(self) -> TableSet:
        return self.corpus.tables()

    @cached_property
    def _ablation_tables(self) -> TableSet:
        present = (self.corpus.folder / "tables" / "ablation").is_dir()
        return self.corpus.tables("ablation") if present else {}

    def _base_tables(self, base: str, condition: str) -> BaseTables:
        tables = self._ablation_tables if condition in BASELINES else self._tables
        return tables.get(base, BaseTables())


def _by_turn(
    key: SessionKey, ratings: Sequence[Rating], dialogues: Mapping[TurnId, str]
) -> tuple[Mapping[TurnId, dict[int, Rating]], set[TurnId]]:
    """Return ratings by turn and repetition, and the turns that have some on a dialogue the session does not hold."""
    current: dict[TurnId, dict[int, Rating]] = defaultdict(dict)
    stale: set[TurnId] = set()
    for rating in ratings:
        turn = TurnId(key.condition, key.replicate, rating.problem, rating.turn)
        if dialogues.get(turn) == rating.dialogue:
            current[turn][rating.repetition] = rating
        else:
            stale.add(turn)
    return current, stale


def _cell_from_tables(tables: BaseTables, condition: str) -> Cell:
    cell = Cell(notes=[note for where, note in tables.excluded if where == condition])
    for key, row in tables.sessions.items():
        if key.condition == condition:
            cell.sessions[key.replicate] = row
            cell.turns[key.replicate] = ()
    for turn_id, turn in tables.turns.items():
        if turn_id.condition != condition:
            continue
        if turn_id.replicate not in cell.sessions:
            cell.broken[turn_id.replicate] = "its turns are in the table, its session is not"
            continue
        cell.turns[turn_id.replicate] += (turn,)
    for replicate, row in cell.sessions.items():
        if len(cell.turns[replicate]) != row.n_tutor_turns:
            cell.broken[replicate] = (
                f"{len(cell.turns[replicate])} turns in the table, its session row says {row.n_tutor_turns}"
            )
    for replicate in cell.broken:
        cell.sessions.pop(replicate, None)
    return cell


def _scores_from_tables(tables: BaseTables, cell: Cell, condition: str, judge: str, rubric: str) -> CellScores:
    """Return scores as released: session means from their own column where there is one, else exact sums."""
    scores = CellScores()
    for row in tables.scores:
        if (row.judge, row.rubric, row.turn.condition) == (judge, rubric, condition):
            usable = int(row.score is not None)
            scores.turns[row.turn] = TurnScore(row.score, None, None, usable, 1)
    released = {
        row.replicate: row.score
        for row in tables.session_scores
        if (row.judge, row.rubric, row.condition) == (judge, rubric, condition)
    }
    differing, gap = 0, 0.0
    for replicate in cell.sessions:
        turns = cell.turns[replicate]
        unrated = [turn.id for turn in turns if turn.id not in scores.turns]
        scores.missing += [f"turn {turn}: no {rubric} score by {judge} in the tables" for turn in unrated]
        exact = session_score(scores.turns[turn.id].value for turn in turns if turn.id in scores.turns)
        mean = scores.sessions[replicate] = released.get(replicate, exact)
        differing += mean != exact
        if mean is not None and exact is not None:
            gap = max(gap, abs(mean - exact))
    if differing:
        scores.notes.append(
            f"{condition}: the released {rubric} means of {differing} sessions differ from exact sums (by at most "
            f"{gap:.1g}); the released ones are used, and ties may rest on that"
        )
    return scores
