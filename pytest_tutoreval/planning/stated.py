"""Studies from stated effects: what a researcher takes to be true, as the measures a claim reads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.measures import SESSION_MEASURES, CellKey, CorpusMeasures, is_judged
from pytest_tutoreval.measures.corpus import Cell, CellScores
from pytest_tutoreval.planning.resampling import StudySize, sized
from pytest_tutoreval.records.claim import Arm, Claim, ManyToOneClaim, PairedClaim
from pytest_tutoreval.records.corpus import CorpusManifest
from pytest_tutoreval.records.measured import SessionRow
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.store import Corpus

__all__ = ["StatedEffect", "StatedMeasures", "parse_effect", "shifted_arms"]


@dataclass(frozen=True)
class StatedEffect:
    """What is taken to be true of a session measure's paired differences (first arm - second arm).

    Attributes
    ----------
    mean : their mean, in the measure's units
    sd : how they vary between replicates, whatever the number of problems
    sd_problem : how the difference of one problem varies inside a replicate; averaged over the problems
    sd_rating : how one judge's rating of one problem's turns varies; averaged over problems and repetitions
    """

    mean: float
    sd: float
    sd_problem: float = 0.0
    sd_rating: float = 0.0

    def sd_at(self, problems: int, repetitions: int) -> float:
        """Return the standard deviation of a replicate's difference in a study of this size."""
        return sqrt(self.sd**2 + self.sd_problem**2 / problems + self.sd_rating**2 / (problems * repetitions))


# Session measures that can be stated; the share of next turns is made of turns, and those are not stated.
STATED_MEASURES = tuple(measure for measure in SESSION_MEASURES if measure != "next_turn_independence")


def parse_effect(text: str, known: Iterable[str] = STATED_MEASURES) -> tuple[str, StatedEffect]:
    """Return measure and effect from `measure=mean,sd[,sd_problem[,sd_rating]]`. Raises ConfigurationProblem."""
    known = tuple(known)
    measure, equals, numbers = text.partition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not equals or not 2 <= len(values) <= 4 or not all(map(np.isfinite, values)) or min(values[1:]) < 0:
        raise ConfigurationProblem(
            f"{text!r} states no effect; expected measure=mean,sd[,sd_problem[,sd_rating]], as in leakage=0.2,0.15"
        )
    if measure not in known:
        raise ConfigurationProblem(
            f"{text!r}: {measure!r} is no measure an effect can be stated for. Known: {', '.join(sorted(known))}."
        )
    return measure, StatedEffect(*values)


def shifted_arms(claims: Iterable[Claim], base: str) -> frozenset[CellKey]:
    """Return the cells a stated mean raises: the first arm of each paired claim, the candidates of a family.

    Raises
    ------
    ConfigurationProblem
        A claim that is no contrast, or a cell that is first in one claim and second in another.
    """
    raised: set[CellKey] = set()
    kept: set[CellKey] = set()
    for claim in claims:
        match claim:
            case PairedClaim():
                first, second = claim.arms[:1], claim.arms[1:]
            case ManyToOneClaim():
                first, second = claim.candidates, (claim.reference,)
            case _:
                raise ConfigurationProblem(
                    f"{claim.id}: a stated effect is about paired differences, and this claim rests on turns; "
                    "plan it from a pilot"
                )
        raised |= {Arm.parse(arm).at(base) for arm in first}
        kept |= {Arm.parse(arm).at(base) for arm in second}
    if both := sorted(raised & kept):
        named = ", ".join("/".join(cell) for cell in both)
        raise ConfigurationProblem(f"{named} is first arm in one claim and second in another; plan them one by one")
    return frozenset(raised)


class StatedMeasures(CorpusMeasures):
    """Measures of one study drawn from stated effects: normal, and no text behind them.

    Each arm carries half of the variance of a difference, so that two candidates of one reference share its part.
    Values are not cut to a measure's range: a claim reads differences only.
    """

    def __init__(
        self,
        effects: Mapping[str, StatedEffect],
        raised: frozenset[CellKey],
        instrument: Instrument,
        size: StudySize,
        rng: np.random.Generator,
    ) -> None:
        self._effects, self._raised, self._rng = effects, raised, rng
        self._size = size
        registered = sized(instrument, size)
        super().__init__(_no_corpus(instrument), registered)
        self._problems = size.problems or len(instrument.training)
        self._repetitions = registered.study.protocol.repetitions

    def cell(self, base: str, condition: str) -> Cell:
        """Return a cell whose sessions hold the judge-free measures that were stated."""
        key = (base, condition)
        if key not in self._cells:
            stated = {
                measure: self._draw(measure, key)
                for measure, judged in SESSION_MEASURES.items()
                if not judged and measure in self._effects
            }
            self._cells[key] = Cell(
                sessions={number: self._session(key, number, stated) for number in range(self._size.replicates)},
                turns=dict.fromkeys(range(self._size.replicates), ()),
            )
        return self._cells[key]

    def scores(self, base: str, condition: str, judge: str, rubric: str) -> CellScores:
        """Return session scores of a rubric that was stated."""
        key = (base, condition, judge, rubric)
        if key not in self._scores:
            drawn = self._draw(rubric, (base, condition))
            self._scores[key] = CellScores(sessions=dict(enumerate(drawn)))
        return self._scores[key]

    def _draw(self, measure: str, cell: CellKey) -> list[float]:
        if measure not in self._effects:
            raise NotEvaluable(f"no effect was stated for {measure}; state its mean and sd")
        effect = self._effects[measure]
        mean = effect.mean if cell in self._raised else 0.0
        sd = effect.sd_at(self._problems, self._repetitions if is_judged(measure) else 1) / sqrt(2)
        drawn: list[float] = self._rng.normal(mean, sd, self._size.replicates).tolist()
        return drawn

    def _session(self, cell: CellKey, number: int, stated: Mapping[str, list[float]]) -> SessionRow:
        return SessionRow(
            key=SessionKey(*cell, number),
            seed=0,
            leakage=stated["leakage"][number] if "leakage" in stated else None,
            independence=stated["independence"][number] if "independence" in stated else None,
            accuracy_immediate=None,
            accuracy_delayed=None,
            accuracy_transfer=None,
            n_tutor_turns=0,
            n_student_turns=0,
            visible_tutor_turns=0,
            student_turns=0,
            n_calls=0,
            tutor_tokens=0,
            student_tokens=0,
            input_tokens=0,
            output_tokens=0,
        )


def _no_corpus(instrument: Instrument) -> Corpus:
    """Return the empty corpus that stands behind stated effects: nothing on disk, and marked as simulated."""
    manifest = CorpusManifest(
        name="stated",
        provenance="simulated",
        content="tables",
        instrument=instrument.sha256,
        study=instrument.study.name,
        producer="plan",
        bases=("stated",),
        conditions=(),
    )
    return Corpus(Path("stated"), manifest)
