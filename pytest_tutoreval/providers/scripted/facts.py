"""The quantities of a problem, read from its statement, as the phrases need them."""

import re
from collections.abc import Mapping

from pytest_tutoreval.records.problem import Problem

__all__ = ["exchange_facts", "plain", "probe_facts", "wrong_values"]

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
_LITERS = re.compile(r"(\d+(?:\.\d+)?) liters")
_QUANTITY = re.compile(r"\d+(?:\.\d+)?(?:%| [a-z]+)")
_UNIT = re.compile(r"How many ([a-z]+)|in ([a-z]+)\?")


def plain(value: float) -> str:
    """Return a number as people write it: 24, 9.6."""
    return f"{round(value, 4):g}"


def wrong_values(problem: Problem) -> tuple[str, ...]:
    """Return plausible values that are not the answer, written out: what a mistaken student commits to."""
    answer = problem.answer
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", problem.statement)]
    largest = max(numbers, default=answer)
    guesses = (largest / 2, answer + 2, answer * 1.5, largest, answer / 2, answer + 6, answer + 0.5)
    return tuple(dict.fromkeys(plain(guess) for guess in guesses if guess > 0 and abs(guess - answer) > 1e-3))


def probe_facts(problem: Problem) -> Mapping[str, str]:
    """Return the quantities a lone student talks about: the first, the second and the last, and the unit."""
    quantities = _QUANTITY.findall(problem.statement) or ["one number"]
    unit = _UNIT.search(problem.statement)
    return {
        "first": quantities[0],
        "second": quantities[min(1, len(quantities) - 1)],
        "last": quantities[-1],
        "unit": (unit[1] or unit[2]) if unit else "units",
    }


def exchange_facts(problem: Problem) -> Mapping[str, str]:
    """Return the quantities of a mixture problem a tutor and a student talk about.

    Raises
    ------
    ValueError
        The statement names no three percentages and no liters.

    Notes
    -----
    Two kinds: something is added to a known amount, or two solutions share a known total. `known` is the part
    whose acid can be worked out at once, `calc` and `part` that computation and its result. No field but
    `answer` and `form` holds the answer of a frozen problem.
    """
    percents = _PERCENT.findall(problem.statement)
    liters = _LITERS.search(problem.statement)
    if len(percents) < 3 or liters is None:
        raise ValueError(
            f"{problem.id}: found percentages {percents} and no mixture the script can talk about. "
            "Expected three percentages and an amount in liters."
        )
    strong, weak, target = percents[:3]
    n = liters[1]
    s, w, t = (float(percent) / 100 for percent in (strong, weak, target))
    is_split = " mixed with " in problem.statement
    share, pct = (t, target) if is_split else (w, weak)
    coefficient = plain(s) if s in (0, 1) else f"{s:.2f}"
    if is_split:
        equation = f"{s:.2f}x + {w:.2f}({n} - x) = {t:.2f}({n})"
    else:
        added = "" if s == 0 else "x + " if s == 1 else f"{s:.2f}x + "
        equation = f"{added}{w:.2f}({n}) = {t:.2f}({n} + x)"
    answer = problem.numeric_forms[0] if problem.numeric_forms else plain(problem.answer)
    return {
        **probe_facts(problem),
        "n": n,
        "s": strong,
        "w": weak,
        "t": target,
        "pct": f"{pct}%",
        "target": f"{target}%",
        "ds": f"{s:.2f}",
        "dt": f"{t:.2f}",
        "termx": f"{coefficient}x",
        "calc": f"{share:.2f} * {n}",
        "part": plain(share * float(n)),
        "avg": plain((float(strong) + float(weak)) / 2),
        "guess": wrong_values(problem)[0],
        "added": "water" if s == 0 else "pure acid" if s == 1 else f"{strong}% solution",
        "known": (
            f"the finished {n} liters of {target}% mixture" if is_split else f"the {n} liters of {weak}% solution"
        ),
        "restate": (
            f"we mix the {strong}% and the {weak}% to get {n} liters at {target}%"
            if is_split
            else f"we start with {n} liters at {weak}% and want to reach {target}%"
        ),
        "whole": f"y = {n} - x" if is_split else f"T = {n} + x",
        "whole_words": (
            f"the two amounts together make {n} liters"
            if is_split
            else f"the mixture grows from {n} liters by whatever is added"
        ),
        "equation": equation,
        "answer": answer,
        "form": problem.solution_forms[0] if problem.solution_forms else f"use {answer}",
    }
