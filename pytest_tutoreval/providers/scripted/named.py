"""The scripts a study file can name, by part, and how it names them: a script and the seed of its chance."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from pytest_tutoreval.providers.faults import ConfigurationError
from pytest_tutoreval.providers.scripted.judge_script import JUDGE_SCRIPTS, JudgeScript
from pytest_tutoreval.providers.scripted.script import SCRIPTS, Script
from pytest_tutoreval.records.problem import PHASES
from pytest_tutoreval.records.session import Route

__all__ = ["JUDGES", "STUDENTS", "TUTORS", "ScriptName", "names_of", "read_script_name"]

_NAMED = re.compile(r"([A-Za-z][\w-]*)(?:@(\d{1,18}))?")

# Alone they rarely get a problem right, so that a preflight finds something to learn.
_ALONE = dict.fromkeys(PHASES, 0.08)

# What a student's script says of leaks rules nothing: it hears the tutor's own.
STUDENTS: Mapping[str, Script] = {
    "default": Script(leak_rate={}, cold_accuracy=_ALONE),
    "diligent": Script(
        leak_rate={},
        cold_accuracy=_ALONE,
        attempt_rate=0.9,
        attempt_rate_after_leak=0.75,
        commit_rate_after_leak=0.4,
    ),
    "passive": Script(
        leak_rate={},
        cold_accuracy=_ALONE,
        attempt_rate=0.4,
        attempt_rate_after_leak=0.05,
        request_rate=0.25,
        commit_rate_after_leak=0.95,
    ),
    **SCRIPTS,
}

TUTORS: Mapping[str, Script] = {
    "default": SCRIPTS["sonnet"],
    "leaky": Script(leak_rate={"conv": 0.8, "ped": 0.5}, question_rate={"conv": 0.2}),
    "careful": Script(leak_rate={"conv": 0.04, "ped": 0.03}, question_rate={"conv": 0.9}),
    **SCRIPTS,
}

JUDGES: Mapping[str, JudgeScript] = {"default": JUDGE_SCRIPTS["opus"], **JUDGE_SCRIPTS}


class ScriptName(NamedTuple):
    """A script, and the seed of its chance."""

    name: str
    seed: int


def names_of(part: Literal["student", "tutor", "judge"]) -> tuple[str, ...]:
    """Return the scripts that can play a part."""
    return tuple({"student": STUDENTS, "tutor": TUTORS, "judge": JUDGES}[part])


def read_script_name(route: Route) -> ScriptName:
    """Return what a route's model names: `default`, or `default@7` with a seed; without one the seed is 0.

    Raises
    ------
    ConfigurationError
        It is written otherwise.
    """
    named = _NAMED.fullmatch(route.model)
    if named is None:
        raise ConfigurationError(
            route, "model", f"= {route.model!r} names no script.", "Write a script, and a seed if you like: default@7."
        )
    return ScriptName(named[1], int(named[2] or 0))
