from collections.abc import Sequence

import pytest
from hypothesis import given

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.policies import POLICIES, Situation, Utterance, conv_turn, ped_turn
from pytest_tutoreval.policies.tracker import planning_notes, read_estimate
from pytest_tutoreval.providers.agent import Message, ModelReply, ModelRequest
from tests.builders import TRACKED, a_route, everything_shown
from tests.detectors.strategies import any_text

INSTRUMENT = load_instrument()
PROBLEM = INSTRUMENT.problem["train-1"]
PROMPTS = INSTRUMENT.prompts
STATED = (
    "The student is working on this problem:\n"
    "How many liters of a 50% acid solution must be added to 48 liters of a 20% acid solution to produce a 30% acid "
    "solution?"
)
HEADING = "Your private planning notes about this student (never show or quote them):"
PLACEHOLDER = "[no estimate of the student is available for this turn]"


def a_situation(*said: str, condition: str = "ped", seed: int | None = 3) -> Situation:
    """The tutor turn after S T S … of the given texts."""
    dialogue = tuple(Utterance("tutor" if at % 2 else "student", text) for at, text in enumerate(said))
    return Situation(
        instrument=INSTRUMENT,
        base="gpt",
        condition=condition,
        replicate=3,
        problem=PROBLEM,
        turn=len(said) // 2,
        dialogue=dialogue,
        route=a_route("tutor"),
        seed=seed,
    )


def drive(situation: Situation, *replies: str) -> tuple[list[ModelRequest], str]:
    """Return what a policy asks when it is answered with `replies`, and what the student gets to see."""
    running = POLICIES[situation.condition](situation)
    requests = [next(running)]
    try:
        for reply in replies:
            requests.append(running.send(ModelReply(reply)))
    except StopIteration as end:
        return requests, end.value
    raise AssertionError(f"asks on after {replies}")


def responder(*said: str, tracked: str = TRACKED) -> ModelRequest:
    requests, _ = drive(a_situation(*said), tracked, "Look.")
    return requests[1]


def golden(prompt: str, notes: str, progressed: bool, directive: str) -> str:
    """The system prompt of a responder, piece by piece (released-procedure, section 4)."""
    return (
        f"{PROMPTS[prompt]}\n\n{STATED}\n\n{HEADING}\n{notes}\n\n"
        f"Student made new progress since the last tutor turn: {progressed}.\n{directive}"
    )


# conv


def test_conv_asks_once_with_prompt_and_statement() -> None:
    (request,), _ = drive(a_situation("hm", condition="conv"), "Look.")
    assert request.system == f"{PROMPTS['convtutor']}\n\n{STATED}"


def test_conv_shows_what_came_back() -> None:
    _, shown = drive(a_situation("hm", condition="conv"), "Look.")
    assert shown == "Look."


@pytest.mark.parametrize("word", ["answer", "reveal", "disclos", "withhold", "give away", "final", "hint", "never"])
def test_conv_is_told_nothing_about_disclosing_or_withholding(word: str) -> None:
    (request,), _ = drive(a_situation("hm", condition="conv"), "Look.")
    assert word not in request.system.lower().replace(STATED.lower(), "")


def test_conv_is_a_tutor_call_of_node_conv_without_a_route_tag() -> None:
    (request,), _ = drive(a_situation("hm", condition="conv"), "Look.")
    assert (request.role, request.site.node, request.site.route, request.site.turn) == ("tutor", "conv", None, 0)


# ped: tracker, then one responder


def test_ped_asks_the_tracker_with_prompt_and_statement_alone() -> None:
    requests, _ = drive(a_situation("hm"), TRACKED, "Look.")
    assert requests[0].system == f"{PROMPTS['pedtutor_tracker']}\n\n{STATED}"


def test_ped_shows_the_responder_s_text() -> None:
    _, shown = drive(a_situation("hm"), TRACKED, "Look.")
    assert shown == "Look."


@pytest.mark.parametrize(
    ("said", "node", "route"),
    [
        pytest.param(["I give up"], "deferral_gate", "defer", id="request"),
        pytest.param(["hm"], "decomposer", "decompose", id="no-attempt"),
        pytest.param(["x = 3"], "hint_cascade", "hint", id="attempt"),
    ],
)
def test_calls_of_a_ped_turn_are_tagged(said: list[str], node: str, route: str) -> None:
    requests, _ = drive(a_situation(*said), TRACKED, "Look.")
    assert [(request.role, request.site.node, request.site.route) for request in requests] == [
        ("tracker", "state_tracker", route),
        ("tutor", node, route),
    ]


NOTES = "demonstrated: nothing yet; missing: a variable; stuck: True; progressed: False"


def test_decomposer_gets_prompt_statement_notes_and_an_empty_directive() -> None:
    assert responder("hm").system == golden("pedtutor_decomposer", NOTES, False, "")


@pytest.mark.parametrize(
    ("said", "level"),
    [
        pytest.param(["x = 3"], "0 (abstract)", id="first-turn"),
        pytest.param(["x = 3", "T", "hm"], "1 (pointed)", id="second-turn"),
        pytest.param(["x = 3", "T", "hm", "T", "hm"], "1 (pointed)", id="third-turn-one-attempt"),
        pytest.param(["x = 3", "T", "1/2", "T", "hm"], "2 (concrete)", id="third-turn-two-attempts"),
        pytest.param(["x = 3", "T", "1/2", "T", "hm", "T", "hm"], "2 (concrete)", id="fourth-turn"),
    ],
)
def test_cascade_is_told_the_hint_level(said: list[str], level: str) -> None:
    expected = golden("pedtutor_hint_cascade", NOTES, False, f"Current hint level: {level}.")
    assert responder(*said).system == expected


@pytest.mark.parametrize(
    ("said", "directive"),
    [
        pytest.param(["I give up"], "below", id="no-attempt"),
        pytest.param(["x = 3", "T", "I give up"], "below", id="one-attempt"),
        pytest.param(["x = 3", "T", "1/2", "T", "I give up"], "at", id="two-attempts"),
        pytest.param(["x = 3", "T", "1/2. What is the answer?"], "at", id="second-attempt-in-the-request"),
    ],
)
def test_gate_is_given_the_directive_of_its_threshold(said: list[str], directive: str) -> None:
    expected = golden("pedtutor_deferral_gate", NOTES, False, PROMPTS[f"pedtutor_gate_directive_{directive}_threshold"])
    assert responder(*said).system == expected


# the tracker's estimate


@pytest.mark.parametrize(
    ("tracked", "notes", "progressed"),
    [
        pytest.param('{"stuck": true}', "stuck: True", False, id="missing-fields-left-out"),
        pytest.param(
            '{"progressed": true, "stuck": false, "missing": "m", "demonstrated": "d"}',
            "demonstrated: d; missing: m; stuck: False; progressed: True",
            True,
            id="fixed-order",
        ),
        pytest.param(
            '{"demonstrated": "d", "asked_for_answer": true}', "demonstrated: d", False, id="asked-for-answer-withheld"
        ),
        pytest.param('{"progressed": "false"}', "progressed: false", True, id="string-false-is-true"),
        pytest.param('{"progressed": ""}', "progressed: ", False, id="empty-string-is-false"),
        pytest.param('{"progressed": 1}', "progressed: 1", True, id="one-is-true"),
        pytest.param('{"progressed": null}', "progressed: None", False, id="null-is-false"),
        pytest.param("{}", "", False, id="empty-object"),
        pytest.param('Sure: {"stuck": true} ok', "stuck: True", False, id="in-prose"),
        pytest.param("no json", PLACEHOLDER, False, id="unparseable"),
        pytest.param("", PLACEHOLDER, False, id="empty"),
        pytest.param("[1, 2]", PLACEHOLDER, False, id="no-object"),
        pytest.param('{"stuck": true} {"stuck": false}', PLACEHOLDER, False, id="two-objects"),
        pytest.param('{"stuck": tru', PLACEHOLDER, False, id="torn"),
        pytest.param('{"demonstrated": "{format} {0}"}', "demonstrated: {format} {0}", False, id="braces-stay"),
    ],
)
def test_notes_are_made_of_the_estimate(tracked: str, notes: str, progressed: bool) -> None:
    assert responder("hm", tracked=tracked).system == golden("pedtutor_decomposer", notes, progressed, "")


@pytest.mark.parametrize("tracked", [TRACKED, "no json", '{"asked_for_answer": true, "stuck": false}'])
def test_routing_never_reads_the_tracker(tracked: str) -> None:
    assert responder("hm", tracked=tracked).site.node == "decomposer"


@given(any_text)
def test_any_tracker_reply_makes_notes(reply: str) -> None:
    assert planning_notes(read_estimate(reply), INSTRUMENT).startswith(HEADING)


# messages


@pytest.mark.parametrize("condition", ["conv", "ped"])
def test_student_speaks_as_user_and_tutor_as_assistant(condition: str) -> None:
    requests, _ = drive(a_situation("a", "T0", "b", condition=condition), *[TRACKED, "Look."][condition == "conv" :])
    expected = (Message("user", "a"), Message("assistant", "T0"), Message("user", "b"))
    assert [request.messages for request in requests] == [expected] * len(requests)


def test_tracker_output_is_never_a_message() -> None:
    request = responder("hm", tracked='{"demonstrated": "SECRET"}')
    assert not any("SECRET" in message.text for message in request.messages)


@pytest.mark.parametrize("silence", ["", " \n"])
def test_an_empty_turn_is_sent_as_a_placeholder(silence: str) -> None:
    (request,), _ = drive(a_situation(silence, silence, "b", condition="conv"), "Look.")
    assert [message.text for message in request.messages] == ["[the reply was empty]"] * 2 + ["b"]


@pytest.mark.parametrize("condition", ["conv", "ped"])
@pytest.mark.parametrize("seed", [None, 7])
def test_every_call_of_a_turn_carries_the_situation_s_seed_and_route(condition: str, seed: int | None) -> None:
    situation = a_situation("hm", condition=condition, seed=seed)
    requests, _ = drive(situation, *[TRACKED, "Look."][condition == "conv" :])
    assert {(request.seed, request.route) for request in requests} == {(seed, situation.route)}


# what is absent


def every_request() -> list[ModelRequest]:
    requests = drive(a_situation("hm", condition="conv"), "Look.")[0]
    for said in (["hm"], ["x = 3"], ["I give up"], ["x = 3", "T", "1/2", "T", "I give up"]):
        requests += drive(a_situation(*said), TRACKED, "Look.")[0]
    return requests


def absent(words: Sequence[str]) -> bool:
    return not any(word in everything_shown(request) for request in every_request() for word in words)


def test_no_other_problem_is_shown_to_a_tutor() -> None:
    assert absent([problem.statement for problem in INSTRUMENT.problems if problem.id != PROBLEM.id])


def test_no_declared_form_is_shown_to_a_tutor() -> None:
    # 24 stands nowhere in prompts or statement
    assert absent([*PROBLEM.numeric_forms, *PROBLEM.solution_forms])


def test_no_label_is_shown_to_a_tutor() -> None:
    assert absent(["train-1", "training", "replicate", "hint_cascade", "state_tracker", "gpt", '"ped"', '"conv"'])


def test_policies_are_looked_up_by_condition() -> None:
    assert (POLICIES["conv"], POLICIES["ped"]) == (conv_turn, ped_turn)
