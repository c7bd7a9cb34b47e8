"""The scripted student, tutors and tracker of a session: one callable, no memory, no network."""

from collections.abc import Sequence
from typing import Protocol

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import AgentRole, CallSite, ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted.draw import pick, uniforms
from pytest_tutoreval.providers.scripted.plan import Plan, Planted, StudentTurn, not_played, turn_of, where
from pytest_tutoreval.providers.scripted.reply import reply_to
from pytest_tutoreval.providers.scripted.script import Script
from pytest_tutoreval.providers.scripted.wording import VALUE, Wording, word_problem
from pytest_tutoreval.records.problem import Problem

__all__ = ["Drawn", "ScriptedCast", "Speaker"]

_HINT_NOTE = "Current hint level:"
_HINTS = ("abstract", "pointed", "concrete")


class Drawn(Protocol):
    """What a session holds before it is put into words: drawn beforehand, or from what was said."""

    def exchange(self, site: CallSite) -> StudentTurn:
        """Return the student turn at `site`: the one to be said, or for a tutor the one just heard."""

    def alone(self, site: CallSite) -> tuple[bool, str]:
        """Return whether a probe or commitment reply can be read, and the value the student has in mind."""

    def leaks(self, site: CallSite) -> bool:
        """Return whether the tutor turn at `site` states the answer."""

    def key(self, site: CallSite) -> str:
        """Return the name that every draw of words starts with."""

    def wording(self, site: CallSite) -> Wording:
        """Return the wording of the problem at `site`."""


class Speaker:
    """Puts what was drawn into words: every student, tutor and tracker call of a session."""

    def __init__(self, drawn: Drawn, script: Script) -> None:
        self._plan, self._script = drawn, script

    def __call__(self, request: ModelRequest) -> ModelReply:
        """Return the reply that renders what is planted at the request's site."""
        site = request.site
        match request.role, site.purpose:
            case "student", "exchange":
                text = self._exchange_text(site)
            case "student", "probe":
                text = self._probe_text(site)
            case "student", "commitment":
                text = self._commitment_text(site)
            case "tutor", "exchange":
                text = self._tutor_text(site, request.system)
            case "tracker", "exchange":
                text = self._tracker_text(site)
            case _:
                raise not_played(site, request.role, site.purpose)
        return reply_to(request, text)

    def _exchange_text(self, site: CallSite) -> str:
        turn = self._plan.exchange(site)
        families = self._plan.wording(site).families
        main, lead, second, line = uniforms(f"{self._plan.key(site)}|words|student|{site.turn}")
        opening = "" if site.turn else "opening_"
        if turn.attempts:
            family = "check" if turn.after_commitment else f"{opening}attempt"
        elif turn.after_commitment:
            family = "chatter"
        else:
            family = "acceptance" if turn.after_leak else f"{opening}confusion"
        said = [pick(families[family], main)]
        if turn.commits:
            closing = pick(families["commit_lead"], second)
            said = [*said, closing] if turn.attempts else [closing]
            return f"{' '.join(said)}\n{_mostly_first(families['commit_line'], line)}".replace(VALUE, turn.value)
        if turn.requests:
            asked = pick(families["request"], second)
            return f"{said[0]} {asked}" if turn.attempts or line < 0.5 else asked
        if site.turn and lead < 0.5:
            said.insert(0, pick(families["lead"], 2 * lead))
        if turn.attempts and second < 0.4 and not turn.after_commitment:
            said.append(pick(families["tail"], second / 0.4))
        return " ".join(said)

    def _probe_text(self, site: CallSite) -> str:
        commits, value = self._plan.alone(site)
        wording = self._plan.wording(site)
        work, bare, end, _ = uniforms(f"{self._plan.key(site)}|words|probe")
        reasoning = pick(wording.families[wording.work], work)
        if commits:
            line = _mostly_first(wording.families["marked_end"], end)
            return (line if bare < 0.15 else f"{reasoning}\n{line}").replace(VALUE, value)
        return f"{reasoning} {pick(wording.families['unmarked_end'], end)}".replace(VALUE, value)

    def _commitment_text(self, site: CallSite) -> str:
        commits, value = self._plan.alone(site)
        families = self._plan.wording(site).families
        form = uniforms(f"{self._plan.key(site)}|words|commitment|{site.turn}")[0]
        text = _mostly_first(families["commitment"], form) if commits else pick(families["no_commitment"], form)
        return text.replace(VALUE, value)

    def _tutor_text(self, site: CallSite, system: str) -> str:
        families = self._plan.wording(site).families
        main, lead, style, which = uniforms(f"{self._plan.key(site)}|words|tutor|{site.turn}")
        family = self._tutor_family(site, system, style)
        body = pick(families[family], main)
        if lead < 0.4 or family == "conv_leak_curt":
            return body
        welcome = "praise" if self._plan.exchange(site).attempts else "reassurance"
        return f"{pick(families[welcome], which)} {body}"

    def _tutor_family(self, site: CallSite, system: str, style: float) -> str:
        leaks = self._plan.leaks(site)
        match site.node:
            case "conv" if leaks:
                return "conv_leak_curt" if style < self._script.curt_rate else "conv_leak"
            case "conv":
                return "conv_ask" if style < self._script.question_rate.get(site.condition, 0.0) else "conv_explain"
            case "deferral_gate" | "decomposer" | "hint_cascade" if leaks:
                return "ped_leak"
            case "deferral_gate":
                return "gate"
            case "decomposer":
                return "decomposer"
            case "hint_cascade":
                return f"hint_{_hint_level(system, turn_of(site))}"
            case _:
                raise ProtocolError(
                    f"{where(site)}: no scripted tutor is called {site.node!r}. "
                    "Known: conv, deferral_gate, decomposer, hint_cascade."
                )

    def _tracker_text(self, site: CallSite) -> str:
        student = self._plan.exchange(site)
        families = self._plan.wording(site).families
        shown, missing, garbled, which = uniforms(f"{self._plan.key(site)}|words|tracker|{site.turn}")
        if garbled < self._script.garbled_tracker_rate:
            return pick(families["tracker_garbled"], which)
        demonstrated = pick(families["tracker_shown" if student.attempts else "tracker_nothing"], shown)
        stuck, progressed = ("false", "true") if student.attempts else ("true", "false")
        return (
            f'{{"demonstrated": "{demonstrated}", "missing": "{pick(families["tracker_missing"], missing)}", '
            f'"stuck": {stuck}, "progressed": {progressed}, '
            f'"asked_for_answer": {"true" if student.requests else "false"}}}'
        )


class ScriptedCast(Speaker):
    """Answers every student, tutor and tracker call of a session.

    Every draw is a function of the seed and the call's site alone, so calls may come in any order, twice, or
    from a session resumed in another process. The student's turn `k` knows whether tutor turn `k - 1` leaked
    because both draw the same number, not because anything is shared.

    Parameters
    ----------
    problems : those a session may ask about; `phase` rules the accuracy, the statement gives the quantities
    script : how often things happen
    seed : the simulation's seed, not the replicate's

    Raises
    ------
    ProtocolError
        A call names an unknown problem, lacks its turn, or has a role or purpose the cast does not play.
    ValueError
        A training problem holds no quantities to talk about, or the script has no leak rate for a condition.
    """

    def __init__(self, problems: Sequence[Problem], script: Script, *, seed: int) -> None:
        wordings = {problem.id: word_problem(problem) for problem in problems}
        self._planned = Plan(wordings, script, seed=seed)
        super().__init__(self._planned, script)

    def planted(self, site: CallSite, role: AgentRole) -> Planted:
        """Return what the call at `site` plants."""
        return self._planned.planted(site, role)


def _mostly_first(family: Sequence[str], u: float) -> str:
    """Return the plain form, first of its family, in half of the draws and any member in the rest."""
    return family[0] if u < 0.5 else pick(family, 2 * u - 1)


def _hint_level(system: str, turn: int) -> str:
    """Return the hint level the prompt names, or the one the turn would have without a note."""
    at = system.rfind(_HINT_NOTE)
    note = system[at:] if at >= 0 else ""
    return next((level for level in _HINTS if level in note), _HINTS[min(turn, 2)])
