"""The opt-in model check of independence labels: it logs disagreements, overrides nothing (definitions, section 7)."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_tutoreval.detectors import attempts_step, widest_object
from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.providers.agent import CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.records.session import Route, Session, SessionKey
from pytest_tutoreval.records.verification import Verification
from pytest_tutoreval.store.corpus import LOCKS
from pytest_tutoreval.store.growing import GrowingFile
from pytest_tutoreval.transcript import StudentTurn, answer_window, read_transcript

__all__ = ["Verified", "read_opinion", "verification_requests", "verify_session", "verify_sessions"]

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]

_BARE = re.compile(r"\b(true|yes|false|no)\b", re.IGNORECASE)


@dataclass
class Verified:
    """What a pass came to. `disagreements` name session, problem and position; the rule's label stands in all."""

    given: int = 0
    found: int = 0
    unreadable: int = 0
    disagreements: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def read_opinion(reply: str) -> bool | None:
    """Return the `attempted` field of a reply, else its first bare true, false, yes or no, else None."""
    stated = (widest_object(reply) or {}).get("attempted")
    if isinstance(stated, bool):
        return stated
    bare = _BARE.search(reply)
    return None if bare is None else bare[1].lower() in ("true", "yes")


def verification_requests(
    instrument: Instrument, session: Session, route: Route
) -> Iterator[tuple[ModelRequest, StudentTurn]]:
    """Yield the request for every in-window student turn: the rubric, and the turn with the schema alone."""
    header = session.header
    schema = instrument.rubrics["independence_verification_schema"]
    for problem, exchange in read_transcript(session).exchanges.items():
        for turn in answer_window(exchange).student:
            text = instrument.wording["verification_request"].format(turn=turn.text, schema=schema)
            site = CallSite(header.base, header.condition, header.replicate, problem, "verification", turn=turn.seq)
            request = ModelRequest(
                role="judge",
                site=site,
                system=instrument.rubrics["independence_verification"],
                messages=(Message("user", text),),
                route=route,
            )
            yield request, turn


async def verify_session(
    instrument: Instrument,
    session: Session,
    folder: Path,
    judge: str,
    route: Route,
    ask: Ask,
    *,
    sync: Callable[[int], None] = os.fsync,
) -> Verified:
    """Ask about each turn that has no opinion on disk yet, keep each as it comes, and return what came of it."""
    key, verified = session.key, Verified()
    path = folder / "verification" / judge / key.base / key.condition / f"r{key.replicate}.jsonl"
    head = {"format": "tutoreval-verification/1", "judge": judge, "session": str(key), "instrument": instrument.sha256}
    with GrowingFile(path, locks=folder / LOCKS, header=head, sync=sync) as file:
        kept = [Verification.model_validate(fields) for fields in file.lines]
        known = {(opinion.seq, opinion.request) for opinion in kept}
        verified.found = len(kept)

        async def give(request: ModelRequest, turn: StudentTurn) -> None:
            try:
                opinion = _opinion(request, turn, await ask(request))
                file.append(opinion.compact())
            except TutorEvalError as exc:
                verified.failures.append(str(exc))
            else:
                kept.append(opinion)
                verified.given += 1

        async with asyncio.TaskGroup() as group:
            for request, turn in verification_requests(instrument, session, route):
                if (turn.seq, request.digest()) not in known:
                    group.create_task(give(request, turn))
    for opinion in kept:
        verified.unreadable += opinion.attempted is None
        if opinion.attempted is not None and opinion.attempted != opinion.rule:
            verified.disagreements.append(
                f"{key} {opinion.problem} call {opinion.seq}: rule {opinion.rule}, model {opinion.attempted}"
            )
    return verified


def _opinion(request: ModelRequest, turn: StudentTurn, reply: ModelReply) -> Verification:
    return Verification(
        problem=request.site.problem,
        seq=turn.seq,
        request=request.digest(),
        raw=reply.text,
        attempted=read_opinion(reply.text),
        rule=attempts_step(turn.text),
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )


async def verify_sessions(
    instrument: Instrument,
    keys: Iterable[SessionKey],
    read_session: Callable[[SessionKey], Session],
    folder: Path,
    judge: str,
    route: Route,
    ask: Ask,
) -> Verified:
    """Verify session after session, the turns of each side by side, and return all of it together."""
    total = Verified()
    for key in keys:
        try:
            one = await verify_session(instrument, read_session(key), folder, judge, route, ask)
        except TutorEvalError as exc:
            total.failures.append(str(exc))
            continue
        total.given += one.given
        total.found += one.found
        total.unreadable += one.unreadable
        total.disagreements += one.disagreements
        total.failures += one.failures
    return total
