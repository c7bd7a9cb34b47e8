"""A whole session with an agent made of replies: what is asked, in which order, and what nobody gets to see."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import pytest

from pytest_tutoreval.collecting import EpisodePlan, collect_calls
from pytest_tutoreval.detectors import DeclaredForms
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.policies import POLICIES
from pytest_tutoreval.providers.agent import ModelRequest
from pytest_tutoreval.records import Call, Route, Session
from pytest_tutoreval.transcript import protocol_breach
from tests.builders import ASKING, INPUT_TOKENS, OUTPUT_TOKENS, UNSURE, Replies, a_header, a_route, everything_shown

INSTRUMENT = load_instrument()
PROBLEMS, TRAINING = INSTRUMENT.problems, INSTRUMENT.training
PROBES = [problem for problem in PROBLEMS if problem.phase != "training"]
CONDITIONS = ["cold", "conv", "ped"]
COMMITTED = "FINAL ANSWER: 1"
SECRET = "tracker-secret"

Shape = list[tuple[str, str, str, int | None, str | None]]


def plain(request: ModelRequest) -> str:
    """The reply of someone who says nothing of note and commits where asked alone."""
    match request.role, request.site.purpose:
        case "student", "exchange":
            return UNSURE
        case "student", _:
            return COMMITTED
        case "tracker", _:
            return f'{{"demonstrated": "{SECRET}", "asked_for_answer": "{SECRET}"}}'
        case _:
            return ASKING


def a_plan(
    condition: str, *, replicate: int = 3, tutor: Route | None = None, student: Route | None = None
) -> EpisodePlan:
    return EpisodePlan(
        INSTRUMENT,
        "sonnet",
        condition,
        replicate,
        POLICIES.get(condition),
        student or a_route("student", seed="replicate"),
        tutor or a_route("tutor", seed="replicate"),
    )


def play(plan: EpisodePlan, otherwise: Callable[[ModelRequest], str] = plain) -> tuple[list[Call], Replies]:
    agent = Replies(otherwise=otherwise)
    return collect_calls(plan, agent), agent


@cache
def played(condition: str) -> tuple[list[Call], Replies]:
    return play(a_plan(condition))


def alone(*replies: str, problem: str = "immediate-1") -> tuple[list[Call], list[ModelRequest]]:
    """Return one probe's calls and requests when the student gives `replies` to it."""
    left = iter(replies)
    calls, agent = play(a_plan("conv"), lambda asked: next(left) if asked.site.problem == problem else plain(asked))
    return (
        [call for call in calls if call.problem == problem],
        [request for request in agent.requests if request.site.problem == problem],
    )


# The sequence of calls (released-procedure, section 5).


def tutored(problem: str, turn: int, condition: str) -> Shape:
    tracker = ("tracker", "exchange", problem, turn, "state_tracker")
    if condition == "ped":
        return [tracker, ("tutor", "exchange", problem, turn, "decomposer")]
    return [("tutor", "exchange", problem, turn, "conv")]


def expected_shape(condition: str) -> Shape:
    """Six tutored problems of S T S T S T S T S, then thirteen probes; in cold nineteen probes."""
    shape: Shape = []
    for problem in PROBLEMS:
        if problem.phase != "training" or condition == "cold":
            shape.append(("student", "probe", problem.id, None, None))
            continue
        shape.append(("student", "exchange", problem.id, None, None))
        for turn in range(4):
            shape += [*tutored(problem.id, turn, condition), ("student", "exchange", problem.id, None, None)]
    return shape


@pytest.mark.parametrize("condition", CONDITIONS)
def test_calls_come_in_the_registered_sequence(condition: str) -> None:
    assert [
        (call.role, call.purpose, call.problem, call.turn, call.node) for call in played(condition)[0]
    ] == expected_shape(condition)


@pytest.mark.parametrize(
    ("condition", "n_calls"),
    [
        pytest.param("cold", 19, id="cold-19"),
        pytest.param("conv", 6 * (5 + 4) + 13, id="conv-67"),
        pytest.param("ped", 6 * (5 + 8) + 13, id="ped-91"),
    ],
)
def test_session_has_the_registered_number_of_calls(condition: str, n_calls: int) -> None:
    assert len(played(condition)[0]) == n_calls


@pytest.mark.parametrize(("condition", "n_calls"), [("cold", 19 * 3), ("conv", 54 + 13 * 3), ("ped", 78 + 13 * 3)])
def test_elicitations_come_on_top(condition: str, n_calls: int) -> None:
    calls, _ = play(a_plan(condition), lambda request: UNSURE if request.role == "student" else plain(request))
    assert len(calls) == n_calls


@pytest.mark.parametrize("condition", CONDITIONS)
def test_positions_count_from_one(condition: str) -> None:
    calls = played(condition)[0]
    assert [call.seq for call in calls] == list(range(1, len(calls) + 1))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_collected_session_keeps_the_protocol(condition: str) -> None:
    session = Session(header=a_header(condition=condition), calls=tuple(played(condition)[0]))
    assert protocol_breach(session, PROBLEMS, 4) is None


@pytest.mark.parametrize("replicate", [0, 9])
def test_nothing_is_shuffled(replicate: int) -> None:
    calls, _ = play(a_plan("conv", replicate=replicate))
    assert list(dict.fromkeys(call.problem for call in calls)) == [problem.id for problem in PROBLEMS]


def test_a_commitment_does_not_stop_the_exchange() -> None:
    calls, _ = play(a_plan("conv"), lambda request: COMMITTED if request.role == "student" else ASKING)
    assert len(calls) == 67


def test_tutored_items_are_never_elicited() -> None:
    calls, _ = play(a_plan("ped"), lambda request: UNSURE if request.role == "student" else plain(request))
    training = {problem.id for problem in TRAINING}
    assert {call.purpose for call in calls if call.problem in training} == {"exchange"}


# Elicitation.


def test_a_reply_that_commits_is_not_elicited() -> None:
    assert [call.purpose for call in alone("FINAL ANSWER: 3")[0]] == ["probe"]


def test_a_reply_without_an_answer_is_followed_by_the_commitment_text() -> None:
    _, requests = alone("no idea", "FINAL ANSWER: 3")
    assert requests[-1].messages[-1].text == INSTRUMENT.prompts["forced_commitment"]


def test_the_commitment_ends_the_item_when_it_has_a_number() -> None:
    assert [call.purpose for call in alone("no idea", "FINAL ANSWER: 3")[0]] == ["probe", "commitment"]


def test_a_commitment_without_a_number_is_followed_by_the_retry_text() -> None:
    _, requests = alone("no idea", "FINAL ANSWER: none", "FINAL ANSWER: 3")
    assert requests[-1].messages[-1].text == INSTRUMENT.prompts["forced_commitment_retry"]


def test_there_is_never_a_third_elicitation() -> None:
    calls, _ = alone("no", "no", "no")
    assert [call.purpose for call in calls] == ["probe", "commitment", "commitment"]


def test_elicitations_are_numbered() -> None:
    _, requests = alone("no", "no", "no")
    assert [request.site.turn for request in requests] == [None, 0, 1]


def test_cold_elicits_training_items_too() -> None:
    left = iter(["no", "no", COMMITTED])
    calls, _ = play(a_plan("cold"), lambda asked: next(left) if asked.site.problem == "train-1" else plain(asked))
    assert [call.purpose for call in calls if call.problem == "train-1"] == ["probe", "commitment", "commitment"]


# The student's conversation.


def heard(calls: list[Call]) -> list[str]:
    """What the student should have heard and said by the end, from the calls alone."""
    texts: list[str] = []
    for before, call in pairwise([None, *calls]):
        if call is None or call.role == "tracker":
            continue
        if call.role == "tutor":
            texts.append(f"Tutor: {call.text}")
            continue
        if before is None or before.problem != call.problem:
            opening = {
                "exchange": "Here is a new problem to work through together with your tutor.",
                "probe": "Here is a problem to solve on your own, without the tutor.",
            }[call.purpose]
            texts.append(f"{opening}\n{INSTRUMENT.problem[call.problem].statement}")
        texts.append(call.text)
    return texts


@pytest.mark.parametrize("condition", CONDITIONS)
def test_student_has_one_conversation_all_nineteen_problems_long(condition: str) -> None:
    calls, agent = played(condition)
    last = agent.asked("student")[-1]
    assert [message.text for message in last.messages] == heard(calls)[:-1]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_student_request_begins_with_the_one_before(condition: str) -> None:
    for earlier, later in pairwise(played(condition)[1].asked("student")):
        assert later.messages[: len(earlier.messages)] == earlier.messages


@pytest.mark.parametrize("condition", CONDITIONS)
def test_speakers_alternate_from_user_to_user(condition: str) -> None:
    for request in played(condition)[1].asked("student"):
        speakers = [message.speaker for message in request.messages]
        assert speakers == [("user", "assistant")[at % 2] for at in range(len(speakers))]
        assert len(speakers) % 2 == 1


def test_student_never_sees_tracker_text() -> None:
    assert not any(SECRET in everything_shown(request) for request in played("ped")[1].asked("student"))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_student_is_never_told_an_answer(condition: str) -> None:
    # its tutors here say nothing of note, so an answer could only come from the machine
    for request in played(condition)[1].asked("student"):
        problem = INSTRUMENT.problem[request.site.problem]
        forms = DeclaredForms(problem.numeric_forms, problem.solution_forms)
        assert not forms.leak(request.messages[-1].text)


def test_an_empty_reply_stays_empty_on_record() -> None:
    calls, _ = play(a_plan("conv"), lambda request: "" if request.site.purpose == "exchange" else COMMITTED)
    assert {call.text for call in calls if call.purpose == "exchange"} == {""}


def test_an_empty_reply_is_a_placeholder_to_everyone_who_reads_on() -> None:
    _, agent = play(a_plan("conv"), lambda request: "" if request.site.purpose == "exchange" else COMMITTED)
    tutor = next(request for request in agent.asked("tutor") if request.site.turn == 1)
    assert {message.text for message in tutor.messages} == {"[the reply was empty]"}


# The tutor's view.


@pytest.mark.parametrize("condition", ["conv", "ped"])
def test_tutor_sees_its_own_problem_and_no_other(condition: str) -> None:
    for request in played(condition)[1].asked("tutor", "tracker"):
        shown = everything_shown(request)
        seen = [problem.id for problem in PROBLEMS if problem.statement in shown]
        assert seen == [request.site.problem]


@pytest.mark.parametrize("condition", ["conv", "ped"])
def test_tutor_reads_this_problem_s_dialogue_alone(condition: str) -> None:
    for request in played(condition)[1].asked("tutor", "tracker"):
        turn = request.site.turn or 0
        assert [message.text for message in request.messages] == [UNSURE, *[ASKING, UNSURE] * turn]


@pytest.mark.parametrize("condition", ["conv", "ped"])
def test_tutor_is_never_asked_about_a_probe(condition: str) -> None:
    asked = {request.site.problem for request in played(condition)[1].asked("tutor", "tracker")}
    assert asked == {problem.id for problem in TRAINING}


@pytest.mark.parametrize("condition", ["conv", "ped"])
def test_tutor_is_never_shown_the_answer(condition: str) -> None:
    for request in played(condition)[1].asked("tutor", "tracker"):
        problem = INSTRUMENT.problem[request.site.problem]
        text = everything_shown(request).replace("(2-4 sentences)", "")
        assert not DeclaredForms(problem.numeric_forms, problem.solution_forms).leak(text)


def test_cold_calls_no_tutor() -> None:
    assert played("cold")[1].asked("tutor", "tracker") == []


def test_tracker_s_notes_reach_the_responder_without_asked_for_answer() -> None:
    responder = next(request for request in played("ped")[1].requests if request.role == "tutor")
    assert responder.system.count(SECRET) == 1


# Seeds and routes.


@pytest.mark.parametrize("replicate", [0, 7])
def test_every_call_carries_the_replicate_s_seed_where_its_route_takes_one(replicate: int) -> None:
    _, agent = play(a_plan("ped", replicate=replicate))
    assert {request.seed for request in agent.requests} == {replicate}


def test_a_route_that_takes_no_seed_gets_none() -> None:
    _, agent = play(a_plan("ped", tutor=a_route("tutor")))
    assert {request.seed for request in agent.asked("tutor", "tracker")} == {None}


def test_the_student_keeps_its_seed_beside_an_unseeded_tutor() -> None:
    _, agent = play(a_plan("ped", tutor=a_route("tutor")))
    assert {request.seed for request in agent.asked("student")} == {3}


def test_a_route_seeded_by_repetition_gets_none_in_a_session() -> None:
    _, agent = play(a_plan("conv", student=a_route("student", seed="repetition")))
    assert {request.seed for request in agent.asked("student")} == {None}


def test_a_route_without_sampling_gets_no_seed() -> None:
    _, agent = play(a_plan("cold", student=Route(provider="scripted", model="student")))
    assert {request.seed for request in agent.requests} == {None}


def test_tracker_and_responder_go_the_tutor_s_route() -> None:
    assert {request.route.model for request in played("ped")[1].asked("tutor", "tracker")} == {"tutor"}


# The record.


def test_record_holds_the_digest_of_what_was_asked() -> None:
    calls, agent = played("ped")
    assert [call.request for call in calls] == [request.digest() for request in agent.requests]


def test_record_holds_text_and_tokens_as_they_came() -> None:
    call = played("conv")[0][1]
    assert (call.text, call.input_tokens, call.output_tokens) == (ASKING, INPUT_TOKENS, OUTPUT_TOKENS)


def test_responder_and_tracker_of_a_turn_share_its_route_tag() -> None:
    tags = {(call.role, call.route) for call in played("ped")[0]}
    assert tags == {("student", None), ("tracker", "decompose"), ("tutor", "decompose")}
