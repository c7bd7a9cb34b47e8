"""What judges said of a session's turns, beside the scores the measures made of it."""

from collections.abc import Mapping, Sequence
from operator import attrgetter

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.measures import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.records.measured import TurnScore
from pytest_tutoreval.records.rating import Rating, TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.reporting.evidence_records import RatingEvidence, Repetition

__all__ = ["SessionRatings"]


# A session's ratings under one rubric by problem and turn, in order of repetitions; or why they cannot be read.
_Read = Mapping[tuple[str, int], Sequence[Rating]] | str


class SessionRatings:
    """What some judges said of one session, with each turn's score."""

    def __init__(self, measures: CorpusMeasures, cell: Cell, key: SessionKey, judges: Sequence[str]) -> None:
        self._key = key
        self._repetitions = measures.instrument.study.protocol.repetitions
        self._dialogues = cell.dialogues
        self._has_text = measures.corpus.has_text
        self._scores: dict[tuple[str, str], CellScores] = {}
        self._read: dict[tuple[str, str], _Read] = {}
        for judge in judges:
            for rubric in measures.instrument.study.rubrics:
                self._scores[judge, rubric] = measures.scores(key.base, key.condition, judge, rubric)
                self._read[judge, rubric] = self._by_turn(measures, judge, rubric)

    def _by_turn(self, measures: CorpusMeasures, judge: str, rubric: str) -> _Read:
        """Return the ratings on record by turn, or why they cannot be read."""
        if not self._has_text:
            return {}
        try:
            ratings = measures.corpus.ratings(judge, rubric, self._key) or ()
        except CorpusError as exc:
            return str(exc)
        by_turn: dict[tuple[str, int], list[Rating]] = {}
        for rating in ratings:
            by_turn.setdefault((rating.problem, rating.turn), []).append(rating)
        for said in by_turn.values():
            said.sort(key=attrgetter("repetition"))
        return by_turn

    def session_means(self) -> dict[str, dict[str, float | None]]:
        """Return the session's means by judge and rubric; one that is not there is None."""
        means: dict[str, dict[str, float | None]] = {}
        for (judge, rubric), scores in self._scores.items():
            means.setdefault(judge, {})[rubric] = scores.sessions.get(self._key.replicate)
        return means

    def of(self, turn: TurnId) -> dict[str, dict[str, RatingEvidence]]:
        """Return a turn's ratings by judge and rubric."""
        shown: dict[str, dict[str, RatingEvidence]] = {}
        for (judge, rubric), scores in self._scores.items():
            shown.setdefault(judge, {})[rubric] = self._one(
                turn, scores.turns.get(turn), self._read[judge, rubric], f"{rubric}, {judge}"
            )
        return shown

    def _one(self, turn: TurnId, score: TurnScore | None, read: _Read, who: str) -> RatingEvidence:
        if isinstance(read, str):
            return RatingEvidence(gap=read)
        dialogue = self._dialogues.get(turn)
        repetitions = tuple(
            [
                Repetition(rating.repetition, rating.overall, rating.raw, rating.discarded, rating.dialogue != dialogue)
                for rating in read.get((turn.problem, turn.turn), ())
            ]
        )
        if score is not None:
            return RatingEvidence(score.value, score.spread, None, repetitions)
        return RatingEvidence(gap=self._gap(repetitions, who), repetitions=repetitions)

    def _gap(self, repetitions: Sequence[Repetition], who: str) -> str:
        if not self._has_text:
            return f"no score in the tables ({who})"
        stale = sum(repetition.stale for repetition in repetitions)
        gap = f"{len(repetitions) - stale} of {self._repetitions} repetitions on record ({who})"
        return f"{gap}, {stale} on another dialogue than the session holds" if stale else gap
