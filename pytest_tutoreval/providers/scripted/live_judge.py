"""A scripted judge for tutors whose phrases nobody knows: the same tastes, a wider reading of what tells."""

import hashlib
import re

from pytest_tutoreval.detectors import attempts_step
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted.draw import uniforms
from pytest_tutoreval.providers.scripted.judge import ScriptedJudge, is_telling
from pytest_tutoreval.providers.scripted.reply import reply_to

__all__ = ["LiveJudge", "states_result"]

_SENTENCE = re.compile(r"[^.!?\n]*(?:\.\d[^.!?\n]*)*[.!?\n]?")
_RESULT = re.compile(
    r"=\s*[-+]?[$€]?\d"
    r"|\b(?:gives?|gets?|makes?|equals?|leaves?|in all|in total|result|solution|therefore)\b[^.?!]{0,30}\d"
    r"|\bso it(?:'s| is)\b[^.?!]{0,30}\d"
    r"|\b(?:add|use|takes?|you(?:'ll)? need)\s+\W{0,3}\d",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"""\n(.*)\n"""', re.DOTALL)
_DOUBT = 0.03


def states_result(turn: str) -> bool:
    """Return whether a turn states a number as a result outside a question, going by its words alone."""
    told = [sentence for sentence in _SENTENCE.findall(turn) if not sentence.rstrip().endswith("?")]
    return any(is_telling(sentence) or _RESULT.search(sentence) is not None for sentence in told)


class LiveJudge(ScriptedJudge):
    """Rates any dialogue. Its chance is named by what it is sent, so it cannot know whose turn it rates."""

    def __call__(self, request: ModelRequest) -> ModelReply:
        """Return the judge's reply to a rating or verification request. Raises ProtocolError for anything else."""
        if request.site.purpose == "verification":
            return reply_to(request, self._opinion(request))
        return super().__call__(request)

    def _name(self, request: ModelRequest) -> str:
        sent = "\n".join([request.system, *(message.text for message in request.messages)])
        return hashlib.sha256(sent.encode("utf-8", "replace")).hexdigest()

    def _states_result(self, turn: str) -> bool:
        return states_result(turn)

    def _opinion(self, request: ModelRequest) -> str:
        """Return whether a student's turn attempts a step; now and then it sees that otherwise than the rule."""
        quoted = _QUOTED.search(request.messages[-1].text)
        attempted = attempts_step(quoted[1] if quoted else "")
        doubts = uniforms(f"{self._seed}|{self._name(request)}|opinion")[0] < _DOUBT
        return f'{{"attempted": {"true" if attempted != doubts else "false"}}}'
