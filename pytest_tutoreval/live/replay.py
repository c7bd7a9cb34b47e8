"""A collected corpus as the network: it answers exactly what it was asked, and nothing else."""

from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from pytest_tutoreval.errors import ReplayMiss
from pytest_tutoreval.providers.agent import CallSite, ModelReply, ModelRequest
from pytest_tutoreval.providers.desk import Answerer
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.rating import Rating
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.store import Corpus, open_corpus

__all__ = ["replay_answerer"]

_Place = tuple[str, str, str, int | None, str | None]


def replay_answerer(folder: Path, instrument: str) -> Callable[[Route], Answerer]:
    """Return what opens any route on a recorded corpus. Raises CorpusError or ForeignInstrument."""
    replay = _Replay(open_corpus(folder, instrument=instrument))
    return lambda _route: replay


class _Replay:
    """Finds the recorded call at a request's place, and answers with it if it was asked the same, byte for byte."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._session_calls = lru_cache(maxsize=512)(self._read_calls)
        self._session_ratings = lru_cache(maxsize=512)(self._read_ratings)
        self._asked: dict[tuple[str, int | None], int] = defaultdict(int)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply.

        Raises
        ------
        ReplayMiss
            Nothing was recorded there, or something else was asked.
        """
        key = SessionKey(request.site.base, request.site.condition, request.site.replicate)
        if request.role == "judge":
            return self._rated(request, key)
        calls = self._session_calls(key)
        place = _place(request.site, request.role)
        call = calls.get(place)
        if call is None:
            raise ReplayMiss(f"session {key}: no call of the {request.role} was recorded at {_shown(place)}")
        if call.request != request.digest():
            raise ReplayMiss(f"session {key}: call {call.seq} was asked otherwise when it was recorded")
        return ModelReply(
            text=call.text,
            finish=call.finish,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            reasoning_tokens=call.reasoning_tokens,
            cached_tokens=call.cached_tokens,
            served_model=call.served_model,
            served_provider=call.served_provider,
            request_id=call.request_id,
            failures=call.failures,
            started=call.started,
            seconds=call.seconds,
        )

    def _rated(self, request: ModelRequest, key: SessionKey) -> ModelReply:
        asked = (request.digest(), request.site.repetition)
        rating = self._session_ratings(key, request.site.rubric or "").get(asked)
        if rating is None:
            raise ReplayMiss(
                f"session {key}, {request.site.problem} turn {request.site.turn}: no rating of exactly this request "
                f"(rubric {request.site.rubric}, repetition {request.site.repetition}) was recorded"
            )
        tries = (*rating.discarded, rating.raw)
        text = tries[min(self._asked[asked], len(tries) - 1)]
        self._asked[asked] += 1
        return ModelReply(
            text=text,
            finish=rating.finish,
            input_tokens=rating.input_tokens,
            output_tokens=rating.output_tokens,
            reasoning_tokens=rating.reasoning_tokens,
            cached_tokens=rating.cached_tokens,
            served_model=rating.served_model,
            served_provider=rating.served_provider,
            request_id=rating.request_id,
            failures=rating.failures,
            started=rating.started,
            seconds=rating.seconds,
        )

    def _read_calls(self, key: SessionKey) -> dict[_Place, Call]:
        """Return a session's calls by place. A student's turn is its count on the problem, as its requests say it."""
        calls: dict[_Place, Call] = {}
        spoken: dict[tuple[str, str], int] = defaultdict(int)
        for call in self._corpus.session(key).calls:
            turn = call.turn
            if call.role == "student":
                turn = None if call.purpose == "probe" else spoken[call.problem, call.purpose]
                spoken[call.problem, call.purpose] += 1
            calls[call.role, call.problem, call.purpose, turn, call.node] = call
        return calls

    def _read_ratings(self, key: SessionKey, rubric: str) -> dict[tuple[str, int | None], Rating]:
        found: dict[tuple[str, int | None], Rating] = {}
        for judge in self._corpus.manifest.judges:
            for rating in self._corpus.ratings(judge, rubric, key) or ():
                found[rating.request, rating.repetition] = rating
        return found


def _place(site: CallSite, role: str) -> _Place:
    return role, site.problem, site.purpose, site.turn, site.node


def _shown(place: _Place) -> str:
    return " ".join(str(part) for part in place[1:] if part is not None)
