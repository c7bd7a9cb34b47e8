"""What a run will cost before its first call: the protocol played with replies of a stated length, and counted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_tutoreval.collecting import EpisodePlan, collect_calls
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.judging import rating_requests
from pytest_tutoreval.live.jobs import Needs, base_route, judge_route, routes_of, student_route
from pytest_tutoreval.policies import policy_of
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.money import price_of
from pytest_tutoreval.records.session import UNTUTORED, Route, Session, SessionHeader
from pytest_tutoreval.records.study_file import Price, RouteSettings, StudyFile

__all__ = ["Assumptions", "CostPlan", "RoleCost", "plan_cost"]

MILLION = 1_000_000
CHARACTERS_A_TOKEN = 4
PROBE_PURPOSES = ("probe", "commitment")
# Who speaks in ped, and is told to be short; every other visible turn is as long as conv's.
RESPONDERS = ("deferral_gate", "decomposer", "hint_cascade")
TUTORED = "tutored"


@dataclass(frozen=True)
class Assumptions:
    """What a plan takes for granted, all of it stated beside the numbers.

    Reply lengths are in tokens and near those of the released logs, a `responder` being who speaks in ped. Every n-th
    probe is taken to need one elicitation, as released: each one in cold, hardly any in a tutored condition. Every
    tutor turn is taken to lie in the window, so rating costs are upper ends. `seconds` is one call's latency.
    """

    reply_tokens: Mapping[str, int] = field(
        default_factory=lambda: {"student": 80, "tutor": 230, "tracker": 90, "responder": 70, "judge": 70}
    )
    elicited_every: Mapping[str, int] = field(default_factory=lambda: {UNTUTORED: 1, TUTORED: 13})
    seconds: float = 3.0


@dataclass(frozen=True)
class RoleCost:
    """Calls of one role on one route. `dollars` is None where the price is unknown; `hours` is its share of waiting.

    `exceeds` says which of the route's limits the largest request breaks, or None.
    """

    base: str
    role: str
    route: Route
    calls: int
    input_tokens: int
    output_tokens: int
    largest_request: int
    dollars: float | None
    hours: float
    exceeds: str | None


@dataclass(frozen=True)
class CostPlan:
    """The whole plan. `hours` is the wall time: sessions side by side, calls one after another inside each."""

    roles: tuple[RoleCost, ...]
    hours: float
    assumptions: Assumptions

    @property
    def dollars(self) -> float | None:
        """All routes together, None while a price is unknown."""
        costs = [role.dollars for role in self.roles]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(role.calls for role in self.roles)


@dataclass
class _Tally:
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    largest: int = 0

    def add(self, prompt: int, completion: int, times: int) -> None:
        self.calls += times
        self.input_tokens += prompt * times
        self.output_tokens += completion * times
        self.largest = max(self.largest, prompt)


class _PaddedCast:
    """Answers every call with a reply of the assumed length, and counts what it was sent."""

    def __init__(self, assumptions: Assumptions, tallies: Mapping[str, _Tally], times: int) -> None:
        self._assumptions, self._tallies, self._times = assumptions, tallies, times
        self._probes = 0

    def __call__(self, request: ModelRequest) -> ModelReply:
        assumed, site = self._assumptions, request.site
        speaker = "responder" if request.role == "tutor" and site.node in RESPONDERS else request.role
        tokens = assumed.reply_tokens[speaker]
        role = "student" if request.role == "student" else "tutor"
        self._tallies[role].add(_prompt_tokens(request), tokens, self._times)
        text = "word" * tokens
        if site.purpose in PROBE_PURPOSES:
            self._probes += site.purpose == "probe"
            every = assumed.elicited_every[UNTUTORED if site.condition == UNTUTORED else TUTORED]
            if site.purpose == "commitment" or self._probes % every:
                text += "\nFINAL ANSWER: 1"
        return ModelReply(text)


def _prompt_tokens(request: ModelRequest) -> int:
    characters = len(request.system) + sum(len(message.text) for message in request.messages)
    return characters // CHARACTERS_A_TOKEN


def plan_cost(
    instrument: Instrument,
    needs: Needs,
    prices: Mapping[str, Price],
    study_file: StudyFile,
    *,
    replicates: int | None = None,
    at_once: int = 256,
    assumptions: Assumptions | None = None,
) -> CostPlan:
    """Return calls, tokens, dollars and hours per base and role.

    Raises
    ------
    ConfigurationProblem
        A base, judge, condition or rubric that is not known, or a route that lacks its pin.
    """
    routes_of(instrument, needs)
    assumed = assumptions or Assumptions()
    times = instrument.study.protocol.replicates if replicates is None else replicates
    roles: list[RoleCost] = []
    session_seconds: list[float] = []
    for base in needs.bases:
        collected = {name: _times(n, times) for (of, name), n in needs.cells.items() if of == base}
        rated = {place[1:]: _times(n, times) for place, n in needs.ratings.items() if place[0] == base}
        routes = {"student": student_route(instrument), "tutor": base_route(instrument, base)}
        tallies: dict[str, _Tally] = defaultdict(_Tally)
        sessions: dict[str, Session] = {}
        for condition in dict.fromkeys((*collected, *(name for name, *_ in rated))):
            counted = tallies if condition in collected else defaultdict(_Tally)  # what is rated alone is there already
            cast = _PaddedCast(assumed, counted, collected.get(condition, 0))
            session = sessions[condition] = _one_session(instrument, base, condition, cast)
            session_seconds += [len(session.calls) * assumed.seconds] * collected.get(condition, 0)
        for (condition, judge, rubric), number in rated.items():
            role = f"judge {judge}, {rubric}"
            route, tally = routes.setdefault(role, judge_route(instrument, judge)), tallies[role]
            for request, _ in rating_requests(instrument, sessions[condition], rubric, route):
                tally.add(_prompt_tokens(request), assumed.reply_tokens["judge"], number)
        roles += [
            _role_cost(base, role, routes[role], tally, prices, study_file, assumed) for role, tally in tallies.items()
        ]
    hours = _wall_hours(roles, session_seconds, at_once)
    return CostPlan(tuple(roles), hours, assumed)


def _one_session(instrument: Instrument, base: str, condition: str, cast: _PaddedCast) -> Session:
    student, tutor = student_route(instrument), base_route(instrument, base)
    plan = EpisodePlan(instrument, base, condition, 0, policy_of(instrument, condition), student, tutor)
    header = SessionHeader(
        base=base,
        condition=condition,
        replicate=0,
        seed=plan.seed,
        provenance="simulated",
        instrument=instrument.sha256,
        producer="plan",
    )
    return Session(header=header, calls=tuple(collect_calls(plan, cast)))


def _times(stated: int | None, times: int) -> int:
    return times if stated is None else stated


def _role_cost(
    base: str,
    role: str,
    route: Route,
    tally: _Tally,
    prices: Mapping[str, Price],
    study_file: StudyFile,
    assumed: Assumptions,
) -> RoleCost:
    price = price_of(route, prices)
    settings = study_file.route_settings(route.provider, route.model)
    dollars = None
    if price is not None:
        dollars = (tally.input_tokens * price.input + tally.output_tokens * price.output) / MILLION
    return RoleCost(
        base=base,
        role=role,
        route=route,
        calls=tally.calls,
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
        largest_request=tally.largest,
        dollars=dollars,
        hours=_route_hours(tally, settings, assumed),
        exceeds=_exceeded(tally, route, settings),
    )


def _route_hours(tally: _Tally, settings: RouteSettings, assumed: Assumptions) -> float:
    """Return the hours a route needs at least: by its concurrency, requests and tokens a minute."""
    minutes = [tally.calls * assumed.seconds / settings.concurrency / 60]
    if settings.requests_per_minute is not None:
        minutes.append(tally.calls / settings.requests_per_minute)
    if settings.tokens_per_minute is not None:
        minutes.append((tally.input_tokens + tally.output_tokens) / settings.tokens_per_minute)
    return max(minutes) / 60


def _exceeded(tally: _Tally, route: Route, settings: RouteSettings) -> str | None:
    completion = route.sampling.max_tokens if route.sampling else 0
    largest = tally.largest + completion
    if settings.tokens_per_minute is not None and largest > settings.tokens_per_minute:
        return f"the largest request and its cap ({largest} tokens) exceed {settings.tokens_per_minute:.0f} a minute"
    return None


def _wall_hours(roles: Sequence[RoleCost], session_seconds: Sequence[float], at_once: int) -> float:
    """Return the wall time: no less than the longest session, than all sessions side by side, than any route."""
    by_route: dict[str, float] = defaultdict(float)
    for role in roles:
        by_route[f"{role.route.provider}/{role.route.model}"] += role.hours
    longest = max(session_seconds, default=0.0)
    side_by_side = sum(session_seconds) / at_once
    return max(longest / 3600, side_by_side / 3600, *by_route.values(), 0.0)
