"""What holds of every row of the sensitivities, the ablation and the secondary analyses."""

import csv
import io
import math
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.analyses import ablation, secondary, sensitivities
from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.analysis import AnalysisRow
from tests.store.corpora import DEMO, measures_of, reseal

ANALYSES = {analysis.name: analysis for part in (sensitivities, ablation, secondary) for analysis in part.ANALYSES}
NOT_FROM_TABLES, NOT_FROM_THE_DEMO = {"full_window"}, {name for name in ANALYSES if name.startswith("ablation_")}


def places(analysis: Analysis, measures: CorpusMeasures) -> Iterator[AnalysisInput]:
    manifest = measures.corpus.manifest
    for base in manifest.bases if analysis.scope != "corpus" else (None,):
        for judge in manifest.judges if analysis.scope == "base_judge" else (None,):
            yield AnalysisInput(measures, base, judge, manifest.bases, manifest.judges)


def rows_of(name: str, measures: CorpusMeasures) -> list[AnalysisRow]:
    return [row for given in places(ANALYSES[name], measures) for row in ANALYSES[name].run(given)]


@pytest.fixture(scope="module")
def from_tables(released: Path) -> CorpusMeasures:
    return measures_of(released)


@pytest.fixture(scope="module")
def from_text() -> CorpusMeasures:
    return measures_of(DEMO)


def check(name: str, rows: list[AnalysisRow]) -> None:
    assert rows
    keys = [(row.base, row.judge, row.measure) for row in rows]
    assert len(set(keys)) == len(keys), "a row stands twice"
    for row in rows:
        assert (row.analysis, row.role) == (name, ANALYSES[name].role)
        assert len({part.name for part in row.components}) == len(row.components), row.measure
        for item in (row, *row.components):
            numbers = [value for value in item.model_dump().values() if isinstance(value, float)]
            assert all(math.isfinite(number) for number in numbers), row.measure
        assert not any(note.startswith("not evaluable") for note in row.notes), row.measure


@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in NOT_FROM_TABLES])
def test_released_tables_give_every_row(from_tables: CorpusMeasures, name: str) -> None:
    check(name, rows_of(name, from_tables))


@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in NOT_FROM_THE_DEMO])
def test_demo_gives_every_row(from_text: CorpusMeasures, name: str) -> None:
    check(name, rows_of(name, from_text))


@pytest.mark.parametrize("name", ANALYSES)
def test_base_without_sessions_is_not_evaluable(from_tables: CorpusMeasures, name: str) -> None:
    judge = "opus" if ANALYSES[name].scope == "base_judge" else None
    given = AnalysisInput(from_tables, "elsewhere", judge, ("elsewhere",), ("opus",))
    with pytest.raises(NotEvaluable):
        ANALYSES[name].run(given)


@pytest.mark.parametrize("name", [name for name in ANALYSES if ANALYSES[name].scope == "base_judge"])
def test_judge_without_ratings_is_not_evaluable(from_text: CorpusMeasures, name: str) -> None:
    with pytest.raises(NotEvaluable, match="no helpfulness ratings by nobody"):
        ANALYSES[name].run(AnalysisInput(from_text, "sonnet", "nobody", ("sonnet",), ("nobody",)))


@pytest.mark.parametrize(
    "name", ["matched_budget_helpfulness", "divergence", "judged_gaps"], ids=lambda name: str(name)
)
def test_judged_analysis_needs_its_judge(from_text: CorpusMeasures, name: str) -> None:
    with pytest.raises(ValueError, match="judge = None"):
        ANALYSES[name].run(AnalysisInput(from_text, "sonnet", None, ("sonnet",), ()))


@pytest.fixture(scope="module")
def shuffled(released: Path, tmp_path_factory: pytest.TempPathFactory) -> CorpusMeasures:
    """The released tables with every table's rows in another order."""
    folder = shutil.copytree(released, tmp_path_factory.mktemp("shuffled") / "corpus")
    numbers = random.Random(20261130)
    for path in sorted((folder / "tables").rglob("*.csv")):
        header, *rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        numbers.shuffle(rows)
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        path.write_text(out.getvalue(), encoding="utf-8", newline="\n")
    reseal(folder)
    return measures_of(folder)


@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in NOT_FROM_TABLES])
def test_order_of_table_rows_changes_nothing(from_tables: CorpusMeasures, shuffled: CorpusMeasures, name: str) -> None:
    one, other = rows_of(name, from_tables), rows_of(name, shuffled)
    assert [row.model_copy(update={"notes": ()}) for row in other] == [
        row.model_copy(update={"notes": ()}) for row in one
    ]


def test_naming_the_analyses_needs_no_statistics(tmp_path: Path) -> None:
    """Collecting them as tests may not load numpy."""
    code = "import sys, pytest_tutoreval.analyses.catalogue; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "False"


def test_no_analysis_knows_the_claims() -> None:
    """No sensitivity can reach a verdict: the room of claims is not imported by any module of this one."""
    folder = Path(sensitivities.__file__).parent
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "pytest_tutoreval.claims" not in text, path.name
        assert "import decide" not in text, path.name
