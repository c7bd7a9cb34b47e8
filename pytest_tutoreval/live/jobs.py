"""What a live run has to make: sessions and ratings, from names to routes."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TypeVar

from pytest_tutoreval import __version__
from pytest_tutoreval.collecting import EpisodePlan
from pytest_tutoreval.collecting.engine import SessionJob
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import Instrument, text_digest
from pytest_tutoreval.judging.engine import RatingJob
from pytest_tutoreval.policies import known_conditions, policy_of
from pytest_tutoreval.providers.parts import Part, is_scripted, provenance_of, refuse_part
from pytest_tutoreval.records.rating import RatingHeader
from pytest_tutoreval.records.session import UNTUTORED, Provenance, Route, SessionHeader, SessionKey
from pytest_tutoreval.records.study import Base, Judge
from pytest_tutoreval.store import Corpus, session_path

__all__ = [
    "Needs",
    "base_route",
    "judge_route",
    "rating_jobs",
    "routes_of",
    "run_provenance",
    "same_family",
    "scripted_parts",
    "session_jobs",
    "student_route",
]

PRODUCER = f"pytest-tutoreval {__version__}"

# Routes that choose among hosts: without a pin nobody could say which model was asked.
AGGREGATORS = ("openrouter",)

_FAMILIES = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}


# Base and condition of sessions; base, condition, judge and rubric of ratings.
SessionCell = tuple[str, str]
RatingCell = tuple[str, str, str, str]
Cell = TypeVar("Cell", SessionCell, RatingCell)


@dataclass(frozen=True)
class Needs:
    """What a run is to make, and nothing beside it: sessions of `cells`, and `ratings` of sessions.

    Each has its number of replicates, counted from 0. None leaves it to the run: its replicates where sessions are
    collected, all that are on disk where they are rated. In an untutored session there is nothing to rate.
    """

    cells: Mapping[SessionCell, int | None] = field(default_factory=dict)
    ratings: Mapping[RatingCell, int | None] = field(default_factory=dict)

    @classmethod
    def crossed(
        cls,
        *,
        bases: Sequence[str],
        conditions: Sequence[str],
        judges: Sequence[str] = (),
        rubrics: Sequence[str] = (),
        replicates: int | None = None,
    ) -> "Needs":
        """Return every combination."""
        return cls(
            dict.fromkeys(product(bases, conditions), replicates),
            dict.fromkeys(product(bases, conditions, judges, rubrics), replicates),
        )

    def __or__(self, other: "Needs") -> "Needs":
        """Return what both need, of each cell the larger number of replicates.

        Raises
        ------
        ValueError
            One states the number of a cell and the other leaves it to the run: nobody could say which is larger.
        """
        return Needs(_either(self.cells, other.cells), _either(self.ratings, other.ratings))

    @property
    def bases(self) -> tuple[str, ...]:
        """The bases, in the order they were named."""
        return tuple(dict.fromkeys(base for base, *_ in (*self.cells, *self.ratings)))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of the cells."""
        return tuple(dict.fromkeys(condition for _, condition in self.cells))

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges."""
        return tuple(dict.fromkeys(judge for _, _, judge, _ in self.ratings))

    def of_bases(self, bases: Container[str]) -> "Needs":
        """Return what is needed of these bases."""
        return Needs(
            {cell: n for cell, n in self.cells.items() if cell[0] in bases},
            {rating: n for rating, n in self.ratings.items() if rating[0] in bases},
        )

    def of_judge(self, judge: str) -> "Needs":
        """Return the ratings that are needed of a judge."""
        return Needs(ratings={rating: n for rating, n in self.ratings.items() if rating[2] == judge})

    def session_keys(self, replicates: Sequence[int]) -> Iterator[SessionKey]:
        """Yield every session: replicate by replicate, so that a run cut short leaves whole pairs.

        `replicates` are those of cells whose number is left to the run.
        """
        numbers = {cell: frozenset(replicates if n is None else range(n)) for cell, n in self.cells.items()}
        for replicate in sorted(frozenset().union(*numbers.values())):
            for (base, condition), wanted in numbers.items():
                if replicate in wanted:
                    yield SessionKey(base, condition, replicate)

    def rated_keys(self, corpus: Corpus) -> Iterator[SessionKey]:
        """Yield the sessions to rate: all that a corpus holds of the rated cells, whoever collected them."""
        for base, condition in dict.fromkeys((base, condition) for base, condition, *_ in self.ratings):
            yield from corpus.session_keys(base, condition)

    def ratings_of(self, key: SessionKey) -> Iterator[tuple[str, str]]:
        """Yield the judge and rubric of each rating that a session needs."""
        for (base, condition, judge, rubric), n in self.ratings.items():
            if (base, condition) == (key.base, key.condition) and (n is None or key.replicate < n):
                yield judge, rubric


def _either(one: Mapping[Cell, int | None], other: Mapping[Cell, int | None]) -> dict[Cell, int | None]:
    both = {**one, **other}
    for cell in one.keys() & other.keys():
        mine, theirs = one[cell], other[cell]
        if (mine is None) != (theirs is None):
            raise ValueError(f"{cell}: {mine} and {theirs} replicates; state the number for both, or for neither")
        if mine is not None and theirs is not None:
            both[cell] = max(mine, theirs)
    return both


def _known_base(instrument: Instrument, name: str) -> Base:
    base = instrument.study.base(name)
    if base is None:
        known = ", ".join(entry.id for entry in instrument.study.bases)
        raise ConfigurationProblem(f"base {name!r} is not in the study (known: {known}); add it to your study file")
    return base


def _known_judge(instrument: Instrument, name: str) -> Judge:
    judge = instrument.study.judge(name)
    if judge is None:
        known = ", ".join(entry.id for entry in instrument.study.judges)
        raise ConfigurationProblem(f"judge {name!r} is not in the study (known: {known}); add it to your study file")
    return judge


def base_route(instrument: Instrument, name: str) -> Route:
    """Return a tutor's route as registered."""
    base = _known_base(instrument, name)
    route = Route(provider=base.provider, model=base.model, sampling=base.sampling, pin=base.pin)
    return _fit(route, "tutor", f"base {name}")


def student_route(instrument: Instrument) -> Route:
    """Return the student's route as registered or amended."""
    student = instrument.study.student
    route = Route(provider=student.provider, model=student.model, sampling=student.sampling, pin=student.pin)
    return _fit(route, "student", "the student")


def judge_route(instrument: Instrument, name: str) -> Route:
    """Return a judge's route as registered."""
    judge = _known_judge(instrument, name)
    route = Route(provider=judge.provider, model=judge.model, sampling=judge.sampling, pin=judge.pin)
    return _fit(route, "judge", f"judge {name}")


def _fit(route: Route, part: Part, who: str) -> Route:
    """Return the route, once it can play its part and names who would answer."""
    refuse_part(route, part)
    if route.provider in AGGREGATORS and not route.pin:
        raise ConfigurationProblem(
            f"{who}: {route.provider} chooses among hosts, and no pin is set; pin one upstream, or results could come "
            "from another serving of the model"
        )
    return route


def routes_of(instrument: Instrument, needs: Needs) -> dict[str, Route]:
    """Return every route a run will use, by role, so that all can be checked before the first call."""
    routes: dict[str, Route] = {}
    _check_names(instrument, needs)
    for condition in needs.conditions:
        policy_of(instrument, condition)  # a policy in Python that does not load is found before the first call
    if needs.cells:
        routes["student"] = student_route(instrument)
    for base, condition in needs.cells:
        if condition != UNTUTORED:
            routes[f"tutor {base}"] = base_route(instrument, base)
    return routes | {f"judge {judge}": judge_route(instrument, judge) for judge in needs.judges}


def run_provenance(instrument: Instrument, needs: Needs, *, there: Provenance | None = None) -> Provenance:
    """Return what a run's sessions are, by its student and its bases; `there` is what the corpus already holds, if any.

    Raises
    ------
    ConfigurationProblem
        One part of the run would be simulated and another recorded: they are never in one corpus.
    """
    found: dict[str, Provenance] = {}
    if there is None:
        found = {base: provenance_of(student_route(instrument), base_route(instrument, base)) for base in needs.bases}
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{base} {provenance}" for base, provenance in found.items())
        raise ConfigurationProblem(
            f"these bases do not go into one corpus: {shown}; a scripted tutor's sessions are simulated. Collect each "
            "kind into a folder of its own"
        )
    provenance: Provenance = there if there is not None else next(iter(found.values()), "recorded")
    scripted = [judge for judge in needs.judges if is_scripted(judge_route(instrument, judge))]
    if scripted and provenance != "simulated":
        raise ConfigurationProblem(
            f"judge {', '.join(scripted)} is scripted, and these sessions are {provenance}: made-up ratings are never "
            "mixed with them. Name a judge that is a model, or script the student too and give another folder"
        )
    return provenance


def scripted_parts(instrument: Instrument, needs: Needs) -> tuple[str, ...]:
    """Return the parts of a run that scripts play, as a corpus notes them."""
    return tuple(name for name, route in routes_of(instrument, needs).items() if is_scripted(route))


def _check_names(instrument: Instrument, needs: Needs) -> None:
    for kind, named, known in (
        ("condition", needs.conditions, known_conditions(instrument)),
        ("rubric", dict.fromkeys(rubric for *_, rubric in needs.ratings), instrument.study.rubrics),
    ):
        if unknown := [name for name in named if name not in known]:
            raise ConfigurationProblem(f"{kind} {', '.join(unknown)} is not known (known: {', '.join(known)})")


def same_family(instrument: Instrument, needs: Needs) -> list[str]:
    """Return a line for each judge that shares its maker with a tutor it rates: reported, not refused."""
    lines = []
    for base, judge in dict.fromkeys((base, judge) for base, _, judge, _ in needs.ratings):
        rater, tutor = judge_route(instrument, judge), base_route(instrument, base)
        if is_scripted(rater):
            continue
        if rater.model == tutor.model:
            lines.append(f"judge {judge} is the model it rates ({base}): self-preference looks like quality")
        elif _family(rater) is not None and _family(rater) == _family(tutor):
            lines.append(f"judge {judge} and base {base} share a family ({_family(rater)})")
    return lines


def _family(route: Route) -> str | None:
    maker = route.model.partition("/")[0] if route.provider in AGGREGATORS else route.provider
    return _FAMILIES.get(maker, maker if route.provider in AGGREGATORS else None)


def session_jobs(instrument: Instrument, keys: Iterable[SessionKey]) -> Iterator[SessionJob]:
    """Yield the job of each session, lazily: memory does not grow with their number."""
    student = student_route(instrument)
    for key in keys:
        tutor = base_route(instrument, key.base)
        policy = policy_of(instrument, key.condition)
        plan = EpisodePlan(instrument, key.base, key.condition, key.replicate, policy, student, tutor)
        header = SessionHeader(
            base=key.base,
            condition=key.condition,
            replicate=key.replicate,
            seed=plan.seed,
            provenance=provenance_of(student, tutor),
            instrument=instrument.sha256,
            policy=instrument.policy_sha256(key.condition),
            producer=PRODUCER,
            routes={"student": student} if policy is None else {"student": student, "tutor": tutor},
            amendments=instrument.amendments,
        )
        yield SessionJob(plan, header)


def rating_jobs(
    instrument: Instrument, corpus: Corpus, needs: Needs, keys: Iterable[SessionKey]
) -> Iterator[RatingJob]:
    """Yield the job of each session, judge and rubric; sessions that are not on disk are left out."""
    for key in keys:
        if key.condition == UNTUTORED or not (corpus.folder / session_path(key)).is_file():
            continue
        for judge, rubric in needs.ratings_of(key):
            header = RatingHeader(
                judge=judge,
                rubric=rubric,
                rubric_sha256=text_digest(instrument.rubrics[rubric]),
                base=key.base,
                condition=key.condition,
                replicate=key.replicate,
                provenance=corpus.manifest.provenance,
                instrument=instrument.sha256,
                producer=PRODUCER,
                route=judge_route(instrument, judge),
            )
            second_tries = _known_judge(instrument, judge).second_tries
            yield RatingJob(header, second_tries, partial(corpus.session, key))
