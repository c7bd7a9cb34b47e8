"""One session as a conversation with whoever answers: it yields requests and is sent replies.

The episode does no I/O. A scripted cast, a provider, or a half-finished recording can drive it, and an episode that
yields nothing more is complete: that is what resuming at a call rests on.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from pytest_tutoreval.collecting.student import StudentContext
from pytest_tutoreval.detectors import final_answer
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.policies import Policy, Situation, Utterance
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.problem import Problem
from pytest_tutoreval.records.session import Route

__all__ = ["ELICITATIONS", "EpisodePlan", "collect_calls", "episode", "record_call", "tutored_exchange"]

Episode = Generator[ModelRequest, ModelReply, None]
Reply = Generator[ModelRequest, ModelReply, str]

ELICITATIONS = ("forced_commitment", "forced_commitment_retry")


@dataclass(frozen=True)
class EpisodePlan:
    """What fixes a session before its first call. `policy` is None in the untutored condition."""

    instrument: Instrument
    base: str
    condition: str
    replicate: int
    policy: Policy | None
    student_route: Route
    tutor_route: Route

    @property
    def seed(self) -> int:
        """The replicate's seed, the same in every call of its sessions."""
        return self.instrument.study.seed(self.replicate)

    def seed_on(self, route: Route) -> int | None:
        """Return the replicate's seed where a route takes one."""
        return self.seed if route.takes_seed_of("replicate") else None


def episode(plan: EpisodePlan) -> Episode:
    """Yield every request of a session in order (definitions, section 3). Nothing is shuffled."""
    student = StudentContext(
        plan.instrument,
        base=plan.base,
        condition=plan.condition,
        replicate=plan.replicate,
        route=plan.student_route,
        seed=plan.seed_on(plan.student_route),
    )
    for problem in plan.instrument.problems:
        if plan.policy is not None and problem.phase == "training":
            yield from tutored_exchange(plan, plan.policy, student, problem)
        else:
            yield from _probe(student, problem)


def tutored_exchange(plan: EpisodePlan, policy: Policy, student: StudentContext, problem: Problem) -> Episode:
    """Yield the requests of one tutored problem: student and tutor alternate, S T S T S T S T S.

    A commitment does not stop it, and nothing is elicited.
    """
    student.open_training(problem)
    dialogue = [Utterance("student", (yield from _student_turn(student, problem, turn=0)))]
    for turn in range(plan.instrument.study.protocol.tutor_turns):
        situation = Situation(
            instrument=plan.instrument,
            base=plan.base,
            condition=plan.condition,
            replicate=plan.replicate,
            problem=problem,
            turn=turn,
            dialogue=tuple(dialogue),
            route=plan.tutor_route,
            seed=plan.seed_on(plan.tutor_route),
        )
        said = yield from policy(situation)
        student.hear_tutor(said)
        dialogue.append(Utterance("tutor", said))
        dialogue.append(Utterance("student", (yield from _student_turn(student, problem, turn=turn + 1))))


def _student_turn(student: StudentContext, problem: Problem, *, turn: int) -> Reply:
    reply = yield student.request(problem, purpose="exchange", turn=turn)
    student.said(reply.text)
    return reply.text


def _probe(student: StudentContext, problem: Problem) -> Episode:
    """The student answers once; a reply that commits to nothing is followed by at most two elicitations."""
    student.open_probe(problem)
    reply = yield student.request(problem, purpose="probe")
    student.said(reply.text)
    for turn, prompt in enumerate(ELICITATIONS):
        if final_answer(reply.text) is not None:
            return
        student.elicit(prompt)
        reply = yield student.request(problem, purpose="commitment", turn=turn)
        student.said(reply.text)


def record_call(seq: int, request: ModelRequest, reply: ModelReply) -> Call:
    """Return the line a completed call leaves in the session file."""
    site = request.site
    return Call(
        seq=seq,
        role=request.role,
        purpose=site.purpose,
        problem=site.problem,
        turn=site.turn if request.role != "student" else None,
        node=site.node,
        route=site.route,
        text=reply.text,
        request=request.digest(),
        **reply.facts(request.route),
    )


def collect_calls(plan: EpisodePlan, answer: Callable[[ModelRequest], ModelReply]) -> list[Call]:
    """Return the calls of a whole session answered by `answer`, one after another."""
    calls: list[Call] = []
    running = episode(plan)
    try:
        request = next(running)
        while True:
            reply = answer(request)
            calls.append(record_call(len(calls) + 1, request, reply))
            request = running.send(reply)
    except StopIteration:
        return calls
