"""What a live run makes: the cells, ratings and replicates that a selected claim or guard rests on, and no other."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pytest_tutoreval.claims import cells_of, parts_of, rated_cells_of
from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.measures import CorpusMeasures, FirstReplicates, complete_cells_at, complete_scores_at
from pytest_tutoreval.records.claim import Claim

if TYPE_CHECKING:
    from pytest_tutoreval.gating import GuardPlace
    from pytest_tutoreval.live import Needs

__all__ = ["ClaimPlace", "needs_of_claim", "needs_of_guard", "needs_of_run"]


@dataclass(frozen=True)
class ClaimPlace:
    """A claim that is to be decided for a base and, where it is judge-bound, a judge."""

    claim: Claim
    known: Mapping[str, Claim]
    base: str
    judge: str | None


def needs_of_run(
    places: Iterable[ClaimPlace],
    guards: "Iterable[GuardPlace]",
    *,
    bases: Collection[str],
    replicates: int,
    there: Callable[[], CorpusMeasures | None],
) -> "Needs":
    """Return what a run of these claims and guards makes.

    Parameters
    ----------
    bases : those that are named, to be paid for
    replicates : the study's registered n
    there : opens what is on disk, None where nothing is; asked only where a claim rests on a base that is not named

    Raises
    ------
    ConfigurationProblem
        A claim rests on a base that is not named, and something of it is not on disk.
    """
    from pytest_tutoreval.live import Needs

    needs, refused, opened = Needs(), {}, cache(there)
    for place in places:
        wanted = needs_of_claim(place, replicates)
        needs |= wanted.of_bases(bases)
        others = [base for base in wanted.bases if base not in bases]
        if others and (gap := _gap(wanted.of_bases(others), opened())):
            refused[place.claim.id, place.base] = others, gap
    for guard in guards:
        needs |= needs_of_guard(guard, replicates)
    if refused:
        claims = "; ".join(
            f"claim {claim}, decided for {base}, rests on {', '.join(others)} ({gap})"
            for (claim, base), (others, gap) in refused.items()
        )
        unnamed = dict.fromkeys(base for others, _ in refused.values() for base in others)
        raise ConfigurationProblem(
            f"--live pays for the bases that --base names, {', '.join(bases)}, and {claims}. "
            f"Add {', '.join(unnamed)} to --base, or deselect {', '.join(dict.fromkeys(claim for claim, _ in refused))}"
        )
    return needs


def needs_of_claim(place: ClaimPlace, replicates: int) -> "Needs":
    """Return what a claim rests on: its own n of each cell, or the study's, `replicates`, where it registers none."""
    from pytest_tutoreval.live import Needs

    needs = Needs()
    for part in parts_of(place.claim, place.known):
        n = part.replicates or replicates
        cells = cells_of(part, place.known, place.base)
        rated = rated_cells_of(part, place.known, place.base)
        needs |= Needs(
            dict.fromkeys(cells, n),
            {(base, condition, place.judge, rubric): n for base, condition, rubric in rated} if place.judge else {},
        )
    return needs


def needs_of_guard(place: "GuardPlace", replicates: int) -> "Needs":
    """Return what a guard rests on: a cell as large as the study's, with its ratings where the measure is judged."""
    from pytest_tutoreval.live import Needs

    cell = (place.base, place.condition)
    rated = {(*cell, place.judge, place.guard.measure): replicates} if place.judge else {}
    return Needs({cell: replicates}, rated)


def _gap(needs: "Needs", measures: CorpusMeasures | None) -> str | None:
    """Return what is not on disk of what is needed, None where all of it is."""
    if measures is None:
        return "nothing of it is on disk"

    def first(n: int | None) -> CorpusMeasures:
        return measures if n is None else FirstReplicates(measures, n)

    try:
        for cell, n in needs.cells.items():
            complete_cells_at(first(n), [cell])
        for (base, condition, judge, rubric), n in needs.ratings.items():
            complete_scores_at(first(n), [(base, condition)], judge, rubric)
    except NotEvaluable as exc:
        return str(exc)
    return None
