"""A package's measure in claims and guards: decided as the study's own are, and what it may not return."""

from collections.abc import Callable, Iterator, Sequence
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.claims.many_to_one import decide_many_to_one
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import guard_measure
from pytest_tutoreval.gating.guards import read_series, showing_turns
from pytest_tutoreval.measures import PACKAGE_MEASURES, SessionMeasure, is_judged, register_measure, session_values
from pytest_tutoreval.planning import (
    PilotSource,
    Simulation,
    StatedEffect,
    StatedSource,
    StudySize,
    claim_power,
    parse_effect,
)
from pytest_tutoreval.records import ManyToOneClaim, PairedClaim
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from tests.claims.made_up import a_row
from tests.store.corpora import DEMO, a_corpus_of, a_table_corpus, measures_of

Value = Callable[[SessionRow, Sequence[TurnRow]], Any]
HIGH, LOW = [0.5 + i / 100 for i in range(10)], [0.1 + i / 200 for i in range(10)]


@pytest.fixture
def registered() -> Iterator[Callable[[Value], SessionMeasure]]:
    """Registers a measure named mine, and takes it out at the end."""
    undo: list[Callable[[], None]] = []

    def register(value: Value) -> SessionMeasure:
        measure = SessionMeasure("mine", "apples", value)
        undo.extend((register_measure(measure, by="tests"), guard_measure(measure, by="tests")))
        return measure

    yield register
    for take_out in undo:
        take_out()
    assert "mine" not in PACKAGE_MEASURES


def a_claim(measure: str = "mine", direction: str = "ped > conv") -> PairedClaim:
    stated = bundled_claims()["P1"].model_dump() | {"measure": measure, "direction": direction, "kind": "live_test"}
    return PairedClaim.model_validate(stated)


Registering = Callable[[Value], SessionMeasure]


def test_a_hand_worked_contrast_of_a_packages_measure(tmp_path: Path, registered: Registering) -> None:
    registered(lambda session, turns: 10 * (1 - (session.leakage or 0)))
    # conv - ped of leakage is .4, .405, …, .445 with mean .4225, so of this measure -4.225 on average, all negative:
    # two of 2**10 sign patterns are as extreme, p = 2/1024, and ped > conv is supported.
    verdict = decide_paired(a_claim(), measures_of(a_table_corpus(tmp_path / "c", HIGH, LOW)), "sonnet", None)
    assert verdict.estimate == pytest.approx(-4.225, abs=1e-12)
    assert (verdict.verdict, verdict.p_value, verdict.n, verdict.judge) == ("supported", 2 / 1024, 10, None)


def test_a_packages_copy_of_a_measure_of_the_studys_has_its_verdict(tmp_path: Path, registered: Registering) -> None:
    registered(lambda session, turns: session.leakage)
    values = [*HIGH[:7], None, *HIGH[8:]], [*LOW[:3], 0.9, *LOW[4:]]
    measures = measures_of(a_table_corpus(tmp_path / "c", *values))
    mine, theirs = (decide_paired(a_claim(name), measures, "sonnet", None) for name in ("mine", "leakage"))
    assert mine == theirs.model_copy(update={"notes": tuple(note.replace("leakage", "mine") for note in theirs.notes)})
    assert (mine.n, mine.n_dropped) == (9, 1), "an undefined value is dropped and counted"


def test_a_family_of_candidates_can_be_about_it(tmp_path: Path, registered: Registering) -> None:
    registered(lambda session, turns: session.leakage)
    cells = {("sonnet", "conv"): LOW, ("sonnet", "ped"): HIGH, ("sonnet", "rc"): LOW}
    stated = bundled_claims()["P1"].model_dump(exclude={"arms", "form", "measure", "direction"})
    claim = ManyToOneClaim.model_validate(
        stated
        | {"form": "many_to_one", "measure": "mine", "candidates": ["ped", "rc"], "reference": "conv"}
        | {"direction": "candidates > reference", "multiplicity": "none", "supported_when": "any"}
    )
    verdict = decide_many_to_one(claim, measures_of(a_corpus_of(tmp_path / "c", cells)), "sonnet", None)
    assert [part.holds for part in verdict.components] == [True, False]


def test_it_sees_the_turns_of_the_window_in_order(registered: Registering) -> None:
    seen: dict[int, list[TurnRow]] = {}

    def value(session: SessionRow, turns: Sequence[TurnRow]) -> int:
        seen[session.key.replicate] = list(turns)
        return len(turns)

    registered(value)
    measures = measures_of(DEMO)
    found = session_values("mine", {"ped": ("gpt", "ped")}, measures, None).by_arm["ped"]
    cell = measures.cell("gpt", "ped")
    assert found == {number: float(row.n_tutor_turns) for number, row in cell.sessions.items()}
    assert [
        turns
        == sorted(
            turns,
            key=lambda turn: (
                measures.instrument.training.index(measures.instrument.problem[turn.id.problem]) * 100 + turn.id.turn
            ),
        )
        for turns in seen.values()
    ] == [True] * 10


def test_it_rests_on_no_judge(registered: Registering) -> None:
    registered(lambda session, turns: 1)
    assert not is_judged("mine")


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**60), 2**60), st.booleans()))
def test_any_finite_number_is_a_value(number: float) -> None:
    read = SessionMeasure("mine", "apples", lambda session, turns: number).read(a_row("gpt", "conv", 3, None), ())
    assert read == float(number)
    assert type(read) is float


@pytest.mark.parametrize("returned", [nan, inf, -inf, 10**400, "0.5", [0.5], 1j])
def test_what_is_no_finite_number_is_not_evaluable(returned: object) -> None:
    measure = SessionMeasure("mine", "apples", lambda session, turns: returned)  # type: ignore[arg-type, return-value]
    with pytest.raises(NotEvaluable, match=r"^measure mine of gpt/conv/r3: it returned .*; expected a finite number"):
        measure.read(a_row("gpt", "conv", 3, None), ())


def test_a_measure_that_fails_makes_its_claim_not_evaluable(tmp_path: Path, registered: Registering) -> None:
    registered(lambda session, turns: 1 / (session.key.replicate - 4))
    measures = measures_of(a_table_corpus(tmp_path / "c", HIGH, LOW))
    with pytest.raises(NotEvaluable, match=r"^measure mine of sonnet/conv/r4: it raised ZeroDivisionError: "):
        decide_paired(a_claim(), measures, "sonnet", None)
    assert decide_paired(a_claim("leakage"), measures, "sonnet", None).n == 10, "other measures are as they were"


def test_it_can_be_guarded_by_session(registered: Registering) -> None:
    registered(lambda session, turns: None if session.key.replicate == 1 else session.key.replicate / 2)
    (series,) = read_series(measures_of(DEMO), "gpt", "ped", "mine", None, lambda _: None)
    assert (series.measure, series.unit, series.judge) == ("mine", "apples", None)
    assert series.values == {number: {"session": None if number == 1 else number / 2} for number in range(10)}
    assert showing_turns(measures_of(DEMO), "gpt", "ped", "mine", None, [(0, "session")], at_most=3) == ()


# planning


def test_it_is_planned_from_a_pilot_by_its_own_values(tmp_path: Path, registered: Registering) -> None:
    registered(lambda session, turns: session.leakage)
    source = PilotSource(measures_of(a_table_corpus(tmp_path / "c", HIGH, [0.2, 0.9] * 5)))
    found = {}
    for claim in (a_claim(direction="conv > ped"), a_claim("leakage", "conv > ped")):
        draw = source.studies([claim], {claim.id: claim}, "sonnet", StudySize(10))
        power = claim_power(claim, {claim.id: claim}, draw, "sonnet", None, StudySize(10), Simulation(20, 3))
        found[claim.measure] = power.outcomes
    assert found["mine"] == found["leakage"]
    assert len(found["mine"]) > 1, "some studies decide, some do not"


def test_no_effect_can_be_stated_for_it(registered: Registering) -> None:
    registered(lambda session, turns: len(turns))
    with pytest.raises(ConfigurationProblem, match="'mine' is no measure an effect can be stated for"):
        parse_effect("mine=1,1")
    source = StatedSource({"leakage": StatedEffect(0.2, 0.1)}, load_instrument())
    with pytest.raises(ConfigurationProblem, match="mine"):
        source.studies([a_claim()], {}, "sonnet", StudySize(10))
