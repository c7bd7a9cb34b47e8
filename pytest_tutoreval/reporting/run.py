"""One run, gathered item by item: what was selected, what finished, what was decided."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_tutoreval.records.verdict import NotEvaluated, Verdict

__all__ = ["ClaimRow", "RunRecord"]

ClaimRow = Verdict | NotEvaluated


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
    deselected: int = 0
    last_failed: bool = False
    interrupted: bool = False

    def select(self, nodeids: Iterable[str]) -> None:
        """Note the items that are to run."""
        self.selected.update(nodeids)

    def add_row(self, nodeid: str, payload: dict[str, Any]) -> None:
        """Note what a claim item came to: a verdict, or the reason why there is none.

        A reason wins over a verdict: a test that failed after its claim was decided has decided nothing.
        """
        row: ClaimRow
        row = NotEvaluated.model_validate(payload) if "reason" in payload else Verdict.model_validate(payload)
        if nodeid not in self.rows or isinstance(row, NotEvaluated):
            self.rows[nodeid] = row

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
    def not_evaluated(self) -> list[NotEvaluated]:
        """The claims that could not be."""
        return [row for row in self.rows.values() if isinstance(row, NotEvaluated)]
