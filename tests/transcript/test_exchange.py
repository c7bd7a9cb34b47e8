from collections.abc import Callable

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records import Call, Session
from pytest_tutoreval.transcript import StudentTurn, protocol_breach, read_transcript
from pytest_tutoreval.transcript.exchange import Probe, read_exchange, read_probe
from tests.builders import a_call, a_header, a_session, a_student_turn, a_tracker_call, a_tutor_turn

PROBLEMS = load_instrument().problems

TRACKED_TURN = [
    a_student_turn(1, "hm"),
    a_tracker_call(2, "{}", input_tokens=100, output_tokens=20),
    a_tutor_turn(3, "Look.", node="hint_cascade", route="hint", input_tokens=30, output_tokens=4),
    a_student_turn(4, "x"),
]


def replies(*texts: str) -> Probe:
    return Probe("immediate-1", tuple(StudentTurn(seq, text) for seq, text in enumerate(texts, start=1)))


def test_tracker_and_responder_are_one_visible_turn() -> None:
    (turn,) = read_exchange("train-1", TRACKED_TURN).tutor
    assert (turn.turn, turn.n_calls) == (0, 2)


def test_visible_text_is_the_responder_s() -> None:
    assert read_exchange("train-1", TRACKED_TURN).tutor[0].text == "Look."


def test_turn_spans_its_first_to_its_last_call() -> None:
    turn = read_exchange("train-1", TRACKED_TURN).tutor[0]
    assert (turn.first, turn.last) == (2, 3)


def test_tokens_of_all_calls_are_summed() -> None:
    # 100 + 20 of the tracker, 30 + 4 of the responder
    assert read_exchange("train-1", TRACKED_TURN).tutor[0].tokens == 154


def test_node_and_route_are_the_responder_s() -> None:
    turn = read_exchange("train-1", TRACKED_TURN).tutor[0]
    assert (turn.node, turn.route) == ("hint_cascade", "hint")


def test_last_of_two_responders_is_what_was_shown() -> None:
    calls = [a_tutor_turn(1, "first"), a_tutor_turn(2, "second")]
    assert read_exchange("train-1", calls).tutor[0].text == "second"


def test_tracker_without_a_responder_is_no_visible_turn() -> None:
    assert read_exchange("train-1", [a_tracker_call(1)]).tutor == ()


def test_tutor_call_without_a_turn_number_is_no_visible_turn() -> None:
    assert read_exchange("train-1", [a_call(1, role="tutor")]).tutor == ()


def test_tutor_turns_come_in_sequence_order() -> None:
    calls = [a_tutor_turn(1, turn=1), a_tutor_turn(2, turn=0)]
    assert [turn.turn for turn in read_exchange("train-1", calls).tutor] == [1, 0]


def test_student_turns_keep_position_and_text() -> None:
    assert read_exchange("train-1", TRACKED_TURN).student == (StudentTurn(1, "hm"), StudentTurn(4, "x"))


def test_probe_holds_every_reply() -> None:
    assert read_probe("delayed-1", [a_student_turn(7, "a"), a_student_turn(8, "b")]).replies == (
        StudentTurn(7, "a"),
        StudentTurn(8, "b"),
    )


@pytest.mark.parametrize(
    ("probe", "answer"),
    [
        pytest.param(replies("FINAL ANSWER: 5"), 5, id="first-reply"),
        pytest.param(replies("no", "FINAL ANSWER: 5"), 5, id="elicited"),
        pytest.param(replies("FINAL ANSWER: none", "no", "FINAL ANSWER: 5"), 5, id="marker-without-number-passes"),
        pytest.param(replies("FINAL ANSWER: 5", "FINAL ANSWER: 6"), 5, id="first-of-two"),
        pytest.param(replies("no", "no", "no"), None, id="never"),
    ],
)
def test_answer_is_the_first_that_parses(probe: Probe, answer: float | None) -> None:
    assert probe.answer == answer


def test_tutored_problems_are_exchanges_and_the_rest_probes() -> None:
    transcript = read_transcript(a_session(condition="ped"))
    assert (list(transcript.exchanges), list(transcript.probes)) == (
        [problem.id for problem in PROBLEMS if problem.phase == "training"],
        [problem.id for problem in PROBLEMS if problem.phase != "training"],
    )


def test_every_item_of_cold_is_a_probe() -> None:
    transcript = read_transcript(a_session(condition="cold"))
    assert (len(transcript.exchanges), len(transcript.probes)) == (0, 19)


# What keeps a session from being one finished episode.


def breach(session: Session) -> str | None:
    return protocol_breach(session, PROBLEMS, 4)


def changed(change: Callable[[list[Call]], list[Call]]) -> Session:
    """A session whose calls were tampered with, positions renumbered."""
    calls = change(list(a_session().calls))
    return Session(
        header=a_header(),
        calls=tuple(call.model_copy(update={"seq": seq}) for seq, call in enumerate(calls, start=1)),
    )


@pytest.mark.parametrize("condition", ["cold", "conv", "ped"])
def test_finished_session_has_no_breach(condition: str) -> None:
    assert breach(a_session(condition=condition)) is None


@pytest.mark.parametrize("replies", [["no", "FINAL ANSWER: 3"], ["no", "no", "FINAL ANSWER: 3"], ["no", "no", "no"]])
def test_elicited_probe_has_no_breach(replies: list[str]) -> None:
    assert breach(a_session(said={"delayed-2": replies})) is None


def swap_problems(calls: list[Call]) -> list[Call]:
    first = [call for call in calls if call.problem == "train-1"]
    second = [call for call in calls if call.problem == "train-2"]
    return second + first + calls[len(first) + len(second) :]


def interleave_problems(calls: list[Call]) -> list[Call]:
    return [calls[0], calls[9], *calls[1:9], *calls[10:]]


def end_early(calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.problem != "transfer-3"]


def add_problem(calls: list[Call]) -> list[Call]:
    return [*calls, calls[-1].model_copy(update={"problem": "transfer-4"})]


def drop_last_reply(calls: list[Call]) -> list[Call]:
    return calls[:8] + calls[9:]


def drop_tutor_turn(calls: list[Call]) -> list[Call]:
    return calls[:1] + calls[2:]


def misnumber_turn(calls: list[Call]) -> list[Call]:
    return [calls[0], calls[1].model_copy(update={"turn": 3}), *calls[2:]]


def elicit_in_training(calls: list[Call]) -> list[Call]:
    return [*calls[:8], calls[8].model_copy(update={"purpose": "commitment"}), *calls[9:]]


def tutor_in_probe(calls: list[Call]) -> list[Call]:
    return [*calls, a_tutor_turn(1, problem="transfer-3")]


def tracker_in_probe(calls: list[Call]) -> list[Call]:
    return [*calls, a_tracker_call(1, problem="transfer-3")]


def ask_on(calls: list[Call]) -> list[Call]:
    return [*calls, calls[-1]]


def forget_elicitation(calls: list[Call]) -> list[Call]:
    return [*calls[:-1], calls[-1].model_copy(update={"text": "no idea"})]


def elicit_three_times(calls: list[Call]) -> list[Call]:
    return calls[:-1] + [calls[-1].model_copy(update={"text": "no idea"})] * 4


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param(swap_problems, "problem 'train-2' where 'train-1' was due", id="order"),
        pytest.param(interleave_problems, "problem 'train-1' where 'train-3' was due", id="interleaved"),
        pytest.param(end_early, "ends before transfer-3: 18 of 19 problems", id="ends-early"),
        pytest.param(add_problem, "problem 'transfer-4' where None was due", id="one-too-many"),
        pytest.param(lambda _: [], "ends before train-1: 0 of 19 problems", id="no-calls"),
        pytest.param(drop_last_reply, "train-1: turns go S-T-S-T-S-T-S-T, the protocol's", id="no-last-reply"),
        pytest.param(drop_tutor_turn, "train-1: turns go S-S-T-S-T-S-T-S, the protocol's", id="no-tutor-turn"),
        pytest.param(misnumber_turn, "train-1: tutor turns are numbered [3, 1, 2, 3]", id="turn-number"),
        pytest.param(elicit_in_training, "train-1: a probe or commitment stands inside", id="elicited-in-training"),
        pytest.param(tutor_in_probe, "transfer-3: a tutor call stands inside a probe", id="tutor-in-probe"),
        pytest.param(tracker_in_probe, "transfer-3: a tutor call stands inside a probe", id="tracker-in-probe"),
        pytest.param(ask_on, "transfer-3: the student was asked on after committing", id="asked-on"),
        pytest.param(forget_elicitation, "transfer-3: ends after 1 replies without a commitment", id="not-elicited"),
        pytest.param(elicit_three_times, "transfer-3: 4 replies, the protocol has at most 3", id="elicited-thrice"),
    ],
)
def test_breach_is_named(change: Callable[[list[Call]], list[Call]], named: str) -> None:
    assert named in (breach(changed(change)) or "")


def test_tutor_in_cold_is_a_breach() -> None:
    session = Session(header=a_header(condition="cold"), calls=a_session(condition="conv").calls)
    assert breach(session) == "train-1: a tutor call stands inside a probe"


def test_conv_without_a_tutor_is_a_breach() -> None:
    session = Session(header=a_header(condition="conv"), calls=a_session(condition="cold").calls)
    assert "train-1: turns go S, the protocol's" in (breach(session) or "")
