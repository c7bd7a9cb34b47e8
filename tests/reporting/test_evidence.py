import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.detectors import DeclaredForms, attempts_step
from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records import Session
from pytest_tutoreval.records.rating import TurnId
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.reporting.evidence import (
    MOST_MARKS,
    Mark,
    ProblemEvidence,
    Segment,
    SessionEvidence,
    SessionListing,
    TurnEvidence,
    evidence_index,
    session_evidence,
)
from pytest_tutoreval.reporting.evidence_records import mark_text
from pytest_tutoreval.store import open_corpus, write_ratings, write_session
from pytest_tutoreval.transcript import read_transcript
from tests.builders import TRACKED, a_rating, a_rating_header, a_session
from tests.store.corpora import DEMO, demo_copy, edit_lines, measures_of, stamp

JUDGES = ("opus", "sol")
PROBLEMS = load_instrument().problem
FORMS = {name: DeclaredForms(problem.numeric_forms, problem.solution_forms) for name, problem in PROBLEMS.items()}


@pytest.fixture(scope="module")
def demo() -> CorpusMeasures:
    return measures_of(DEMO)


@pytest.fixture(scope="module")
def all_evidence(demo: CorpusMeasures) -> list[SessionEvidence]:
    return [session_evidence(demo, *listing.key, JUDGES) for listing in evidence_index(demo, JUDGES)]


def turns_of(sessions: list[SessionEvidence]) -> Iterator[tuple[SessionEvidence, ProblemEvidence, TurnEvidence]]:
    for session in sessions:
        for problem in session.problems:
            for turn in problem.turns:
                yield session, problem, turn


def turn_id(session: SessionEvidence, problem: ProblemEvidence, turn: TurnEvidence) -> TurnId:
    assert turn.turn is not None
    return TurnId(session.condition, session.replicate, problem.id, turn.turn)


def corpus_of(folder: Path, session: Session) -> CorpusMeasures:
    """Return the measures of a corpus that holds just this session."""
    header = session.header
    write_session(folder, header, session.calls, sync=lambda _: None)
    manifest = open_corpus(DEMO).manifest
    stamp(folder, manifest, bases=[header.base], conditions=[header.condition], files={})
    return measures_of(folder)


def evidence_of(folder: Path, session: Session) -> SessionEvidence:
    return session_evidence(corpus_of(folder, session), *session.key, JUDGES)


# The whole demo: what is shown is what was measured.


def test_tutor_labels_are_those_of_the_measures(demo: CorpusMeasures, all_evidence: list[SessionEvidence]) -> None:
    shown = {
        (session.base, turn_id(session, problem, turn)): (turn.leaky, turn.next_turn_independence, turn.route)
        for session, problem, turn in turns_of(all_evidence)
        if turn.speaker == "tutor" and turn.in_window
    }
    manifest = demo.corpus.manifest
    measured = {
        (base, row.id): (row.leaky, row.next_turn_independence, row.route)
        for base in manifest.bases
        for condition in manifest.conditions
        for rows in demo.cell(base, condition).turns.values()
        for row in rows
    }
    assert shown == measured
    assert len(measured) > 1000


def test_a_tutor_turn_in_the_window_has_a_mark_exactly_when_it_is_leaky(all_evidence: list[SessionEvidence]) -> None:
    tutored = [turn for _, _, turn in turns_of(all_evidence) if turn.speaker == "tutor" and turn.in_window]
    assert [bool(turn.marks) for turn in tutored] == [turn.leaky for turn in tutored]


def test_marks_are_there_exactly_when_the_frozen_detectors_hit(all_evidence: list[SessionEvidence]) -> None:
    for _, problem, turn in turns_of(all_evidence):
        if turn.speaker == "tutor":
            hits = {Mark("leak", hit.form) for hit in FORMS[problem.id].hits(turn.text)}
            assert turn.marks == hits
        elif problem.tutored:
            assert bool(turn.marks) == attempts_step(turn.text)
            assert {mark.kind for mark in turn.marks} <= {"attempt"}
        else:
            assert not turn.marks  # no measure reads a probe for attempts


def test_attempts_in_the_window_are_those_of_the_measures(
    demo: CorpusMeasures, all_evidence: list[SessionEvidence]
) -> None:
    for session in all_evidence:
        shown = {
            problem.id: tuple(
                bool(turn.marks) for turn in problem.turns if turn.speaker == "student" and turn.in_window
            )
            for problem in session.problems
            if problem.tutored
        }
        assert shown == demo.cell(session.base, session.condition).attempts[session.replicate]


def test_segments_joined_are_what_was_said(demo: CorpusMeasures) -> None:
    session = demo.corpus.session(SessionKey("sonnet", "ped", 3))
    shown = session_evidence(demo, *session.key, JUDGES)
    visible = [call.text for call in session.calls if call.role != "tracker"]
    assert [turn.text for _, _, turn in turns_of([shown])] == visible


def test_tracker_replies_stand_with_the_turn_they_led_to(demo: CorpusMeasures) -> None:
    session = demo.corpus.session(SessionKey("sonnet", "ped", 3))
    shown = session_evidence(demo, *session.key, JUDGES)
    hidden = [call.text for _, _, turn in turns_of([shown]) for call in turn.hidden]
    assert hidden == [call.text for call in session.calls if call.role == "tracker"]


def test_scores_and_spreads_are_those_of_the_measures(
    demo: CorpusMeasures, all_evidence: list[SessionEvidence]
) -> None:
    n_rated = 0
    for session, problem, turn in turns_of(all_evidence):
        for judge, rubrics in turn.ratings.items():
            for rubric, shown in rubrics.items():
                measured = demo.scores(session.base, session.condition, judge, rubric)
                score = measured.turns[turn_id(session, problem, turn)]
                assert (shown.score, shown.spread, shown.gap) == (score.value, score.spread, None)
                assert sum(one.usable for one in shown.repetitions) == score.n_usable
                assert len(shown.repetitions) == score.n_ratings
                n_rated += 1
    assert n_rated == 4 * sum(turn.speaker == "tutor" and turn.in_window for _, _, turn in turns_of(all_evidence))


def test_probe_answers_add_up_to_the_accuracies(all_evidence: list[SessionEvidence]) -> None:
    for session in all_evidence:
        for phase in ("immediate", "delayed", "transfer"):
            correct = [problem.correct for problem in session.problems if problem.phase == phase]
            assert sum(map(bool, correct)) / len(correct) == session.numbers[f"accuracy_{phase}"]


def test_header_facts_are_shown(demo: CorpusMeasures) -> None:
    shown = session_evidence(demo, "sonnet", "ped", 4, JUDGES)
    assert (shown.seed, shown.provenance) == (4, "simulated")
    assert shown.routes["tutor"]["model"] == "scripted-sonnet"


# The window.

TALK = [
    "x = t?",
    "Write 0.5x.",
    "I am lost.",
    "It is **24**.",
    "FINAL ANSWER: 24",
    "So 24 it is.",
    "3x + 2",
    "Well done.",
    "Thanks.",
]


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> ProblemEvidence:
    session = a_session(said={"train-1": TALK})
    return evidence_of(tmp_path_factory.mktemp("committed"), session).problems[0]


def test_turns_stand_in_the_order_they_were_said(committed: ProblemEvidence) -> None:
    assert [turn.text for turn in committed.turns] == TALK


def test_window_reaches_up_to_and_includes_the_commitment(committed: ProblemEvidence) -> None:
    assert [turn.in_window for turn in committed.turns] == [True] * 5 + [False] * 4


def test_commitment_ends_the_window(committed: ProblemEvidence) -> None:
    assert [turn.commits for turn in committed.turns].index(True) == TALK.index("FINAL ANSWER: 24")
    assert (committed.committed, committed.correct) == ("24", True)


def test_beyond_the_window_there_are_marks_and_no_labels(committed: ProblemEvidence) -> None:
    said = committed.turns[5]
    assert said.marks == {Mark("leak", "24")}
    assert (said.leaky, said.next_turn_independence, said.ratings) == (None, None, {})


def test_the_mark_covers_what_was_matched_and_nothing_else(committed: ProblemEvidence) -> None:
    assert committed.turns[3].segments == (
        Segment("It is **"),
        Segment("24", (Mark("leak", "24"),)),
        Segment("**."),
    )


def test_without_a_commitment_every_turn_is_in_the_window(tmp_path: Path) -> None:
    problem = evidence_of(tmp_path, a_session()).problems[0]
    assert all(turn.in_window for turn in problem.turns)
    assert (problem.committed, problem.correct) == (None, None)


def test_a_number_too_long_for_a_float_is_a_wrong_commitment(tmp_path: Path) -> None:
    session = a_session(said={"train-1": ["FINAL ANSWER: " + "9" * 400]})
    problem = evidence_of(tmp_path, session).problems[0]
    assert (problem.committed, problem.correct) == ("inf", False)


def test_a_probe_without_a_commitment_is_wrong(tmp_path: Path) -> None:
    session = a_session(said={"immediate-1": ["No idea.", "None.", "Still none."]})
    shown = evidence_of(tmp_path, session)
    problem = next(problem for problem in shown.problems if problem.id == "immediate-1")
    assert (problem.committed, problem.correct) == (None, False)
    assert [turn.elicited for turn in problem.turns] == [False, True, True]


def test_route_and_tracker_of_a_ped_turn_are_shown(tmp_path: Path) -> None:
    turn = evidence_of(tmp_path, a_session(condition="ped")).problems[0].turns[1]
    assert (turn.route, turn.node) == ("decompose", "decomposer")
    assert [(call.role, call.text) for call in turn.hidden] == [("tracker", TRACKED)]


def test_more_matches_than_anyone_could_look_at_are_counted(tmp_path: Path) -> None:
    session = a_session(said={"train-1": ["1+1 " * (MOST_MARKS + 7)]})
    turn = evidence_of(tmp_path, session).problems[0].turns[0]
    assert sum(bool(segment.marks) for segment in turn.segments) == MOST_MARKS
    assert turn.unmarked == 7
    assert turn.text == "1+1 " * (MOST_MARKS + 7)


# Marks.

_spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 12), st.sampled_from("abc")).map(
        lambda drawn: (drawn[0], drawn[0] + drawn[1], Mark("attempt", drawn[2]))
    ),
    max_size=6,
)


@given(st.text(st.characters(), min_size=24, max_size=30), _spans)
def test_every_character_carries_the_marks_of_the_spans_over_it(text: str, spans: list[tuple[int, int, Mark]]) -> None:
    segments = mark_text(text, spans)
    assert "".join(segment.text for segment in segments) == text
    marks = [set(segment.marks) for segment in segments for _ in segment.text]
    assert marks == [{mark for start, end, mark in spans if start <= at < end} for at in range(len(text))]


def test_empty_text_has_no_segments() -> None:
    assert mark_text("", []) == ()


# Ratings that are not as registered.


def rated(folder: Path, repetitions: int = 3, **changes: object) -> TurnEvidence:
    """Return the first tutor turn of a session that one judge rated under one rubric."""
    session = a_session()
    measures = corpus_of(folder, session)
    dialogue = measures.cell("sonnet", "conv").dialogues[TurnId("conv", 0, "train-1", 0)]
    ratings = [
        a_rating(number, **{"dialogue": dialogue} | (changes if not number else {}))  # type: ignore[arg-type]
        for number in range(repetitions)
    ]
    write_ratings(folder, a_rating_header(), ratings, sync=lambda _: None)
    return session_evidence(measures, *session.key, JUDGES).problems[0].turns[1]


def test_unusable_repetition_is_shown_with_its_raw_reply(tmp_path: Path) -> None:
    shown = rated(tmp_path, overall=None, raw="I would rather not.").ratings["opus"]["helpfulness"]
    assert (shown.score, shown.gap) == (4.0, None)
    assert (shown.repetitions[0].usable, shown.repetitions[0].raw) == (False, "I would rather not.")


def test_missing_repetition_is_a_gap(tmp_path: Path) -> None:
    shown = rated(tmp_path, repetitions=2).ratings["opus"]["helpfulness"]
    assert shown.score is None
    assert shown.gap == "2 of 3 repetitions on record (helpfulness, opus)"
    assert len(shown.repetitions) == 2


def test_rating_of_another_dialogue_counts_for_nothing(tmp_path: Path) -> None:
    shown = rated(tmp_path, dialogue="f" * 64).ratings["opus"]["helpfulness"]
    assert shown.score is None
    assert shown.gap == (
        "2 of 3 repetitions on record (helpfulness, opus), 1 on another dialogue than the session holds"
    )
    assert [(one.stale, one.usable) for one in shown.repetitions] == [(True, False), (False, True), (False, True)]


def test_reply_before_a_second_try_is_kept(tmp_path: Path) -> None:
    shown = rated(tmp_path, discarded=("first, unreadable",)).ratings["opus"]["helpfulness"]
    assert shown.repetitions[0].discarded == ("first, unreadable",)


def test_turn_nobody_rated_is_a_gap(tmp_path: Path) -> None:
    shown = rated(tmp_path).ratings["sol"]["pedagogy"]
    assert (shown.gap, shown.repetitions) == ("0 of 3 repetitions on record (pedagogy, sol)", ())


def test_broken_rating_file_is_the_reason_at_every_turn(tmp_path: Path) -> None:
    demo_copy(tmp_path)
    (tmp_path / "ratings/sol/helpfulness/sonnet/conv/r2.jsonl").write_bytes(b"not json\n")
    shown = session_evidence(measures_of(tmp_path), "sonnet", "conv", 2, JUDGES)
    gaps = [turn.ratings["sol"]["helpfulness"].gap for _, _, turn in turns_of([shown]) if turn.ratings]
    assert gaps
    assert all(gap and "line 1 is not JSON" in gap for gap in gaps)


def test_torn_line_is_no_second_warning(tmp_path: Path) -> None:
    demo_copy(tmp_path)
    path = tmp_path / "ratings/sol/helpfulness/sonnet/conv/r2.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    measures = measures_of(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = session_evidence(measures, "sonnet", "conv", 2, JUDGES)
    gaps = [turn.ratings["sol"]["helpfulness"].gap for _, _, turn in turns_of([shown]) if turn.ratings]
    assert [gap for gap in gaps if gap] == ["2 of 3 repetitions on record (helpfulness, sol)"]


# Sessions that cannot be shown.


def test_broken_session_holds_its_reason(tmp_path: Path) -> None:
    demo_copy(tmp_path)
    edit_lines(tmp_path / "sessions/sonnet/conv/r1.jsonl", lambda lines: lines[:-1])
    measures = measures_of(tmp_path)
    shown = session_evidence(measures, "sonnet", "conv", 1, JUDGES)
    assert shown.problems == ()
    assert shown.broken is not None
    assert "the session is not finished" in shown.broken
    listed = {listing.key: listing.broken for listing in evidence_index(measures, JUDGES)}
    assert {key for key, reason in listed.items() if reason} == {SessionKey("sonnet", "conv", 1)}
    assert len(listed) == 20


def test_session_that_is_not_there_is_an_error(demo: CorpusMeasures) -> None:
    with pytest.raises(CorpusError, match="no session sonnet/conv/r10"):
        session_evidence(demo, "sonnet", "conv", 10, JUDGES)


def test_cell_that_cannot_be_read_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    demo_copy(tmp_path)
    (tmp_path / "sessions/sonnet/conv/copy.jsonl").write_bytes(b"")
    index = evidence_index(measures_of(tmp_path), JUDGES)
    assert {listing.key.condition for listing in index} == {"ped"}
    assert ["copy.jsonl" in reason for reason in index.unreadable] == [True]


# The index.


def test_index_lists_the_corpus_in_its_own_order(demo: CorpusMeasures) -> None:
    manifest = demo.corpus.manifest
    expected = [
        SessionKey(base, condition, replicate)
        for base in manifest.bases
        for condition in manifest.conditions
        for replicate in range(10)
    ]
    assert [listing.key for listing in evidence_index(demo, JUDGES)] == expected


def test_size_is_what_the_session_and_its_ratings_take_on_disk(demo: CorpusMeasures) -> None:
    listing = next(listing for listing in evidence_index(demo, ["sol"]) if listing.key == ("gpt", "ped", 7))
    paths = [
        "sessions/gpt/ped/r7.jsonl",
        *(f"ratings/sol/{rubric}/gpt/ped/r7.jsonl" for rubric in ("helpfulness", "pedagogy")),
    ]
    assert listing == SessionListing(SessionKey("gpt", "ped", 7), sum((DEMO / path).stat().st_size for path in paths))


# Tables only.


def test_tables_show_labels_and_scores_and_say_why_there_is_no_text(released: Path) -> None:
    measures = measures_of(released)
    shown = session_evidence(measures, "gpt", "conv", 3, JUDGES)
    assert shown.no_text is not None
    assert "tables only" in shown.no_text
    turns = {turn_id(*found): found[2] for found in turns_of([shown])}
    rows = {row.id: row for row in measures.cell("gpt", "conv").turns[3]}
    scores = measures.scores("gpt", "conv", "opus", "helpfulness").turns
    assert turns.keys() == rows.keys()
    for name, turn in turns.items():
        assert (turn.leaky, turn.next_turn_independence) == (rows[name].leaky, rows[name].next_turn_independence)
        assert turn.ratings["opus"]["helpfulness"].score == scores[name].value
        assert turn.segments == ()


def test_tables_are_listed_without_a_size(released: Path) -> None:
    assert {listing.size for listing in evidence_index(measures_of(released), JUDGES)} == {0}


def test_visible_turns_of_the_transcript_are_all_there(demo: CorpusMeasures) -> None:
    session = demo.corpus.session(SessionKey("gemini", "conv", 9))
    shown = session_evidence(demo, *session.key, JUDGES)
    transcript = read_transcript(session)
    tutor_turns = {
        problem.id: [t.turn for t in problem.turns if t.speaker == "tutor"]
        for problem in shown.problems
        if problem.tutored
    }
    assert tutor_turns == {
        name: [turn.turn for turn in exchange.tutor] for name, exchange in transcript.exchanges.items()
    }
