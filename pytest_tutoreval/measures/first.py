"""A corpus cut to its first replicates: what a claim with a registered n of its own is decided on."""

import sys
from collections.abc import Mapping
from dataclasses import replace

from pytest_tutoreval.measures.corpus import Cell, CellScores, CorpusMeasures
from pytest_tutoreval.store import BaseTables

__all__ = ["FirstReplicates"]


class FirstReplicates(CorpusMeasures):
    """Measures of replicates 0 to n - 1, registered as n; sessions are measured once, in the whole corpus.

    `registered` says of a cell, base and condition, how many replicates are registered by whoever: only those from n on
    are left out of it, and any beyond them stay, as what nobody registered. None leaves all from n on out of all cells.
    """

    def __init__(
        self, whole: CorpusMeasures, n: int, *, registered: Mapping[tuple[str, str], int] | None = None
    ) -> None:
        study = whole.instrument.study
        protocol = study.protocol.model_copy(update={"replicates": n})
        super().__init__(whole.corpus, replace(whole.instrument, study=study.model_copy(update={"protocol": protocol})))
        self.whole, self.n, self._registered = whole, n, registered

    def cell(self, base: str, condition: str) -> Cell:
        """Return a cell without the replicates from n on."""
        key = (base, condition)
        if key not in self._cells:
            self._cells[key] = _without(self.whole.cell(base, condition), self._left_out(base, condition))
        return self._cells[key]

    def whole_cell(self, base: str, condition: str) -> Cell:
        """Return a cell over all visible turns, without the replicates from n on."""
        return _without(self.whole.whole_cell(base, condition), self._left_out(base, condition))

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        """Return a judge's scores of a cell; what is unrated from replicate n on is not missing."""
        scores = super().scores(base, condition, judge, rubric)
        left_out = self._left_out(base, condition)
        scores.turns = {turn: score for turn, score in scores.turns.items() if turn.replicate not in left_out}
        return scores

    def _base_tables(self, base: str, condition: str) -> BaseTables:
        return self.whole._base_tables(base, condition)  # parsed once, however many claims cut them

    def unused(self, base: str, condition: str) -> list[int]:
        """Return the replicates of a cell that are on disk and left out."""
        cell, left_out = self.whole.cell(base, condition), self._left_out(base, condition)
        return sorted(number for number in {*cell.sessions, *cell.broken} if number in left_out)

    def _left_out(self, base: str, condition: str) -> range:
        ends = sys.maxsize if self._registered is None else self._registered.get((base, condition), self.n)
        return range(self.n, ends)


def _without(cell: Cell, left_out: range) -> Cell:
    return Cell(
        sessions={number: row for number, row in cell.sessions.items() if number not in left_out},
        turns={number: turns for number, turns in cell.turns.items() if number not in left_out},
        dialogues={turn: digest for turn, digest in cell.dialogues.items() if turn.replicate not in left_out},
        attempts={number: attempts for number, attempts in cell.attempts.items() if number not in left_out},
        broken={number: reason for number, reason in cell.broken.items() if number not in left_out},
        notes=cell.notes,
    )
