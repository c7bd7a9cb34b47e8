"""One run, gathered item by item: what was selected, what finished, what was decided."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_tutoreval.records.analysis import AnalysisRow, NotAnalysed
from pytest_tutoreval.records.verdict import NotEvaluated, Verdict

__all__ = ["AnalysisOutcome", "ClaimRow", "RunRecord"]

ClaimRow = Verdict | NotEvaluated
AnalysisOutcome = tuple[AnalysisRow, ...] | NotAnalysed


@dataclass
class RunRecord:
    """What the controller saw. Rows come in any order, from any worker; the document does not depend on it.

    `selected` holds the node ids that were to run, `finished` those that ran to their end. A run is complete when every
    selected item has finished: an exit code does not tell (a lost worker can look like an ordinary failure).
    `last_failed` is a run under --lf, which leaves items out before they are collected, so that nobody can count them.
    """

    selected: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    rows: dict[str, ClaimRow] = field(default_factory=dict)
    analysed: dict[str, AnalysisOutcome] = field(default_factory=dict)
    deselected: int = 0
    last_failed: bool = False
    interrupted: bool = False

    def select(self, nodeids: Iterable[str]) -> None:
        """Note the items that are to run."""
        self.selected.update(nodeids)

    def add_row(self, nodeid: str, payload: dict[str, Any]) -> None:
        """Note what an item came to: a verdict or an analysis, or the reason why there is none.

        A reason wins: a test that failed after its claim was decided has decided nothing.
        """
        if "analysis" in payload:
            self._add_analysis(nodeid, payload)
            return
        row: ClaimRow
        row = NotEvaluated.model_validate(payload) if "reason" in payload else Verdict.model_validate(payload)
        if nodeid not in self.rows or isinstance(row, NotEvaluated):
            self.rows[nodeid] = row

    def _add_analysis(self, nodeid: str, payload: dict[str, Any]) -> None:
        if "reason" in payload:
            self.analysed[nodeid] = NotAnalysed.model_validate(payload)
        elif nodeid not in self.analysed:
            self.analysed[nodeid] = tuple(AnalysisRow.model_validate(row) for row in payload["rows"])

    @property
    def unfinished(self) -> list[str]:
        """Selected items that did not run to their end."""
        return sorted(self.selected - self.finished)

    @property
    def complete(self) -> bool:
        """Whether everything that was selected ran to its end."""
        return not self.unfinished and not self.interrupted

    @property
    def partial(self) -> bool:
        """Whether something that could have been selected was left out."""
        return self.deselected > 0 or self.last_failed

    @property
    def verdicts(self) -> list[Verdict]:
        """The claims that were decided."""
        return [row for row in self.rows.values() if isinstance(row, Verdict)]

    @property
    def analysis_rows(self) -> list[AnalysisRow]:
        """The rows of the analyses that were run."""
        return [row for rows in self.analysed.values() if not isinstance(rows, NotAnalysed) for row in rows]

    @property
    def not_analysed(self) -> list[NotAnalysed]:
        """The analyses that could not be."""
        return [outcome for outcome in self.analysed.values() if isinstance(outcome, NotAnalysed)]

    @property
    def not_evaluated(self) -> list[NotEvaluated]:
        """The claims that could not be."""
        return [row for row in self.rows.values() if isinstance(row, NotEvaluated)]
