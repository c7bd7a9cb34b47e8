"""A whole session as exchanges and probes."""

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.session import Session
from pytest_tutoreval.transcript.exchange import Exchange, Probe, read_exchange, read_probe

__all__ = ["Transcript", "read_transcript"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in a session, by problem id, in session order."""

    exchanges: Mapping[str, Exchange]
    probes: Mapping[str, Probe]


def read_transcript(session: Session) -> Transcript:
    """Return a session's exchanges (problems a tutor took part in) and probes (all others)."""
    by_problem: dict[str, list[Call]] = {}
    for call in session.calls:
        by_problem.setdefault(call.problem, []).append(call)
    exchanges: dict[str, Exchange] = {}
    probes: dict[str, Probe] = {}
    for problem, calls in by_problem.items():
        if any(call.role != "student" for call in calls):
            exchanges[problem] = read_exchange(problem, calls)
        else:
            probes[problem] = read_probe(problem, calls)
    return Transcript(exchanges, probes)
