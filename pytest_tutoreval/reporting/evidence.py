"""What a number rests on: sessions as a reader sees them, each turn with its labels, its marks and its ratings.

The labels are those of the measures; the marks show where the frozen detectors found what they found. Nothing here is
decided or averaged anew.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from pytest_tutoreval.detectors import DeclaredForms, attempt_spans, final_answer
from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.measures import Cell, CorpusMeasures
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import Session, SessionKey
from pytest_tutoreval.reporting.evidence_ratings import SessionRatings
from pytest_tutoreval.reporting.evidence_records import (
    EvidenceIndex,
    HiddenCall,
    Mark,
    ProblemEvidence,
    RatingEvidence,
    Repetition,
    Segment,
    SessionEvidence,
    SessionListing,
    TurnEvidence,
    mark_text,
)
from pytest_tutoreval.store import TornLineWarning, ratings_path, session_path
from pytest_tutoreval.transcript import Exchange, Probe, TutorTurn, answer_window, read_transcript

__all__ = [
    "MOST_MARKS",
    "EvidenceIndex",
    "HiddenCall",
    "Mark",
    "ProblemEvidence",
    "RatingEvidence",
    "Repetition",
    "Segment",
    "SessionEvidence",
    "SessionListing",
    "TurnEvidence",
    "evidence_index",
    "session_evidence",
]

# A turn is at most some thousand characters; only a hostile one has more matches than anyone could look at.
MOST_MARKS = 1000

NO_TEXT = "the corpus holds tables only: labels and scores without the text they were made from"


def evidence_index(measures: CorpusMeasures, judges: Sequence[str]) -> EvidenceIndex:
    """Return what sessions there are: from measured cells and file sizes, so that no text is read a second time."""
    manifest = measures.corpus.manifest
    listed: list[SessionListing] = []
    unreadable: list[str] = []
    with _torn_lines_known():
        for base in manifest.bases:
            for condition in manifest.conditions:
                try:
                    cell = measures.cell(base, condition)
                except CorpusError as exc:
                    unreadable.append(f"{base}/{condition}: {exc}")
                    continue
                for replicate in sorted(cell.sessions.keys() | cell.broken.keys()):
                    key = SessionKey(base, condition, replicate)
                    listed.append(SessionListing(key, _size(measures, key, judges), cell.broken.get(replicate)))
    return EvidenceIndex(tuple(listed), tuple(unreadable))


def _size(measures: CorpusMeasures, key: SessionKey, judges: Sequence[str]) -> int:
    rubrics = measures.instrument.study.rubrics
    paths = [session_path(key), *(ratings_path(judge, rubric, key) for judge in judges for rubric in rubrics)]
    size = 0
    for path in paths:
        try:
            size += (measures.corpus.folder / path).stat().st_size
        except OSError:  # not rated, or a corpus of tables
            continue
    return size


def session_evidence(
    measures: CorpusMeasures, base: str, condition: str, replicate: int, judges: Sequence[str]
) -> SessionEvidence:
    """Return one session as a reader sees it; a broken one holds its reason and nothing else.

    Parameters
    ----------
    judges : whose ratings are shown, in that order

    Raises
    ------
    CorpusError
        The corpus has no such session, or its cell cannot be read at all.
    """
    key = SessionKey(base, condition, replicate)
    with _torn_lines_known():
        cell = measures.cell(base, condition)
        if replicate in cell.broken:
            return SessionEvidence(base, condition, replicate, broken=cell.broken[replicate])
        if replicate not in cell.sessions:
            raise CorpusError(f"{measures.corpus.folder}: no session {key}; evidence_index lists what there is")
        ratings = SessionRatings(measures, cell, key, judges)
        if not measures.corpus.has_text:
            return _from_tables(measures, cell, key, ratings)
        return _from_text(measures, cell, key, ratings)


@contextmanager
def _torn_lines_known() -> Iterator[None]:
    """Keep quiet about torn lines: whoever measured first has said so, and here they show as what is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TornLineWarning)
        yield


def _from_text(measures: CorpusMeasures, cell: Cell, key: SessionKey, ratings: SessionRatings) -> SessionEvidence:
    session = measures.corpus.session(key)
    transcript = read_transcript(session)
    rows = {row.id: row for row in cell.turns[key.replicate]}
    hidden = _hidden_calls(session)
    problems = []
    for problem in measures.instrument.problems:
        if problem.id in transcript.exchanges:
            exchange = transcript.exchanges[problem.id]
            problems.append(_tutored(key, problem, exchange, rows, hidden, ratings))
        elif problem.id in transcript.probes:
            problems.append(_probed(problem, transcript.probes[problem.id], session))
    header = session.header
    return SessionEvidence(
        *key,
        seed=header.seed,
        provenance=header.provenance,
        producer=header.producer,
        source=header.source,
        amendments=header.amendments,
        routes={role: route.model_dump(mode="json", exclude_defaults=True) for role, route in header.routes.items()},
        numbers=_numbers(cell.sessions[key.replicate]),
        scores=ratings.session_means(),
        problems=tuple(problems),
    )


def _from_tables(measures: CorpusMeasures, cell: Cell, key: SessionKey, ratings: SessionRatings) -> SessionEvidence:
    by_problem: dict[str, list[TurnEvidence]] = {}
    for row in sorted(cell.turns[key.replicate], key=lambda row: row.id):
        turn = TurnEvidence("tutor", (), in_window=True, **_labels(row), ratings=ratings.of(row.id))
        by_problem.setdefault(row.id.problem, []).append(turn)
    problems = tuple(
        ProblemEvidence(problem.id, problem.phase, problem.statement, _in_words(problem.answer), True, tuple(turns))
        for problem in measures.instrument.problems
        if (turns := by_problem.get(problem.id))
    )
    manifest = measures.corpus.manifest
    return SessionEvidence(
        *key,
        seed=cell.sessions[key.replicate].seed,
        provenance=manifest.provenance,
        producer=manifest.producer,
        source=manifest.source,
        numbers=_numbers(cell.sessions[key.replicate]),
        scores=ratings.session_means(),
        problems=problems,
        no_text=NO_TEXT,
    )


def _tutored(
    key: SessionKey,
    problem: Problem,
    exchange: Exchange,
    rows: Mapping[TurnId, TurnRow],
    hidden: Mapping[tuple[str, int], Sequence[Call]],
    ratings: SessionRatings,
) -> ProblemEvidence:
    window = answer_window(exchange)
    said: list[tuple[int, TurnEvidence]] = []
    committed = None
    for reply in exchange.student:
        in_window = window.commitment is None or reply.seq <= window.commitment
        segments, unmarked = _attempt_marks(reply.text)
        commits = reply.seq == window.commitment
        committed = final_answer(reply.text) if commits else committed
        said.append((reply.seq, TurnEvidence("student", segments, in_window, commits=commits, unmarked=unmarked)))
    for shown in exchange.tutor:
        turn_id = TurnId(key.condition, key.replicate, problem.id, shown.turn)
        row = rows.get(turn_id)
        segments, unmarked = _leak_marks(problem, shown.text)
        labels = _labels(row) if row else {"turn": shown.turn, "route": shown.route}
        turn = TurnEvidence(
            "tutor",
            segments,
            in_window=row is not None,
            **labels,
            node=shown.node,
            unmarked=unmarked,
            hidden=_hidden_in(shown, hidden.get((problem.id, shown.turn), ())),
            ratings=ratings.of(turn_id) if row else {},
        )
        said.append((shown.first, turn))
    turns = tuple(turn for _, turn in sorted(said, key=lambda item: item[0]))
    return _problem(problem, turns, committed, tutored=True)


def _probed(problem: Problem, probe: Probe, session: Session) -> ProblemEvidence:
    elicited = {call.seq for call in session.calls if call.problem == problem.id and call.purpose == "commitment"}
    turns = tuple(
        TurnEvidence("student", mark_text(reply.text, ()), elicited=reply.seq in elicited) for reply in probe.replies
    )
    return _problem(problem, turns, probe.answer, tutored=False)


def _problem(
    problem: Problem, turns: tuple[TurnEvidence, ...], committed: float | None, *, tutored: bool
) -> ProblemEvidence:
    return ProblemEvidence(
        problem.id,
        problem.phase,
        problem.statement,
        _in_words(problem.answer),
        tutored,
        turns,
        None if committed is None else _in_words(committed),
        None if tutored and committed is None else problem.is_answered_by(committed),
    )


def _in_words(value: float) -> str:
    return f"{value:.12g}"  # JSON has no infinity, which a number too long for a float commits to


def _labels(row: TurnRow) -> dict[str, Any]:
    return {
        "turn": row.id.turn,
        "route": row.route,
        "leaky": row.leaky,
        "next_turn_independence": row.next_turn_independence,
    }


def _numbers(row: SessionRow) -> dict[str, float | int | None]:
    return {
        "leakage": row.leakage,
        "independence": row.independence,
        "n_tutor_turns": row.n_tutor_turns,
        "n_student_turns": row.n_student_turns,
        "accuracy_immediate": row.accuracy_immediate,
        "accuracy_delayed": row.accuracy_delayed,
        "accuracy_transfer": row.accuracy_transfer,
    }


def _hidden_calls(session: Session) -> dict[tuple[str, int], list[Call]]:
    """Return the tutor side's calls by problem and tutor turn."""
    calls: dict[tuple[str, int], list[Call]] = {}
    for call in session.calls:
        if call.turn is not None:
            calls.setdefault((call.problem, call.turn), []).append(call)
    return calls


def _hidden_in(shown: TutorTurn, calls: Sequence[Call]) -> tuple[HiddenCall, ...]:
    """Return the calls of a turn the student did not see: all but the last responder's."""
    last = max(call.seq for call in calls if call.role == "tutor")
    return tuple(HiddenCall(call.role, call.node, call.text) for call in calls if call.seq != last)


# marks


@lru_cache(maxsize=256)
def _forms(problem: Problem) -> DeclaredForms:
    return DeclaredForms(problem.numeric_forms, problem.solution_forms)


def _leak_marks(problem: Problem, text: str) -> tuple[tuple[Segment, ...], int]:
    return _marked(text, [(span.start, span.end, Mark("leak", span.form)) for span in _forms(problem).spans(text)])


def _attempt_marks(text: str) -> tuple[tuple[Segment, ...], int]:
    return _marked(text, [(span.start, span.end, Mark("attempt", span.pattern)) for span in attempt_spans(text)])


def _marked(text: str, spans: Sequence[tuple[int, int, Mark]]) -> tuple[tuple[Segment, ...], int]:
    return mark_text(text, spans[:MOST_MARKS]), max(0, len(spans) - MOST_MARKS)
