"""verdicts.json: the same document however a run was split or ordered, whole or not there at all."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.reporting import FORMAT, RunRecord, build_document, write_document
from tests.store.corpora import a_table_corpus, decide, measures_of

GOLDEN = Path(__file__).parent / "golden"
ORDER = ("P1", "P2", "P3", "J1", "J2")
CONV, PED = [0.5 + i / 16 for i in range(10)], [0.25 + i / 32 for i in range(10)]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return a_table_corpus(tmp_path / "small", [None, *CONV[1:]], PED)


def a_run(folder: Path, *, seed: int = 0) -> RunRecord:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("test_p1[sonnet]", decide(folder, "P1").model_dump(mode="json")),
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


def test_the_document_is_written_whole_in_ascii(small: Path, tmp_path: Path) -> None:
    document = a_document(small) | {"note": "π"}
    path = write_document(document, tmp_path / "new" / "reports")
    assert path == tmp_path / "new" / "reports" / "verdicts.json"
    assert path.read_bytes().isascii()
    assert path.read_bytes().endswith(b"}\n")
    assert json.loads(path.read_bytes()) == document


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_nan_is_refused_and_the_old_document_stays(tmp_path: Path, number: float) -> None:
    write_document({"run": 1}, tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_document({"estimate": number}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.json"]
    assert json.loads((tmp_path / "verdicts.json").read_bytes()) == {"run": 1}


def test_a_document_takes_the_old_ones_place_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_document({"run": 1}, tmp_path)
    seen: list[tuple[Any, Any]] = []
    replace = os.replace

    def watched(source: Path, target: Path) -> None:
        seen.append((json.loads(Path(source).read_bytes()), json.loads(Path(target).read_bytes())))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_document({"run": 2}, tmp_path)
    assert seen == [({"run": 2}, {"run": 1})], "the new one is whole before the old one goes"
    assert [path.name for path in tmp_path.iterdir()] == ["verdicts.json"]
