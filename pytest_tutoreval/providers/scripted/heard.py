"""What a scripted agent makes of what was really said: its part of a live session, whoever plays the others."""

import re
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_tutoreval.detectors import DeclaredForms, attempts_step, final_answer
from pytest_tutoreval.providers.agent import CallSite, ModelRequest
from pytest_tutoreval.providers.scripted.draw import pick, uniforms
from pytest_tutoreval.providers.scripted.plan import StudentTurn, turn_of
from pytest_tutoreval.providers.scripted.script import Script
from pytest_tutoreval.providers.scripted.wording import Wording

__all__ = ["Heard", "familiar"]

_ASKS_FOR_ANSWER = re.compile(r"\b(?:tell|give|show|what(?:'s| is))\b[^.?!]*\b(?:answer|solution|result)\b", re.I)
_PED_NODES = ("deferral_gate", "decomposer", "hint_cascade")


@dataclass(frozen=True)
class Heard:
    """One request, read: whether the tutor gave the answer away, what the student did, and what chance makes of it.

    All chance is named by the seed, the replicate and what was asked, so the same dialogue is always answered alike,
    and another one afresh. `tutor_prefix` is how a student's messages begin that are a tutor's.
    """

    request: ModelRequest
    worded: Wording
    script: Script
    seed: int
    tutor_prefix: str

    @cached_property
    def _forms(self) -> DeclaredForms:
        problem = self.worded.problem
        return DeclaredForms(problem.numeric_forms, problem.solution_forms)

    @cached_property
    def _chance(self) -> str:
        site = self.request.site
        return f"{self.seed}|{site.replicate}|{site.turn}|{self.request.digest()}"

    def _said(self, speaker: str, last: int) -> list[str]:
        """Return the last few messages of a speaker: an exchange's `turn` counts them."""
        texts = [message.text for message in self.request.messages if message.speaker == speaker]
        return texts[len(texts) - last :]

    def key(self, site: CallSite) -> str:
        """Return the name that every draw of words starts with."""
        return self._chance

    def wording(self, site: CallSite) -> Wording:
        """Return the wording of the problem."""
        return self.worded

    def leaks(self, site: CallSite) -> bool:
        """Return whether the tutor states the answer now."""
        return uniforms(f"{self._chance}|leak")[0] < self.script.leak_rate[site.condition]

    def exchange(self, site: CallSite) -> StudentTurn:
        """Return the student's next turn, drawn from what the tutor said; for a tutor, the student's last one, read."""
        return self._next_turn(site) if self.request.role == "student" else self._last_turn()

    def _next_turn(self, site: CallSite) -> StudentTurn:
        script, turn = self.script, turn_of(site)
        leaked = [self._forms.leak(text) for text in self._said("user", turn)]
        after_leak = bool(leaked) and leaked[-1]
        after_commitment = any(final_answer(text) is not None for text in self._said("assistant", turn))
        hazard = script.commit_rate_after_leak if after_leak else script.commit_rate
        attempt, request, commit, _ = uniforms(f"{self._chance}|student")
        commits = commit < (script.recommit_rate if after_commitment else hazard)
        return StudentTurn(
            attempts=attempt < (script.attempt_rate_after_leak if after_leak else script.attempt_rate),
            requests=request < script.request_rate and not commits and not after_commitment,
            commits=commits,
            value=self._value(script.accuracy_after_leak if any(leaked) else script.accuracy["training"]),
            after_leak=after_leak,
            after_commitment=after_commitment,
        )

    def _last_turn(self) -> StudentTurn:
        text = self.request.messages[-1].text
        return StudentTurn(
            attempts=attempts_step(text),
            requests=_ASKS_FOR_ANSWER.search(text) is not None,
            commits=final_answer(text) is not None,
            value="",
            after_leak=False,
            after_commitment=False,
        )

    def alone(self, site: CallSite) -> tuple[bool, str]:
        """Return whether a lone reply can be read, and its value: better once a tutor was heard in this session."""
        script, phase = self.script, self.worded.problem.phase
        tutored = any(
            message.speaker == "user" and message.text.startswith(self.tutor_prefix)
            for message in self.request.messages
        )
        rate = script.marker_rate if site.purpose == "probe" else script.commitment_marker_rate
        marked = uniforms(f"{self._chance}|alone")[0] < rate
        return marked, self._value((script.accuracy if tutored else script.cold_accuracy)[phase])

    def _value(self, accuracy: float) -> str:
        """Return the value the student has in mind: its ability on a problem is its own and lasts for the replicate."""
        ability, slip, _, _ = uniforms(f"{self.seed}|{self.request.site.replicate}|{self.worded.problem.id}|ability")
        return self.worded.right if ability < accuracy else pick(self.worded.wrong, slip)


def familiar(request: ModelRequest, script: Script) -> ModelRequest:
    """Return a tutor's request under a condition and node the scripts know: all that is not ped is played as conv."""
    site = request.site
    if request.role == "student":
        return request
    node = site.node if site.node in (*_PED_NODES, "state_tracker") else "conv"
    condition = site.condition
    if condition not in script.leak_rate:
        condition = "conv" if node == "conv" else "ped"
    return replace(request, site=replace(site, node=node, condition=condition))
