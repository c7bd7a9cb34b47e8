"""Ablation cells: from tables/ablation or from sessions, never among conv and ped."""

import shutil
from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, BASELINES, complete_arms, complete_cells, complete_scores
from tests.store.corpora import measures_of, reseal


@pytest.mark.parametrize("variant", BASELINES)
def test_released_variant_has_its_ten_sessions_and_all_scores(released: Path, variant: str) -> None:
    measures = measures_of(released)
    cell = complete_cells(measures, "sonnet", (variant,))[variant]
    assert sorted(cell.sessions) == list(range(10))
    for rubric in ("helpfulness", "pedagogy"):
        scores = complete_scores(measures, "sonnet", "opus", rubric, (variant,))[variant]
        assert len(scores.turns) == sum(map(len, cell.turns.values()))


def test_variants_are_not_among_the_arms(released: Path) -> None:
    cells = complete_arms(measures_of(released), "sonnet")
    assert tuple(cells) == ARMS
    assert {turn.id.condition for cell in cells.values() for turns in cell.turns.values() for turn in turns} == {*ARMS}


def test_corpus_without_the_ablation_tables_has_no_variant(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    shutil.rmtree(folder / "tables" / "ablation")
    reseal(folder)
    measures = measures_of(folder)
    assert measures.cell("sonnet", "conv_socratic").sessions == {}
    assert len(complete_arms(measures, "sonnet")["conv"].sessions) == 10
    with pytest.raises(NotEvaluable, match="no sessions in cell sonnet/conv_socratic"):
        complete_cells(measures, "sonnet", ("conv_socratic",))


def test_every_variant_names_the_policy_it_was_made_from() -> None:
    assert all(name.startswith(f"{baseline}_") and baseline in ARMS for name, baseline in BASELINES.items())
