"""Tables 1 to 6: of the released tables the printed numbers, of the bundled corpus a golden file."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.study import Base
from pytest_tutoreval.reporting.tables import ABSENT, Cell, Table
from pytest_tutoreval.reporting.tables_instrument import status_table
from pytest_tutoreval.reporting.tables_results import gaps_table, verdicts_table
from pytest_tutoreval.reporting.tables_source import StudyResults
from pytest_tutoreval.reporting.tables_study import study_tables
from pytest_tutoreval.reporting.tables_writing import csv_text, markdown_text
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.store import open_corpus

GOLDEN = Path(__file__).parent / "golden"
DEMO = data_folder("fixtures") / "demo"
PUBLISHED = {
    entry["id"]: entry
    for entry in json.loads((data_folder("reports/reference") / "published.json").read_text(encoding="utf-8"))[
        "entries"
    ]
}


def tables_of(folder: Path) -> Mapping[str, Table]:
    return {table.number: table for table in study_tables(CorpusMeasures(open_corpus(folder), load_instrument()))}


def rows_of(table: Table) -> list[dict[str, Cell]]:
    return [dict(zip((column.key for column in table.columns), row, strict=True)) for row in table.rows]


@pytest.fixture(scope="module")
def study(released: Path) -> Mapping[str, Table]:
    return tables_of(released)


@pytest.fixture(scope="module")
def demo() -> Mapping[str, Table]:
    return tables_of(DEMO)


def published(prefix: str) -> list[Any]:
    return [pytest.param(entry, id=name) for name, entry in PUBLISHED.items() if name.startswith(prefix)]


def test_all_tables_are_there_in_the_studys_order(study: Mapping[str, Table]) -> None:
    assert list(study) == ["1", "1-sol", "2a", "2b", "3", "4", "5", "6"]


@pytest.mark.parametrize("entry", published("verdict/"))
def test_verdicts_are_the_published_ones(study: Mapping[str, Table], entry: dict[str, Any]) -> None:
    table = study["1-sol" if entry["judge"] == "sol" else "1"]
    row = next(row for row in rows_of(table) if row["claim"].shown == entry["claim"])
    assert row[f"verdict_{entry['base']}"].shown == entry["value"].replace("_", " ")


@pytest.mark.parametrize("entry", published("table2a/"))
def test_judged_gaps_have_the_published_digits(study: Mapping[str, Table], entry: dict[str, Any]) -> None:
    names = (entry["base"], entry["judge"], entry["measure"])
    row = next(
        row
        for row in rows_of(study["2a"])
        if tuple(row[key].shown for key in ("base_id", "judge_id", "rubric")) == names
    )
    printed = [float(row[key].shown) for key in ("difference", "cliffs_delta", "p", "n_pairs")]
    assert printed == [entry["value"], entry["cliffs_delta"], entry["p"], entry["n_pairs"]]


def coupling(study: Mapping[str, Table], base: str) -> dict[str, Cell]:
    return next(row for row in rows_of(study["2b"]) if row["base_id"].shown == base)


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
def test_leakage_has_the_published_digits(study: Mapping[str, Table], base: str) -> None:
    entry, row = PUBLISHED[f"table2b/{base}/leakage"], coupling(study, base)
    assert float(row["leakage_conv"].shown) == entry["value"]["conv"]
    assert float(row["leakage_ped"].shown) == entry["value"]["ped"]
    assert float(row["cliffs_delta"].shown) == entry["cliffs_delta"]
    if base != "gemini":
        assert float(row["p_leakage"].shown) == entry["p"]


def test_a_p_that_differs_by_library_version_says_so(study: Mapping[str, Table]) -> None:
    cell = coupling(study, "gemini")["p_leakage"]
    assert cell.shown == ".623"
    assert cell.note is not None
    assert "released p 0.625" in cell.note


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
def test_coefficients_have_the_published_digits(study: Mapping[str, Table], base: str) -> None:
    entry, row = PUBLISHED[f"table2b/{base}/leakage_to_independence"], coupling(study, base)
    assert float(row["beta"].shown) == entry["value"]
    assert float(row["p_beta_observed"].shown) == entry["p"]
    assert int(row["n_turns"].shown) == entry["n"]


def test_the_instrument_has_its_phases_problems_and_forms(study: Mapping[str, Table]) -> None:
    assert [row["n"].shown for row in rows_of(study["3"])] == ["6", "3", "4", "3", "3", "19"]
    assert len(study["4"].rows) == len(load_instrument().study.register_entries)
    assert len(study["5"].rows) == len(study["6"].rows) == 19
    first = rows_of(study["6"])[0]
    assert first["numeric_forms"].shown == "24, 24.0, 24.00"
    assert first["solution_forms"].shown.startswith("add twenty four; ")


def test_table_1_of_the_bundled_corpus_is_the_golden_one(demo: Mapping[str, Table]) -> None:
    assert markdown_text(demo["1"]) == (GOLDEN / "table1.md").read_text(encoding="utf-8")


def test_every_table_of_a_simulated_corpus_says_so(demo: Mapping[str, Table]) -> None:
    assert all(table.caption.count("SIMULATED") == 1 for table in demo.values())


@pytest.mark.parametrize("name", ["demo", "study"])
def test_no_printed_cell_is_empty_or_nan(request: pytest.FixtureRequest, name: str) -> None:
    for table in request.getfixturevalue(name).values():
        for cell in (cell for row in table.rows for cell in row):
            assert cell.shown.strip()
            assert cell.shown.lower() not in ("nan", "none", "inf")
            assert (cell.shown != ABSENT) or cell.note
        assert ",nan," not in csv_text(table).lower()


def test_a_corpus_without_ratings_keeps_its_judge_free_cells(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "unrated", ignore=shutil.ignore_patterns("ratings"))
    corpus = open_corpus(tmp_path / "unrated")
    corpus.manifest = corpus.manifest.model_copy(update={"judges": ()})
    results = StudyResults(CorpusMeasures(corpus, load_instrument()))
    first, second = rows_of(verdicts_table(results, "opus"))[:2]
    assert first["verdict_sonnet"].shown == "supported"
    assert second["verdict_sonnet"].shown == ABSENT
    assert "no helpfulness ratings by opus" in (second["verdict_sonnet"].note or "")
    assert {row["judge_id"].shown for row in rows_of(gaps_table(results))} == {"opus"}


def test_a_claim_that_cannot_be_decided_has_its_reason(tmp_path: Path) -> None:
    shutil.copytree(DEMO, tmp_path / "holes")
    (tmp_path / "holes" / "sessions" / "gpt" / "ped" / "r3.jsonl").unlink()
    tables = tables_of(tmp_path / "holes")
    row = rows_of(tables["1"])[0]
    assert (row["verdict_sonnet"].shown, row["verdict_gpt"].shown) == ("supported", ABSENT)
    assert row["verdict_gpt"].note == "gpt/ped lacks replicate 3 of 10 registered"
    gap = next(row for row in rows_of(tables["2a"]) if row["base_id"].shown == "gpt")
    assert gap["difference"].shown == gap["p"].shown == ABSENT
    coupled = coupling(tables, "gpt")
    assert coupled["leakage_conv"].note == coupled["beta"].note == row["verdict_gpt"].note


def test_what_a_user_added_is_in_the_register_as_added() -> None:
    corpus = open_corpus(DEMO)
    corpus.manifest = corpus.manifest.model_copy(update={"bases": ("sonnet", "mine"), "judges": ("opus", "theirs")})
    instrument = load_instrument()
    mine: Base = instrument.study.bases[0].model_copy(update={"id": "mine", "label": "My model"})
    added = instrument.study.model_copy(update={"bases": (*instrument.study.bases, mine)})
    results = StudyResults(CorpusMeasures(corpus, instrument))
    results.study = added
    rows = rows_of(status_table(results))[-2:]
    assert [row["component"].shown for row in rows] == ["base mine (My model)", "judge theirs (theirs)"]
    assert {row["status"].shown for row in rows} == {"added by the user, not registered"}


def test_the_command_writes_every_table_three_times(released: Path, tmp_path: Path) -> None:
    arguments = ["report", "tables", "--corpus", str(released), "--to", str(tmp_path / "tables")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{tmp_path / 'tables'}: 24 files, table1.md, ")
    assert len(list((tmp_path / "tables").iterdir())) == 24


def test_a_folder_that_is_no_corpus_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", "tables", "--corpus", str(tmp_path), "--to", str(tmp_path / "tables")])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "tables").exists()
