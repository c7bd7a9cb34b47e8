"""A simulated study is the pilot resampled: what a claim reads of it is what the pilot held."""

from pathlib import Path
from statistics import variance

import numpy as np
import pytest

from pytest_tutoreval.errors import NotEvaluable, NotInCorpus
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.planning import ResampledMeasures, StudySize, pilot_replicates
from tests.store.corpora import DEMO, demo_copy, measures_of

BASE, JUDGE = "sonnet", "opus"
TEN = list(range(10))


@pytest.fixture(scope="module")
def pilot() -> CorpusMeasures:
    return measures_of(DEMO)


def _study(pilot: CorpusMeasures, size: StudySize, *, seed: int = 1) -> ResampledMeasures:
    return ResampledMeasures(pilot, TEN, size, np.random.default_rng(seed))


def test_a_drawn_replicate_brings_its_sessions_of_every_condition(pilot: CorpusMeasures) -> None:
    study = _study(pilot, StudySize(25))
    drawn = np.random.default_rng(1).choice(np.arange(10), size=25).tolist()
    for condition in ("conv", "ped"):
        cell, source = study.cell(BASE, condition), pilot.cell(BASE, condition)
        assert list(cell.sessions) == list(range(25))
        for number, replicate in enumerate(drawn):
            row, before = cell.sessions[number], source.sessions[replicate]
            assert (row.key.base, row.key.condition, row.key.replicate) == (BASE, condition, number)
            assert (row.leakage, row.independence) == (before.leakage, before.independence)
            assert [turn.leaky for turn in cell.turns[number]] == [turn.leaky for turn in source.turns[replicate]]


def test_scores_follow_their_turns(pilot: CorpusMeasures) -> None:
    study = _study(pilot, StudySize(10))
    drawn = np.random.default_rng(1).choice(np.arange(10), size=10).tolist()
    scores, source = (measures.scores(BASE, "conv", JUDGE, "pedagogy") for measures in (study, pilot))
    assert scores.sessions == {number: source.sessions[replicate] for number, replicate in enumerate(drawn)}
    for turn, score in scores.turns.items():
        assert score == source.turns[turn._replace(replicate=drawn[turn.replicate])]


def test_the_size_is_what_is_registered(pilot: CorpusMeasures) -> None:
    study = _study(pilot, StudySize(13, repetitions=2)).instrument.study
    assert list(study.registered_replicates()) == list(range(13))
    assert study.protocol.repetitions == 2
    assert list(pilot.instrument.study.registered_replicates()) == TEN


def test_fewer_problems_are_one_subset_for_all_sessions(pilot: CorpusMeasures) -> None:
    study = _study(pilot, StudySize(10, problems=4))
    conv, ped = (study.cell(BASE, condition) for condition in ("conv", "ped"))
    problems = set(conv.attempts[0])
    assert len(problems) == 4
    for cell in (conv, ped):
        for number, row in cell.sessions.items():
            turns, attempts = cell.turns[number], cell.attempts[number]
            assert set(attempts) == problems
            assert {turn.id.problem for turn in turns} <= problems
            assert row.leakage == sum(turn.leaky for turn in turns) / len(turns)
            said = [step for steps in attempts.values() for step in steps]
            assert row.independence == sum(said) / len(said)


def test_more_problems_than_the_pilot_has_are_further_ones(pilot: CorpusMeasures) -> None:
    n_training = len(pilot.instrument.training)
    cell = _study(pilot, StudySize(6, problems=n_training + 3)).cell(BASE, "conv")
    names = list(cell.attempts[0])
    assert len(names) == len(set(names)) == n_training + 3
    assert sum(name.endswith(".2") for name in names) == 3


def test_all_problems_leave_every_rate_as_it_was(pilot: CorpusMeasures) -> None:
    whole, kept = (
        _study(pilot, size).cell(BASE, "ped") for size in (StudySize(10, len(pilot.instrument.training)), StudySize(10))
    )
    for number, row in kept.sessions.items():
        assert whole.sessions[number].leakage == row.leakage
        assert whole.sessions[number].independence == row.independence


def test_fewer_ratings_add_the_noise_of_those_left_out(pilot: CorpusMeasures) -> None:
    # A turn with three ratings of variance s2 has a mean of variance s2/3; one rating has s2. What is added is the
    # difference, s2 (1/1 - 1/3) = 2/3 s2, whose square root scales a standard normal.
    source = pilot.scores(BASE, "conv", JUDGE, "helpfulness")
    study = _study(pilot, StudySize(400, repetitions=1), seed=3)
    drawn = np.random.default_rng(3).choice(np.arange(10), size=400).tolist()
    scaled = []
    for turn, score in study.scores(BASE, "conv", JUDGE, "helpfulness").turns.items():
        before = source.turns[turn._replace(replicate=drawn[turn.replicate])]
        assert before.value is not None
        assert score.value is not None
        if before.spread:
            scaled.append((score.value - before.value) / ((1 - 1 / before.n_usable) * before.spread) ** 0.5)
        else:
            assert score.value == before.value
    assert len(scaled) > 1_000
    # 4 standard errors of a variance of a standard normal: 4 sqrt(2 / n)
    assert variance(scaled) == pytest.approx(1.0, abs=4 * (2 / len(scaled)) ** 0.5)


def test_more_ratings_than_the_pilot_has_change_nothing(pilot: CorpusMeasures) -> None:
    more, same = (
        _study(pilot, size).scores(BASE, "conv", JUDGE, "pedagogy").turns
        for size in (StudySize(8, None, 9), StudySize(8))
    )
    assert {turn: score.value for turn, score in more.items()} == {turn: score.value for turn, score in same.items()}


def test_a_pilot_with_one_replicate_says_nothing_of_how_they_differ(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "pilot")
    for number in range(1, 10):
        (folder / "sessions" / BASE / "ped" / f"r{number}.jsonl").unlink()
    with pytest.raises(NotEvaluable, match="1 replicates are complete in all of sonnet/conv, sonnet/ped"):
        pilot_replicates(measures_of(folder), [(BASE, "conv"), (BASE, "ped")])


def test_replicates_of_a_pilot_are_those_complete_in_every_cell(pilot: CorpusMeasures) -> None:
    assert pilot_replicates(pilot, [(BASE, "conv"), (BASE, "ped")]) == TEN


def test_turns_outside_the_window_are_not_in_a_resampled_pilot(pilot: CorpusMeasures) -> None:
    with pytest.raises(NotInCorpus, match="in-window turns only"):
        _study(pilot, StudySize(6)).whole_cell(BASE, "conv")
