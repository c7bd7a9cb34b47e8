import pytest

from pytest_tutoreval.collecting import StudentContext
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.agent import Message
from tests.builders import a_route

INSTRUMENT = load_instrument()
TRAINING, PROBE = INSTRUMENT.problem["train-1"], INSTRUMENT.problem["immediate-1"]
WITH_TUTOR = f"Here is a new problem to work through together with your tutor.\n{TRAINING.statement}"
ALONE = f"Here is a problem to solve on your own, without the tutor.\n{PROBE.statement}"


def a_context() -> StudentContext:
    return StudentContext(INSTRUMENT, base="gpt", condition="ped", replicate=2, route=a_route("student"), seed=2)


def messages(context: StudentContext) -> list[Message]:
    return list(context.request(TRAINING, purpose="exchange", turn=0).messages)


def test_system_prompt_is_the_student_s_alone() -> None:
    context = a_context()
    context.open_training(TRAINING)
    assert context.request(TRAINING, purpose="exchange", turn=0).system == INSTRUMENT.prompts["student"]


def test_tutored_problem_opens_with_its_statement() -> None:
    context = a_context()
    context.open_training(TRAINING)
    assert messages(context) == [Message("user", WITH_TUTOR)]


def test_probe_opens_with_its_statement() -> None:
    context = a_context()
    context.open_probe(PROBE)
    assert messages(context) == [Message("user", ALONE)]


def test_tutor_turns_arrive_prefixed() -> None:
    context = a_context()
    context.hear_tutor("What is {x}?")
    assert messages(context) == [Message("user", "Tutor: What is {x}?")]


@pytest.mark.parametrize("prompt", ["forced_commitment", "forced_commitment_retry"])
def test_elicitation_arrives_as_it_is(prompt: str) -> None:
    context = a_context()
    context.elicit(prompt)
    assert messages(context) == [Message("user", INSTRUMENT.prompts[prompt])]


def test_own_replies_are_the_assistant_s() -> None:
    context = a_context()
    context.open_training(TRAINING)
    context.said("hm")
    assert messages(context)[1:] == [Message("assistant", "hm")]


def test_two_incoming_messages_are_merged_with_a_blank_line() -> None:
    context = a_context()
    context.hear_tutor("Well done.")
    context.open_probe(PROBE)
    assert messages(context) == [Message("user", f"Tutor: Well done.\n\n{ALONE}")]


@pytest.mark.parametrize("reply", ["", "  ", "\n\t"])
def test_an_empty_reply_is_sent_on_as_a_placeholder(reply: str) -> None:
    context = a_context()
    context.open_training(TRAINING)
    context.said(reply)
    assert messages(context)[-1] == Message("assistant", "[the reply was empty]")


def test_reply_keeps_its_white_space() -> None:
    context = a_context()
    context.said(" hm\n")
    assert messages(context) == [Message("assistant", " hm\n")]


def test_a_request_is_not_changed_by_what_comes_later() -> None:
    context = a_context()
    context.open_training(TRAINING)
    request = context.request(TRAINING, purpose="exchange", turn=0)
    context.said("hm")
    assert len(request.messages) == 1
