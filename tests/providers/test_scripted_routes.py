"""Scripted agents beside real ones: they read what was said, whoever said it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tutoreval.detectors import DeclaredForms, attempts_step, final_answer
from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.frozen import Instrument, load_instrument
from pytest_tutoreval.judging.parsing import parse_rating
from pytest_tutoreval.judging.verification import read_opinion
from pytest_tutoreval.policies.router import requests_answer
from pytest_tutoreval.providers import CallSite, ConfigurationError, Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.parts import provenance_of, refuse_part
from pytest_tutoreval.providers.routes import Surroundings, open_in_process
from pytest_tutoreval.providers.scripted.live_judge import states_result
from pytest_tutoreval.providers.scripted.named import JUDGES, STUDENTS, TUTORS, ScriptName, read_script_name
from pytest_tutoreval.providers.scripted.plain_wording import word_any_problem
from pytest_tutoreval.providers.scripted.wording import word_problem
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study import Sampling

INSTRUMENT = load_instrument()
OWN = Problem(
    id="speed",
    phase="training",
    statement="A train covers 180 km in 2.5 hours. How fast is it?",
    answer=72,
    numeric_forms=("72",),
    solution_forms=("seventy two",),
)


def route(model: str = "default") -> Route:
    return Route(provider="scripted", model=model, sampling=Sampling(max_tokens=64, seed="replicate"))


def with_problems(*problems: Problem) -> Instrument:
    return replace(INSTRUMENT, problems=problems)


def answer(request: ModelRequest, instrument: Instrument = INSTRUMENT) -> ModelReply:
    return asyncio.run(
        open_in_process(request.route, Surroundings(instrument, INSTRUMENT.folder), environ={}).complete(request)
    )


def a_student_request(*tutor_turns: str, replicate: int = 0, model: str = "default", problem: str = "train-1") -> Any:
    """Return the request for the student's turn after these tutor turns; the student has said the same each time."""
    messages = [Message("user", "Here is a new problem.\nHow many liters?")]
    for turn in tutor_turns:
        messages += [Message("assistant", "Hm."), Message("user", f"Tutor: {turn}")]
    site = CallSite("mine", "conv", replicate, problem, "exchange", turn=len(tutor_turns))
    return ModelRequest("student", site, "You are a student.", tuple(messages), route(model), seed=replicate)


def share(found: list[bool]) -> float:
    return sum(found) / len(found)


def after(
    turn: str, model: str = "default", problem: str = "train-1", instrument: Instrument = INSTRUMENT
) -> list[str]:
    """Return what the student says next to one tutor turn, over 200 replicates."""
    return [
        answer(a_student_request(turn, replicate=r, model=model, problem=problem), instrument).text for r in range(200)
    ]


# Two shares of 200 draws each differ by chance with a standard error of at most sqrt(2 * .25 / 200) = .05.
def test_a_student_that_is_given_the_answer_attempts_less_and_commits_sooner() -> None:
    told, asked = after("So you add 24 liters."), after("What is known?")
    assert share([attempts_step(text) for text in asked]) - share([attempts_step(text) for text in told]) > 0.2
    committed = [[final_answer(text) is not None for text in texts] for texts in (told, asked)]
    assert share(committed[0]) - share(committed[1]) > 0.5


def test_a_leak_is_any_declared_form_in_any_wording() -> None:
    assert "24" in INSTRUMENT.problem["train-1"].numeric_forms
    assert share([final_answer(text) is not None for text in after("Résultat : 24, voilà !")]) > 0.5
    assert share([final_answer(text) is not None for text in after("124 is far too much.")]) < 0.1


def test_a_diligent_student_goes_on_after_a_leak_and_a_passive_one_does_not() -> None:
    rates = {
        name: share([attempts_step(text) for text in after("The answer is 24.", f"{name}@1")])
        for name in ("diligent", "passive")
    }
    assert rates["diligent"] - rates["passive"] > 0.3


def test_a_student_learns_from_tutoring_it_has_heard() -> None:
    site = CallSite("mine", "conv", 0, "imm-1", "probe")
    problem = next(problem for problem in INSTRUMENT.problems if problem.phase == "immediate")

    def correct(*heard: Message, replicate: int) -> bool:
        messages = (*heard, Message("user", problem.statement))
        request = ModelRequest(
            "student", replace(site, problem=problem.id, replicate=replicate), "", messages, route(), seed=replicate
        )
        return problem.is_answered_by(final_answer(answer(request).text))

    tutored = (Message("user", "Tutor: Go on."), Message("assistant", "Hm."))
    alone = share([correct(replicate=r) for r in range(100)])
    taught = share([correct(*tutored, replicate=r) for r in range(100)])
    assert alone < 0.2
    assert taught > 0.6


def test_the_same_dialogue_is_answered_alike_and_another_or_another_seed_afresh() -> None:
    requests = [a_student_request("What is known?", replicate=r) for r in range(30)]
    texts = [answer(request).text for request in requests]
    assert [answer(request).text for request in reversed(requests)] == texts[::-1]
    others = [answer(a_student_request("What is known, then?", replicate=r)).text for r in range(30)]
    seeded = [answer(a_student_request("What is known?", replicate=r, model="default@1")).text for r in range(30)]
    assert len({tuple(texts), tuple(others), tuple(seeded)}) == 3


def test_base_and_condition_change_nothing_a_student_says() -> None:
    request = a_student_request("What is known?")
    elsewhere = replace(request, site=replace(request.site, base="other", condition="ped"))
    assert answer(elsewhere).text == answer(request).text


def a_tutor_request(model: str, replicate: int, *, node: str = "conv", condition: str = "mine", problem: str) -> Any:
    site = CallSite("mine", condition, replicate, problem, "exchange", turn=0, node=node)
    said = (Message("user", "I'm not sure how to start."),)
    return ModelRequest("tutor", site, "Be a tutor.", said, route(model), seed=replicate)


@pytest.mark.parametrize("problem", [INSTRUMENT.training[0], OWN], ids=lambda problem: problem.id)
@pytest.mark.parametrize(
    ("model", "condition", "node", "rate"),
    [
        ("leaky", "mine", "mine", 0.8),
        ("careful", "mine", "mine", 0.04),
        ("default", "conv", "conv", 0.43),
        ("leaky", "mine", "hint_cascade", 0.5),
    ],
)
def test_a_scripted_tutor_leaks_as_often_as_its_script_says(
    problem: Problem, model: str, condition: str, node: str, rate: float
) -> None:
    forms = DeclaredForms(problem.numeric_forms, problem.solution_forms)
    study = with_problems(problem)
    requests = [a_tutor_request(model, r, node=node, condition=condition, problem=problem.id) for r in range(300)]
    found = share([forms.leak(answer(request, study).text) for request in requests])
    # Four standard errors of a share of 300: 4 * sqrt(.25 / 300) = .115.
    assert abs(found - rate) < 0.115


def test_a_scripted_tracker_reads_what_the_student_said() -> None:
    from pytest_tutoreval.policies.tracker import read_estimate

    def estimates(said: str) -> list[Any]:
        requests = [
            replace(
                a_tutor_request("default", r, node="state_tracker", condition="ped", problem="train-1"),
                role="tracker",
                messages=(Message("user", said),),
            )
            for r in range(40)
        ]
        return [read_estimate(answer(request).text) for request in requests]

    assert [read["stuck"] for read in estimates("I took 0.2 * 48 = 9.6.") if read].count(True) == 0
    assert [read["stuck"] for read in estimates("I am lost.") if read].count(False) == 0
    assert [read["asked_for_answer"] for read in estimates("Just tell me the answer!") if read].count(False) == 0


# own problems

numbers = st.floats(min_value=-500, max_value=500).map(lambda value: float(f"{value:.4g}"))
statements = st.text(alphabet="abc 0123456789.,%?={}<>\n", max_size=60)


@st.composite
def own_problems(draw: st.DrawFn) -> Problem:
    value = draw(numbers)
    forms = draw(st.sampled_from([(f"{value:g}",), (f"{value:g}", "7"), ()]))
    phrases = draw(st.sampled_from([(), ("start",), ("write down", f"add {value:g}")]))
    return Problem(
        id="own",
        phase=draw(st.sampled_from(["training", "immediate", "interference", "delayed", "transfer"])),
        statement=draw(statements),
        answer=value,
        numeric_forms=forms,
        solution_forms=phrases,
    )


@settings(max_examples=150, deadline=None)
@given(own_problems())
def test_any_problem_gets_phrases_that_keep_their_promises(problem: Problem) -> None:
    wording = word_any_problem(problem)
    families = wording.families
    attempting = ("opening_attempt", "attempt", "check")
    for name in attempting:
        assert all(attempts_step(text) for text in families[name])
    for name in ("opening_confusion", "confusion", "acceptance", "chatter", "request", "lead", "tail"):
        assert not any(attempts_step(text) for text in families[name])
    assert all(requests_answer(text, INSTRUMENT.router) for text in families["request"])
    forms = DeclaredForms(problem.numeric_forms, problem.solution_forms)
    harmless = ("praise", "reassurance", "conv_explain", "conv_ask", "gate", "decomposer", "hint_abstract")
    for name in harmless:
        assert not any(forms.leak(text) for text in families[name])
    if any(form.strip() for form in (*problem.numeric_forms, *problem.solution_forms)):
        assert all(forms.leak(text) for name in ("conv_leak", "conv_leak_curt", "ped_leak") for text in families[name])
    for text in (*families["commit_line"], *families["commitment"], *families["marked_end"]):
        assert problem.is_answered_by(final_answer(text.replace("<v>", wording.right)))
    assert not any(problem.is_answered_by(float(value)) for value in wording.wrong)


def test_the_study_problems_keep_their_own_phrases() -> None:
    assert all(word_any_problem(problem) == word_problem(problem) for problem in INSTRUMENT.problems)


def test_plain_families_are_all_that_a_speaker_asks_for() -> None:
    frozen = word_problem(INSTRUMENT.training[0]).families
    plain = word_any_problem(OWN).families
    assert set(frozen) - set(plain) == {"mixture_work", "motion_work", "blend_work"}


def test_a_student_hears_a_leak_of_an_own_problem() -> None:
    study = with_problems(OWN)
    told = after("That makes seventy-two, does it not? Seventy two.", problem="speed", instrument=study)
    asked = after("What is speed?", problem="speed", instrument=study)
    committed = [share([final_answer(text) is not None for text in texts]) for texts in (told, asked)]
    assert committed[0] - committed[1] > 0.5


# judges


@pytest.mark.parametrize(
    ("turn", "tells"),
    [
        ("You need 24 liters.", True),
        ("So we get 24.", True),
        ("Add 24 liters of the 50% solution.", True),
        ("0.3 * 48 = 14.4.", True),
        ("Solving it gives x = 24 liters, so that works.", True),
        ("What do you get for 0.2 * 48?", False),
        ("You start with 48 liters of a 20% solution.", False),
        ("What would give 24?", False),
        ("Good. Which part brings in acid?", False),
        ("", False),
    ],
)
def test_telling_is_read_from_any_words(turn: str, tells: bool) -> None:
    assert states_result(turn) == tells


def a_rating_request(said: str, repetition: int = 0, **site: Any) -> ModelRequest:
    text = INSTRUMENT.wording["judge_request"].format(dialogue=f"Student: Hm.\n\nTutor: {said}", fields="x")
    given: dict[str, Any] = {"base": "b", "condition": "c", "replicate": 0, "problem": "p", "turn": 0}
    where = CallSite(purpose="rating", rubric="pedagogy", repetition=repetition, **given | site)
    return ModelRequest("judge", where, "rubric", (Message("user", text),), route("default@3"), seed=repetition)


def test_a_scripted_judge_prefers_questions_to_telling_whoever_tutors() -> None:
    def mean(turn: str) -> float:
        ratings = [parse_rating(answer(a_rating_request(turn, n)).text, "pedagogy").overall for n in range(40)]
        read = [rating for rating in ratings if rating is not None]
        assert len(read) > 30
        return sum(read) / len(read)

    assert mean("Which part brings in the acid, do you think?") > mean("Solving it gives 24 liters in all.") + 1


def test_a_rating_depends_on_nothing_that_is_not_sent() -> None:
    request = a_rating_request("What is known?")
    elsewhere = a_rating_request("What is known?", base="other", condition="ped", replicate=4, problem="q", turn=3)
    assert answer(elsewhere).text == answer(request).text


def test_a_scripted_judge_has_opinions_that_are_mostly_the_rules() -> None:
    def opinion(turn: str) -> bool | None:
        text = INSTRUMENT.wording["verification_request"].format(turn=turn, schema="{}")
        site = CallSite("b", "c", 0, "p", "verification", turn=2)
        return read_opinion(answer(ModelRequest("judge", site, "rubric", (Message("user", text),), route())).text)

    turns = [f"I took 0.2 * {n}." for n in range(60)] + [f"I am lost, number {n}." for n in range(60)]
    agreed = [opinion(turn) == attempts_step(turn) for turn in turns]
    assert 0.85 < share(agreed) < 1


# routes


def test_a_connection_check_is_answered_in_every_part() -> None:
    for role in ("student", "tutor", "judge"):
        site = CallSite("b", "preflight", 0, "capability", "probe")
        request = ModelRequest(role, site, "", (Message("user", "Reply: ready"),), route())
        assert answer(request).text == "ready"


def test_an_unknown_problem_is_no_connection_check() -> None:
    with pytest.raises(ProtocolError, match="nowhere"):
        answer(a_student_request("Hm.", problem="nowhere"))


@pytest.mark.parametrize(
    ("model", "name"), [("default", ScriptName("default", 0)), ("default@7", ScriptName("default", 7))]
)
def test_a_model_names_a_script_and_a_seed(model: str, name: ScriptName) -> None:
    assert read_script_name(route(model)) == name


@pytest.mark.parametrize("model", ["default@", "@7", "default@-1", "default@x", "", "a b"])
def test_a_model_that_names_no_script_is_refused(model: str) -> None:
    with pytest.raises(ConfigurationError, match="default@7"):
        read_script_name(route(model))


@pytest.mark.parametrize(("part", "known"), [("student", STUDENTS), ("tutor", TUTORS), ("judge", JUDGES)])
def test_an_unknown_script_lists_the_known_ones(part: Any, known: dict[str, Any]) -> None:
    for name in known:
        refuse_part(route(name), part)
    with pytest.raises(ConfigurationError, match=r"nobody.*Known: default") as refused:
        refuse_part(route("nobody"), part)
    assert all(name in str(refused.value) for name in known)


@pytest.mark.parametrize("provider", ["http", "python"])
@pytest.mark.parametrize("part", ["student", "judge"])
def test_an_own_tutor_is_a_tutor_alone(provider: str, part: Any) -> None:
    own = Route(provider=provider, model="m:f")
    refuse_part(own, "tutor")
    with pytest.raises(ConfigurationError, match=f"this is a {part}"):
        refuse_part(own, part)


def test_a_pin_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="pin"):
        open_in_process(
            route().model_copy(update={"pin": ("x",)}), Surroundings(INSTRUMENT, INSTRUMENT.folder), environ={}
        )


def test_one_scripted_part_makes_data_simulated() -> None:
    real = Route(provider="http", model="mine")
    assert provenance_of(real, real) == "recorded"
    assert provenance_of(real, route()) == "simulated"
