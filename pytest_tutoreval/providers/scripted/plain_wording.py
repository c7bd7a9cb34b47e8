"""The wording of any problem: the study's own have phrases about them, all others get plain ones."""

import re
from functools import lru_cache

from pytest_tutoreval.detectors import DeclaredForms
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.scripted.facts import plain, wrong_values
from pytest_tutoreval.providers.scripted.plain_phrases import (
    PLAIN_PROBE_FAMILIES,
    PLAIN_STUDENT_FAMILIES,
    PLAIN_TUTOR_FAMILIES,
    PLAIN_WORK,
)
from pytest_tutoreval.providers.scripted.wording import Wording, word_problem
from pytest_tutoreval.records.problem import Problem

__all__ = ["word_any_problem"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_TELLING = ("conv_leak", "conv_leak_curt", "ped_leak")
_SPARE_TURN = "Take your time. What would you try next?"


@lru_cache(maxsize=1024)
def word_any_problem(problem: Problem) -> Wording:
    """Return the wording of a problem, whoever wrote it; remembered."""
    if problem in load_instrument().problems:
        return word_problem(problem)
    templates = PLAIN_PROBE_FAMILIES | PLAIN_STUDENT_FAMILIES | PLAIN_TUTOR_FAMILIES
    facts = _facts(problem)
    families = {name: tuple(template.format_map(facts) for template in family) for name, family in templates.items()}
    # Written out, with more decimals than an answer is compared at: the study's fit into six digits, others' may not.
    right = f"{problem.answer:.9f}".rstrip("0").rstrip(".")
    wrong = wrong_values(problem) or (plain(problem.answer + 1), plain(problem.answer - 2))
    return Wording(problem, families | _tutor_turns(problem, families), PLAIN_WORK, right, wrong)


def _facts(problem: Problem) -> dict[str, str]:
    numbers = [float(number) for number in _NUMBER.findall(problem.statement)]
    a, b = (numbers + [2.0, 3.0][len(numbers) :])[:2]
    declared = (*problem.numeric_forms, *problem.solution_forms, plain(problem.answer))
    return {
        "a": plain(a),
        "b": plain(b),
        "sum": plain(a + b),
        "product": plain(a * b),
        "answer": next(form.strip() for form in declared if form.strip()),
    }


def _tutor_turns(problem: Problem, families: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return a tutor's families so that exactly the telling ones leak, whatever forms the problem declares."""
    forms = DeclaredForms(problem.numeric_forms, problem.solution_forms)
    harmless = {
        name: tuple(text for text in families[name] if not forms.leak(text)) or (_SPARE_TURN,)
        for name in PLAIN_TUTOR_FAMILIES
        if name not in _TELLING and not name.startswith("tracker")
    }
    return harmless
