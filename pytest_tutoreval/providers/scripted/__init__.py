"""Agents that need no network: a seeded cast of student, tutors and tracker, and judges."""

from pytest_tutoreval.providers.scripted.cast import ScriptedCast
from pytest_tutoreval.providers.scripted.judge import ScriptedJudge
from pytest_tutoreval.providers.scripted.judge_script import JUDGE_SCRIPTS, JudgeScript, Taste
from pytest_tutoreval.providers.scripted.plan import Planted
from pytest_tutoreval.providers.scripted.script import SCRIPTS, Script

__all__ = [
    "JUDGE_SCRIPTS",
    "SCRIPTS",
    "JudgeScript",
    "Planted",
    "Script",
    "ScriptedCast",
    "ScriptedJudge",
    "Taste",
]
