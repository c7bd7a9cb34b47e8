"""Policies of the user's own: a prompt, a function in Python, nothing at all; held to what a corpus can record."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.collecting import EpisodePlan, collect_calls
from pytest_tutoreval.errors import ConfigurationProblem, InstrumentError, ProtocolError
from pytest_tutoreval.frozen import REGISTERED_CONDITIONS, Instrument, extend_instrument, load_instrument
from pytest_tutoreval.policies import POLICIES, Situation, Utterance, known_conditions, policy_of
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.study_file import StudyFile
from tests.builders import Replies, a_route

CORE = load_instrument()
PROBLEM = CORE.problem["train-1"]
STATED = f"The student is working on this problem:\n{PROBLEM.statement}"
_names = count()


def with_policy(folder: Path, **entry: Any) -> Instrument:
    """The instrument with one condition more, named own."""
    return extend_instrument(CORE, StudyFile.parse({"policies": [{"id": "own"} | entry]}), folder=folder)


def prompted(folder: Path, text: str) -> Instrument:
    (folder / "own.txt").write_bytes(text.encode())
    return with_policy(folder, prompt="own.txt")


def coded(folder: Path, body: str) -> Instrument:
    """The instrument with a policy made of a module's text; each module has a name of its own."""
    module = f"policy_of_test_{next(_names)}"
    (folder / f"{module}.py").write_text(body, encoding="utf-8")
    return with_policy(folder, callable=f"{module}:turn")


def a_situation(instrument: Instrument, *said: str) -> Situation:
    return Situation(
        instrument=instrument,
        base="gpt",
        condition="own",
        replicate=3,
        problem=PROBLEM,
        turn=len(said) // 2,
        dialogue=tuple(Utterance("tutor" if at % 2 else "student", text) for at, text in enumerate(said)),
        route=a_route("tutor"),
        seed=3,
    )


def drive(instrument: Instrument, *replies: str) -> tuple[list[ModelRequest], str]:
    policy = policy_of(instrument, "own")
    assert policy is not None
    running = policy(a_situation(instrument, "hm"))
    requests = [next(running)]
    try:
        for reply in replies:
            requests.append(running.send(ModelReply(reply)))
    except StopIteration as end:
        return requests, end.value
    raise AssertionError(f"asks on after {replies}")


# looked up in one place


def test_every_registered_condition_is_a_policy_or_untutored() -> None:
    assert set(REGISTERED_CONDITIONS) == {*POLICIES, "cold"}


def test_registered_policies_are_found_in_any_instrument(tmp_path: Path) -> None:
    own = prompted(tmp_path, "Ask back.")
    assert [policy_of(own, name) for name in ("conv", "ped", "cold")] == [POLICIES["conv"], POLICIES["ped"], None]
    assert known_conditions(own) == (*REGISTERED_CONDITIONS, "own")


def test_an_unknown_condition_lists_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationProblem, match=r"condition owm is not known \(known: cold, conv, ped, .*, own\)"):
        policy_of(prompted(tmp_path, "Ask back."), "owm")


# a prompt


def test_a_prompt_is_sent_with_the_statement_as_conv_s_is(tmp_path: Path) -> None:
    (request,), shown = drive(prompted(tmp_path, "Ask back.\nBe kind.\n"), "Look.")
    assert request.system == f"Ask back.\nBe kind.\n\n{STATED}"
    assert shown == "Look."


def test_a_prompted_turn_is_a_tutor_call_named_for_its_policy(tmp_path: Path) -> None:
    (request,), _ = drive(prompted(tmp_path, "Ask back."), "Look.")
    assert (request.role, request.site.node, request.site.route) == ("tutor", "own", None)


def test_line_ends_of_a_checkout_change_neither_text_nor_digest(tmp_path: Path) -> None:
    unix, windows = (prompted(tmp_path, f"Ask.{end}Wait.{end}") for end in ("\n", "\r\n"))
    assert unix.own_policies == windows.own_policies


# nothing at all


def test_a_direct_policy_sends_the_statement_alone(tmp_path: Path) -> None:
    (request,), shown = drive(with_policy(tmp_path, direct=True), "Look.")
    assert (request.system, shown) == (STATED, "Look.")
    assert [message.text for message in request.messages] == ["hm"]


# Python


TWO_STEPS = """
def turn(situation):
    plan = yield situation.request(situation.with_statement("Plan."), node="planner", role="tracker")
    said = yield situation.request(situation.with_statement(f"Say it: {plan.text}"), node="speaker")
    return said.text
"""


def test_a_policy_in_python_yields_its_requests_and_returns_the_turn(tmp_path: Path) -> None:
    requests, shown = drive(coded(tmp_path, TWO_STEPS), "a plan", "Look.")
    assert [(request.role, request.site.node) for request in requests] == [("tracker", "planner"), ("tutor", "speaker")]
    assert requests[1].system == f"Say it: a plan\n\n{STATED}"
    assert shown == "Look."


def played(instrument: Instrument) -> list[Call]:
    policy, route = policy_of(instrument, "own"), a_route()
    plan = EpisodePlan(instrument, "gpt", "own", 0, policy, route, route)
    return collect_calls(plan, Replies(otherwise=lambda request: f"FINAL ANSWER: 3 ({request.role})"))


def test_a_whole_session_is_played_under_a_policy_in_python(tmp_path: Path) -> None:
    calls = played(coded(tmp_path, TWO_STEPS))
    # 6 tutored problems of 4 tutor turns, each a private call and a visible one
    assert sum(call.role == "tracker" for call in calls) == 24
    assert {call.text for call in calls if call.role == "tutor"} == {"FINAL ANSWER: 3 (tutor)"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "def turn(situation):\n    yield situation.request('a', node='n', role='tracker')\n    return 'x'\n",
            "it returned without a call of role 'tutor', so the turn would be lost",
            id="no-tutor-call",
        ),
        pytest.param(
            "def turn(situation):\n    reply = yield situation.request('a', node='n')\n    return reply.text + '!'\n",
            "it returned another text than its last call of role 'tutor' gave",
            id="another-text",
        ),
        pytest.param(
            "def turn(situation):\n    yield situation.request('a', node='n')\n    return {}['gone']\n",
            "it raised KeyError: 'gone'",
            id="a-fault",
        ),
        pytest.param(
            "def turn(situation):\n    yield 'hello'\n", "it yielded str; yield situation.request", id="a-text"
        ),
        pytest.param(
            "from dataclasses import replace\n\ndef turn(situation):\n"
            "    yield replace(situation, turn=9).request('a', node='n')\n",
            "it asked for another turn",
            id="another-turn",
        ),
        pytest.param(
            "from dataclasses import replace\n\ndef turn(situation):\n"
            "    route = situation.route.model_copy(update={'model': 'dearer'})\n"
            "    yield replace(situation, route=route).request('a', node='n')\n",
            "it asked dearer, a policy speaks through its base alone",
            id="another-route",
        ),
        pytest.param(
            "def turn(situation):\n    yield situation.request('a', node='n', role='student')\n",
            "role 'student' is not a policy's",
            id="another-role",
        ),
    ],
)
def test_what_a_corpus_could_not_record_ends_the_session_with_where_it_was(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(ProtocolError, match="policy own") as raised:
        played(coded(tmp_path, body))
    assert str(raised.value).startswith("policy own (policy_of_test_")
    assert " at gpt/own/r0/train-1/t0: " in str(raised.value)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("def turn(situation):\n    return 'Look.'\n", "is no generator function", id="a-plain-function"),
        pytest.param("turn = 3\n", "has no function 'turn'", id="no-function"),
        pytest.param("import no_such_module_here\n", "failed: ModuleNotFoundError", id="an-import-that-fails"),
    ],
)
def test_what_cannot_be_used_is_found_before_anything_is_asked(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(InstrumentError, match=message):
        policy_of(coded(tmp_path, body), "own")


# the digest its sessions carry


def test_two_texts_have_two_digests_and_the_instrument_s_stays(tmp_path: Path) -> None:
    one, other = prompted(tmp_path, "Ask."), prompted(tmp_path, "Tell.")
    assert one.policy_sha256("own") != other.policy_sha256("own")
    assert one.sha256 == other.sha256 == CORE.sha256


def test_another_function_of_the_same_module_is_another_policy(tmp_path: Path) -> None:
    (tmp_path / "two_policies.py").write_text("", encoding="utf-8")
    digests = {
        with_policy(tmp_path, callable=f"two_policies:{name}").policy_sha256("own") for name in ("turn", "other")
    }
    assert len(digests) == 2


@pytest.mark.parametrize("condition", ["conv", "ped", "cold"])
def test_registered_conditions_carry_no_digest_of_their_own(tmp_path: Path, condition: str) -> None:
    assert prompted(tmp_path, "Ask.").policy_sha256(condition) is None
