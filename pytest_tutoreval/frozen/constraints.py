"""The frozen constraints of the problem set that a program can check at every load (definitions, section 2).

The first of the four, the symbolic re-derivation of every answer, needs equations of its own and lives with the
tests; its result is frozen in the manifest.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_tutoreval.errors import ConstraintViolated
from pytest_tutoreval.records.problem import PHASES, Phase, Problem

__all__ = ["answers_apart", "answers_not_in_statements", "check_constraints", "phases_and_parents"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def check_constraints(
    problems: Sequence[Problem], phase_counts: Mapping[Phase, int], *, where: str = "problems.csv"
) -> None:
    """Raise ConstraintViolated with every violation found. `where` is what the message names as their source."""
    violations = [
        *answers_apart(problems),
        *answers_not_in_statements(problems),
        *phases_and_parents(problems, phase_counts),
    ]
    if violations:
        raise ConstraintViolated(f"{where}: {'; '.join(violations)}")


def answers_apart(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each delayed or transfer answer that equals a training answer."""
    training = {problem.answer: problem.id for problem in problems if problem.phase == "training"}
    return [
        f"{problem.id}: answer {problem.answer:g} is also the answer of {training[problem.answer]}"
        for problem in problems
        if problem.phase in ("delayed", "transfer") and problem.answer in training
    ]


def answers_not_in_statements(problems: Sequence[Problem]) -> list[str]:
    """Return a line for each canonical answer that occurs as a numeric token in its own statement."""
    return [
        f"{problem.id}: answer {problem.answer:g} stands in the statement"
        for problem in problems
        if problem.answer in {float(token) for token in _NUMBER.findall(problem.statement)}
    ]


def phases_and_parents(problems: Sequence[Problem], phase_counts: Mapping[Phase, int]) -> list[str]:
    """Return a line for each wrong phase count, misplaced phase, double id or parent that does not resolve."""
    counts = Counter(problem.phase for problem in problems)
    ids = Counter(problem.id for problem in problems)
    training = {problem.id for problem in problems if problem.phase == "training"}
    violations = [
        f"phase {phase}: {counts[phase]} problems, registered {phase_counts.get(phase, 0)}"
        for phase in PHASES
        if counts[phase] != phase_counts.get(phase, 0)
    ]
    violations += [f"{name}: stands {count} times" for name, count in ids.items() if count > 1]
    order = [PHASES.index(problem.phase) for problem in problems]
    if order != sorted(order):
        violations.append("phases are not in session order")
    for problem in problems:
        needs_parent = problem.phase in ("immediate", "delayed", "transfer")
        if needs_parent and problem.training_parent not in training:
            violations.append(f"{problem.id}: parent {problem.training_parent!r} is no training problem")
        if not needs_parent and problem.training_parent is not None:
            violations.append(f"{problem.id}: a {problem.phase} item has no parent")
    return violations
