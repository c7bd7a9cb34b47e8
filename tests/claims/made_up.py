"""Measures made up to order, without a disk: what hypothesis can draw many of."""

from collections.abc import Mapping, Sequence
from functools import cache

from pytest_tutoreval.measures import Cell, CorpusMeasures
from pytest_tutoreval.records import SessionKey, SessionRow
from pytest_tutoreval.store import Corpus, open_corpus
from tests.analyses.building import a_small_instrument
from tests.store.corpora import DEMO

__all__ = ["MadeUp", "a_row"]

_COUNTS = (
    "n_tutor_turns",
    "n_student_turns",
    "visible_tutor_turns",
    "student_turns",
    "n_calls",
    "tutor_tokens",
    "student_tokens",
    "input_tokens",
    "output_tokens",
)


@cache
def _some_corpus() -> Corpus:
    return open_corpus(DEMO)


def a_row(base: str, condition: str, replicate: int, leakage: float | None) -> SessionRow:
    """A session that has just this leakage."""
    return SessionRow(
        key=SessionKey(base, condition, replicate),
        seed=replicate,
        leakage=leakage,
        independence=None,
        accuracy_immediate=None,
        accuracy_delayed=None,
        accuracy_transfer=None,
        **dict.fromkeys(_COUNTS, 1),
    )


class MadeUp(CorpusMeasures):
    """Cells of sessions that have just these leakages, `replicates` of them registered; 100 bootstrap draws."""

    def __init__(
        self, leakage: Mapping[tuple[str, str], Sequence[float | None]], *, replicates: int | None = None
    ) -> None:
        n = replicates or len(next(iter(leakage.values())))
        super().__init__(_some_corpus(), a_small_instrument(n, draws=100))
        self._given = leakage

    def cell(self, base: str, condition: str) -> Cell:
        """Return a cell as it was given, empty where it was not."""
        values = enumerate(self._given.get((base, condition), ()))
        return Cell(sessions={number: a_row(base, condition, number, value) for number, value in values})
