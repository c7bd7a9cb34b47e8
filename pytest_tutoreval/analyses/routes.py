"""Which node answered: the routes of in-window ped turns (definitions, section 4)."""

from collections import Counter
from collections.abc import Iterable

from pytest_tutoreval.analyses.registry import Analysis, AnalysisInput
from pytest_tutoreval.analyses.subject import Subject
from pytest_tutoreval.measures import Cell, complete_arms
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow

__all__ = ["ROUTES", "route_parts"]

# The branch the router chose, and the node that answers it in ped.
NODES = {"hint": "hint cascade", "decompose": "decomposer", "defer": "deferral gate"}


def route_parts(cell: Cell) -> tuple[int, tuple[AnalysisPart, ...]]:
    """Return a cell's in-window turns and, as parts, how many took each route; a route nobody knows is named too."""
    routes = Counter(turn.route or "none" for turns in cell.turns.values() for turn in turns)
    return routes.total(), tuple(_parts(routes))


def _parts(routes: Counter[str]) -> Iterable[AnalysisPart]:
    n = routes.total()
    for name in (*NODES, *sorted(routes.keys() - NODES.keys())):
        yield AnalysisPart(name=name, n=routes[name], estimate=routes[name] / n if n else None)


def routes(given: AnalysisInput) -> list[AnalysisRow]:
    """Return how often each node of ped answered."""
    subject = Subject.of("routes", "descriptive", given)
    n, parts = route_parts(complete_arms(given.measures, subject.base)["ped"])
    fired = next(part.n or 0 for part in parts if part.name == "defer")
    notes = [f"{name} is answered by the {node}" for name, node in NODES.items()]
    if n and fired < n / 100:
        notes.append(f"the gate answered {fired} of {n} turns: it was practically unexercised")
    return [subject.row("routes.ped", n=n, components=parts, notes=tuple(notes))]


ROUTES: tuple[Analysis, ...] = (
    Analysis("routes", "Which node of ped answered, in-window turns", "descriptive", "base", routes),
)
