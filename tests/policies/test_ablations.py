"""The five variants: our wording for two, three deletions routed as released."""

from collections.abc import Iterable

import pytest

from pytest_tutoreval.collecting import EpisodePlan, collect_calls
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.live import Needs
from pytest_tutoreval.live.jobs import routes_of
from pytest_tutoreval.planning import plan_cost
from pytest_tutoreval.policies import POLICIES
from pytest_tutoreval.providers.agent import ModelRequest
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import Session
from pytest_tutoreval.records.study_file import StudyFile
from pytest_tutoreval.simulating import simulate_session
from pytest_tutoreval.transcript import protocol_breach
from tests.builders import Replies, a_route
from tests.policies.test_policies import HEADING, PLACEHOLDER, STATED, a_situation, drive, golden

INSTRUMENT = load_instrument()
PROMPTS = INSTRUMENT.prompts
VARIANTS = ["conv_socratic", "conv_no_final_answer", "ped_no_gate", "ped_no_tracker", "ped_no_cascade"]
CONV_VARIANTS, PED_VARIANTS = VARIANTS[:2], VARIANTS[2:]
REQUEST, CONFUSION, ATTEMPT = "What is the answer?", "I am lost.", "x = 4 + 2"
TRACKED = '{"demonstrated": "a sum", "missing": "a unit", "stuck": false, "progressed": true}'
NOTES = "demonstrated: a sum; missing: a unit; stuck: False; progressed: True"


def asked(condition: str, *said: str) -> list[ModelRequest]:
    """What a variant asks on a turn after what was said."""
    replies = ["Look."] if condition in (*CONV_VARIANTS, "ped_no_tracker") else [TRACKED, "Look."]
    requests, shown = drive(a_situation(*said, condition=condition), *replies)
    assert shown == "Look."
    return requests


def tags(requests: Iterable[ModelRequest]) -> list[tuple[str, str | None, str | None]]:
    return [(request.role, request.site.node, request.site.route) for request in requests]


# prompt-only


@pytest.mark.parametrize("condition", CONV_VARIANTS)
def test_prompt_variant_asks_once_with_our_wording_and_the_statement(condition: str) -> None:
    (request,) = asked(condition, CONFUSION)
    assert request.system == f"{INSTRUMENT.wording[condition]}\n\n{STATED}"
    assert tags([request]) == [("tutor", "conv", None)]


@pytest.mark.parametrize("condition", CONV_VARIANTS)
def test_prompt_variant_sends_what_conv_sends_but_for_the_prompt(condition: str) -> None:
    (revised,), (plain,) = (
        asked(condition, CONFUSION, "Hm?", ATTEMPT),
        drive(a_situation(CONFUSION, "Hm?", ATTEMPT, condition="conv"), "Look.")[0],
    )
    assert revised.messages == plain.messages
    assert (revised.route, revised.seed) == (plain.route, plain.seed)
    assert revised.system != plain.system


def test_socratic_wording_asks_for_questions_instead_of_telling() -> None:
    wording = " ".join(INSTRUMENT.wording["conv_socratic"].split())
    assert "Be Socratic: ask guiding questions instead of telling" in wording
    assert "leave the thinking to the student" in wording


def test_ban_wording_forbids_the_final_answer_and_leaves_the_arithmetic() -> None:
    wording = " ".join(INSTRUMENT.wording["conv_no_final_answer"].split())
    assert "never give the final answer" in wording
    assert "leave the last reasoning and the arithmetic to the student" in wording


# deletions


@pytest.mark.parametrize(
    ("condition", "said", "route", "node"),
    [
        ("ped_no_gate", REQUEST, "defer", "decomposer"),
        ("ped_no_gate", CONFUSION, "decompose", "decomposer"),
        ("ped_no_gate", ATTEMPT, "hint", "hint_cascade"),
        ("ped_no_cascade", REQUEST, "defer", "deferral_gate"),
        ("ped_no_cascade", CONFUSION, "decompose", "decomposer"),
        ("ped_no_cascade", ATTEMPT, "hint", "decomposer"),
        ("ped_no_tracker", REQUEST, "defer", "deferral_gate"),
        ("ped_no_tracker", CONFUSION, "decompose", "decomposer"),
        ("ped_no_tracker", ATTEMPT, "hint", "hint_cascade"),
    ],
)
def test_rerouted_turn_keeps_its_route_and_names_who_answered(condition: str, said: str, route: str, node: str) -> None:
    tracker = [] if condition == "ped_no_tracker" else [("tracker", "state_tracker", route)]
    assert tags(asked(condition, said)) == [*tracker, ("tutor", node, route)]


@pytest.mark.parametrize("attempts", [0, 1, 2])
def test_without_the_gate_a_request_goes_to_the_decomposer_however_many_attempts(attempts: int) -> None:
    said = [turn for _ in range(attempts) for turn in (ATTEMPT, "And?")]
    assert asked("ped_no_gate", *said, REQUEST)[-1].site.node == "decomposer"


@pytest.mark.parametrize(("condition", "said"), [("ped_no_gate", REQUEST), ("ped_no_cascade", ATTEMPT)])
def test_rerouted_turn_gets_the_decomposer_s_prompt_the_notes_and_no_directive(condition: str, said: str) -> None:
    assert asked(condition, said)[-1].system == golden("pedtutor_decomposer", NOTES, True, "")


def test_what_is_not_rerouted_is_asked_as_in_ped() -> None:
    ped = drive(a_situation(ATTEMPT, condition="ped"), TRACKED, "Look.")[0]
    assert [request.system for request in asked("ped_no_gate", ATTEMPT)] == [request.system for request in ped]
    assert [request.system for request in asked("ped_no_cascade", REQUEST)] == [
        request.system for request in drive(a_situation(REQUEST, condition="ped"), TRACKED, "Look.")[0]
    ]


@pytest.mark.parametrize(
    ("said", "prompt", "directive"),
    [
        (CONFUSION, "pedtutor_decomposer", ""),
        (REQUEST, "pedtutor_deferral_gate", PROMPTS["pedtutor_gate_directive_below_threshold"]),
        (ATTEMPT, "pedtutor_hint_cascade", PROMPTS["template_hint_level"].format(level=0, name="abstract")),
    ],
)
def test_without_the_tracker_placeholder_and_false_are_sent(said: str, prompt: str, directive: str) -> None:
    (request,) = asked("ped_no_tracker", said)
    assert request.system == golden(prompt, PLACEHOLDER, False, directive)
    assert HEADING in request.system


# in the protocol


def session_of(condition: str) -> Session:
    cast = ScriptedCast(INSTRUMENT.problems, SCRIPTS["sonnet"], seed=5)
    return simulate_session(INSTRUMENT, cast, base="sonnet", condition=condition, replicate=0)


@pytest.mark.parametrize("condition", VARIANTS)
def test_variant_plays_a_whole_session_that_keeps_the_protocol(condition: str) -> None:
    session = session_of(condition)
    assert protocol_breach(session, INSTRUMENT.problems, INSTRUMENT.study.protocol.tutor_turns) is None


@pytest.mark.parametrize(
    ("condition", "calls"),
    [
        ("conv_socratic", 1),
        ("conv_no_final_answer", 1),
        ("ped_no_gate", 2),
        ("ped_no_cascade", 2),
        ("ped_no_tracker", 1),
    ],
)
def test_only_no_tracker_drops_to_one_call_a_turn(condition: str, calls: int) -> None:
    tutored = [call for call in session_of(condition).calls if call.role != "student"]
    assert len(tutored) == 6 * 4 * calls


@pytest.mark.parametrize("condition", VARIANTS)
def test_variant_can_be_collected(condition: str) -> None:
    needs = Needs.crossed(bases=["sonnet"], conditions=[condition])
    study = INSTRUMENT.study
    assert set(routes_of(INSTRUMENT, needs)) == {"student", "tutor sonnet"}
    plan = EpisodePlan(INSTRUMENT, "sonnet", condition, 0, POLICIES[condition], a_route("student"), a_route("tutor"))
    agent = Replies(otherwise=lambda request: "FINAL ANSWER: 1" if request.role == "student" else TRACKED)
    assert len({call.problem for call in collect_calls(plan, agent)}) == len(INSTRUMENT.problems)
    assert study.protocol.condition_order == ("cold", "conv", "ped")


def test_policies_are_conv_ped_and_the_five_variants() -> None:
    assert list(POLICIES) == ["conv", "ped", *VARIANTS]


def test_rating_alone_is_planned_as_what_was_collected_is_rated() -> None:
    """A judge that rates what is there is charged for the conditions it rates, whoever collected them."""
    both = Needs.crossed(bases=["sonnet"], conditions=["conv", "ped"], judges=["opus"], rubrics=["helpfulness"])
    alone, collected = (plan_cost(INSTRUMENT, of, {}, StudyFile()) for of in (Needs(ratings=both.ratings), both))
    rated = [[role.calls for role in cost.roles if role.role.startswith("judge")] for cost in (alone, collected)]
    # 2 policies x 24 turns x 3 repetitions x 10 replicates
    assert rated == [[1440], [1440]]
