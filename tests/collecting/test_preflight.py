"""The preflight gates: each one's edge, the isolated mode, what is asked and what is never shown."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_tutoreval.collecting.preflight import GATES, GateReading, GateSettings, Preflight, run_preflight
from pytest_tutoreval.detectors import DeclaredForms
from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study import Sampling
from tests.builders import everything_shown

INSTRUMENT = load_instrument()
ITEMS = [problem.id for problem in INSTRUMENT.problems]
TRAINING = [problem.id for problem in INSTRUMENT.training]
SCORED = [problem.id for problem in INSTRUMENT.problems if problem.phase in ("immediate", "delayed", "transfer")]
UNSCORED = [name for name in ITEMS if name not in SCORED]
COMMITMENT = INSTRUMENT.prompts["forced_commitment"]
RETRY = INSTRUMENT.prompts["forced_commitment_retry"]

STUDENT = Route(
    provider="openrouter",
    model="meta-llama/llama-3.1-8b-instruct",
    sampling=Sampling(temperature=0.8, max_tokens=512, seed="replicate"),
    pin=("groq",),
)
TUTOR = Route(provider="anthropic", model="claude-sonnet-4-6", sampling=Sampling(temperature=0.4, max_tokens=1024))
JUDGE = Route(
    provider="openrouter",
    model="openai/gpt-5.6-sol",
    sampling=Sampling(max_tokens=2048, reasoning="medium", seed="repetition"),
    pin=("openai",),
)


@dataclass
class Cast:
    """Everyone a preflight asks. By default all gates pass: no probe is right, all commit, the tutor lifts and leaks.

    `right` and `silent` are items answered rightly, or without a marker, alone; `lifted` those that are right after the
    exchange; `leaky` is how many tutor turns state the answer; `says` overrides a student's text where it returns one.
    """

    right: Collection[str] = ()
    silent: Collection[str] = ()
    lifted: Collection[str] = tuple(TRAINING)
    leaky: int = 1
    served: Callable[[ModelRequest], str | None] = lambda request: "Groq" if request.role == "student" else "Else"
    says: Callable[[ModelRequest], str | None] = lambda _: None
    fails: Callable[[ModelRequest], bool] = lambda _: False
    requests: list[ModelRequest] = field(default_factory=list)

    async def __call__(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.fails(request):
            raise TutorEvalError(f"{request.route.provider}: the line is dead")
        served_model = request.route.model
        return ModelReply(self._text(request), served_provider=self.served(request), served_model=served_model)

    def _text(self, request: ModelRequest) -> str:
        if request.site.problem == "capability":
            return "ready"
        answer = INSTRUMENT.problem[request.site.problem].answer
        if request.role == "tutor":
            self.leaky -= 1
            return f"The answer is {answer:g}." if self.leaky >= 0 else "What do you notice?"
        if (said := self.says(request)) is not None:
            return said
        if is_isolated(request):
            if request.site.problem in self.silent:
                return "I am not sure."
            return f"FINAL ANSWER: {answer if request.site.problem in self.right else 999:g}"
        if request.site.purpose == "exchange":
            return "I am not sure."
        return f"FINAL ANSWER: {answer if request.site.problem in self.lifted else 999:g}"

    def asked(self, role: str, *, isolated: bool | None = None) -> list[ModelRequest]:
        """The requests of a role without the capability call; a student's isolated or tutored ones."""
        return [
            request
            for request in self.requests
            if request.role == role
            and request.site.problem != "capability"
            and (isolated is None or is_isolated(request) is isolated)
        ]


def is_isolated(request: ModelRequest) -> bool:
    return request.messages[0].text.startswith("Problem: ")


def read(
    cast: Cast,
    *,
    base: str = "sonnet",
    student: Route = STUDENT,
    judges: Mapping[str, Route] | None = None,
    settings: GateSettings | None = None,
) -> Preflight:
    return asyncio.run(
        run_preflight(
            INSTRUMENT,
            cast,
            base=base,
            student_route=student,
            tutor_route=TUTOR,
            judge_routes=judges or {},
            settings=settings,
        )
    )


def gate(preflight: Preflight, name: str) -> GateReading:
    return next(reading for reading in preflight.gates if reading.name == name)


def changed(route: Route, **changes: Any) -> Route:
    return route.model_copy(update=changes)


# all gates together


def test_every_gate_is_read_once_in_its_order() -> None:
    preflight = read(Cast())
    assert tuple(reading.name for reading in preflight.gates) == GATES
    assert [reading.name for reading in preflight.gates if not reading.passed] == []
    assert preflight.passed


def test_on_the_primary_base_every_gate_blocks_and_elsewhere_all_but_leakage() -> None:
    assert all(reading.blocking for reading in read(Cast()).gates)
    advisory = [reading.name for reading in read(Cast(), base="gpt").gates if not reading.blocking]
    assert advisory == ["conv_leakage"]


def test_every_reading_names_its_context() -> None:
    contexts = {reading.name: reading.context for reading in read(Cast()).gates}
    assert contexts["isolated_accuracy"] == contexts["marker_rate"] == "isolated: a fresh context per item"
    assert contexts["learnability"] == "one fresh context per problem, conv tutor"
    assert contexts["conv_leakage"] == "unwindowed"
    assert all(contexts.values())


def test_a_record_is_json_and_holds_every_gate() -> None:
    record = json.loads(json.dumps(read(Cast(leaky=0)).as_record()))
    assert (record["base"], record["passed"]) == ("sonnet", False)
    assert [GateReading(**kept) for kept in record["gates"]] == list(read(Cast(leaky=0)).gates)


# isolated accuracy: nine probes, ceiling .30


@pytest.mark.parametrize(
    ("n_right", "passes"),
    [
        pytest.param(0, True, id="none"),
        pytest.param(2, True, id="2-of-9-is-.22"),
        pytest.param(3, False, id="3-of-9-is-.33"),
        pytest.param(9, False, id="all"),
    ],
)
def test_accuracy_is_at_most_the_ceiling(n_right: int, passes: bool) -> None:
    preflight = read(Cast(right=SCORED[:n_right]))
    reading = gate(preflight, "isolated_accuracy")
    assert (reading.passed, reading.reading, reading.limit) == (passes, f"{n_right} of 9 probes", "at most 30%")
    assert preflight.passed is passes


def test_training_and_interference_items_are_not_scored() -> None:
    assert len(UNSCORED) == 10
    reading = gate(read(Cast(right=UNSCORED)), "isolated_accuracy")
    assert (reading.passed, reading.reading) == (True, "0 of 9 probes")


@pytest.mark.parametrize(("n_right", "passes"), [(3, True), (4, False)])
def test_a_reading_on_the_ceiling_passes(n_right: int, passes: bool) -> None:
    # 3 of 9 is 1/3 exactly, which is at most 1/3.
    preflight = read(Cast(right=SCORED[:n_right]), settings=GateSettings(accuracy_ceiling=1 / 3))
    assert gate(preflight, "isolated_accuracy").passed is passes


# marker rate: all nineteen items, .95


@pytest.mark.parametrize(
    ("n_silent", "passes"),
    [pytest.param(0, True, id="19-of-19"), pytest.param(1, False, id="18-of-19-is-.947")],
)
def test_a_marker_is_on_at_least_95_percent_of_all_items(n_silent: int, passes: bool) -> None:
    reading = gate(read(Cast(silent=ITEMS[:n_silent])), "marker_rate")
    assert reading.passed is passes
    assert reading.reading == f"{19 - n_silent} of 19 items with a parseable final answer"
    assert reading.limit == "at least 95%"


@pytest.mark.parametrize("item", ["train-1", "interfere-4", "transfer-3"])
def test_the_marker_counts_on_items_of_every_phase(item: str) -> None:
    assert not gate(read(Cast(silent=[item])), "marker_rate").passed


def test_the_marker_limit_is_a_parameter() -> None:
    assert gate(read(Cast(silent=ITEMS[:1]), settings=GateSettings(marker_rate=0.9)), "marker_rate").passed


# learnability: tutored minus isolated, over the six training problems


@pytest.mark.parametrize(
    ("alone", "lifted", "limit", "passes"),
    [
        pytest.param(0, 0, 0.0, False, id="no-lift"),
        pytest.param(0, 1, 0.0, True, id="one-of-six"),
        pytest.param(2, 2, 0.0, False, id="as-good-alone"),
        pytest.param(3, 2, 0.0, False, id="worse-with-the-tutor"),
        pytest.param(0, 3, 0.5, False, id="3-of-6-is-not-above-.5"),
        pytest.param(0, 4, 0.5, True, id="4-of-6-is-above-.5"),
    ],
)
def test_the_lift_is_strictly_above_its_limit(alone: int, lifted: int, limit: float, passes: bool) -> None:
    cast = Cast(right=TRAINING[:alone], lifted=TRAINING[:lifted])
    reading = gate(read(cast, settings=GateSettings(learnability=limit)), "learnability")
    assert reading.reading == f"{lifted} of 6 training problems with the tutor, {alone} alone"
    assert (reading.passed, reading.limit) == (passes, f"a difference above {limit:g}")


def test_what_counts_after_an_exchange_is_the_last_commitment() -> None:
    # A wrong guess before the first tutor turn is not what the tutor taught.
    def says(request: ModelRequest) -> str | None:
        if is_isolated(request) or request.site.purpose != "exchange":
            return None
        answer = INSTRUMENT.problem[request.site.problem].answer
        return {0: "FINAL ANSWER: 999", 4: f"FINAL ANSWER: {answer:g}"}.get(request.site.turn or 0, "Hm.")

    assert gate(read(Cast(says=says)), "learnability").reading.startswith("6 of 6")


def test_a_student_who_committed_in_the_exchange_is_not_elicited() -> None:
    cast = Cast(says=lambda request: "FINAL ANSWER: 1" if request.site.turn == 3 else None)
    read(cast)
    assert {request.site.purpose for request in cast.asked("student", isolated=False)} == {"exchange"}


def test_a_student_who_never_commits_is_elicited_twice_and_not_lifted() -> None:
    cast = Cast(says=lambda request: None if is_isolated(request) else "I do not know.")
    reading = gate(read(cast), "learnability")
    assert (reading.passed, reading.reading) == (False, "0 of 6 training problems with the tutor, 0 alone")
    asked = [request for request in cast.asked("student", isolated=False) if request.site.purpose == "commitment"]
    assert Counter(request.site.problem for request in asked) == dict.fromkeys(TRAINING, 2)


# leakage: more than none of 24 conv turns


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
@pytest.mark.parametrize(("leaky", "passes"), [(0, False), (1, True), (24, True)])
def test_leakage_is_more_than_none_and_blocks_only_the_primary_base(base: str, leaky: int, passes: bool) -> None:
    preflight = read(Cast(leaky=leaky), base=base)
    reading = gate(preflight, "conv_leakage")
    assert (reading.passed, reading.reading, reading.limit) == (
        passes,
        f"{leaky} of 24 conv turns leak",
        "more than none",
    )
    assert reading.blocking is (base == "sonnet")
    assert preflight.passed is (passes or base != "sonnet")


def test_leakage_is_unwindowed() -> None:
    # Every student commits before the first tutor turn, which closes the window; the turns count all the same.
    cast = Cast(leaky=24, says=lambda request: None if is_isolated(request) else "FINAL ANSWER: 1")
    assert gate(read(cast), "conv_leakage").reading == "24 of 24 conv turns leak"


# the student's pin


def serving(*names: str | None) -> Callable[[ModelRequest], str | None]:
    """Students are served by these in turn, tutors by somebody else."""
    counter = Counter[str]()

    def served(request: ModelRequest) -> str | None:
        if request.role != "student":
            return "Else"
        counter["student"] += 1
        return names[counter["student"] % len(names)]

    return served


@pytest.mark.parametrize(
    ("names", "pin", "passes", "shown"),
    [
        pytest.param(["Groq"], ["groq"], True, "served by Groq", id="the-pin"),
        pytest.param(["GROQ"], ["Groq"], True, "served by GROQ", id="any-case"),
        pytest.param(["Else"], ["groq"], False, "served by Else", id="another"),
        pytest.param(["Groq", "Else"], ["groq"], False, "served by Else, Groq", id="the-pin-and-another"),
        pytest.param([None], ["groq"], False, "served by None", id="silent"),
        pytest.param(["Groq", None], ["groq"], False, "served by Groq, None", id="silent-at-times"),
        pytest.param(["Groq"], ["groq", "together"], False, "served by Groq", id="one-of-two"),
        pytest.param(["DeepInfra"], ["deepinfra/fp8"], True, "served by DeepInfra", id="a-variant"),
        pytest.param(["Google AI Studio"], ["google-ai-studio"], True, "served by Google AI Studio", id="a-slug"),
    ],
)
def test_students_are_served_by_exactly_the_pin(
    names: list[str | None], pin: list[str], passes: bool, shown: str
) -> None:
    preflight = read(Cast(served=serving(*names)), student=changed(STUDENT, pin=tuple(pin)))
    reading = gate(preflight, "student_pin")
    assert (reading.passed, reading.reading, reading.limit) == (passes, shown, f"exactly {', '.join(pin)}")
    assert preflight.passed is passes


def test_a_student_without_a_pin_is_said_to_have_none() -> None:
    own = changed(STUDENT, provider="compatible", pin=())
    reading = gate(read(Cast(served=lambda _: None), student=own), "student_pin")
    assert (reading.passed, reading.limit) == (True, "no pin is registered")


# isolated mode


@pytest.mark.parametrize(
    ("commits_at", "n_calls"),
    [
        pytest.param(0, 1, id="first-reply"),
        pytest.param(1, 2, id="second-reply"),
        pytest.param(2, 3, id="commitment"),
        pytest.param(3, 4, id="retry"),
        pytest.param(None, 4, id="never"),
    ],
)
def test_an_item_takes_two_unaided_replies_then_both_elicitations(commits_at: int | None, n_calls: int) -> None:
    def says(request: ModelRequest) -> str | None:
        if not is_isolated(request):
            return None
        return "FINAL ANSWER: 1" if request.site.turn == commits_at else f"Hm, {request.site.turn}."

    cast = Cast(says=says)
    read(cast)
    asked = [request for request in cast.asked("student", isolated=True) if request.site.problem == "delayed-2"]
    opening = f"Problem: {INSTRUMENT.problem['delayed-2'].statement}"
    expected = [
        [opening],
        [opening],
        [opening, "Hm, 1.", COMMITMENT],
        [opening, "Hm, 1.", COMMITMENT, "Hm, 2.", RETRY],
    ]
    assert [[message.text for message in request.messages] for request in asked] == expected[:n_calls]
    assert all(request.messages[-1].speaker == "user" for request in asked)


def test_an_empty_reply_is_stood_for_before_the_commitment_text() -> None:
    cast = Cast(says=lambda request: " \n" if is_isolated(request) else None)
    read(cast)
    asked = [request for request in cast.asked("student", isolated=True) if request.site.problem == "train-1"]
    assert [message.text for message in asked[2].messages][1:] == [INSTRUMENT.wording["empty_turn"], COMMITMENT]


def test_all_nineteen_items_are_read_each_in_a_context_of_its_own() -> None:
    cast = Cast(silent=ITEMS)
    read(cast)
    asked = cast.asked("student", isolated=True)
    assert Counter(request.site.problem for request in asked) == dict.fromkeys(ITEMS, 4)
    for request in asked:
        shown = everything_shown(request)
        held = [name for name in ITEMS if INSTRUMENT.problem[name].statement in shown]
        assert held == [request.site.problem]
        assert "Tutor: " not in shown
        assert request.system == INSTRUMENT.prompts["student"]


def test_each_tutored_problem_is_four_tutor_turns_in_a_context_of_its_own() -> None:
    cast = Cast()
    read(cast)
    assert Counter(request.site.problem for request in cast.asked("tutor")) == dict.fromkeys(TRAINING, 4)
    # 5 turns of the exchange and the commitment each
    assert Counter(request.site.problem for request in cast.asked("student", isolated=False)) == dict.fromkeys(
        TRAINING, 6
    )
    for request in (*cast.asked("tutor"), *cast.asked("student", isolated=False)):
        shown = everything_shown(request)
        assert [name for name in ITEMS if INSTRUMENT.problem[name].statement in shown] == [request.site.problem]


def test_the_student_sees_no_answer_nobody_said_and_nothing_of_the_machine() -> None:
    cast = Cast(leaky=0, silent=ITEMS)
    read(cast)
    for request in cast.asked("student"):
        problem = INSTRUMENT.problem[request.site.problem]
        shown = everything_shown(request)
        assert not DeclaredForms(problem.numeric_forms, problem.solution_forms).leak(
            "\n".join(message.text for message in request.messages)
        )
        for hidden in ("preflight", "isolated_accuracy", problem.id, INSTRUMENT.prompts["convtutor"]):
            assert hidden not in shown


def test_every_call_stands_in_no_session_and_carries_the_first_seed() -> None:
    cast = Cast()
    read(cast, judges={"sol": JUDGE})
    assert {request.site.condition for request in cast.requests} == {"preflight"}
    assert {request.seed for request in cast.asked("student")} == {0}
    # the tutor's route takes none
    assert {request.seed for request in cast.asked("tutor")} == {None}


def test_a_student_s_route_without_seed_is_never_sent_one() -> None:
    seedless = changed(STUDENT, sampling=Sampling(temperature=0.8, max_tokens=512))
    cast = Cast()
    read(cast, student=seedless)
    assert {request.seed for request in cast.requests} == {None}


# capability


def test_capability_is_one_call_a_route_with_its_own_settings() -> None:
    cast = Cast()
    read(cast, judges={"sol": JUDGE})
    probes = [request for request in cast.requests if request.site.problem == "capability"]
    assert [(request.role, request.route) for request in probes] == [
        ("student", STUDENT),
        ("tutor", TUTOR),
        ("judge", JUDGE),
    ]
    assert [request.seed for request in probes] == [0, None, 0]


def test_capability_says_who_answered_and_what_was_thought() -> None:
    async def renamed(request: ModelRequest) -> ModelReply:
        model = "llama-3.1-8b-instant" if request.role == "student" else None
        return ModelReply("FINAL ANSWER: 1", served_model=model, reasoning_tokens=7, served_provider="Groq")

    preflight = asyncio.run(
        run_preflight(
            INSTRUMENT, renamed, base="gpt", student_route=STUDENT, tutor_route=TUTOR, judge_routes={"sol": JUDGE}
        )
    )
    assert gate(preflight, "capability").reading == (
        "student: answered by llama-3.1-8b-instant (asked for meta-llama/llama-3.1-8b-instruct), 7 reasoning tokens; "
        "tutor gpt: answered by an unnamed model, 7 reasoning tokens; "
        "judge sol: answered by an unnamed model, 7 reasoning tokens"
    )


def test_a_route_that_refuses_ends_the_preflight_after_one_call_a_route() -> None:
    cast = Cast(fails=lambda request: request.role == "tutor")
    preflight = read(cast, judges={"sol": JUDGE})
    (capability,) = preflight.gates
    assert (capability.name, capability.passed, capability.blocking) == ("capability", False, True)
    assert "tutor sonnet: anthropic: the line is dead; judge sol: answered by" in capability.reading
    assert not preflight.passed
    assert len(cast.requests) == 3


# a call that fails later


@pytest.mark.parametrize("role", ["student", "tutor"])
def test_a_failing_call_is_a_failed_gate_with_its_reason(role: str) -> None:
    def fails(request: ModelRequest) -> bool:
        return request.role == role and request.site.problem == "train-2"

    preflight = read(Cast(fails=fails))
    capability, failed = preflight.gates
    assert (capability.passed, failed.passed, failed.blocking, preflight.passed) == (True, False, True, False)
    assert "the line is dead" in failed.reading


def test_after_a_failed_call_nothing_more_is_asked() -> None:
    cast = Cast(fails=lambda request: request.site.problem == "train-1" and request.role == "student")

    async def preflight_then_wait() -> tuple[int, int]:
        await run_preflight(INSTRUMENT, cast, base="sonnet", student_route=STUDENT, tutor_route=TUTOR, judge_routes={})
        asked = len(cast.requests)
        await asyncio.sleep(0.05)
        return asked, len(asyncio.all_tasks()) - 1

    asked, still_running = asyncio.run(preflight_then_wait())
    assert len(cast.requests) == asked
    assert still_running == 0


def test_an_error_that_is_not_ours_is_not_taken_for_a_reading() -> None:
    def says(request: ModelRequest) -> str | None:
        raise RuntimeError("a bug")

    with pytest.raises(ExceptionGroup) as raised:
        read(Cast(says=says))
    assert raised.group_contains(RuntimeError, match="a bug")
