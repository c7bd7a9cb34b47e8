"""Which measures exist, the study's and those of packages, and whether a judge has a hand in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from sys import float_info

from pytest_tutoreval.errors import ExtensionError, NotEvaluable
from pytest_tutoreval.records.measured import SessionRow, TurnRow
from pytest_tutoreval.registering import add_entry

__all__ = [
    "PACKAGE_MEASURES",
    "SESSION_MEASURES",
    "TURN_OUTCOMES",
    "SessionMeasure",
    "is_judged",
    "known_measures",
    "register_measure",
]

# name: whether it is a judge's (definitions, section 9)
SESSION_MEASURES: Mapping[str, bool] = {
    "helpfulness": True,
    "independence": False,
    "leakage": False,
    "next_turn_independence": False,
    "pedagogy": True,
}

# outcomes of turn-level models (definitions, section 10)
TURN_OUTCOMES: Mapping[str, bool] = {"helpfulness": True, "next_turn_independence": False, "pedagogy": True}


@dataclass(frozen=True)
class SessionMeasure:
    """A session measure that a package brings; no judge has a hand in it.

    Attributes
    ----------
    name : what claim files and guards call it
    unit : what a value is in, in words: "tokens a tutor turn"
    value : a session's value, from its row and its in-window tutor turns in order; None where it is undefined. The
        same rows have the same value, whoever asks
    """

    name: str
    unit: str
    value: Callable[[SessionRow, Sequence[TurnRow]], float | None]

    def read(self, session: SessionRow, turns: Sequence[TurnRow]) -> float | None:
        """Return a session's value.

        Raises
        ------
        NotEvaluable
            The package's function failed, or returned what is no number: neither is ever an undefined value.
        """
        try:
            value = self.value(session, turns)
        except Exception as exc:
            raise NotEvaluable(f"measure {self.name} of {session.key}: it raised {type(exc).__name__}: {exc}") from exc
        if value is None:
            return None
        if not isinstance(value, Real) or not -float_info.max <= value <= float_info.max:  # a NaN is not between them
            raise NotEvaluable(
                f"measure {self.name} of {session.key}: it returned {value!r:.80}; expected a finite number, or None "
                "where it is undefined"
            )
        return float(value)


# Measures that packages bring, by name: beside the study's, never in place of one.
PACKAGE_MEASURES: dict[str, SessionMeasure] = {}


def known_measures() -> tuple[str, ...]:
    """Return the name of every session measure a claim can be about."""
    return (*SESSION_MEASURES, *PACKAGE_MEASURES)


def register_measure(measure: SessionMeasure, *, by: str) -> Callable[[], None]:
    """Add a package's session measure, and return how it is taken out again.

    Raises
    ------
    ExtensionError
        It is no SessionMeasure, or its name is taken.
    """
    if not isinstance(measure, SessionMeasure):
        raise ExtensionError(f"{by}: measure {measure!r:.80} is no SessionMeasure(name, unit, value)")
    if not isinstance(measure.unit, str) or not measure.unit.strip() or not callable(measure.value):
        raise ExtensionError(
            f"{by}: measure {measure.name!r} needs a unit in words and a function of a session's row and turns"
        )
    return add_entry(PACKAGE_MEASURES, "measure", measure.name, measure, SESSION_MEASURES, by=by)


def is_judged(measure: str) -> bool:
    """Return whether a measure rests on a judge's ratings."""
    return SESSION_MEASURES.get(measure, False) or TURN_OUTCOMES.get(measure, False)
