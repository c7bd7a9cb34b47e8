"""The gate as pytest items: opened once a process, one item a base and guard, a regression an ordinary failure."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.running.items import item_params, place_marks, selected_names, workbench_of
from pytest_tutoreval.running.options import ALL

if TYPE_CHECKING:
    from pytest_tutoreval.gating import Gate
    from pytest_tutoreval.records.claim import Claim
    from pytest_tutoreval.records.gate import GateRow
    from pytest_tutoreval.records.verdict import Verdict
    from pytest_tutoreval.reporting import GateReport, RunRecord

__all__ = [
    "check_gate_options",
    "gate_of",
    "gate_report",
    "guard_row",
    "is_gate_test",
    "parametrize_guards",
    "skipped_row",
    "verdict_gate_row",
    "withstand",
]

_GATE = pytest.StashKey["Gate"]()


def check_gate_options(config: pytest.Config) -> None:
    """Refuse what cannot be meant, and open the gate where one is asked for. Raises pytest.UsageError."""
    gate, update = config.getoption("tutoreval_gate"), config.getoption("tutoreval_baseline_update")
    path = config.getoption("tutoreval_baseline")
    if gate and update:
        raise pytest.UsageError(
            "--gate and --tutoreval-baseline-update exclude each other: a run is held against a baseline or becomes one"
        )
    if (gate or update) and not path:
        option = "--gate" if gate else "--tutoreval-baseline-update"
        way_out = "write one with --tutoreval-baseline-update" if gate else "it says where the baseline is written"
        raise pytest.UsageError(f"{option} needs --tutoreval-baseline FILE; {way_out}")
    if path and not gate and not update:
        raise pytest.UsageError(
            "--tutoreval-baseline does nothing alone: add --gate to read it, --tutoreval-baseline-update to write it"
        )
    if config.getoption("tutoreval_undecided") and not gate:
        raise pytest.UsageError("--tutoreval-undecided is about --gate: add it, and --tutoreval-baseline FILE")
    if gate:
        gate_of(config)


def gate_of(config: pytest.Config) -> "Gate | None":
    """Return the run's gate, None where none was asked for. A baseline that is not comparable is a usage error."""
    if not config.getoption("tutoreval_gate"):
        return None
    if _GATE not in config.stash:
        from pytest_tutoreval.errors import TutorEvalError

        bases, _ = selected_names(config)
        prices = config.getoption("tutoreval_prices")
        try:
            config.stash[_GATE] = workbench_of(config).open_gate(
                Path(config.getoption("tutoreval_baseline")),
                bases,
                undecided=config.getoption("tutoreval_undecided"),
                prices=Path(prices) if prices else None,
            )
        except TutorEvalError as exc:
            raise pytest.UsageError(str(exc)) from exc
    return config.stash[_GATE]


def is_gate_test(obj: object) -> bool:
    """Whether a function is a test of the gate: marked `gate`, and it takes the guarded fixture."""
    marks = getattr(obj, "pytestmark", None)
    if not isinstance(marks, list) or not any(getattr(mark, "name", None) == "gate" for mark in marks):
        return False
    code = getattr(obj, "__code__", None)
    return code is not None and "guarded" in code.co_varnames[: code.co_argcount]


def parametrize_guards(metafunc: pytest.Metafunc) -> None:
    """Parametrise a gate's test over the guards of each base; --judge leaves out items, and no guard of the family."""
    gate = gate_of(metafunc.config)
    bases, _ = selected_names(metafunc.config)
    places = [place for base in bases for place in (gate.places(base) if gate else ())]
    judges = _chosen(metafunc.config, "tutoreval_judge")
    metafunc.parametrize(
        "guarded",
        [
            pytest.param(
                place,
                id=f"{place.base}-{place.id}",
                marks=place_marks(metafunc.config, place.base, place.judge),
            )
            for place in places
            if place.judge is None or judges is None or place.judge in judges
        ],
        indirect=True,
    )


def _chosen(config: pytest.Config, option: str) -> "Sequence[str] | None":
    """Return the names an option chooses; None where it leaves nothing out."""
    names: Sequence[str] | None = config.getoption(option)
    return None if not names or ALL in names else names


def verdict_gate_row(config: pytest.Config, verdict: "Verdict", claim: "Claim") -> "GateRow | None":
    """Return a claim's row in the gate, None where there is no gate."""
    gate = gate_of(config)
    return gate.verdict_row(verdict, claim) if gate else None


def skipped_row(item: pytest.Item, reason: str) -> "GateRow | None":
    """Return the row of a gate item whose test was skipped, or failed as expected; None for any other item."""
    if (gate := gate_of(item.config)) is None:
        return None
    from pytest_tutoreval.gating import GuardPlace

    place = item_params(item).get("guarded")
    if not isinstance(place, GuardPlace):
        return None
    return gate.unread_row(place, f"its test was skipped, and a skip reads nothing: {reason}")


def guard_row(item: Any) -> "GateRow":
    """Return the row of a gate item."""
    gate = gate_of(item.config)
    if gate is None:
        raise pytest.UsageError(f"{item.nodeid}: the guarded fixture needs --gate and --tutoreval-baseline FILE")
    if item.get_closest_marker("gate") is None:
        raise pytest.UsageError(f"{item.nodeid}: the guarded fixture needs a gate marker on its test")
    return workbench_of(item.config).guard_row(gate, item_params(item)["guarded"])


def gate_report(config: pytest.Config, rows: Iterable[Mapping[str, Any]], run: "RunRecord") -> "GateReport | None":
    """Return what the gate came to, verdicts before measures and each in a fixed order; None without a gate.

    A run that left nothing out by choice, and was not cut short, has to have read every guard and, unless it is about
    no claim at all, every verdict of the baseline.
    """
    gate = gate_of(config)
    if gate is None:
        return None
    from pytest_tutoreval.records.gate import GateRow
    from pytest_tutoreval.reporting import GateReport

    found = [GateRow.model_validate(row) for row in rows]
    if run.complete and not run.partial:
        found += gate.missing_rows(
            found,
            bases=_chosen(config, "tutoreval_base"),
            judges=_chosen(config, "tutoreval_judge"),
            reasons={(row.claim, row.base, row.judge): row.reason for row in run.not_evaluated} if run.rows else None,
        )
    bases, judges = selected_names(config)
    order = {
        (place.guard.measure, place.base, place.condition, place.judge): number
        for number, place in enumerate(place for base in bases for place in gate.places(base))
    }

    def rank(row: "GateRow") -> tuple[object, ...]:
        if row.condition is not None:
            return (1, order[row.guard, row.base, row.condition, row.judge])
        return (
            0,
            bases.index(row.base) if row.base in bases else -1,
            row.guard,
            judges.index(row.judge) if row.judge in judges else -1,
        )

    return GateReport(
        settings=gate.settings,
        baseline={
            "path": str(gate.path),
            "sha256": gate.baseline.sha256,
            "corpus": gate.baseline.corpus.name,
            "provenance": gate.baseline.corpus.provenance,
        },
        rows=tuple(sorted(found, key=rank)),
    )


def withstand(row: "GateRow") -> None:
    """Fail the item whose guard fails the run; anything else passes."""
    from pytest_tutoreval.gating import failure_message

    if row.failed:
        raise pytest.fail.Exception(failure_message(row), pytrace=False)
