from collections.abc import Sequence

import pytest

from pytest_tutoreval.records import Call
from pytest_tutoreval.transcript import Window, answer_window, dialogue_digest, next_student_turn, rated_dialogue
from pytest_tutoreval.transcript.exchange import Exchange, read_exchange
from tests.builders import TRACKED, a_student_turn, a_tracker_call, a_tutor_turn


def exchange(*students: str, tracked: bool = False, tutors: Sequence[str] = ()) -> Exchange:
    """S T S T … of the given student turns; tutor turns say `tutors`, then T0, T1, …; tracked ones take two calls."""
    calls: list[Call] = []
    for turn, text in enumerate(students):
        if turn:
            if tracked:
                calls.append(a_tracker_call(len(calls) + 1, turn=turn - 1))
            said = tutors[turn - 1] if turn <= len(tutors) else f"T{turn - 1}"
            calls.append(a_tutor_turn(len(calls) + 1, said, turn=turn - 1))
        calls.append(a_student_turn(len(calls) + 1, text))
    return read_exchange("train-1", calls)


def shown(window: Window) -> tuple[list[str], list[str]]:
    return [turn.text for turn in window.tutor], [turn.text for turn in window.student]


def test_without_a_commitment_everything_is_in_the_window() -> None:
    window = answer_window(exchange("a", "b", "c"))
    assert (window.commitment, shown(window)) == (None, (["T0", "T1"], ["a", "b", "c"]))


def test_commitment_in_the_opening_reply_leaves_no_tutor_turn() -> None:
    window = answer_window(exchange("FINAL ANSWER: 3", "b", "c"))
    assert (window.commitment, shown(window)) == (1, ([], ["FINAL ANSWER: 3"]))


def test_student_turn_that_commits_is_in_the_window_and_nothing_after_it() -> None:
    window = answer_window(exchange("a", "FINAL ANSWER: 3", "c"))
    assert (window.commitment, shown(window)) == (3, (["T0"], ["a", "FINAL ANSWER: 3"]))


def test_a_later_commitment_changes_nothing() -> None:
    assert shown(answer_window(exchange("a", "FINAL ANSWER: 3", "FINAL ANSWER: 4")))[1] == ["a", "FINAL ANSWER: 3"]


@pytest.mark.parametrize("answer", ["24", "-7", "0", "1/3"])
def test_a_wrong_answer_closes_the_window_as_a_right_one_does(answer: str) -> None:
    assert answer_window(exchange("a", f"FINAL ANSWER: {answer}", "c")).commitment == 3


@pytest.mark.parametrize("text", ["FINAL ANSWER: not yet", "my final answer is not ready.\nFINAL ANSWER: 24", "24"])
def test_a_turn_without_a_readable_answer_leaves_it_open(text: str) -> None:
    assert answer_window(exchange("a", text, "c")).commitment is None


def test_a_phrase_used_in_passing_closes_it_early() -> None:
    assert answer_window(exchange("a", "is the final answer above 10?", "c")).commitment == 3


def test_a_tutor_s_final_answer_closes_nothing() -> None:
    assert answer_window(exchange("a", "b", tutors=["FINAL ANSWER: 24"])).commitment is None


def test_tutor_turn_counts_by_its_first_call() -> None:
    # S1, tracker 2, commitment 3, responder 4: begun before the commitment, so in the window
    calls = [
        a_student_turn(1),
        a_tracker_call(2),
        a_student_turn(3, "FINAL ANSWER: 3"),
        a_tutor_turn(4, "late"),
    ]
    assert [turn.text for turn in answer_window(read_exchange("train-1", calls)).tutor] == ["late"]


def test_next_turn_follows_the_last_constituent_call() -> None:
    # tracker 1, a student turn 2 in between, responder 3: only student turn 4 follows the turn
    calls = [a_tracker_call(1), a_student_turn(2, "between"), a_tutor_turn(3), a_student_turn(4, "after")]
    made = read_exchange("train-1", calls)
    following = next_student_turn(made, made.tutor[0])
    assert following is not None
    assert following.text == "after"


def test_next_turn_of_each_tutor_turn_is_the_reply_to_it() -> None:
    made = exchange("a", "b", "c", tracked=True)
    assert [said.text for turn in made.tutor if (said := next_student_turn(made, turn))] == ["b", "c"]


def test_next_turn_may_lie_beyond_the_window() -> None:
    # the reply that commits is both c and the next turn of the last tutor turn in the window
    made = exchange("a", "FINAL ANSWER: 3", "c")
    following = next_student_turn(made, answer_window(made).tutor[-1])
    assert following is not None
    assert following.text == "FINAL ANSWER: 3"


def test_there_is_no_next_turn_after_the_last_word() -> None:
    made = read_exchange("train-1", [a_student_turn(1), a_tutor_turn(2)])
    assert next_student_turn(made, made.tutor[0]) is None


# The dialogue a judge reads.


def dialogue(made: Exchange, turn: int) -> str:
    window = answer_window(made)
    return rated_dialogue(window, window.tutor[turn])


def test_dialogue_is_the_turns_up_to_the_rated_one() -> None:
    assert dialogue(exchange("a", "b", "c"), 1) == "Student: a\n\nTutor: T0\n\nStudent: b\n\nTutor: T1"


def test_dialogue_ends_with_the_rated_turn() -> None:
    assert dialogue(exchange("a", "b", "c"), 0) == "Student: a\n\nTutor: T0"


def test_texts_are_stripped_at_the_ends_only() -> None:
    made = exchange(" \n a \n b\t", "c", tutors=["\n T  0 \n"])
    assert dialogue(made, 0) == "Student: a \n b\n\nTutor: T  0"


def test_an_empty_turn_leaves_its_speaker() -> None:
    assert dialogue(exchange("", "b"), 0) == "Student: \n\nTutor: T0"


def test_tracker_text_is_absent() -> None:
    assert dialogue(exchange("a", "b", "c", tracked=True), 1) == dialogue(exchange("a", "b", "c"), 1)
    assert TRACKED not in dialogue(exchange("a", "b", "c", tracked=True), 1)


def test_digest_is_the_dialogue_s() -> None:
    # sha256 of "Student: a"
    assert dialogue_digest("Student: a") == "0ae1d7a97f4e928c4f64f52d47815f61fd533be60c48bf429665252679a5b0df"


def test_digest_tells_white_space_apart() -> None:
    assert dialogue_digest("Student: a") != dialogue_digest("Student:  a")


def test_a_lone_surrogate_has_a_digest() -> None:
    assert dialogue_digest("\ud800") != dialogue_digest("?")
