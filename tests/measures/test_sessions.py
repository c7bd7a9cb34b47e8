"""A session measure of some cells, by the names a claim gives its arms."""

from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, session_values
from tests.analyses.building import Said, Turn, a_small_instrument, tabled
from tests.store.corpora import measures_of

ARMS = {"conv": ("sonnet", "conv"), "ped": ("sonnet", "ped")}


def turns(*replies: bool | None) -> list[Said]:
    return [Said(tuple(Turn(reply=reply) for reply in replies))]


@pytest.fixture
def measures(tmp_path: Path) -> CorpusMeasures:
    conv = {0: turns(True, False, False), 1: turns(None)}
    ped = {0: turns(True, None, True), 1: turns(False, True)}
    return tabled(tmp_path / "c", {"conv": conv, "ped": ped}, a_small_instrument(2))


def test_next_turn_independence_of_a_session_is_the_mean_over_turns_that_are_followed(measures: CorpusMeasures) -> None:
    # conv r0: 1 of 3; conv r1: nothing follows its one turn; ped r0: 2 of 2, one turn is not followed; ped r1: 1 of 2
    found = session_values("next_turn_independence", ARMS, measures, None)
    assert found.by_arm == {"conv": {0: 1 / 3, 1: None}, "ped": {0: 1.0, 1: 0.5}}
    assert found.notes == ()


def test_it_agrees_with_the_turns_of_the_released_tables(released: Path) -> None:
    measures = measures_of(released)
    found = session_values("next_turn_independence", {"ped": ("gemini", "ped")}, measures, None).by_arm["ped"]
    for replicate, rows in measures.cell("gemini", "ped").turns.items():
        followed = [row.next_turn_independence for row in rows if row.next_turn_independence is not None]
        assert found[replicate] == sum(followed) / len(followed)


def test_values_carry_the_arms_names(measures: CorpusMeasures) -> None:
    found = session_values("leakage", {"rc": ("sonnet", "ped"), "sonnet:conv": ("sonnet", "conv")}, measures, None)
    assert found.by_arm == {"rc": {0: 0.0, 1: 0.0}, "sonnet:conv": {0: 0.0, 1: 0.0}}


def test_a_judged_measure_is_the_judges(measures: CorpusMeasures) -> None:
    assert session_values("helpfulness", ARMS, measures, "opus").by_arm["ped"] == {0: 4.0, 1: 4.0}
    with pytest.raises(NotEvaluable, match="helpfulness needs a judge"):
        session_values("helpfulness", ARMS, measures, None)
