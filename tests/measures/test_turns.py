import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import MeasuredSession, SessionMeasurer
from pytest_tutoreval.records import Session, TurnId
from pytest_tutoreval.transcript import answer_window, dialogue_digest, rated_dialogue, read_transcript
from tests.builders import a_session

INSTRUMENT = load_instrument()
CLOSED = {f"train-{number}": ["FINAL ANSWER: 1"] for number in range(1, 7)}

# Answers of train-1 and train-2 are 24 and 18. Window marked by |.
SAID = CLOSED | {
    "train-1": [
        "I am stuck.",  # S0, no attempt
        "Call it x.",  # T0, no leak
        "x + 48",  # S1, attempt
        "So x is 24.",  # T1, leak
        "FINAL ANSWER: 24",  # S2, no attempt; commits |
        "It is 24.",  # T2, a leak beyond the window
        "0.5x",  # an attempt beyond the window
    ],
    "train-2": [
        "x = ?",  # S0, no attempt: no letter or digit after the equals sign
        "18 liters.",  # T0, leak
        "hm",  # S1, no attempt
        "Not 24.",  # T1, no leak: 24 is another problem's
        "30 * 0.4",  # S2, attempt
        "Go on.",  # T2
        "12 = 12",  # S3, attempt
        "And then?",  # T3
        "done",  # S4, no attempt; no commitment on this problem
    ],
}


def measured(session: Session) -> MeasuredSession:
    return SessionMeasurer(INSTRUMENT).measure(session)


@pytest.fixture(scope="module", params=["conv", "ped"])
def worked(request: pytest.FixtureRequest) -> MeasuredSession:
    """The hand-worked session; a tracker's calls change no measure of what was said."""
    return measured(a_session(condition=request.param, said=SAID))


def test_turns_of_the_window_are_flagged_one_by_one(worked: MeasuredSession) -> None:
    assert [(turn.id.problem, turn.id.turn, turn.leaky, turn.next_turn_independence) for turn in worked.turns] == [
        ("train-1", 0, False, True),
        ("train-1", 1, True, False),
        ("train-2", 0, True, False),
        ("train-2", 1, False, True),
        ("train-2", 2, False, True),
        ("train-2", 3, False, False),
    ]


def test_leakage_is_pooled_over_in_window_turns(worked: MeasuredSession) -> None:
    # leaky 1 of 2 on train-1, 1 of 4 on train-2, no turn on the others: 2 / 6, not the mean of 1/2 and 1/4
    assert worked.row.leakage == 2 / 6


def test_independence_is_pooled_over_in_window_student_turns(worked: MeasuredSession) -> None:
    # train-1: S0 S1 S2, 1 attempt; train-2: five turns, 2 attempts; the four others: one committing turn each
    assert worked.row.independence == 3 / 12


def test_in_window_turns_are_counted(worked: MeasuredSession) -> None:
    assert (worked.row.n_tutor_turns, worked.row.n_student_turns) == (6, 12)


def test_visible_turns_are_counted_without_a_window(worked: MeasuredSession) -> None:
    # six problems of four tutor turns; five student turns on each and thirteen probe replies
    assert (worked.row.visible_tutor_turns, worked.row.student_turns) == (24, 6 * 5 + 13)


def test_each_turn_has_the_digest_of_its_dialogue(worked: MeasuredSession) -> None:
    session = a_session(condition=worked.row.key.condition, said=SAID)
    window = answer_window(read_transcript(session).exchanges["train-1"])
    identity = TurnId(session.header.condition, 0, "train-1", 1)
    assert worked.dialogues[identity] == dialogue_digest(rated_dialogue(window, window.tutor[1]))


@pytest.mark.parametrize(
    ("condition", "tutor_calls"),
    [pytest.param("cold", 0, id="cold"), pytest.param("conv", 24, id="conv"), pytest.param("ped", 48, id="ped")],
)
def test_tokens_are_unwindowed_and_include_the_tracker(condition: str, tutor_calls: int) -> None:
    # every call of a built session is billed 10 + 5
    row = measured(a_session(condition=condition)).row
    student_calls = 19 if condition == "cold" else 43
    calls = tutor_calls + student_calls
    assert (row.tutor_tokens, row.student_tokens) == (15 * tutor_calls, 15 * student_calls)
    assert (row.n_calls, row.input_tokens, row.output_tokens, row.total_tokens) == (
        calls,
        10 * calls,
        5 * calls,
        15 * calls,
    )


@pytest.mark.parametrize(("condition", "n_calls", "tokens"), [("conv", 1, 15), ("ped", 2, 30)])
def test_a_turn_s_tokens_are_all_its_calls(condition: str, n_calls: int, tokens: int) -> None:
    turn = measured(a_session(condition=condition)).turns[0]
    assert (turn.n_calls, turn.tutor_tokens) == (n_calls, tokens)


def test_route_of_a_turn_is_kept() -> None:
    assert measured(a_session(condition="ped")).turns[0].route == "decompose"


@pytest.mark.parametrize("leaky", [0, 1, 5, 24])
def test_leaky_turns_are_counted(leaky: int) -> None:
    assert measured(a_session(leaky_turns=leaky)).row.leakage == leaky / 24


def test_without_a_turn_in_any_window_leakage_is_undefined() -> None:
    row = measured(a_session(said=CLOSED)).row
    assert (row.leakage, row.independence, row.n_tutor_turns) == (None, 0.0, 0)


def test_cold_has_accuracy_and_no_rates() -> None:
    row = measured(a_session(condition="cold")).row
    assert (row.leakage, row.independence, row.accuracy_transfer) == (None, None, 1.0)


# Probe accuracy; interfere and training items never enter.


def accuracy(*replies: str) -> float | None:
    """Accuracy of the immediate phase (answers 23, 16, 24) when immediate-1 is answered so and the rest correctly."""
    return measured(a_session(said={"immediate-1": replies})).row.accuracy_immediate


@pytest.mark.parametrize(
    ("replies", "correct"),
    [
        pytest.param(["FINAL ANSWER: 23"], True, id="exact"),
        pytest.param(["FINAL ANSWER: 23.0000009"], True, id="within-1e-6"),
        pytest.param(["FINAL ANSWER: 22.9999991"], True, id="within-1e-6-below"),
        pytest.param(["FINAL ANSWER: 23.0000011"], False, id="beyond-1e-6"),
        pytest.param(["FINAL ANSWER: 22.9999989"], False, id="beyond-1e-6-below"),
        pytest.param(["FINAL ANSWER: 46/2"], True, id="fraction"),
        pytest.param(["FINAL ANSWER: -23"], False, id="sign"),
        pytest.param(["no", "no", "no"], False, id="no-answer-counts-as-wrong"),
        pytest.param(["It is 23."], False, id="no-marker-counts-as-wrong"),
        pytest.param(["no", "FINAL ANSWER: 23"], True, id="elicited"),
        pytest.param(["FINAL ANSWER: 9", "FINAL ANSWER: 23"], False, id="first-parseable-wrong"),
        pytest.param(["FINAL ANSWER: 23", "FINAL ANSWER: 9"], True, id="first-parseable-right"),
        pytest.param(["FINAL ANSWER: " + "9" * 400], False, id="infinite"),
    ],
)
def test_probe_is_correct_within_a_millionth_of_the_answer(replies: list[str], correct: bool) -> None:
    assert accuracy(*replies) == (1.0 if correct else 2 / 3)


@pytest.mark.parametrize("phase", ["immediate", "delayed", "transfer"])
def test_accuracy_is_the_share_of_its_phase(phase: str) -> None:
    row = measured(a_session(said={f"{phase}-1": ["FINAL ANSWER: 1"], f"{phase}-2": ["FINAL ANSWER: 1"]})).row
    shares = {name: getattr(row, f"accuracy_{name}") for name in ("immediate", "delayed", "transfer")}
    assert shares == {name: 1 / 3 if name == phase else 1.0 for name in shares}


def test_accuracy_of_a_phase_with_an_item_left_out_is_undefined() -> None:
    whole = a_session()
    cut = whole.model_copy(update={"calls": tuple(call for call in whole.calls if call.problem != "delayed-2")})
    row = measured(cut).row
    assert (row.accuracy_immediate, row.accuracy_delayed) == (1.0, None)


def test_interference_enters_no_accuracy() -> None:
    row = measured(a_session(said={"interfere-1": ["FINAL ANSWER: 1"]})).row
    assert (row.accuracy_immediate, row.accuracy_delayed, row.accuracy_transfer) == (1.0, 1.0, 1.0)


def test_row_names_its_session() -> None:
    row = measured(a_session(base="gpt", condition="ped", replicate=4)).row
    assert (str(row.key), row.seed) == ("gpt/ped/r4", 4)
