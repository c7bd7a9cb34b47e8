"""What a scripted session holds, before it is put into words: pure functions of a call's site."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_tutoreval.errors import ProtocolError
from pytest_tutoreval.providers.agent import AgentRole, CallSite
from pytest_tutoreval.providers.scripted.draw import pick, series, uniforms
from pytest_tutoreval.providers.scripted.script import Script
from pytest_tutoreval.providers.scripted.wording import Wording

__all__ = ["Plan", "Planted", "StudentTurn", "not_played", "turn_of", "where"]


@dataclass(frozen=True, slots=True)
class Planted:
    """What a scripted call puts into its text, so that the frozen detectors must find exactly that.

    None where the call plants nothing of the kind: `leaks` stands on tutor turns, `attempts` and `requests`
    on student turns of an exchange. `commits` is the committed value, None where there is none, and `correct`
    says whether it is the canonical answer.
    """

    leaks: bool | None = None
    attempts: bool | None = None
    requests: bool | None = None
    commits: float | None = None
    correct: bool | None = None


class StudentTurn(NamedTuple):
    """A student's reply as drawn; `value` is the committed or nearly committed value, written out."""

    attempts: bool
    requests: bool
    commits: bool
    value: str
    after_leak: bool
    after_commitment: bool


class Plan:
    """Draws what each call of a session holds; two calls that ask about one turn draw the same numbers."""

    def __init__(self, wordings: Mapping[str, Wording], script: Script, *, seed: int) -> None:
        self._wordings = wordings
        self._script = script
        self._seed = seed

    def planted(self, site: CallSite, role: AgentRole) -> Planted:
        """Return what the call at `site` plants."""
        match role, site.purpose:
            case "student", "exchange":
                turn = self.exchange(site)
                return self._planted(site, turn.value if turn.commits else None, turn.attempts, turn.requests)
            case "student", "probe" | "commitment":
                commits, value = self.alone(site)
                return self._planted(site, value if commits else None)
            case "tutor", "exchange":
                return Planted(leaks=self.leaks(site))
            case "tracker", "exchange":
                return Planted()
            case _:
                raise not_played(site, role, site.purpose)

    def _planted(
        self, site: CallSite, value: str | None, attempts: bool | None = None, requests: bool | None = None
    ) -> Planted:
        if value is None:
            return Planted(attempts=attempts, requests=requests)
        correct = value == self.wording(site).right
        return Planted(attempts=attempts, requests=requests, commits=float(value), correct=correct)

    def _leak_rate(self, condition: str) -> float:
        rates = self._script.leak_rate
        if condition not in rates:
            raise ValueError(
                f"leak_rate has no condition {condition!r}. Known: {', '.join(sorted(rates))}. Add one to the script."
            )
        return rates[condition]

    def leaks(self, site: CallSite) -> bool:
        """Return whether the tutor turn at `site` states the answer."""
        turn = turn_of(site)
        return series(f"{self.key(site)}|leak", turn + 1)[turn] < self._leak_rate(site.condition)

    def exchange(self, site: CallSite) -> StudentTurn:
        """Return the student turn at `site` as drawn."""
        script, turn, key = self._script, turn_of(site), self.key(site)
        leak_rate = self._leak_rate(site.condition)
        leaked = [u < leak_rate for u in series(f"{key}|leak", turn)]
        chances = series(f"{key}|commit", turn + 1)
        hazards = [script.commit_rate] + [
            script.commit_rate_after_leak if leak else script.commit_rate for leak in leaked
        ]
        after_leak = bool(leaked) and leaked[-1]
        after_commitment = any(u < hazard for u, hazard in zip(chances[:turn], hazards[:turn], strict=True))
        commits = chances[turn] < (script.recommit_rate if after_commitment else hazards[turn])
        attempt, request, correct, slip = uniforms(f"{key}|student|{turn}")
        attempt_rate = script.attempt_rate_after_leak if after_leak else script.attempt_rate
        accuracy = script.accuracy_after_leak if any(leaked) else script.accuracy["training"]
        wording = self.wording(site)
        return StudentTurn(
            attempts=attempt < attempt_rate,
            requests=request < script.request_rate and not commits and not after_commitment,
            commits=commits,
            value=wording.right if correct < accuracy else pick(wording.wrong, slip),
            after_leak=after_leak,
            after_commitment=after_commitment,
        )

    def alone(self, site: CallSite) -> tuple[bool, str]:
        """Return whether a probe or commitment reply can be read, and the value the student has in mind."""
        script, key, wording = self._script, self.key(site), self.wording(site)
        marker, correct, slip, _ = uniforms(f"{key}|alone")
        accuracy = script.cold_accuracy if site.condition == "cold" else script.accuracy
        value = wording.right if correct < accuracy[wording.problem.phase] else pick(wording.wrong, slip)
        if site.purpose == "probe":
            return marker < script.marker_rate, value
        chance = series(f"{key}|commitment", turn_of(site) + 1)[-1]
        return chance < script.commitment_marker_rate, value

    def key(self, site: CallSite) -> str:
        """Return the name of the session's item, which every draw about it starts with."""
        # Purposes of one item share their draws: a retry has the same value in mind as the probe before it.
        return f"{self._seed}|{site.base}|{site.condition}|{site.replicate}|{site.problem}"

    def wording(self, site: CallSite) -> Wording:
        """Return the wording of the problem at `site`."""
        wording = self._wordings.get(site.problem)
        if wording is None:
            raise ProtocolError(
                f"{where(site)}: the cast does not know this problem. Known: {', '.join(self._wordings)}."
            )
        return wording


def turn_of(site: CallSite) -> int:
    """Return the turn a call stands at."""
    if site.turn is None:
        raise ProtocolError(f"{where(site)}: the call has no turn. Expected a number from 0.")
    return site.turn


def where(site: CallSite) -> str:
    """Return where a call stands, for a message."""
    return f"{site.base}/{site.condition}/r{site.replicate}/{site.problem}"


def not_played(site: CallSite, role: str, purpose: str) -> ProtocolError:
    """Return the error of a call the cast has no part in."""
    return ProtocolError(f"{where(site)}: the cast plays no {role} for a {purpose}. Use a judge for ratings.")
