"""One run, gathered item by item: what was selected, what finished, what was decided."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_tutoreval.records.analysis import AnalysisRow, NotAnalysed
from pytest_tutoreval.records.claim import Claim, claim_adapter
from pytest_tutoreval.records.gate import GateRow, GateSettings
from pytest_tutoreval.records.verdict import NotEvaluated, Verdict

__all__ = ["AnalysisOutcome", "ClaimRow", "GateReport", "RunRecord"]

ClaimRow = Verdict | NotEvaluated
AnalysisOutcome = tuple[AnalysisRow, ...] | NotAnalysed


@dataclass(frozen=True)
class GateReport:
    """A gate that was read: its settings, the baseline it was read against, and a row a guard.

    `baseline` says which: its `path` and `sha256`, and the `corpus` and `provenance` it was written from.
    """

    settings: GateSettings
    baseline: Mapping[str, str]
    rows: tuple[GateRow, ...]

    @property
    def failed(self) -> int:
        """Guards that fail the run: regressed ones, and undecided ones where the settings say so."""
        return sum(row.failed for row in self.rows)


@dataclass
class RunRecord:
    """What the controller saw. Rows come in any order, from any worker; the document does not depend on it.

    `selected` holds the node ids that were to run, `finished` those that ran to their end. A run is complete when every
    selected item has finished: an exit code does not tell (a lost worker can look like an ordinary failure).
    `last_failed` is a run under --lf that left out items before they were collected, so that nobody can count them.
    So is a run of `named_tests`, which were all that it was to collect.
    `stopped` says what ended a run before its end, `lost_workers` how many died. `registered` holds each claim that a
    row is about. `gate` is None where none was asked for.
    """

    selected: set[str] = field(default_factory=set)
    finished: set[str] = field(default_factory=set)
    rows: dict[str, ClaimRow] = field(default_factory=dict)
    analysed: dict[str, AnalysisOutcome] = field(default_factory=dict)
    registered: set[Claim] = field(default_factory=set)
    deselected: int = 0
    last_failed: bool = False
    named_tests: bool = False
    interrupted: bool = False
    stopped: str | None = None
    lost_workers: int = 0
    gate: GateReport | None = None

    def select(self, nodeids: Iterable[str]) -> None:
        """Note the items that are to run."""
        self.selected.update(nodeids)

    def add_row(self, nodeid: str, payload: Mapping[str, Any]) -> None:
        """Note what an item came to: a verdict or an analysis, or the reason why there is none.

        A reason wins: a test that failed after its claim was decided has decided nothing. A claim's row brings its
        registration along.
        """
        fields = dict(payload)
        if "analysis" in fields:
            self._add_analysis(nodeid, fields)
            return
        if (registration := fields.pop("registration", None)) is not None:
            self.registered.add(claim_adapter.validate_python(registration))
        row: ClaimRow
        row = NotEvaluated.model_validate(fields) if "reason" in fields else Verdict.model_validate(fields)
        if nodeid not in self.rows or isinstance(row, NotEvaluated):
            self.rows[nodeid] = row

    def _add_analysis(self, nodeid: str, fields: dict[str, Any]) -> None:
        if "reason" in fields:
            self.analysed[nodeid] = NotAnalysed.model_validate(fields)
        elif nodeid not in self.analysed:
            self.analysed[nodeid] = tuple(AnalysisRow.model_validate(row) for row in fields["rows"])

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
        return self.deselected > 0 or self.last_failed or self.named_tests

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
