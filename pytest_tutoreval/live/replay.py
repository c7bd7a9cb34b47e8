"""A collected corpus as the network: it answers exactly what it was asked, and nothing else."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

from pytest_tutoreval.errors import ReplayMiss
from pytest_tutoreval.providers.agent import CallSite, ModelReply, ModelRequest
from pytest_tutoreval.providers.desk import Answerer
from pytest_tutoreval.records.call import Call
from pytest_tutoreval.records.rating import Rating
from pytest_tutoreval.records.session import Route, SessionKey
from pytest_tutoreval.store import Corpus, open_corpus, session_path

__all__ = ["replay_answerer"]

_Place = tuple[str, str, str, int | None, str | None]
# Two problems may begin with the same words, so a rating's place is part of what it answers.
_Rated = tuple[str, int | None, str, int | None]


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
        self._asked: dict[tuple[SessionKey, str, _Rated], int] = defaultdict(int)

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
        return _reply_of(call, call.text, request.route)

    def _rated(self, request: ModelRequest, key: SessionKey) -> ModelReply:
        site, rubric = request.site, request.site.rubric or ""
        asked = (site.problem, site.turn, request.digest(), site.repetition)
        rating = self._session_ratings(key, rubric).get(asked)
        if rating is None:
            raise ReplayMiss(
                f"session {key}, {site.problem} turn {site.turn}: no rating of exactly this request "
                f"(rubric {rubric}, repetition {site.repetition}) was recorded"
            )
        tries = (*rating.discarded, rating.raw)
        text = tries[min(self._asked[key, rubric, asked], len(tries) - 1)]
        self._asked[key, rubric, asked] += 1
        return _reply_of(rating, text, request.route)

    def _read_calls(self, key: SessionKey) -> dict[_Place, Call]:
        """Return a session's calls by place. A student's turn is its count on the problem, as its requests say it."""
        calls: dict[_Place, Call] = {}
        spoken: dict[tuple[str, str], int] = defaultdict(int)
        if not (self._corpus.folder / session_path(key)).is_file():
            raise ReplayMiss(f"session {key}: it was not recorded in {self._corpus.folder}")
        for call in self._corpus.session(key).calls:
            turn = call.turn
            if call.role == "student":
                turn = None if call.purpose == "probe" else spoken[call.problem, call.purpose]
                spoken[call.problem, call.purpose] += 1
            calls[call.role, call.problem, call.purpose, turn, call.node] = call
        return calls

    def _read_ratings(self, key: SessionKey, rubric: str) -> dict[_Rated, Rating]:
        found: dict[_Rated, Rating] = {}
        for judge in self._corpus.manifest.judges:
            for rating in self._corpus.ratings(judge, rubric, key) or ():
                found[rating.problem, rating.turn, rating.request, rating.repetition] = rating
        return found


def _reply_of(record: Call | Rating, text: str, route: Route) -> ModelReply:
    """Return the reply a record was made from."""
    facts = {field.name: getattr(record, field.name) for field in fields(ModelReply) if field.name != "text"}
    facts["served_model"] = route.model if record.served_model is None else record.served_model or None
    return ModelReply(text, **facts)


def _place(site: CallSite, role: str) -> _Place:
    return role, site.problem, site.purpose, site.turn, site.node


def _shown(place: _Place) -> str:
    return " ".join(str(part) for part in place[1:] if part is not None)
