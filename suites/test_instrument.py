"""The frozen instrument: its lock, and the four constraints it was frozen under (definitions, section 2)."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from pytest_tutoreval.frozen import Instrument, load_instrument, verify_files
from pytest_tutoreval.frozen.constraints import answers_apart, answers_not_in_statements, phases_and_parents

pytestmark = pytest.mark.instrument

# Each statement as a balance that is zero at its answer and linear in it, written from the words alone.
BALANCE: dict[str, Callable[[Fraction], Fraction]] = {
    "train-1": lambda x: Fraction(50, 100) * x + Fraction(20, 100) * 48 - Fraction(30, 100) * (x + 48),
    "train-2": lambda x: 0 * x + Fraction(40, 100) * 30 - Fraction(25, 100) * (x + 30),
    "train-3": lambda x: Fraction(60, 100) * x + Fraction(20, 100) * (40 - x) - Fraction(34, 100) * 40,
    "train-4": lambda x: x + Fraction(20, 100) * 36 - Fraction(40, 100) * (x + 36),
    "train-5": lambda x: Fraction(70, 100) * x + Fraction(10, 100) * 42 - Fraction(30, 100) * (x + 42),
    "train-6": lambda x: 0 * x + Fraction(50, 100) * 18 - Fraction(20, 100) * (x + 18),
    "immediate-1": lambda x: Fraction(80, 100) * x + Fraction(20, 100) * 46 - Fraction(40, 100) * (x + 46),
    "immediate-2": lambda x: 0 * x + Fraction(60, 100) * 8 - Fraction(20, 100) * (x + 8),
    "immediate-3": lambda x: Fraction(80, 100) * x + Fraction(30, 100) * (50 - x) - Fraction(54, 100) * 50,
    # the slower rides x, the faster x + 4, away from each other for three hours
    "interfere-1": lambda x: 3 * x + 3 * (x + 4) - 60,
    # the first car has driven two hours longer when the second reaches it
    "interfere-2": lambda x: 70 * x - 50 * (x + 2),
    # equal times 36 / (10 + x) and 24 / (10 - x), multiplied out
    "interfere-3": lambda x: 36 * (10 - x) - 24 * (10 + x),
    "interfere-4": lambda x: 3 * x + 3 * (x + 20) - 300,
    "delayed-1": lambda x: Fraction(50, 100) * x + Fraction(20, 100) * 52 - Fraction(30, 100) * (x + 52),
    "delayed-2": lambda x: 0 * x + Fraction(40, 100) * 55 - Fraction(25, 100) * (x + 55),
    "delayed-3": lambda x: x + Fraction(20, 100) * 57 - Fraction(40, 100) * (x + 57),
    "transfer-1": lambda x: 12 * x + 7 * (75 - x) - 9 * 75,
    "transfer-2": lambda x: x + Fraction(30, 100) * 40 - Fraction(50, 100) * (x + 40),
    "transfer-3": lambda x: 93 * x + 87 * (30 - x) - 91 * 30,
}


def root(balance: Callable[[Fraction], Fraction]) -> Fraction:
    """Return where a linear balance is zero, exactly."""
    at_zero, at_one, at_two = (balance(Fraction(point)) for point in (0, 1, 2))
    assert at_two - at_one == at_one - at_zero, "the balance is not linear"
    return -at_zero / (at_one - at_zero)


@pytest.fixture(scope="module")
def instrument() -> Instrument:
    """The bundled instrument, as every claim is decided under it."""
    return load_instrument()


def test_every_frozen_file_has_its_registered_digest(instrument: Instrument) -> None:
    """Nothing was changed since the freeze, not by a byte."""
    assert verify_files(instrument.folder) == instrument.sha256


def test_every_problem_has_an_independent_derivation(instrument: Instrument) -> None:
    """No problem is left without an equation of its own."""
    assert BALANCE.keys() == instrument.problem.keys()


@pytest.mark.parametrize("problem", BALANCE)
def test_answer_is_reproduced_from_the_statement(problem: str, instrument: Instrument) -> None:
    """The equation written from the words gives the canonical answer."""
    assert root(BALANCE[problem]) == Fraction(instrument.problem[problem].answer)


def test_delayed_and_transfer_answers_differ_from_every_training_answer(instrument: Instrument) -> None:
    """A remembered training answer never passes as transfer."""
    assert answers_apart(instrument.problems) == []


def test_no_answer_stands_in_its_own_statement(instrument: Instrument) -> None:
    """Quoting the problem is never a leak."""
    assert answers_not_in_statements(instrument.problems) == []


def test_phases_and_parents_are_as_registered(instrument: Instrument) -> None:
    """Six training, three immediate, four interference, three delayed, three transfer; every parent resolves."""
    assert phases_and_parents(instrument.problems, instrument.study.protocol.phase_counts) == []
