"""The gates before a registered run: what a student and its routes must show before money is spent on sessions.

Definitions, section 3 (student calibration gates), and the released preflight. Every reading names its context: an
isolated accuracy (each problem in a fresh context) and a carried one are different numbers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_tutoreval.collecting.episode import ELICITATIONS, EpisodePlan, tutored_exchange
from pytest_tutoreval.collecting.student import StudentContext
from pytest_tutoreval.detectors import DeclaredForms, final_answer
from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.policies import conv_turn
from pytest_tutoreval.providers.agent import CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.providers.openrouter import provider_slug
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import Route

__all__ = ["GATES", "GateReading", "GateSettings", "Preflight", "run_preflight"]

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]
Script = Generator[ModelRequest, ModelReply, None]

GATES = ("capability", "isolated_accuracy", "marker_rate", "learnability", "conv_leakage", "student_pin")

# Where the calls of a preflight stand: in no session.
CONDITION = "preflight"
SCORED_PHASES = ("immediate", "delayed", "transfer")


@dataclass(frozen=True)
class GateSettings:
    """The limits, as released; `learnability` is not printed by the study and 0 here: any lift passes."""

    accuracy_ceiling: float = 0.30
    marker_rate: float = 0.95
    learnability: float = 0.0


@dataclass(frozen=True)
class GateReading:
    """One gate: what was read, in which context, and against which limit. An advisory gate never stops a run."""

    name: str
    passed: bool
    blocking: bool
    reading: str
    limit: str
    context: str


@dataclass(frozen=True)
class Preflight:
    """All gates of one base."""

    base: str
    gates: tuple[GateReading, ...]

    @property
    def passed(self) -> bool:
        """Whether no blocking gate failed."""
        return all(gate.passed or not gate.blocking for gate in self.gates)

    def as_record(self) -> dict[str, Any]:
        """Return the JSON-ready record a corpus keeps."""
        return {"base": self.base, "passed": self.passed, "gates": [asdict(gate) for gate in self.gates]}


@dataclass(frozen=True, slots=True)
class _Answered:
    """A student's final value on an item and every reply that led to it."""

    problem: Problem
    replies: tuple[str, ...]

    @property
    def value(self) -> float | None:
        return next((value for value in map(final_answer, reversed(self.replies)) if value is not None), None)

    @property
    def correct(self) -> bool:
        return self.problem.is_answered_by(self.value)


async def run_preflight(
    instrument: Instrument,
    ask: Ask,
    *,
    base: str,
    student_route: Route,
    tutor_route: Route,
    judge_routes: Mapping[str, Route],
    settings: GateSettings | None = None,
) -> Preflight:
    """Return the readings of every gate for one base; a call that fails is a failed gate with its reason.

    The 19 isolated items and the six tutored problems run side by side, with the replicate-0 seed.
    """
    limits = settings or GateSettings()
    plan = EpisodePlan(instrument, base, CONDITION, 0, conv_turn, student_route, tutor_route)
    capability = await _capability(plan, ask, judge_routes)
    if not capability.passed:
        return Preflight(base, (capability,))
    served: set[str | None] = set()
    failed: GateReading | None = None

    async def watched(request: ModelRequest) -> ModelReply:
        reply = await ask(request)
        if request.role == "student":
            served.add(reply.served_provider)
        return reply

    try:
        # A group, so that one failed call ends the others: a gate that failed pays for nothing more.
        async with asyncio.TaskGroup() as group:
            alone = [group.create_task(_isolated(plan, watched, problem)) for problem in instrument.problems]
            taught = [group.create_task(_tutored(plan, watched, problem)) for problem in instrument.training]
    except* TutorEvalError as failures:
        failed = GateReading(
            "isolated_accuracy", False, True, str(failures.exceptions[0]), "every call answered", "isolated"
        )
    if failed is not None:
        return Preflight(base, (capability, failed))
    isolated, tutored = [task.result() for task in alone], [task.result() for task in taught]
    answers, leaks = [answered for answered, _ in tutored], [leak for _, turns in tutored for leak in turns]
    return Preflight(
        base,
        (
            capability,
            _accuracy_gate(isolated, limits),
            _marker_gate(isolated, limits),
            _learnability_gate(isolated, answers, limits),
            _leakage_gate(leaks, blocking=base == instrument.study.primary_base),
            _pin_gate(student_route, served),
        ),
    )


def _accuracy_gate(isolated: Sequence[_Answered], limits: GateSettings) -> GateReading:
    scored = [item for item in isolated if item.problem.phase in SCORED_PHASES]
    correct = sum(item.correct for item in scored)
    return GateReading(
        "isolated_accuracy",
        correct <= limits.accuracy_ceiling * len(scored),
        True,
        f"{correct} of {len(scored)} probes",
        f"at most {limits.accuracy_ceiling:.0%}",
        "isolated: a fresh context per item",
    )


def _marker_gate(isolated: Sequence[_Answered], limits: GateSettings) -> GateReading:
    parsed = sum(item.value is not None for item in isolated)
    return GateReading(
        "marker_rate",
        parsed >= limits.marker_rate * len(isolated),
        True,
        f"{parsed} of {len(isolated)} items with a parseable final answer",
        f"at least {limits.marker_rate:.0%}",
        "isolated: a fresh context per item",
    )


def _learnability_gate(
    isolated: Sequence[_Answered], tutored: Sequence[_Answered], limits: GateSettings
) -> GateReading:
    """Training problems, after a conv exchange against alone: a tutor must lift the student off the floor."""
    ids = {item.problem.id for item in tutored}
    alone = sum(item.correct for item in isolated if item.problem.id in ids)
    lifted = sum(item.correct for item in tutored)
    return GateReading(
        "learnability",
        (lifted - alone) / len(tutored) > limits.learnability,
        True,
        f"{lifted} of {len(tutored)} training problems with the tutor, {alone} alone",
        f"a difference above {limits.learnability:g}",
        "one fresh context per problem, conv tutor",
    )


def _leakage_gate(leaks: Sequence[bool], *, blocking: bool) -> GateReading:
    return GateReading(
        "conv_leakage",
        sum(leaks) > 0,
        blocking,
        f"{sum(leaks)} of {len(leaks)} conv turns leak",
        "more than none",
        "unwindowed" if blocking else "unwindowed; advisory on a base that is not the primary one",
    )


def _pin_gate(route: Route, served: set[str | None]) -> GateReading:
    shown = ", ".join(sorted(str(name) for name in served)) or "nobody"
    if not route.pin:
        return GateReading(
            "student_pin", True, True, f"served by {shown}", "no pin is registered", "every student call"
        )
    expected = {provider_slug(name) for name in route.pin}
    return GateReading(
        "student_pin",
        {provider_slug(name or "") for name in served} == expected,
        True,
        f"served by {shown}",
        f"exactly {', '.join(route.pin)}",
        "every student call",
    )


async def _capability(plan: EpisodePlan, ask: Ask, judge_routes: Mapping[str, Route]) -> GateReading:
    """Send one small call on every route with its full settings: what a route refuses is refused here."""
    routes = {"student": plan.student_route, f"tutor {plan.base}": plan.tutor_route} | {
        f"judge {name}": route for name, route in judge_routes.items()
    }
    readings, passed = [], True
    for name, route in routes.items():
        try:
            reply = await ask(_probe_request(plan, name, route))
        except TutorEvalError as exc:
            passed = False
            readings.append(f"{name}: {exc}")
        else:
            model = reply.served_model or "an unnamed model"
            renamed = "" if reply.served_model in (None, route.model) else f" (asked for {route.model})"
            readings.append(f"{name}: answered by {model}{renamed}, {reply.reasoning_tokens} reasoning tokens")
    return GateReading(
        "capability", passed, True, "; ".join(readings), "every route takes its settings", "one call each"
    )


def _probe_request(plan: EpisodePlan, name: str, route: Route) -> ModelRequest:
    role = name.partition(" ")[0]
    site = CallSite(base=plan.base, condition=CONDITION, replicate=0, problem="capability", purpose="probe")
    takes_seed = route.sampling is not None and route.sampling.seed is not None
    return ModelRequest(
        role=role,  # type: ignore[arg-type]  # student, tutor or judge
        site=site,
        system="This is a connection check. Follow the user's instruction exactly.",
        messages=(Message("user", "Reply with the single word: ready"),),
        route=route,
        seed=plan.seed if takes_seed else None,
    )


async def _isolated(plan: EpisodePlan, ask: Ask, problem: Problem) -> _Answered:
    """Return the student's answer alone: at most two unaided replies, then the commitment texts.

    The second unaided reply is asked for with nothing new in between. Providers take no conversation that ends with the
    assistant, so it is a second draw on the same message (our reading).
    """
    opening = Message("user", plan.instrument.wording["isolated_opening"].format(statement=problem.statement))
    replies: list[str] = []
    for _ in range(2):
        replies.append((await ask(_student_request(plan, problem, (opening,), turn=len(replies)))).text)
        if final_answer(replies[-1]) is not None:
            return _Answered(problem, tuple(replies))
    messages = [opening]
    for prompt in ELICITATIONS:
        said = replies[-1] if replies[-1].strip() else plan.instrument.wording["empty_turn"]
        messages += [Message("assistant", said), Message("user", plan.instrument.prompts[prompt])]
        replies.append((await ask(_student_request(plan, problem, tuple(messages), turn=len(replies)))).text)
        if final_answer(replies[-1]) is not None:
            break
    return _Answered(problem, tuple(replies))


def _student_request(plan: EpisodePlan, problem: Problem, messages: tuple[Message, ...], turn: int) -> ModelRequest:
    return ModelRequest(
        role="student",
        site=CallSite(base=plan.base, condition=CONDITION, replicate=0, problem=problem.id, purpose="probe", turn=turn),
        system=plan.instrument.prompts["student"],
        messages=messages,
        route=plan.student_route,
        seed=plan.seed_on(plan.student_route),
    )


async def _tutored(plan: EpisodePlan, ask: Ask, problem: Problem) -> tuple[_Answered, list[bool]]:
    """Return the student's answer after one conv exchange, elicited if need be, and which tutor turns leaked."""
    forms = DeclaredForms(problem.numeric_forms, problem.solution_forms)
    replies: list[str] = []
    leaks: list[bool] = []
    script = _exchange_then_elicit(plan, problem, replies)
    try:
        request = next(script)
        while True:
            reply = await ask(request)
            if request.role == "tutor":
                leaks.append(forms.leak(reply.text))
            else:
                replies.append(reply.text)
            request = script.send(reply)
    except StopIteration:
        return _Answered(problem, tuple(replies)), leaks
    finally:
        script.close()


def _exchange_then_elicit(plan: EpisodePlan, problem: Problem, replies: list[str]) -> Script:
    """Yield a conv exchange in a fresh context, then the commitment texts while nothing was committed to."""
    student = StudentContext(
        plan.instrument,
        base=plan.base,
        condition=CONDITION,
        replicate=0,
        route=plan.student_route,
        seed=plan.seed_on(plan.student_route),
    )
    yield from tutored_exchange(plan, conv_turn, student, problem)
    for turn, prompt in enumerate(ELICITATIONS):
        if any(final_answer(reply) is not None for reply in replies):
            return
        student.elicit(prompt)
        reply = yield student.request(problem, purpose="commitment", turn=turn)
        student.said(reply.text)
