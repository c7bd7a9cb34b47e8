"""A tutor and its later versions, simulated: the same again, one that leaks more, one cut short; and baselines."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import make_baseline, write_baseline
from pytest_tutoreval.providers.scripted import SCRIPTS
from pytest_tutoreval.records.baseline import Baseline, BaselineRun
from pytest_tutoreval.simulating import simulate_corpus
from tests.store.corpora import decide, measures_of

__all__ = ["RUN", "Candidates", "a_baseline", "candidates", "simulated"]

CLAIMS = (("P1", None), ("P3", None), ("P2", "opus"))
RUN = BaselineRun(
    id="0" * 32,
    started=datetime(2026, 1, 2, tzinfo=UTC).isoformat(),
    document_sha256="0" * 64,
    versions={"pytest-tutoreval": "0"},
)
# Half its words leak where hardly any did.
LEAKY = {"conv": 0.9, "ped": 0.7}


def simulated(
    target: Path, *, seed: int, base: str = "mytutor", leaky: bool = False, replicates: Sequence[int] | None = None
) -> Path:
    """Return a simulated corpus of one base, judged by opus."""
    script = replace(SCRIPTS["gpt"], leak_rate={**SCRIPTS["gpt"].leak_rate, **(LEAKY if leaky else {})})
    simulate_corpus(target, load_instrument(), seed=seed, scripts={base: script}, replicates=replicates)
    return target


def a_baseline(path: Path, corpus: Path, *, base: str = "mytutor", judges: Sequence[str] = ("opus",)) -> Baseline:
    """Write the baseline of a corpus and return it."""
    verdicts = [decide(corpus, claim, base, judge) for claim, judge in CLAIMS]
    baseline = make_baseline(
        measures_of(corpus), verdicts, bases=[base], judges=judges, price_of=lambda _: None, run=RUN
    )
    write_baseline(baseline, path)
    return baseline


class Candidates:
    """A tutor that was released, and what may come after it; each is simulated once a process."""

    def __init__(self, folder: Path) -> None:
        self.released = simulated(folder / "released", seed=1)
        self.again = simulated(folder / "again", seed=2)
        self.leaky = simulated(folder / "leaky", seed=3, base="newtutor", leaky=True)
        self.baseline = folder / "baseline.json"
        a_baseline(self.baseline, self.released)


@pytest.fixture(scope="session")
def candidates(tmp_path_factory: pytest.TempPathFactory) -> Candidates:
    """A released tutor with its baseline, and later versions."""
    return Candidates(tmp_path_factory.mktemp("candidates"))
