"""An imported corpus of tables only, as numbers: released values are used as they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures, complete_arms, model_frame
from pytest_tutoreval.records import CorpusManifest, TurnId
from pytest_tutoreval.store import open_corpus, render_table, seal_corpus
from pytest_tutoreval.store.tables import COLUMNS

INSTRUMENT = load_instrument()
Row = Mapping[str, object]


def a_turn_row(turn: int = 0, **changes: object) -> Row:
    given = {"condition": "conv", "replicate": 0, "problem": "train-1", "leaky": False, "n_calls": 1}
    return {"base": "sonnet", "turn": turn, "tutor_tokens": 9, "next_turn_independence": True, **given} | changes


def a_session_row(**changes: object) -> Row:
    counts = dict.fromkeys(COLUMNS["sessions.csv"], 0)
    return counts | {"base": "sonnet", "condition": "conv", "leakage": 0.5, "independence": 0.25} | changes


def a_score_row(turn: int = 0, score: float | None = 4.0, **changes: object) -> Row:
    given = {"condition": "conv", "replicate": 0, "problem": "train-1"}
    return {"judge": "opus", "rubric": "helpfulness", "base": "sonnet", "turn": turn, "score": score, **given} | changes


def a_mean_row(score: float, **changes: object) -> Row:
    given = {"judge": "opus", "rubric": "helpfulness", "base": "sonnet", "condition": "conv", "replicate": 0}
    return given | {"score": score} | changes


def tables(
    folder: Path,
    *,
    turns: Sequence[Row] = (),
    sessions: Sequence[Row] = (),
    scores: Sequence[Row] = (),
    session_scores: Sequence[Row] = (),
) -> CorpusMeasures:
    """A corpus of the given rows; cells that are left out are empty."""
    given = {"turns": turns, "sessions": sessions, "scores": scores, "session_scores": session_scores}
    (folder / "tables").mkdir()
    for name, rows in given.items():
        columns = COLUMNS[f"{name}.csv"]
        text = render_table(columns, [[row.get(column) for column in columns] for row in rows])
        (folder / "tables" / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    manifest = CorpusManifest(
        name="released",
        provenance="imported",
        content="tables",
        instrument=INSTRUMENT.sha256,
        study=INSTRUMENT.study.name,
        producer="tests",
        bases=("sonnet",),
        conditions=("conv", "ped"),
        judges=("opus",),
    )
    seal_corpus(folder, manifest)
    return CorpusMeasures(open_corpus(folder), INSTRUMENT)


def test_session_rates_are_used_as_released(tmp_path: Path) -> None:
    # one turn of one, not leaky: the row's own .5 stands all the same
    measures = tables(tmp_path, turns=[a_turn_row()], sessions=[a_session_row(n_tutor_turns=1)])
    assert measures.cell("sonnet", "conv").sessions[0].leakage == 0.5


def test_base_the_tables_do_not_hold_has_empty_cells(tmp_path: Path) -> None:
    measures = tables(tmp_path, sessions=[a_session_row()])
    assert measures.cell("gpt", "conv").sessions == {}


def test_other_condition_s_rows_stay_out_of_a_cell(tmp_path: Path) -> None:
    measures = tables(
        tmp_path,
        turns=[a_turn_row(), a_turn_row(condition="ped")],
        sessions=[a_session_row(n_tutor_turns=1), a_session_row(condition="ped", n_tutor_turns=1)],
    )
    assert [turn.id for turn in measures.cell("sonnet", "conv").turns[0]] == [TurnId("conv", 0, "train-1", 0)]


def test_turns_without_their_session_are_broken(tmp_path: Path) -> None:
    cell = tables(tmp_path, turns=[a_turn_row()]).cell("sonnet", "conv")
    assert cell.broken == {0: "its turns are in the table, its session is not"}


def test_session_that_counts_other_turns_than_there_are_is_broken(tmp_path: Path) -> None:
    cell = tables(tmp_path, turns=[a_turn_row()], sessions=[a_session_row(n_tutor_turns=2)]).cell("sonnet", "conv")
    assert cell.broken == {0: "1 turns in the table, its session row says 2"}
    assert cell.sessions == {}


def two_turns(folder: Path, scores: Sequence[Row], session_scores: Sequence[Row] = ()) -> CorpusMeasures:
    return tables(
        folder,
        turns=[a_turn_row(0), a_turn_row(1)],
        sessions=[a_session_row(n_tutor_turns=2)],
        scores=scores,
        session_scores=session_scores,
    )


def test_released_mean_is_used_and_its_difference_noted(tmp_path: Path) -> None:
    released = 3.5000000000000004
    measures = two_turns(tmp_path, [a_score_row(0, 4.0), a_score_row(1, 3.0)], [a_mean_row(released)])
    scores = measures.scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.sessions == {0: released}
    assert "the released helpfulness means of 1 sessions differ from exact sums (by at most 4e-16)" in scores.notes[0]


def test_note_says_how_far_a_released_mean_is_off(tmp_path: Path) -> None:
    measures = two_turns(tmp_path, [a_score_row(0, 4.0), a_score_row(1, 3.0)], [a_mean_row(4.5)])
    assert "(by at most 1)" in measures.scores("sonnet", "conv", "opus", "helpfulness").notes[0]


def test_released_mean_that_is_the_exact_one_needs_no_note(tmp_path: Path) -> None:
    measures = two_turns(tmp_path, [a_score_row(0, 4.0), a_score_row(1, 3.0)], [a_mean_row(3.5)])
    assert measures.scores("sonnet", "conv", "opus", "helpfulness").notes == []


def test_without_a_released_mean_turns_are_averaged(tmp_path: Path) -> None:
    measures = two_turns(tmp_path, [a_score_row(0, 4.0), a_score_row(1, 3.0)])
    assert measures.scores("sonnet", "conv", "opus", "helpfulness").sessions == {0: 3.5}


def test_turn_without_a_score_row_is_missing(tmp_path: Path) -> None:
    scores = two_turns(tmp_path, [a_score_row(0)]).scores("sonnet", "conv", "opus", "helpfulness")
    assert scores.missing == ["turn conv/r0/train-1/t1: no helpfulness score by opus in the tables"]


def test_turn_with_an_empty_score_is_unusable_not_missing(tmp_path: Path) -> None:
    scores = two_turns(tmp_path, [a_score_row(0), a_score_row(1, None)]).scores("sonnet", "conv", "opus", "helpfulness")
    assert (scores.missing, scores.sessions) == ([], {0: 4.0})
    assert scores.usability() == "1 turns without a usable rating (dropped), 0 with some unusable"


@pytest.mark.parametrize(("judge", "rubric"), [("sol", "helpfulness"), ("opus", "pedagogy")])
def test_scores_of_another_judge_or_rubric_are_not_borrowed(tmp_path: Path, judge: str, rubric: str) -> None:
    measures = two_turns(tmp_path, [a_score_row(turn, judge=judge, rubric=rubric) for turn in range(2)])
    assert measures.scores("sonnet", "conv", "opus", "helpfulness").turns == {}


def test_value_that_is_not_finite_is_left_out_and_noted(tmp_path: Path) -> None:
    measures = two_turns(tmp_path, [a_score_row(0), a_score_row(1, float("nan"))])
    assert measures.cell("sonnet", "conv").notes == [
        "scores.csv opus/helpfulness/conv/0/train-1/1: score is nan, excluded"
    ]


def test_broken_table_is_not_evaluable(tmp_path: Path) -> None:
    measures = tables(tmp_path, sessions=[a_session_row()])
    (tmp_path / "tables" / "turns.csv").unlink()
    with pytest.raises(NotEvaluable, match=r"turns\.csv: cannot be read"):
        complete_arms(measures, "sonnet")


def test_turns_of_a_table_make_a_frame(tmp_path: Path) -> None:
    cells = [(condition, replicate) for condition in ("conv", "ped") for replicate in range(10)]
    measures = tables(
        tmp_path,
        turns=[
            a_turn_row(condition=condition, replicate=replicate, next_turn_independence=None if replicate else False)
            for condition, replicate in cells
        ],
        sessions=[
            a_session_row(condition=condition, replicate=replicate, n_tutor_turns=1) for condition, replicate in cells
        ],
    )
    frame = model_frame("next_turn_independence", measures, "sonnet", None)
    # only replicate 0 of each arm has a next turn
    assert (frame.outcome, frame.policy, frame.dropped) == ([0.0, 0.0], [0.0, 1.0], 18)
