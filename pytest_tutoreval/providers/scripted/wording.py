"""Every phrase of a problem with its quantities filled in: made once, then only picked from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pytest_tutoreval.providers.scripted.facts import exchange_facts, plain, probe_facts, wrong_values
from pytest_tutoreval.providers.scripted.student_phrases import PROBE_FAMILIES, STUDENT_FAMILIES
from pytest_tutoreval.providers.scripted.tutor_phrases import TUTOR_FAMILIES
from pytest_tutoreval.records.problem import Problem

__all__ = ["VALUE", "Wording", "word_problem"]

# Stands in a phrase for the value a reply commits to, which is not known before the reply is drawn.
VALUE = "<v>"

_WORK = {
    "training": "mixture_work",
    "immediate": "mixture_work",
    "interference": "motion_work",
    "delayed": "mixture_work",
    "transfer": "blend_work",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """A problem as scripted agents talk about it.

    `families` holds the filled-in phrases by family; those of an exchange stand on training problems only.
    `work` names the family of a lone student's reasoning here. `right` and `wrong` are values, written out.
    """

    problem: Problem
    families: Mapping[str, tuple[str, ...]]
    work: str
    right: str
    wrong: tuple[str, ...]


@lru_cache(maxsize=256)
def word_problem(problem: Problem) -> Wording:
    """Return the wording of a problem; remembered, since every session talks about the same ones."""
    templates = dict(PROBE_FAMILIES)
    facts = probe_facts(problem)
    if problem.phase == "training":
        templates |= STUDENT_FAMILIES | TUTOR_FAMILIES
        facts = exchange_facts(problem)
    families = {name: tuple(template.format_map(facts) for template in family) for name, family in templates.items()}
    return Wording(problem, families, _WORK[problem.phase], plain(problem.answer), wrong_values(problem))
