"""A route a script answers, in a live run: it reads what was really said, in this process, for nothing."""

from typing import Any

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.client import Client
from pytest_tutoreval.providers.parts import refuse_part
from pytest_tutoreval.providers.scripted.cast import Speaker
from pytest_tutoreval.providers.scripted.heard import Heard, familiar
from pytest_tutoreval.providers.scripted.live_judge import LiveJudge
from pytest_tutoreval.providers.scripted.named import JUDGES, STUDENTS, TUTORS, read_script_name
from pytest_tutoreval.providers.scripted.plain_wording import word_any_problem
from pytest_tutoreval.providers.scripted.reply import reply_to
from pytest_tutoreval.providers.token_estimate import prompt_tokens
from pytest_tutoreval.providers.wire import refuse_pin
from pytest_tutoreval.records.session import Route

__all__ = ["ScriptedRoute"]

# A preflight's connection check is no problem; every script answers it.
_CONNECTION_CHECK = "ready"


class ScriptedRoute(Client[ModelRequest]):
    """Answers as student, tutor or judge. The same request has the same reply, on any machine and in any order."""

    def __init__(self, route: Route, instrument: Instrument, **given: Any) -> None:
        super().__init__(route, **given)
        refuse_pin(route)
        self._script, self._seed = read_script_name(route)
        self._problems = instrument.problem
        self._tutor_prefix = instrument.wording["tutor_prefix"].partition("{text}")[0]

    def _prepared(self, request: ModelRequest) -> tuple[ModelRequest, int]:
        refuse_part(self.route, "tutor" if request.role == "tracker" else request.role)
        return request, prompt_tokens(request) + self._cap

    async def _answered(self, sent: ModelRequest, request: ModelRequest, timeout: float) -> ModelReply:
        if request.role == "judge" and request.site.purpose != "probe":
            return LiveJudge(JUDGES[self._script], seed=self._seed)(request)
        problem = self._problems.get(request.site.problem)
        if problem is None and request.site.purpose == "probe":
            return reply_to(request, _CONNECTION_CHECK)
        if problem is None:
            raise ProtocolError(f"a script was asked about problem {request.site.problem}, which the study has not")
        script = (STUDENTS if request.role == "student" else TUTORS)[self._script]
        heard = Heard(request, word_any_problem(problem), script, self._seed, self._tutor_prefix)
        return Speaker(heard, script)(familiar(request, script))
