"""Which parts the providers that are no vendors can play, and what follows for a run that has them play."""

from typing import Literal

from pytest_tutoreval.providers.faults import ConfigurationError
from pytest_tutoreval.providers.scripted.named import names_of, read_script_name
from pytest_tutoreval.records.session import Provenance, Route

__all__ = ["OWN_TUTORS", "SCRIPTED", "UNBILLED", "Part", "is_scripted", "provenance_of", "refuse_part"]

Part = Literal["student", "tutor", "judge"]

SCRIPTED = "scripted"
OWN_TUTORS = ("http", "python")

# They answer in this process, so nobody sends a bill.
UNBILLED = ("python", SCRIPTED)


def is_scripted(route: Route) -> bool:
    """Return whether a script answers on this route."""
    return route.provider == SCRIPTED


def provenance_of(*routes: Route) -> Provenance:
    """Return what data from these routes are: simulated where a script had any part, recorded otherwise."""
    return "simulated" if any(is_scripted(route) for route in routes) else "recorded"


def refuse_part(route: Route, part: Part) -> None:
    """Raise ConfigurationError where a route cannot play a part: an own tutor is no student, a script has its parts."""
    if route.provider in OWN_TUTORS and part != "tutor":
        raise ConfigurationError(
            route,
            "provider",
            f"= {route.provider!r} speaks to tutors alone, this is a {part}.",
            "Use compatible for a model of your own, or scripted for a dry run.",
        )
    if is_scripted(route):
        name = read_script_name(route).name
        known = names_of(part)
        if name not in known:
            raise ConfigurationError(
                route, "model", f"= {route.model!r} is no scripted {part}.", f"Known: {', '.join(known)}."
            )
