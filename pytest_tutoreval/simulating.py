"""A believable corpus without a network: the real protocol and the real judging, scripted agents, a made-up clock.

Everything that comes out is marked `simulated`. The same seed gives the same bytes on any machine.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from pytest_tutoreval import __version__
from pytest_tutoreval.collecting import EpisodePlan, collect_calls
from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.frozen import Instrument, text_digest
from pytest_tutoreval.judging import rate_session
from pytest_tutoreval.policies import policy_of
from pytest_tutoreval.providers.agent import Agent, ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted import (
    JUDGE_SCRIPTS,
    SCRIPTS,
    JudgeScript,
    Script,
    ScriptedCast,
    ScriptedJudge,
)
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.rating import Rating, RatingHeader
from pytest_tutoreval.records.session import UNTUTORED, Route, Session, SessionHeader
from pytest_tutoreval.records.study import Sampling
from pytest_tutoreval.store import open_corpus, seal_corpus, write_ratings, write_session
from pytest_tutoreval.store.corpus import DATA_FOLDERS, MANIFEST
from pytest_tutoreval.store.validation import first_problem

__all__ = ["SimulatedClock", "simulate_corpus", "simulate_ratings", "simulate_session"]

PRODUCER = f"pytest-tutoreval {__version__}"
PROVIDER = "scripted"

# Any fixed moment will do; a made-up clock must not look like a real one's noise.
_EPOCH = 1767225600.0


class SimulatedClock:
    """Stamps replies with times that grow with what was said: no run of a simulation differs from another."""

    def __init__(self, answer: Agent) -> None:
        self._answer, self._now = answer, _EPOCH

    def __call__(self, request: ModelRequest) -> ModelReply:
        """Return the agent's reply, stamped."""
        reply = self._answer(request)
        started, seconds = self._now, round(0.5 + reply.output_tokens / 64, 3)
        self._now = round(started + seconds, 3)
        return replace(reply, started=started, seconds=seconds)


def simulate_session(
    instrument: Instrument, cast: ScriptedCast, *, base: str, condition: str, replicate: int
) -> Session:
    """Return one finished session played by a scripted cast."""
    study = instrument.study
    tutor = _route(f"scripted-{base}", _tutor_sampling(instrument, base))
    student = _route("scripted-student", study.student.sampling)
    plan = EpisodePlan(instrument, base, condition, replicate, policy_of(instrument, condition), student, tutor)
    routes = {"student": student} if plan.policy is None else {"student": student, "tutor": tutor}
    header = SessionHeader(
        base=base,
        condition=condition,
        replicate=replicate,
        seed=plan.seed,
        provenance="simulated",
        instrument=instrument.sha256,
        policy=instrument.policy_sha256(condition),
        producer=PRODUCER,
        routes=routes,
    )
    return Session(header=header, calls=tuple(collect_calls(plan, SimulatedClock(cast))))


def simulate_ratings(
    instrument: Instrument, session: Session, *, judge: str, rubric: str, answer: Agent
) -> tuple[RatingHeader, Iterable[Rating]]:
    """Return the header and the ratings of a session by a scripted judge."""
    route = _route(f"scripted-{judge}", _judge_sampling(instrument, judge))
    header = RatingHeader(
        judge=judge,
        rubric=rubric,
        rubric_sha256=text_digest(instrument.rubrics[rubric]),
        base=session.header.base,
        condition=session.header.condition,
        replicate=session.header.replicate,
        provenance="simulated",
        instrument=instrument.sha256,
        producer=PRODUCER,
        route=route,
    )
    return header, rate_session(instrument, session, rubric, route, answer)


def simulate_corpus(
    target: Path,
    instrument: Instrument,
    *,
    seed: int,
    scripts: Mapping[str, Script] = SCRIPTS,
    judge_scripts: Mapping[str, JudgeScript] = JUDGE_SCRIPTS,
    replicates: Sequence[int] | None = None,
    replace_existing: bool = False,
    done: Callable[[str], None] = lambda _: None,
) -> CorpusManifest:
    """Write a simulated corpus to `target` and return its manifest.

    Parameters
    ----------
    scripts, judge_scripts : what each base's cast and each judge does, by name
    replicates : replicate numbers; None for all that are registered
    replace_existing : throw away a simulated corpus that is already there; never anything else
    done : called with each base once it is written

    Raises
    ------
    CorpusError
        `target` is not empty, what is there is not simulated, or a name in it cannot be a folder's.
    """
    study = instrument.study
    manifest = _manifest(target, instrument, scripts, judge_scripts, seed)
    _make_room(target, replace_existing)
    numbers = study.registered_replicates() if replicates is None else replicates
    for base, script in scripts.items():
        cast = ScriptedCast(instrument.problems, script, seed=seed)
        for replicate in numbers:
            for condition in study.protocol.condition_order:
                session = simulate_session(instrument, cast, base=base, condition=condition, replicate=replicate)
                write_session(target, session.header, session.calls, sync=_no_sync)
                if condition != UNTUTORED:
                    _rate(target, instrument, session, judge_scripts, seed)
        done(base)
    return seal_corpus(target, manifest)


def _manifest(
    target: Path, instrument: Instrument, scripts: Iterable[str], judge_scripts: Iterable[str], seed: int
) -> CorpusManifest:
    try:
        return CorpusManifest(
            name=target.resolve().name,
            provenance="simulated",
            content="sessions",
            instrument=instrument.sha256,
            study=instrument.study.name,
            producer=PRODUCER,
            bases=tuple(scripts),
            conditions=instrument.study.protocol.condition_order,
            judges=tuple(judge_scripts),
            source=f"tutoreval simulate --seed {seed}",
            notes=("scripted agents played every part: no number here says anything about a real model",),
        )
    except ValidationError as exc:
        raise CorpusError(
            f"{target}: {first_problem(exc)}; names are letters, digits, '.', '_' and '-': choose another"
        ) from exc


def _rate(target: Path, instrument: Instrument, session: Session, judges: Mapping[str, JudgeScript], seed: int) -> None:
    for judge, script in judges.items():
        for rubric in instrument.study.rubrics:
            agent = ScriptedJudge(script, seed=seed)
            header, ratings = simulate_ratings(instrument, session, judge=judge, rubric=rubric, answer=agent)
            write_ratings(target, header, ratings, sync=_no_sync)


def _make_room(target: Path, replace_existing: bool) -> None:
    if target.exists() and not target.is_dir():
        raise CorpusError(f"{target}: a file; give a folder")
    if not target.exists() or not any(target.iterdir()):
        return
    if not replace_existing:
        raise CorpusError(f"{target}: not empty; give a new folder, or --force to replace a simulated corpus")
    if not (target / MANIFEST).is_file() or open_corpus(target).manifest.provenance != "simulated":
        raise CorpusError(f"{target}: not a simulated corpus, so it is not replaced; give a new folder")
    foreign = sorted(path.name for path in target.iterdir() if path.name not in (MANIFEST, *DATA_FOLDERS))
    if foreign:
        raise CorpusError(
            f"{target}: holds {', '.join(foreign)} beside the corpus, so it is not replaced; move it away"
        )
    shutil.rmtree(target)


def _route(model: str, sampling: Sampling) -> Route:
    return Route(provider=PROVIDER, model=model, sampling=sampling)


def _tutor_sampling(instrument: Instrument, base: str) -> Sampling:
    """Return the sampling registered for a base; a base of the user's own gets the primary one's."""
    study = instrument.study
    registered = {entry.id: entry.sampling for entry in study.bases}
    return registered.get(base, registered[study.primary_base])


def _judge_sampling(instrument: Instrument, judge: str) -> Sampling:
    study = instrument.study
    registered = {entry.id: entry.sampling for entry in study.judges}
    return registered.get(judge, registered[study.primary_judge])


def _no_sync(_: int) -> None:
    """A simulation that a crash cut short is simply run again, so no line waits for the disk."""
