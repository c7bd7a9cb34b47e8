"""The sessions of every condition of a base, each complete or with the reason why not."""

from collections.abc import Mapping

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, CorpusMeasures, complete_cells
from pytest_tutoreval.records.measured import SessionRow
from pytest_tutoreval.records.session import UNTUTORED

__all__ = ["sessions_by_condition"]


def sessions_by_condition(measures: CorpusMeasures, base: str) -> Mapping[str, Mapping[int, SessionRow] | NotEvaluable]:
    """Return the sessions of cold, conv and ped by replicate; an incomplete condition stands as its reason.

    Raises
    ------
    NotEvaluable
        No condition is complete; the first one's reason.
    """
    found: dict[str, Mapping[int, SessionRow] | NotEvaluable] = {}
    for condition in (UNTUTORED, *ARMS):
        try:
            found[condition] = complete_cells(measures, base, (condition,))[condition].sessions
        except NotEvaluable as exc:
            found[condition] = exc
    reasons = [sessions for sessions in found.values() if isinstance(sessions, NotEvaluable)]
    if len(reasons) == len(found):
        raise reasons[0]
    return found
