"""The document of a run: the same however the run was split or ordered."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.claims.wording import rule_in_words
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records.gate import GateRow, GateSettings
from pytest_tutoreval.reporting import FORMAT, GateReport, RunRecord, build_document
from tests.reporting.documents import a_guard
from tests.store.corpora import a_table_corpus, decide, measures_of

GOLDEN = Path(__file__).parent / "golden"
ORDER = ("P1", "P2", "P3", "J1", "J2")
P1 = bundled_claims()["P1"].model_dump(mode="json")
REASON = {"base": "sonnet", "judge": None, "reason": "no sessions"}
CONV, PED = [0.5 + i / 16 for i in range(10)], [0.25 + i / 32 for i in range(10)]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return a_table_corpus(tmp_path / "small", [None, *CONV[1:]], PED)


def a_run(folder: Path, *, seed: int = 0) -> RunRecord:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("test_p1[sonnet]", decide(folder, "P1").model_dump(mode="json") | {"registration": P1}),
        ("test_p3[sonnet]", {"claim": "P3", "base": "sonnet", "judge": None, "reason": "defined in 0 of 10 pairs"}),
        ("test_x1[sonnet]", {"claim": "X1", "base": "sonnet", "judge": None, "reason": "a claim of the user's own"}),
        ("test_j1[sonnet-opus]", {"claim": "J1", "base": "sonnet", "judge": "opus", "reason": "member P3"}),
    ]
    run = RunRecord()
    for nodeid, payload in random.Random(seed).sample(rows, len(rows)):
        run.select([nodeid])
        run.add_row(nodeid, payload)
        run.finished.add(nodeid)
    return run


def a_document(folder: Path, **run: Any) -> dict[str, Any]:
    return build_document(
        a_run(folder, **run),
        measures_of(folder),
        analysis_order=[],
        claim_order=ORDER,
        bases=["sonnet"],
        judges=["opus"],
        facts={"started": 1.0, "seconds": 2.0},
    )


def test_a_small_document_is_as_it_always_was(small: Path) -> None:
    document = a_document(small)
    libraries = ["numpy", "pydantic", "pytest", "pytest-tutoreval", "pytest-xdist", "python"]
    assert sorted(document["run"].pop("versions")) == libraries
    assert document["run"].pop("corpus_folder") == str(small)
    assert document["study"].pop("instrument_sha256") == load_instrument().sha256
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    path = GOLDEN / "small.json"
    if os.environ.get("TUTOREVAL_WRITE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_document_does_not_depend_on_the_order_rows_came_in(small: Path, seed: int) -> None:
    assert a_document(small, seed=seed) == a_document(small)


def test_rows_stand_in_registered_order_and_a_users_own_last(small: Path) -> None:
    document = a_document(small)
    assert [row["claim"] for row in document["not_evaluable"]] == ["P3", "J1", "X1"]
    assert document["format"] == FORMAT == "tutoreval-verdicts/1"


def test_counts_are_those_of_the_rows(small: Path) -> None:
    run = a_document(small)["run"]
    assert (run["selected"], run["evaluated"], run["not_evaluable"]) == (4, 1, 3)
    assert (run["complete"], run["partial"], run["unfinished"]) == (True, False, [])


def test_what_is_undefined_is_null(small: Path) -> None:
    (claim,) = a_document(small)["claims"]
    assert claim["se"] is None
    assert claim["n_dropped"] == 1
    assert "leakage undefined in conv/r0: pair dropped" in claim["notes"]


# registrations and the gate


def registered(folder: Path, *claims: str) -> RunRecord:
    run = a_run(folder)
    for number, claim in enumerate(bundled_claims()[name] for name in claims):
        row = {"claim": claim.id, "base": "gpt", "judge": None, "reason": "no sessions"}
        run.add_row(f"{number}", row | {"registration": claim.model_dump(mode="json")})
    return run


def built(folder: Path, run: RunRecord) -> dict[str, Any]:
    return build_document(
        run, measures_of(folder), analysis_order=[], claim_order=ORDER, bases=["sonnet"], judges=["opus"], facts={}
    )


def test_a_claims_registration_comes_with_its_rows_once_and_in_order(small: Path) -> None:
    document = built(small, registered(small, "P3", "P1", "P3"))
    assert [entry["claim"] for entry in document["registrations"]] == ["P1", "P3"]
    claim, entry = bundled_claims()["P1"], document["registrations"][0]
    assert entry == {
        "claim": "P1",
        "rule": rule_in_words(claim, load_instrument().study.inference),
        **{
            name: getattr(claim, name) for name in ("title", "form", "kind", "measure", "judge_bound", "role", "status")
        },
        "arms": ["conv", "ped"],
        "evidence_visible": "calibration only",
    }


def test_two_claim_files_of_one_id_are_two_registrations(small: Path) -> None:
    run = registered(small, "P1")
    other = bundled_claims()["P1"].model_copy(update={"measure": "independence"})
    run.add_row("z", {**REASON, "claim": "P1", "registration": other.model_dump(mode="json")})
    rules = [entry["rule"] for entry in built(small, run)["registrations"]]
    assert len(rules) == 2
    assert rules == sorted(rules)


def test_a_row_keeps_no_registration(small: Path) -> None:
    rows = built(small, registered(small, "P2"))["not_evaluable"]
    assert not any("registration" in row for row in rows)


def test_no_gate_is_null_and_a_gate_is_written_with_its_failures_counted(small: Path) -> None:
    run = a_run(small)
    assert built(small, run)["gate"] is None
    rows = tuple(GateRow.model_validate(row) for row in a_guard_of_each_outcome())
    baseline = {"path": "b.json", "sha256": "b" * 64, "corpus": "before", "provenance": "simulated"}
    run.gate = GateReport(GateSettings(undecided="warn"), baseline, rows)
    gate = built(small, run)["gate"]
    assert (gate["failed"], gate["settings"]["undecided"], gate["baseline"]) == (1, "warn", baseline)
    assert [row["outcome"] for row in gate["rows"]] == ["regressed", "not_decided", "held"]


def a_guard_of_each_outcome() -> list[dict[str, Any]]:
    return [a_guard(), *(a_guard(outcome=outcome, failed=False) for outcome in ("not_decided", "held"))]


def test_the_run_says_where_its_corpus_was_and_what_became_of_it(small: Path) -> None:
    run = a_run(small)
    run.stopped, run.interrupted, run.lost_workers, run.last_failed = "stopping after 1 failures", True, 2, True
    said = built(small, run)["run"]
    assert said["corpus_folder"] == str(small)
    assert (said["stopped"], said["interrupted"], said["lost_workers"]) == ("stopping after 1 failures", True, 2)
    assert (said["last_failed"], said["partial"], said["complete"]) == (True, True, False)
