import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from pytest_tutoreval.detectors import DeclaredForms, attempts_step, final_answer, widest_object
from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.policies.router import count_attempts, requests_answer
from pytest_tutoreval.providers.agent import AgentRole, CallSite, Message, ModelRequest
from pytest_tutoreval.providers.scripted import (
    JUDGE_SCRIPTS,
    SCRIPTS,
    JudgeScript,
    Planted,
    Script,
    ScriptedCast,
    ScriptedJudge,
    Taste,
)
from pytest_tutoreval.providers.scripted.draw import bell, series, uniforms
from pytest_tutoreval.providers.scripted.judge import final_tutor_turn, is_curt, is_eliciting, is_telling
from pytest_tutoreval.providers.scripted.student_phrases import PROBE_FAMILIES, STUDENT_FAMILIES
from pytest_tutoreval.providers.scripted.tutor_phrases import TUTOR_FAMILIES
from pytest_tutoreval.providers.scripted.wording import VALUE, word_problem
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.rating import RUBRIC_FIELDS
from pytest_tutoreval.records.session import Route

INSTRUMENT = load_instrument()
PROBLEMS = INSTRUMENT.problems
TRAINING = INSTRUMENT.training
PROBES = tuple(problem for problem in PROBLEMS if problem.phase != "training")
FORMS = {problem.id: DeclaredForms(problem.numeric_forms, problem.solution_forms) for problem in PROBLEMS}
PED_NODES = ("deferral_gate", "decomposer", "hint_cascade")
LEAKS = ("conv_leak", "conv_leak_curt", "ped_leak")
ATTEMPTS = ("opening_attempt", "attempt", "check")
TRACKER = tuple(name for name in TUTOR_FAMILIES if name.startswith("tracker"))

each_base = pytest.mark.parametrize("base", sorted(SCRIPTS))
each_problem = pytest.mark.parametrize("problem", TRAINING, ids=lambda problem: problem.id)


def a_site(**changes: Any) -> CallSite:
    given: dict[str, Any] = {
        "base": "sonnet",
        "condition": "conv",
        "replicate": 0,
        "problem": "train-1",
        "purpose": "exchange",
        "turn": 0,
    }
    return CallSite(**given | changes)


def a_request(
    role: AgentRole,
    site: CallSite,
    *,
    system: str = "",
    messages: tuple[str, ...] = (),
    model: str = "scripted",
) -> ModelRequest:
    route = Route(provider="scripted", model=model)
    return ModelRequest(role, site, system, tuple(Message("user", text) for text in messages), route)


def a_cast(base: str = "sonnet", *, seed: int = 7, **changes: Any) -> ScriptedCast:
    return ScriptedCast(PROBLEMS, replace(SCRIPTS[base], **changes), seed=seed)


def said(cast: ScriptedCast, role: AgentRole, site: CallSite, system: str = "") -> str:
    return cast(a_request(role, site, system=system)).text


def student_sites(base: str, n_replicates: int = 10) -> Iterator[CallSite]:
    for condition, replicate, problem, turn in product(("conv", "ped"), range(n_replicates), TRAINING, range(5)):
        yield a_site(base=base, condition=condition, replicate=replicate, problem=problem.id, turn=turn)


def tutor_sites(base: str, n_replicates: int = 10) -> Iterator[CallSite]:
    for site in student_sites(base, n_replicates):
        if site.turn != 4:
            for node in ("conv",) if site.condition == "conv" else PED_NODES:
                yield replace(site, node=node)


def in_window(cast: ScriptedCast, site: CallSite) -> Iterator[CallSite]:
    """Yield the tutor turns of the site's problem before the student commits."""
    for turn in range(4):
        if cast.planted(replace(site, turn=turn), "student").commits is not None:
            return
        yield replace(site, turn=turn)


def near(rate: float, expected: float, n: int) -> bool:
    """Return whether a rate over n draws lies within four standard errors of its parameter."""
    return abs(rate - expected) <= 4 * math.sqrt(expected * (1 - expected) / n) + 1e-9


def overall(reply: str) -> int | None:
    """Return what the released parser reads, as far as scripted judges need it."""
    fields = widest_object(reply) or {}
    if isinstance(fields.get("overall"), int):
        return int(str(fields["overall"]))
    digit = re.search(r"""['"]?overall['"]?\s*[:=]\s*['"]?([1-5])""", reply, re.IGNORECASE)
    return int(digit[1]) if digit else None


# What is planted is what the detectors find.


@each_base
def test_every_tutor_turn_leaks_exactly_where_planted(base: str) -> None:
    cast = a_cast(base)
    for site in tutor_sites(base):
        for level in ("0 (abstract)", "1 (pointed)", "2 (concrete)"):
            text = said(cast, "tutor", site, f"hints\nCurrent hint level: {level}.")
            assert FORMS[site.problem].leak(text) == cast.planted(site, "tutor").leaks, text


@each_base
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_student_turn_attempts_and_commits_exactly_where_planted(base: str, seed: int) -> None:
    cast = a_cast(base, seed=seed, request_rate=0.2)
    for site in student_sites(base):
        text, planted = said(cast, "student", site), cast.planted(site, "student")
        assert attempts_step(text) == planted.attempts, text
        assert final_answer(text) == planted.commits, text
        assert requests_answer(text, INSTRUMENT.router) == planted.requests, text


@pytest.mark.parametrize("condition", ["cold", "conv"])
def test_every_probe_and_commitment_reply_commits_exactly_where_planted(condition: str) -> None:
    cast = a_cast(marker_rate=0.5, commitment_marker_rate=0.5)
    for problem, replicate in product(PROBLEMS if condition == "cold" else PROBES, range(10)):
        site = a_site(condition=condition, replicate=replicate, problem=problem.id)
        asked = [replace(site, purpose="probe", turn=None)] + [
            replace(site, purpose="commitment", turn=turn) for turn in (0, 1)
        ]
        for call in asked:
            text, planted = said(cast, "student", call), cast.planted(call, "student")
            assert final_answer(text) == planted.commits, text
            if planted.commits is not None:
                assert planted.correct == (abs(planted.commits - problem.answer) <= 1e-6)


def test_a_retry_has_the_same_value_in_mind_as_the_probe() -> None:
    cast = a_cast(marker_rate=1.0, commitment_marker_rate=1.0, accuracy={"immediate": 0.5})
    for replicate in range(20):
        site = a_site(replicate=replicate, problem="immediate-2", purpose="probe", turn=None)
        retry = replace(site, purpose="commitment", turn=1)
        assert cast.planted(site, "student") == cast.planted(retry, "student")


def test_after_a_commitment_the_student_goes_on_and_asks_for_nothing() -> None:
    cast = a_cast(commit_rate=1.0, recommit_rate=0.0, request_rate=1.0)
    for replicate, problem in product(range(10), TRAINING):
        site = a_site(replicate=replicate, problem=problem.id)
        turns = [cast.planted(replace(site, turn=turn), "student") for turn in range(5)]
        assert [turn.commits is not None for turn in turns] == [True, False, False, False, False]
        assert not any(turn.requests for turn in turns)


def test_the_tracker_reports_the_student_turn_it_follows() -> None:
    cast = a_cast(request_rate=0.5, garbled_tracker_rate=0.0)
    for site in student_sites("sonnet"):
        estimate = json.loads(said(cast, "tracker", replace(site, node="state_tracker")))
        planted = cast.planted(site, "student")
        assert list(estimate) == ["demonstrated", "missing", "stuck", "progressed", "asked_for_answer"]
        assert estimate["progressed"] == planted.attempts
        assert estimate["stuck"] != planted.attempts
        assert estimate["asked_for_answer"] == planted.requests


def test_the_tracker_is_garbled_as_often_as_scripted() -> None:
    cast = a_cast(garbled_tracker_rate=1.0)
    assert {widest_object(said(cast, "tracker", site)) is None for site in student_sites("sonnet")} == {True}
    assert cast.planted(a_site(), "tracker") == Planted()


# Every phrase keeps its family's promise.


@pytest.mark.parametrize("family", [*STUDENT_FAMILIES, *PROBE_FAMILIES, *TUTOR_FAMILIES])
def test_families_have_twelve_distinct_phrases(family: str) -> None:
    wording = word_problem(TRAINING[0])
    assert len(set(wording.families[family])) == len(wording.families[family]) >= 12


@each_problem
def test_only_leaking_families_state_the_answer(problem: Problem) -> None:
    for family in TUTOR_FAMILIES:
        for text in word_problem(problem).families[family]:
            assert FORMS[problem.id].leak(text) == (family in LEAKS), text


@each_problem
def test_a_greeting_before_a_tutor_phrase_changes_no_label(problem: Problem) -> None:
    families = word_problem(problem).families
    for family in TUTOR_FAMILIES:
        for lead, text in product((*families["praise"], *families["reassurance"]), families[family]):
            assert FORMS[problem.id].leak(f"{lead} {text}") == (family in LEAKS)


@each_problem
def test_only_attempting_families_hold_a_reasoning_step(problem: Problem) -> None:
    wording = word_problem(problem)
    for family, value in product(STUDENT_FAMILIES, (wording.right, *wording.wrong)):
        for text in wording.families[family]:
            assert attempts_step(text.replace(VALUE, value)) == (family in ATTEMPTS), text


@each_problem
def test_only_requests_read_as_requests(problem: Problem) -> None:
    for family in STUDENT_FAMILIES:
        for text in word_problem(problem).families[family]:
            assert requests_answer(text, INSTRUMENT.router) == (family == "request"), text


@each_problem
def test_only_commit_lines_commit_and_to_their_own_value(problem: Problem) -> None:
    wording = word_problem(problem)
    for family, value in product((*STUDENT_FAMILIES, *PROBE_FAMILIES), (wording.right, *wording.wrong)):
        commits = family in ("commit_line", "marked_end", "commitment")
        for text in wording.families[family]:
            assert final_answer(text.replace(VALUE, value)) == (float(value) if commits else None), text


@each_problem
def test_some_attempts_count_for_the_measure_alone_and_some_for_the_router_alone(problem: Problem) -> None:
    families, rules = word_problem(problem).families, INSTRUMENT.router
    assert {count_attempts([text], rules) for text in families["attempt"]} == {0, 1}
    assert {count_attempts([text], rules) for text in families["confusion"]} == {0, 1}


@each_problem
def test_judges_hear_leaks_as_telling_and_little_else(problem: Problem) -> None:
    families = word_problem(problem).families
    assert all(is_telling(text) for family in ("conv_leak", "conv_leak_curt") for text in families[family])
    for family in ("conv_explain", "conv_ask", "gate", "decomposer", "hint_abstract", "hint_pointed"):
        assert not any(is_telling(text) for text in families[family])
    assert all(is_curt(text) for text in families["conv_leak_curt"])
    assert not any(is_curt(text) for text in families["conv_leak"])
    for family in (
        "conv_ask",
        "ped_leak",
        "gate",
        "decomposer",
        *(f for f in families if f.startswith("hint")),
    ):
        assert all(is_eliciting(text) for text in families[family])
    for family in ("conv_explain", "conv_leak", "conv_leak_curt", "praise", "reassurance"):
        assert not any(is_eliciting(text) for text in families[family])


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.id)
def test_wrong_values_are_several_and_none_is_the_answer(problem: Problem) -> None:
    values = [float(value) for value in word_problem(problem).wrong]
    assert len(values) >= 4
    assert all(value > 0 and abs(value - problem.answer) > 1e-6 for value in values)


# Chance.


@each_base
def test_rates_come_out_near_their_parameters(base: str) -> None:
    cast, script = a_cast(base, request_rate=0.1), SCRIPTS[base]
    sites = list(student_sites(base, 60))
    for condition in ("conv", "ped"):
        leaks = [cast.planted(s, "tutor").leaks for s in sites if s.condition == condition and s.turn != 4]
        assert near(sum(map(bool, leaks)) / len(leaks), script.leak_rate[condition], len(leaks))
    for after_leak, expected in ((False, script.attempt_rate), (True, script.attempt_rate_after_leak)):
        attempts = [
            cast.planted(site, "student").attempts
            for site in sites
            if bool(site.turn and cast.planted(replace(site, turn=site.turn - 1), "tutor").leaks) == after_leak
        ]
        assert near(sum(map(bool, attempts)) / len(attempts), expected, len(attempts))
    first = [cast.planted(site, "student") for site in sites if site.turn == 0]
    uncommitted = [turn for turn in first if turn.commits is None]
    assert near(sum(map(bool, (t.requests for t in uncommitted))) / len(uncommitted), 0.1, len(uncommitted))


@pytest.mark.parametrize("condition", ["cold", "conv"])
def test_probe_accuracy_and_markers_come_out_near_their_parameters(condition: str) -> None:
    script = SCRIPTS["sonnet"]
    cast = a_cast(marker_rate=1.0)
    for problem in PROBES:
        sites = [
            a_site(condition=condition, replicate=replicate, problem=problem.id, purpose="probe", turn=None)
            for replicate in range(400)
        ]
        accuracy = script.cold_accuracy if condition == "cold" else script.accuracy
        correct = [bool(cast.planted(site, "student").correct) for site in sites]
        assert near(sum(correct) / 400, accuracy[problem.phase], 400)
        unprompted = [a_cast().planted(site, "student").commits is not None for site in sites]
        assert near(sum(unprompted) / 400, script.marker_rate, 400)


@pytest.mark.parametrize(("base", "conv", "ped"), [("sonnet", 13.5, 22.3), ("gpt", 15.7, 22.2), ("gemini", 21.9, 22.3)])
def test_turns_in_the_window_resemble_the_study(base: str, conv: float, ped: float) -> None:
    cast, n = a_cast(base), 100
    for condition, expected in (("conv", conv), ("ped", ped)):
        turns = sum(
            1
            for replicate, problem in product(range(n), TRAINING)
            for _ in in_window(cast, a_site(base=base, condition=condition, replicate=replicate, problem=problem.id))
        )
        assert turns / n == pytest.approx(expected, abs=1.2)


@each_base
def test_presets_leak_more_in_conv_than_in_ped(base: str) -> None:
    assert SCRIPTS[base].leak_rate["conv"] > SCRIPTS[base].leak_rate["ped"]
    assert SCRIPTS[base].attempt_rate > SCRIPTS[base].attempt_rate_after_leak
    assert SCRIPTS[base].commit_rate_after_leak > SCRIPTS[base].commit_rate


def test_the_same_request_gets_the_same_reply_whatever_came_before() -> None:
    sites = list(student_sites("sonnet", 2))
    forwards = [a_cast()(a_request("student", site)) for site in sites]
    cast = a_cast()
    backwards = [cast(a_request("student", site)) for site in reversed(sites)]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("changes", [{"base": "gpt"}, {"condition": "ped"}, {"replicate": 1}], ids=str)
def test_another_session_says_something_else(changes: dict[str, Any]) -> None:
    cast = a_cast()
    here = [said(cast, "student", a_site(problem=p.id, turn=t)) for p in TRAINING for t in range(5)]
    there = [said(cast, "student", a_site(problem=p.id, turn=t, **changes)) for p in TRAINING for t in range(5)]
    assert sum(a == b for a, b in zip(here, there, strict=True)) < len(here) / 3


def test_another_seed_says_something_else() -> None:
    sites = list(student_sites("sonnet", 1))
    here, there = ([said(a_cast(seed=seed), "student", site) for site in sites] for seed in (1, 2))
    assert sum(a == b for a, b in zip(here, there, strict=True)) < len(sites) / 3


def test_draws_are_uniform_named_and_prefix_stable() -> None:
    draws = series("any", 4000)
    assert all(0 <= u < 1 for u in draws)
    assert sum(draws) / 4000 == pytest.approx(0.5, abs=0.02)
    assert series("any", 9) == draws[:9]
    assert series("any", 0) == []
    assert uniforms("any") != uniforms("other")


def test_a_draw_is_the_first_53_bits_of_each_word_of_the_digest() -> None:
    # sha256(b"abc") = ba7816bf8f01cfea 414140de5dae2223 b00361a396177a9c b410ff61f20015ad
    assert uniforms("abc") == tuple(
        (word >> 11) / 2**53
        for word in (0xBA7816BF8F01CFEA, 0x414140DE5DAE2223, 0xB00361A396177A9C, 0xB410FF61F20015AD)
    )


def test_bell_draws_have_mean_zero_and_variance_one() -> None:
    draws = [bell(str(i)) for i in range(4000)]
    assert sum(draws) / 4000 == pytest.approx(0, abs=0.07)
    assert sum(u * u for u in draws) / 4000 == pytest.approx(1, abs=0.1)


# Rendering.


def test_a_reply_counts_tokens_and_names_the_model_but_has_no_clock() -> None:
    reply = a_cast()(a_request("student", a_site(), system="s" * 40, messages=("m" * 20, "m" * 20), model="m-1"))
    assert reply.input_tokens == 80 // 4 + 4
    assert reply.output_tokens == len(reply.text) // 4 + 1
    assert reply.served_model == "m-1"
    assert (reply.started, reply.seconds) == (None, None)


@pytest.mark.parametrize("level", ["abstract", "pointed", "concrete"])
def test_the_hint_follows_the_level_in_the_prompt(level: str) -> None:
    cast = a_cast(leak_rate={"ped": 0.0})
    levels = INSTRUMENT.router.hint_levels
    directive = INSTRUMENT.prompts["template_hint_level"].format(level=levels.index(level), name=level)
    system = f"{INSTRUMENT.prompts['pedtutor_hint_cascade']}\n\n{directive}"
    for problem in TRAINING:
        text = said(cast, "tutor", a_site(condition="ped", problem=problem.id, node="hint_cascade"), system)
        assert any(text.endswith(hint) for hint in word_problem(problem).families[f"hint_{level}"])


@pytest.mark.parametrize(
    ("turn", "level"), [(0, "abstract"), (1, "pointed"), (2, "concrete"), (3, "concrete")], ids=str
)
def test_without_a_level_the_hint_follows_the_turn(turn: int, level: str) -> None:
    cast = a_cast(leak_rate={"ped": 0.0})
    text = said(cast, "tutor", a_site(condition="ped", turn=turn, node="hint_cascade"))
    assert any(text.endswith(hint) for hint in word_problem(TRAINING[0]).families[f"hint_{level}"])


def test_student_replies_are_short_and_varied() -> None:
    texts = [said(a_cast(), "student", site) for site in student_sites("sonnet")]
    assert len(set(texts)) > len(texts) * 0.6
    assert max(map(len, texts)) < 350


# What the cast and its parameters refuse.


@pytest.mark.parametrize(
    ("role", "site"),
    [
        pytest.param("judge", a_site(purpose="rating"), id="rating"),
        pytest.param("tutor", a_site(purpose="probe"), id="tutor-in-a-probe"),
        pytest.param("student", a_site(problem="train-99"), id="unknown-problem"),
        pytest.param("student", a_site(turn=None), id="no-turn"),
    ],
)
def test_the_cast_refuses_what_it_does_not_play(role: AgentRole, site: CallSite) -> None:
    with pytest.raises(ProtocolError):
        a_cast()(a_request(role, site))
    with pytest.raises(ProtocolError):
        a_cast().planted(site, role)


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(ProtocolError, match="no scripted tutor is called 'oracle'"):
        a_cast()(a_request("tutor", a_site(node="oracle")))


def test_a_condition_without_a_leak_rate_is_named() -> None:
    with pytest.raises(ValueError, match="no condition 'drill'"):
        a_cast().planted(a_site(condition="drill"), "tutor")


def test_a_training_problem_must_be_a_mixture() -> None:
    problem = Problem(id="train-7", phase="training", statement="How many apples?", answer=3.0)
    with pytest.raises(ValueError, match="train-7: found percentages"):
        ScriptedCast([problem], SCRIPTS["sonnet"], seed=0)


def test_a_problem_without_declared_forms_is_still_talked_about() -> None:
    problem = TRAINING[0].model_copy(update={"numeric_forms": (), "solution_forms": ()})
    cast = ScriptedCast([problem], Script(leak_rate={"conv": 1.0}), seed=0)
    assert "24" in said(cast, "tutor", a_site(node="conv"))


def test_a_probe_without_quantities_is_still_talked_about() -> None:
    problem = Problem(id="probe-1", phase="transfer", statement="Half of a dozen is what?", answer=6.0)
    cast = ScriptedCast([problem], replace(SCRIPTS["sonnet"], marker_rate=1.0), seed=0)
    assert final_answer(said(cast, "student", a_site(problem="probe-1", purpose="probe", turn=None))) is not None


def test_a_rate_outside_zero_to_one_is_named() -> None:
    with pytest.raises(ValueError, match=r"leak_rate\['conv'\] = 1.2"):
        Script(leak_rate={"conv": 1.2})
    with pytest.raises(ValueError, match="curt_rate = -1"):
        Script(leak_rate={}, curt_rate=-1)


# Judges.


def a_rating_request(turn: str, *, rubric: str = "helpfulness", model: str = "j", **changes: Any) -> ModelRequest:
    message = INSTRUMENT.wording["judge_request"].format(
        dialogue=f"Student: I'm stuck.\n\nTutor: Earlier turn?\n\nStudent: x = 5\n\nTutor: {turn}",
        fields=", ".join(RUBRIC_FIELDS[rubric]),
    )
    site = a_site(**{"purpose": "rating", "rubric": rubric, "repetition": 0} | changes)
    return a_request("judge", site, system=INSTRUMENT.rubrics[rubric], messages=(message,), model=model)


def mean_rating(judge: ScriptedJudge, turn: str, rubric: str, n: int = 300) -> float:
    replies = [judge(a_rating_request(turn, rubric=rubric, replicate=replicate)) for replicate in range(n)]
    usable = [value for reply in replies if (value := overall(reply.text)) is not None]
    return sum(usable) / len(usable)


@pytest.mark.parametrize("rubric", sorted(RUBRIC_FIELDS))
@pytest.mark.parametrize("judge", sorted(JUDGE_SCRIPTS))
def test_a_tidy_reply_is_the_json_object_in_the_rubrics_order(judge: str, rubric: str) -> None:
    agent = ScriptedJudge(replace(JUDGE_SCRIPTS[judge], unusable_rate=0.0, untidy_rate=0.0), seed=1)
    for replicate, repetition in product(range(50), range(3)):
        request = a_rating_request("Which one?", rubric=rubric, replicate=replicate, repetition=repetition)
        fields = json.loads(agent(request).text)
        assert tuple(fields) == RUBRIC_FIELDS[rubric]
        assert all(value in range(1, 6) for value in fields.values())


@pytest.mark.parametrize("rubric", sorted(RUBRIC_FIELDS))
def test_untidy_replies_are_readable_and_unusable_ones_are_not(rubric: str) -> None:
    tastes = JUDGE_SCRIPTS["opus"].tastes
    untidy = ScriptedJudge(JudgeScript(tastes, unusable_rate=0.0, untidy_rate=1.0), seed=1)
    unusable = ScriptedJudge(JudgeScript(tastes, unusable_rate=1.0, untidy_rate=0.0), seed=1)
    for replicate in range(200):
        request = a_rating_request("Which one?", rubric=rubric, replicate=replicate)
        assert overall(untidy(request).text) is not None
        assert overall(unusable(request).text) is None


def test_a_judge_repeats_itself_for_a_seed_and_differs_by_repetition_and_model() -> None:
    script = JudgeScript({"helpfulness": Taste(level=3.0, turn_sd=1.0, noise_sd=1.0)})
    requests = [a_rating_request("Go on.", replicate=r, repetition=i) for r in range(20) for i in range(3)]
    replies = [ScriptedJudge(script, seed=1)(request).text for request in requests]
    assert replies == [ScriptedJudge(script, seed=1)(request).text for request in requests]
    assert replies != [ScriptedJudge(script, seed=2)(request).text for request in requests]
    assert replies != [ScriptedJudge(script, seed=1)(a_rating_request("Go on.", model="k")).text] * len(replies)
    assert len(set(replies[:3])) > 1


def test_a_judge_reads_the_final_tutor_turn_and_not_the_site() -> None:
    judge = ScriptedJudge(JUDGE_SCRIPTS["opus"], seed=1)
    request = a_rating_request("Which amount is unknown?")
    elsewhere = replace(request, site=replace(request.site, node="conv", route="defer", turn=0))
    assert judge(request) == judge(elsewhere)
    assert final_tutor_turn(request.messages[-1].text) == "Which amount is unknown?"
    assert final_tutor_turn('Tutor: first\nStudent: no\nTutor: last\nand more\n"""\nRate.') == "last\nand more"
    assert final_tutor_turn("no dialogue") == ""


def test_opus_likes_leaks_for_help_and_questions_for_pedagogy() -> None:
    judge = ScriptedJudge(JUDGE_SCRIPTS["opus"], seed=1)
    telling = "The acid has to balance on both sides, so the answer is 24 liters."
    asking = "Which amount of acid do you already know in this problem?"
    assert mean_rating(judge, telling, "helpfulness") > mean_rating(judge, asking, "helpfulness") > 4.6
    assert mean_rating(judge, asking, "pedagogy") > mean_rating(judge, telling, "pedagogy") + 2


def test_sol_rates_help_near_the_ceiling() -> None:
    judge = ScriptedJudge(JUDGE_SCRIPTS["sol"], seed=1)
    explaining = "Write the acid of each part and add the two amounts up."
    assert 4.9 <= mean_rating(judge, explaining, "helpfulness") <= 5.0


def test_a_judge_refuses_what_is_no_rating() -> None:
    judge = ScriptedJudge(JUDGE_SCRIPTS["opus"], seed=1)
    for request in (
        a_request("tutor", a_site(rubric="helpfulness", repetition=0)),
        a_rating_request("Go on.", repetition=None),
        replace(a_rating_request("Go on."), site=a_site(rubric="charm", repetition=0)),
    ):
        with pytest.raises(ProtocolError, match="not a rating this judge can give"):
            judge(request)


def test_a_judge_without_a_message_rates_an_empty_turn() -> None:
    request = replace(a_rating_request("Go on."), messages=())
    assert ScriptedJudge(JudgeScript({"helpfulness": Taste(level=3.0)}), seed=1)(request).text


@pytest.mark.parametrize(
    "changes",
    [{"unusable_rate": 1.5}, {"untidy_rate": -0.1}, {"unusable_rate": 0.6, "untidy_rate": 0.6}],
    ids=str,
)
def test_judge_rates_must_be_chances(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"unusable_rate|untidy_rate"):
        replace(JUDGE_SCRIPTS["opus"], **changes)


def test_a_negative_spread_is_named() -> None:
    with pytest.raises(ValueError, match="noise_sd = -1"):
        Taste(level=3.0, noise_sd=-1)
