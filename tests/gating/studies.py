"""Independent studies without a disk: replicates simulated by the real protocol, judged, measured and dealt out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_tutoreval.frozen import Instrument, load_instrument
from pytest_tutoreval.gating import Gate, make_baseline
from pytest_tutoreval.measures import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, Script, ScriptedCast, ScriptedJudge
from pytest_tutoreval.records.baseline import Baseline, BaselineRun
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.gate import GateRow, GateSettings, Guard
from pytest_tutoreval.records.rating import Rating
from pytest_tutoreval.records.session import Session, SessionKey
from pytest_tutoreval.records.verdict import Verdict
from pytest_tutoreval.simulating import simulate_ratings, simulate_session
from pytest_tutoreval.store import Corpus

__all__ = [
    "BASE",
    "CONDITION",
    "JUDGE",
    "Pool",
    "baseline_of",
    "deal",
    "gate_rows",
    "measures_of_pool",
    "of_size",
    "simulate_pool",
]

BASE, CONDITION, JUDGE = "mytutor", "conv", "opus"
RUBRIC = "pedagogy"

# So many sessions are held as text at a time.
_BATCH = 50

_RUN = BaselineRun(id="0" * 32, started="2026-01-02T00:00:00+00:00", document_sha256="0" * 64, versions={})
# A baseline is made from a run that decided something; no guard reads what.
_VERDICT = Verdict(
    claim="P1",
    base=BASE,
    judge=None,
    verdict="supported",
    reversed=False,
    role="confirmatory",
    status="registered",
    direction="conv > ped",
)


class _InMemory(Corpus):
    """A corpus of a batch of replicates that nobody wrote down; whoever measures it cannot tell."""

    def __init__(self, instrument: Instrument, cast: ScriptedCast, replicates: Sequence[int], seed: int) -> None:
        super().__init__(Path("simulated in memory"), _manifest(instrument, "sessions"))
        self._instrument, self._seed = instrument, seed
        self._sessions = {
            replicate: simulate_session(instrument, cast, base=BASE, condition=CONDITION, replicate=replicate)
            for replicate in replicates
        }

    def session_keys(self, base: str, condition: str) -> list[SessionKey]:
        return [SessionKey(base, condition, replicate) for replicate in self._sessions]

    def session(self, key: SessionKey) -> Session:
        return self._sessions[key.replicate]

    def ratings(self, judge: str, rubric: str, key: SessionKey) -> list[Rating]:
        agent = ScriptedJudge(JUDGE_SCRIPTS[judge], seed=self._seed)
        _, ratings = simulate_ratings(self._instrument, self.session(key), judge=judge, rubric=rubric, answer=agent)
        return list(ratings)


@dataclass
class Pool:
    """Measured replicates of one tutor, 0 to n - 1: independent and alike, since each draws under a seed of its own."""

    cell: Cell = field(default_factory=Cell)
    scores: CellScores = field(default_factory=CellScores)

    @property
    def n(self) -> int:
        return len(self.cell.sessions)

    def parts(self, k: int) -> "list[Pool]":
        """Return k pools of equal size that share no replicate."""
        size = self.n // k
        return [self.only(range(start, start + size)) for start in range(0, size * k, size)]

    def only(self, replicates: Sequence[int]) -> "Pool":
        """Return a pool of some of the replicates, numbered from 0."""
        part = Pool()
        for new, old in enumerate(replicates):
            row, turns = self.cell.sessions[old], self.cell.turns[old]
            part.cell.sessions[new] = replace(row, key=row.key._replace(replicate=new))
            part.cell.turns[new] = tuple(replace(turn, id=turn.id._replace(replicate=new)) for turn in turns)
            part.cell.attempts[new] = self.cell.attempts[old]
            part.scores.sessions[new] = self.scores.sessions[old]
            for turn in turns:
                part.scores.turns[turn.id._replace(replicate=new)] = self.scores.turns[turn.id]
        return part


def simulate_pool(script: Script, *, seed: int, n: int) -> Pool:
    """Return n replicates of a scripted tutor, measured as any corpus is."""
    instrument, pool = load_instrument(), Pool()
    cast = ScriptedCast(instrument.problems, script, seed=seed)
    for start in range(0, n, _BATCH):
        corpus = _InMemory(instrument, cast, range(start, min(start + _BATCH, n)), seed)
        measures = CorpusMeasures(corpus, instrument)
        cell, scores = measures.cell(BASE, CONDITION), measures.scores(BASE, CONDITION, JUDGE, RUBRIC)
        assert not cell.broken
        assert not scores.missing
        pool.cell.sessions.update(cell.sessions)
        pool.cell.turns.update(cell.turns)
        pool.cell.attempts.update(cell.attempts)
        pool.scores.turns.update(scores.turns)
        pool.scores.sessions.update(scores.sessions)
    return pool


class _PoolMeasures(CorpusMeasures):
    """Measures of a study that consists of all replicates of a pool. Its text is gone, as behind tables."""

    def __init__(self, pool: Pool) -> None:
        instrument = of_size(pool.n)
        super().__init__(Corpus(Path("simulated in memory"), _manifest(instrument, "tables")), instrument)
        self.pool = pool

    def cell(self, base: str, condition: str) -> Cell:
        assert (base, condition) == (BASE, CONDITION)
        return self.pool.cell

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        assert (base, condition, judge, rubric) == (BASE, CONDITION, JUDGE, RUBRIC)
        return self.pool.scores


def measures_of_pool(pool: Pool) -> CorpusMeasures:
    """Return the measures of a study with all replicates of a pool."""
    return _PoolMeasures(pool)


def deal(pool: Pool, n: int) -> Iterator[CorpusMeasures]:
    """Yield studies of n replicates each, as many as a pool holds; no replicate is in two of them."""
    for start in range(0, pool.n - n + 1, n):
        yield _PoolMeasures(pool.only(range(start, start + n)))


def of_size(n: int) -> Instrument:
    """Return the instrument with n replicates registered."""
    instrument = load_instrument()
    protocol = instrument.study.protocol.model_copy(update={"replicates": n})
    return replace(instrument, study=instrument.study.model_copy(update={"protocol": protocol}))


def baseline_of(measures: CorpusMeasures) -> Baseline:
    """Return the baseline of a study, as a run would write it."""
    return make_baseline(measures, [_VERDICT], bases=[BASE], judges=[JUDGE], price_of=lambda _: None, run=_RUN)


def gate_rows(
    baseline: Baseline,
    candidate: CorpusMeasures,
    guards: Sequence[Guard],
    settings: GateSettings,
    *,
    registered: int | None = None,
) -> Mapping[str, GateRow]:
    """Return the rows of a gate by measure. `registered` is the study's n, None for the candidate's."""
    gate = Gate(
        baseline,
        path=Path("baseline.json"),
        instrument=candidate.instrument if registered is None else of_size(registered),
        guards=guards,
        settings=settings,
        bases={BASE: BASE},
        price_of=lambda _: None,
    )
    return {place.guard.measure: gate.measure_row(place, candidate) for place in gate.places(BASE)}


def _manifest(instrument: Instrument, content: str) -> CorpusManifest:
    return CorpusManifest.model_validate(
        {
            "name": "memory",
            "provenance": "simulated",
            "content": content,
            "instrument": instrument.sha256,
            "study": instrument.study.name,
            "producer": "tests",
            "bases": (BASE,),
            "conditions": (CONDITION,),
            "judges": (JUDGE,),
        }
    )
