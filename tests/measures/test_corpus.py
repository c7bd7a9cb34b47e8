"""A small corpus on disk, written by the store's writers, as numbers."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.judging import rate_session
from pytest_tutoreval.measures import CorpusMeasures, complete_arms, complete_scores, is_judged, model_frame
from pytest_tutoreval.records import CorpusManifest, Rating, Session, TurnId
from pytest_tutoreval.store import open_corpus, seal_corpus, session_path, write_ratings, write_session
from tests.builders import DIGEST, Replies, a_rating_header, a_route, a_session

INSTRUMENT = load_instrument()
CLOSED = {f"train-{number}": ["FINAL ANSWER: 1"] for number in range(1, 7)}
# Two tutor turns of train-1 are in the window, nothing else.
TWO_TURNS = CLOSED | {"train-1": ["hm", "T0 said", "x = 3", "T1 said", "FINAL ANSWER: 3"]}
FIRST, SECOND = TurnId("conv", 0, "train-1", 0), TurnId("conv", 0, "train-1", 1)


def unsynced(_: int) -> None:
    pass


def rated(session: Session, overalls: Sequence[int | None]) -> list[Rating]:
    """The ratings of a session's turns, three a turn, with the given holistic values."""
    replies = [f'{{"overall": {value}}}' if value else "no rating" for value in overalls]
    return list(rate_session(INSTRUMENT, session, "helpfulness", a_route("judge"), Replies(replies)))


class Shelf:
    """A corpus in the making."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, session: Session, ratings: Iterable[Rating] | None = None) -> None:
        write_session(self.folder, session.header, session.calls, sync=unsynced)
        if ratings is not None:
            base, condition, replicate = session.key
            header = a_rating_header(base=base, condition=condition, replicate=replicate)
            write_ratings(self.folder, header, ratings, sync=unsynced)

    def measures(self) -> CorpusMeasures:
        manifest = CorpusManifest(
            name="small",
            provenance="simulated",
            content="sessions",
            instrument=INSTRUMENT.sha256,
            study=INSTRUMENT.study.name,
            producer="tests",
            bases=("sonnet",),
            conditions=("conv", "ped"),
            judges=("opus",),
        )
        seal_corpus(self.folder, manifest)
        return CorpusMeasures(open_corpus(self.folder, instrument=INSTRUMENT.sha256), INSTRUMENT)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


# Cells.


def test_cell_holds_each_session_s_row_and_turns(shelf: Shelf) -> None:
    shelf.add(a_session(said=TWO_TURNS))
    cell = shelf.measures().cell("sonnet", "conv")
    assert ([turn.id for turn in cell.turns[0]], cell.sessions[0].n_tutor_turns) == ([FIRST, SECOND], 2)


def test_cell_without_sessions_is_empty(shelf: Shelf) -> None:
    shelf.add(a_session())
    assert shelf.measures().cell("sonnet", "ped").sessions == {}


def test_cell_is_measured_once(shelf: Shelf) -> None:
    shelf.add(a_session())
    measures = shelf.measures()
    assert measures.cell("sonnet", "conv") is measures.cell("sonnet", "conv")


def cut_short(session: Session) -> Session:
    return session.model_copy(update={"calls": session.calls[:-1]})


def reseeded(session: Session) -> Session:
    return session.model_copy(update={"header": session.header.model_copy(update={"seed": 99})})


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        pytest.param(cut_short, "ends before transfer-3", id="protocol"),
        pytest.param(reseeded, "seed 99, registered 0", id="seed"),
    ],
)
def test_broken_session_is_listed_with_its_reason(shelf: Shelf, harm: Callable[[Session], Session], named: str) -> None:
    shelf.add(harm(a_session()))
    cell = shelf.measures().cell("sonnet", "conv")
    assert cell.sessions == {}
    assert named in cell.broken[0]


def test_session_changed_after_the_seal_is_broken(shelf: Shelf) -> None:
    session = a_session()
    shelf.add(session)
    measures = shelf.measures()
    path = shelf.folder / session_path(session.key)
    path.write_bytes(path.read_bytes().replace(b"not sure", b"NOT SURE"))
    assert "changed since" in measures.cell("sonnet", "conv").broken[0]


# Scores.


def test_scores_are_means_of_the_usable_repetitions(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [5, 4, 4, 3, None, 2]))
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    # 13/3 and 5/2; their mean
    assert (scores.turns[FIRST].value, scores.turns[SECOND].value) == (13 / 3, 2.5)
    assert scores.sessions[0] == pytest.approx((13 / 3 + 2.5) / 2)


def test_unusable_ratings_are_counted_and_missing_none(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [None, None, None, 3, None, 2]))
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.missing == []
    assert scores.usability() == "1 turns without a usable rating (dropped), 1 with some unusable"


def test_turn_without_a_usable_rating_has_no_score_and_does_not_pull_the_mean(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [None, None, None, 3, 3, 3]))
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert (scores.turns[FIRST].value, scores.sessions[0]) == (None, 3.0)


def test_session_without_any_usable_rating_is_undefined_not_missing(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [None] * 6))
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert (scores.sessions[0], scores.missing) == (None, [])


def test_everything_usable_needs_no_remark(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [4] * 6))
    assert shelf.measures().scores("sonnet", "conv", "opus", "helpfulness").usability() is None


def test_session_that_was_not_rated_is_missing(shelf: Shelf) -> None:
    shelf.add(a_session(said=TWO_TURNS))
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.missing == ["session sonnet/conv/r0: no helpfulness ratings by opus"]
    assert 0 not in scores.sessions


@pytest.mark.parametrize("ratings", [None, []], ids=["no-file", "empty-file"])
def test_session_with_nothing_to_rate_is_undefined_not_missing(shelf: Shelf, ratings: list[Rating] | None) -> None:
    shelf.add(a_session(said=CLOSED), ratings)
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert (scores.sessions, scores.missing) == ({0: None}, [])


def test_incomplete_repetitions_are_named(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [4] * 6)[:-1])
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.missing == ["turn conv/r0/train-1/t1: 2 of 3 repetitions on record (helpfulness, opus)"]
    assert SECOND not in scores.turns


def test_ratings_of_another_dialogue_are_named_and_never_used(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    ratings = [rating.model_copy(update={"dialogue": DIGEST}) for rating in rated(session, [4] * 6)]
    shelf.add(session, ratings)
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.turns == {}
    assert len(scores.missing) == 2
    assert all("rated on another dialogue than the session holds" in reason for reason in scores.missing)


def test_ratings_beside_stale_ones_are_used(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    stale = [rating.model_copy(update={"dialogue": DIGEST, "request": DIGEST}) for rating in rated(session, [1] * 6)]
    shelf.add(session, [*rated(session, [4] * 6), *stale])
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert (scores.sessions, scores.missing) == ({0: 4.0}, [])


def test_rating_file_that_cannot_be_read_is_named(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    ratings = rated(session, [4] * 6)
    shelf.add(session, [*ratings, ratings[0]])
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert len(scores.missing) == 1
    assert "stands twice" in scores.missing[0]


def test_ratings_beyond_the_window_are_ignored(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    ratings = rated(session, [4] * 6)
    beyond = [rating.model_copy(update={"turn": 3, "overall": 1}) for rating in ratings[:3]]
    shelf.add(session, ratings + beyond)
    scores = shelf.measures().scores("sonnet", "conv", "opus", "helpfulness")
    assert (set(scores.turns), scores.sessions) == ({FIRST, SECOND}, {0: 4.0})


def test_a_fourth_repetition_is_not_averaged_in(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    ratings = rated(session, [4] * 6)
    shelf.add(session, [*ratings, ratings[0].model_copy(update={"repetition": 3, "overall": 1})])
    assert shelf.measures().scores("sonnet", "conv", "opus", "helpfulness").turns[FIRST].n_ratings == 3


def test_other_judge_s_ratings_are_not_borrowed(shelf: Shelf) -> None:
    session = a_session(said=TWO_TURNS)
    shelf.add(session, rated(session, [4] * 6))
    assert shelf.measures().scores("sonnet", "conv", "sol", "helpfulness").turns == {}


# Complete arms or not evaluable.


def fill(shelf: Shelf, **overalls: list[int | None]) -> None:
    """Every registered replicate of both arms, two rated turns each."""
    for condition in ("conv", "ped"):
        for replicate in range(10):
            session = a_session(condition=condition, replicate=replicate, said=TWO_TURNS)
            shelf.add(session, rated(session, overalls.get(condition, [4] * 6)))


def test_arms_with_every_replicate_are_complete(shelf: Shelf) -> None:
    fill(shelf)
    cells = complete_arms(shelf.measures(), "sonnet")
    assert [len(cells[arm].sessions) for arm in ("conv", "ped")] == [10, 10]


def test_missing_replicates_are_not_evaluable(shelf: Shelf) -> None:
    shelf.add(a_session(replicate=0))
    with pytest.raises(NotEvaluable, match="no sessions in cell sonnet/ped"):
        complete_arms(shelf.measures(), "sonnet")


def test_short_arm_is_named_with_what_it_lacks(shelf: Shelf) -> None:
    fill(shelf)
    (shelf.folder / "sessions/sonnet/ped/r3.jsonl").unlink()
    with pytest.raises(NotEvaluable, match="sonnet/ped lacks replicate 3 of 10 registered"):
        complete_arms(shelf.measures(), "sonnet")


def test_unregistered_replicate_is_not_evaluable(shelf: Shelf) -> None:
    fill(shelf)
    shelf.add(a_session(replicate=10, said=TWO_TURNS))
    with pytest.raises(NotEvaluable, match="sonnet/conv holds replicate 10, not registered"):
        complete_arms(shelf.measures(), "sonnet")


def test_missing_ratings_are_not_evaluable(shelf: Shelf) -> None:
    fill(shelf)
    (shelf.folder / "ratings/opus/helpfulness/sonnet/conv/r0.jsonl").unlink()
    with pytest.raises(NotEvaluable, match="session sonnet/conv/r0: no helpfulness ratings by opus"):
        complete_scores(shelf.measures(), "sonnet", "opus", "helpfulness")


def test_frame_has_one_row_a_turn_in_fixed_order(shelf: Shelf) -> None:
    fill(shelf, conv=[5] * 6)
    frame = model_frame("helpfulness", shelf.measures(), "sonnet", "opus")
    assert (frame.outcome, frame.policy) == ([5.0] * 20 + [4.0] * 20, [0.0] * 20 + [1.0] * 20)
    assert frame.replicate[:4] == ["r0", "r0", "r1", "r1"]


def test_frame_of_the_next_turn_needs_no_judge(shelf: Shelf) -> None:
    fill(shelf)
    frame = model_frame("next_turn_independence", shelf.measures(), "sonnet", None)
    # "x = 3" answers the first turn, "FINAL ANSWER: 3" the second
    assert frame.outcome == [1.0, 0.0] * 20


def test_frame_drops_turns_without_a_usable_rating_and_says_so(shelf: Shelf) -> None:
    fill(shelf, ped=[None, None, None, 4, 4, 4])
    frame = model_frame("helpfulness", shelf.measures(), "sonnet", "opus")
    assert (len(frame.outcome), frame.dropped) == (30, 10)
    assert "helpfulness: 10 of 40 turns have no value and were dropped" in frame.notes


def test_judged_frame_without_a_judge_is_not_evaluable(shelf: Shelf) -> None:
    fill(shelf)
    with pytest.raises(NotEvaluable, match="helpfulness needs a judge"):
        model_frame("helpfulness", shelf.measures(), "sonnet", None)


@pytest.mark.parametrize(
    ("measure", "judged"),
    [("helpfulness", True), ("pedagogy", True), ("leakage", False), ("next_turn_independence", False), ("mood", False)],
)
def test_measures_know_whether_a_judge_has_a_hand_in_them(measure: str, judged: bool) -> None:
    assert is_judged(measure) is judged
