"""What live runs were billed, summed over the ledgers they left: nothing imputed, nothing unreadable passed over."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.live.ledger import Ledger
from pytest_tutoreval.providers.money import Spending
from pytest_tutoreval.records.attempt import FailedAttempt
from pytest_tutoreval.reporting import RunRecord, build_document, claims_section
from pytest_tutoreval.store import Metered, metered_cost
from tests.store.corpora import a_table_corpus, decide, measures_of

OPUS = Spending(calls=10, failed_attempts=2, input_tokens=1000, output_tokens=100, dollars=0.5)
LLAMA = Spending(calls=5, failed_attempts=1, input_tokens=300, output_tokens=30, dollars=0.25)
STARTED = 1_780_000_000.0


def a_ledger(
    folder: Path, spending: dict[str, Spending] | None = None, *, number: int = 0, closed: bool = True
) -> Path:
    """Leave a run's ledger, with a failed call before its last line."""
    ledger = Ledger(folder, STARTED + number)
    ledger.failed("sonnet/conv/r0/train-1/tutor", (FailedAttempt(kind="timeout"),), 'said "spending" and stopped')
    if closed:
        ledger.close({"seconds": 1.0, "stopped": False}, spending=spending or {})
    return sorted((folder / "runs").glob("*.jsonl"))[-1]


def test_nothing_was_metered_where_no_run_was() -> None:
    assert metered_cost(Path("nowhere")) == Metered() == Metered(runs=0, dollars=None)


def test_routes_of_a_run_are_summed(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": OPUS, "llama": LLAMA})
    assert metered_cost(tmp_path) == Metered(
        runs=1, calls=15, failed_attempts=3, input_tokens=1300, output_tokens=130, dollars=0.75
    )


def test_runs_are_summed(tmp_path: Path) -> None:
    for number in range(3):
        a_ledger(tmp_path, {"opus": OPUS}, number=number)
    assert len(list((tmp_path / "runs").iterdir())) == 3
    assert metered_cost(tmp_path) == Metered(
        runs=3, calls=30, failed_attempts=6, input_tokens=3000, output_tokens=300, dollars=1.5
    )


def test_two_runs_of_one_process_in_one_second_are_two(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": OPUS})
    a_ledger(tmp_path, {"llama": LLAMA})
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert (metered_cost(tmp_path).runs, metered_cost(tmp_path).dollars) == (2, 0.75)


def test_an_unknown_price_in_any_run_leaves_the_sum_unknown(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": OPUS})
    a_ledger(tmp_path, {"llama": replace(LLAMA, dollars=None)}, number=1)
    assert metered_cost(tmp_path) == Metered(
        runs=2, calls=15, failed_attempts=3, input_tokens=1300, output_tokens=130, dollars=None
    )


def test_a_run_that_cost_nothing_cost_zero_dollars(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": replace(OPUS, dollars=0.0)})
    assert metered_cost(tmp_path).dollars == 0.0


def test_a_run_that_asked_nothing_adds_nothing(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": OPUS})
    a_ledger(tmp_path, number=1)
    assert metered_cost(tmp_path) == replace(metered_cost(tmp_path), runs=2, calls=10, dollars=0.5)


# killed runs


def test_a_killed_run_s_ledger_has_no_last_line_and_is_no_error(tmp_path: Path) -> None:
    a_ledger(tmp_path, closed=False)
    assert metered_cost(tmp_path) == Metered()
    a_ledger(tmp_path, {"opus": OPUS}, number=1)
    assert (metered_cost(tmp_path).runs, metered_cost(tmp_path).calls) == (1, 10)


@pytest.mark.parametrize("left", [1, 30, 100, -1])
def test_a_last_line_torn_by_a_kill_or_a_full_disk_is_not_in_the_sum(tmp_path: Path, left: int) -> None:
    path = a_ledger(tmp_path, {"opus": OPUS})
    first, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + last[:left])
    assert metered_cost(tmp_path) == Metered()


def test_an_empty_ledger_is_no_error(tmp_path: Path) -> None:
    a_ledger(tmp_path).write_bytes(b"")
    assert metered_cost(tmp_path) == Metered()


def test_other_files_of_a_run_are_left_alone(tmp_path: Path) -> None:
    a_ledger(tmp_path, {"opus": OPUS})
    (tmp_path / "runs" / "unfinished.json").write_text('{"spending": ', encoding="utf-8")
    assert metered_cost(tmp_path).runs == 1


def test_a_ledger_that_cannot_be_written_hides_no_other_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be", encoding="utf-8")
    ledger = Ledger(tmp_path, STARTED)
    ledger.failed("sonnet/conv/r0/train-1/tutor", (), "the disk is full")
    ledger.close({}, spending={"opus": OPUS})
    assert metered_cost(tmp_path) == Metered()


# what cannot be read


def billed(**changes: Any) -> bytes:
    return json.dumps({"spending": {"opus": asdict(OPUS) | changes}}).encode() + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'{"spending": {"opus"\n', id="torn-in-the-middle"),
        pytest.param(b'"spending"\n', id="not-an-object"),
        pytest.param(b'{"spending": 3}\n', id="a-number"),
        pytest.param(b'{"spending": {"opus": 3}}\n', id="a-number-for-a-route"),
        pytest.param(b'{"spending": {"opus": {}}}\n', id="no-fields"),
        pytest.param(b'{"a": "spending", "b": {"spending": 1}}\n', id="elsewhere"),
        pytest.param(billed(calls="many"), id="calls-in-words"),
        pytest.param(billed(dollars="1.5 or so"), id="dollars-in-words"),
        pytest.param(billed(dollars=float("nan")), id="nan"),
        pytest.param(billed(dollars=float("inf")), id="infinite"),
        pytest.param(billed(surprise=1), id="an-unknown-field"),
        pytest.param(b"\xff\xfe\n", id="not-utf-8"),
    ],
)
def test_a_ledger_that_cannot_be_read_is_refused_and_named(tmp_path: Path, data: bytes) -> None:
    path = a_ledger(tmp_path, {"opus": OPUS})
    path.write_bytes(data + path.read_bytes())
    with pytest.raises(CorpusError, match=rf"{path.name}: a ledger that cannot be read .*; move it away"):
        metered_cost(tmp_path)


def test_a_folder_where_a_ledger_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs" / "x.jsonl").mkdir(parents=True)
    with pytest.raises(CorpusError, match=r"x\.jsonl: a ledger that cannot be read"):
        metered_cost(tmp_path)


# the document and the terminal agree


def reported(folder: Path) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the cost in the document of a run, and the terminal's lines that speak of it."""
    run = RunRecord()
    run.select(["test_p1[sonnet]"])
    run.add_row("test_p1[sonnet]", decide(folder, "P1").model_dump(mode="json"))
    run.finished.add("test_p1[sonnet]")
    document = build_document(
        run,
        measures_of(folder),
        claim_order=["P1"],
        analysis_order=[],
        bases=["sonnet"],
        judges=["opus"],
        facts={"started": 1.0},
    )
    lines = [line.text for line in claims_section(document, path="verdicts.json") if line.text.startswith("cost")]
    return document["cost"], lines


@pytest.mark.parametrize(
    ("ledgers", "line"),
    [
        pytest.param([], "cost: not metered, nothing here was collected live", id="not-metered"),
        pytest.param(
            [{"opus": OPUS}, {"llama": LLAMA}],
            "cost: 0.75 dollars, 15 calls, 1300 + 130 tokens, 3 failed attempts",
            id="two-runs",
        ),
        pytest.param(
            [{"opus": OPUS, "llama": replace(LLAMA, dollars=None)}],
            "cost: price unknown, 15 calls, 1300 + 130 tokens, 3 failed attempts",
            id="unknown-price",
        ),
    ],
)
def test_the_document_and_the_terminal_say_the_same_cost(
    tmp_path: Path, ledgers: list[dict[str, Spending]], line: str
) -> None:
    folder = a_table_corpus(tmp_path / "small", [0.5 + i / 16 for i in range(10)], [0.25 + i / 32 for i in range(10)])
    for number, spending in enumerate(ledgers):
        a_ledger(folder, spending, number=number)
    cost, lines = reported(folder)
    assert cost == asdict(metered_cost(folder))
    assert lines == [line]
