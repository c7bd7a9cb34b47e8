"""What a live run has to make: sessions and ratings, from names to routes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

from pytest_tutoreval import __version__
from pytest_tutoreval.collecting import EpisodePlan
from pytest_tutoreval.collecting.engine import SessionJob
from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.frozen import Instrument, text_digest
from pytest_tutoreval.judging.engine import RatingJob
from pytest_tutoreval.policies import POLICIES
from pytest_tutoreval.records.rating import RatingHeader
from pytest_tutoreval.records.session import UNTUTORED, Route, SessionHeader, SessionKey
from pytest_tutoreval.records.study import Base, Judge
from pytest_tutoreval.store import Corpus, session_path

__all__ = [
    "Needs",
    "base_route",
    "judge_route",
    "rating_jobs",
    "routes_of",
    "same_family",
    "session_jobs",
    "student_route",
]

PRODUCER = f"pytest-tutoreval {__version__}"

# Routes that choose among hosts: without a pin nobody could say which model was asked.
AGGREGATORS = ("openrouter",)

_FAMILIES = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}


@dataclass(frozen=True)
class Needs:
    """What a run is to make, and nothing beside it.

    `cells` are base and condition of sessions; `ratings` are base, judge and rubric over the base's tutored cells.
    """

    cells: tuple[tuple[str, str], ...] = ()
    ratings: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def crossed(
        cls, *, bases: Sequence[str], conditions: Sequence[str], judges: Sequence[str] = (), rubrics: Sequence[str] = ()
    ) -> "Needs":
        """Return every combination."""
        return cls(tuple(product(bases, conditions)), tuple(product(bases, judges, rubrics)))

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(
            tuple(dict.fromkeys((*self.cells, *other.cells))), tuple(dict.fromkeys((*self.ratings, *other.ratings)))
        )

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
        return tuple(dict.fromkeys(judge for _, judge, _ in self.ratings))

    def session_keys(self, replicates: Sequence[int]) -> Iterator[SessionKey]:
        """Yield every session: replicate by replicate, so that a run cut short leaves whole pairs."""
        for replicate in replicates:
            for base, condition in self.cells:
                yield SessionKey(base, condition, replicate)


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
    return _pinned(
        Route(provider=base.provider, model=base.model, sampling=base.sampling, pin=base.pin), f"base {name}"
    )


def student_route(instrument: Instrument) -> Route:
    """Return the student's route as registered or amended."""
    student = instrument.study.student
    route = Route(provider=student.provider, model=student.model, sampling=student.sampling, pin=student.pin)
    return _pinned(route, "the student")


def judge_route(instrument: Instrument, name: str) -> Route:
    """Return a judge's route as registered."""
    judge = _known_judge(instrument, name)
    return _pinned(
        Route(provider=judge.provider, model=judge.model, sampling=judge.sampling, pin=judge.pin), f"judge {name}"
    )


def _pinned(route: Route, who: str) -> Route:
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
    if needs.cells:
        routes["student"] = student_route(instrument)
    for base, condition in needs.cells:
        if condition != UNTUTORED:
            routes[f"tutor {base}"] = base_route(instrument, base)
    return routes | {f"judge {judge}": judge_route(instrument, judge) for judge in needs.judges}


def _check_names(instrument: Instrument, needs: Needs) -> None:
    for kind, named, known in (
        ("condition", needs.conditions, (*POLICIES, UNTUTORED)),
        ("rubric", dict.fromkeys(rubric for *_, rubric in needs.ratings), instrument.study.rubrics),
    ):
        if unknown := [name for name in named if name not in known]:
            raise ConfigurationProblem(f"{kind} {', '.join(unknown)} is not known (known: {', '.join(known)})")


def same_family(instrument: Instrument, needs: Needs) -> list[str]:
    """Return a line for each judge that shares its maker with a tutor it rates: reported, not refused."""
    lines = []
    for base, judge in dict.fromkeys((base, judge) for base, judge, _ in needs.ratings):
        rater, tutor = judge_route(instrument, judge), base_route(instrument, base)
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
        policy = POLICIES.get(key.condition)
        plan = EpisodePlan(instrument, key.base, key.condition, key.replicate, policy, student, tutor)
        header = SessionHeader(
            base=key.base,
            condition=key.condition,
            replicate=key.replicate,
            seed=plan.seed,
            provenance="recorded",
            instrument=instrument.sha256,
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
        for base, judge, rubric in needs.ratings:
            if base != key.base:
                continue
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
