"""What a run is told to make: cells and ratings with their numbers of replicates, added up and laid out."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.live import Needs
from pytest_tutoreval.records.session import SessionKey
from tests.live.running import a_study_file, asked_bodies, bodies_on_disk, go, short_instrument, tutoreval
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer

CELLS = [("sonnet", "conv"), ("sonnet", "ped"), ("gpt", "conv")]
NUMBERED = st.dictionaries(st.sampled_from(CELLS), st.integers(1, 9))


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


def test_crossed_needs_are_every_combination() -> None:
    needs = Needs.crossed(bases=["a", "b"], conditions=["cold", "ped"], judges=["j"], rubrics=["r", "s"], replicates=3)
    assert needs.cells == {("a", "cold"): 3, ("a", "ped"): 3, ("b", "cold"): 3, ("b", "ped"): 3}
    assert list(needs.ratings) == [(*cell, "j", rubric) for cell in needs.cells for rubric in "rs"]
    assert set(needs.ratings.values()) == {3}
    assert (needs.bases, needs.conditions, needs.judges) == (("a", "b"), ("cold", "ped"), ("j",))


def test_sessions_come_replicate_by_replicate_as_many_as_each_cell_needs() -> None:
    needs = Needs({("a", "conv"): 3, ("a", "rc"): 1, ("a", "ped"): None})
    assert [(key.condition, key.replicate) for key in needs.session_keys((0, 2, 4))] == [
        *(("conv", 0), ("rc", 0), ("ped", 0)),
        ("conv", 1),
        *(("conv", 2), ("ped", 2)),
        ("ped", 4),
    ]
    assert list(Needs().session_keys((0, 1))) == []


def test_a_session_is_rated_where_its_own_cell_and_number_are_asked_for() -> None:
    needs = Needs(ratings={("a", "ped", "j", "r"): 2, ("a", "ped", "k", "r"): None, ("a", "rc", "j", "r"): 9})
    assert list(needs.ratings_of(SessionKey("a", "ped", 1))) == [("j", "r"), ("k", "r")]
    assert list(needs.ratings_of(SessionKey("a", "ped", 2))) == [("k", "r")]
    assert list(needs.ratings_of(SessionKey("a", "conv", 0))) == []
    assert list(needs.ratings_of(SessionKey("b", "ped", 0))) == []
    assert list(needs.of_judge("j").ratings) == [("a", "ped", "j", "r"), ("a", "rc", "j", "r")]


@given(NUMBERED, NUMBERED)
def test_added_up_needs_cover_both_and_no_more(
    one: Mapping[tuple[str, str], int], other: Mapping[tuple[str, str], int]
) -> None:
    def keys(cells: Mapping[tuple[str, str], int]) -> set[SessionKey]:
        return set(Needs(cells).session_keys(()))

    assert set((Needs(one) | Needs(other)).session_keys(())) == keys(one) | keys(other)
    assert (Needs(one) | Needs(other)).cells == (Needs(other) | Needs(one)).cells


def test_a_stated_number_and_one_left_to_the_run_do_not_add_up() -> None:
    left, stated = Needs({CELLS[0]: None}), Needs({CELLS[0]: 12})
    assert (left | left).cells == {CELLS[0]: None}
    with pytest.raises(ValueError, match=r"\('sonnet', 'conv'\): None and 12 replicates; state the number for both"):
        left | stated
    assert (left | Needs({CELLS[1]: 12})).cells == {CELLS[0]: None, CELLS[1]: 12}


def test_needs_of_some_bases_leave_out_the_others() -> None:
    needs = Needs.crossed(bases=["a", "b"], conditions=["ped"], judges=["j"], rubrics=["r"], replicates=3)
    assert needs.of_bases(["b"]) == Needs({("b", "ped"): 3}, {("b", "ped", "j", "r"): 3})
    assert needs.of_bases([]) == Needs()


# in a run


def rated(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder / "ratings").as_posix() for path in (folder / "ratings").rglob("*.jsonl"))


def test_a_cell_on_disk_that_nobody_asked_for_is_not_rated(server: LoopbackServer, tmp_path: Path) -> None:
    folder, first = tmp_path / "corpus", len(server.journal)
    assert go(server, folder, Needs.crossed(bases=["sonnet"], conditions=["conv", "ped"], replicates=3)).complete
    needs = Needs(
        cells={("sonnet", "ped"): 2, ("sonnet", "conv_socratic"): 1},
        ratings={("sonnet", "ped", "opus", "helpfulness"): 2, ("sonnet", "conv_socratic", "opus", "pedagogy"): 1},
    )
    outcome = go(server, folder, needs)
    assert outcome.complete
    assert (outcome.collection.finished, outcome.collection.found_finished) == (1, 2)
    assert rated(folder) == [
        *(f"opus/helpfulness/sonnet/ped/r{number}.jsonl" for number in (0, 1)),
        "opus/pedagogy/sonnet/conv_socratic/r0.jsonl",
    ]
    done, due = bodies_on_disk(folder, short_instrument())
    assert not due
    del server.journal[:first]
    assert asked_bodies(server) == done


def test_the_command_rates_all_tutored_cells_or_those_it_is_told(server: LoopbackServer, tmp_path: Path) -> None:
    study, corpus = a_study_file(tmp_path, server.base_urls), tmp_path / "corpus"
    common = ("--corpus", corpus, "--study", study)
    conditions = ("--condition", "cold,conv,ped")
    collected = tutoreval("collect", *common, "--base", "sonnet", *conditions, "--replicates", "1")
    assert collected.returncode == 0, collected.stdout + collected.stderr
    judging = ("judge", *common, "--judge", "opus", "--rubric", "helpfulness")
    unknown = tutoreval(*judging, "--condition", "pde")
    assert (unknown.returncode, "condition: unknown pde (the corpus holds: cold, conv, ped)" in unknown.stderr) == (
        1,
        True,
    )
    told = tutoreval(*judging, "--condition", "ped")
    assert told.returncode == 0, told.stdout + told.stderr
    assert rated(corpus) == ["opus/helpfulness/sonnet/ped/r0.jsonl"]
    assert tutoreval(*judging).returncode == 0
    assert rated(corpus) == [f"opus/helpfulness/sonnet/{condition}/r0.jsonl" for condition in ("conv", "ped")]
