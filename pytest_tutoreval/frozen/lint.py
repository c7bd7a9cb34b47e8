"""What declared forms would measure wrongly: forms that hit where no answer is given away, and answers they miss.

A finding is said, never mended: the frozen problems have some, and forms of one's own can still be chosen better.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from pytest_tutoreval.detectors import DeclaredForms, final_answer, normalise
from pytest_tutoreval.records.problem import TOLERANCE, Problem

__all__ = ["Finding", "lint_problems"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")

_SMALL = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend in a problem.

    `form` is the declared form it is about, None where it is about the problem. `example` is a text in which it would
    go wrong, or empty. An `error` makes measures wrong for certain; a `warning` may.
    """

    problem: str
    level: Literal["error", "warning"]
    what: str
    advice: str
    form: str | None = None
    example: str = ""

    def __str__(self) -> str:
        about = self.problem if self.form is None else f"{self.problem}, form {self.form!r}"
        example = f" Example: {self.example!r}." if self.example else ""
        return f"{self.level}: {about}: {self.what}.{example} {self.advice}."


def lint_problems(problems: Sequence[Problem]) -> list[Finding]:
    """Return what is wrong with problems and their declared forms, problem by problem, errors first.

    Forms are judged by the frozen detector itself. Only tutored turns are measured with them, so of other phases'
    forms the certain mistakes are named and no more.
    """
    findings = [*_duplicate_problems(problems)]
    for problem in problems:
        found = [finding for check in _CHECKS for finding in check(problem)]
        if problem.phase == "training":
            found += [*_hits_elsewhere(problem, problems), *_missing_forms(problem)]
        else:
            found = [finding for finding in found if finding.form is None or finding.level == "error"]
        findings += sorted(found, key=lambda finding: finding.level)
    return findings


# one form at a time


def _forms(problem: Problem) -> Iterator[tuple[str, DeclaredForms]]:
    """Yield each declared form with the detector of that form alone."""
    for form in problem.numeric_forms:
        yield form, DeclaredForms([form], [])
    for form in problem.solution_forms:
        yield form, DeclaredForms([], [form])


def _never_hits(problem: Problem) -> Iterator[Finding]:
    for form, detector in _forms(problem):
        if not detector.leak(f"It is {form} then"):
            yield Finding(
                problem.id,
                "error",
                "it can never hit: the detector reads ASCII letters, digits and . + - / = only, and no empty form",
                "Write it with those characters, or drop it",
                form,
                f"It is {form} then",
            )


def _hits_statement(problem: Problem) -> Iterator[Finding]:
    for form, detector in _forms(problem):
        if hits := detector.hits(problem.statement):
            yield Finding(
                problem.id,
                "error",
                "it hits the problem's own statement, so a tutor that restates the problem counts as giving it away",
                "Change the problem's numbers, or declare a longer form",
                form,
                _around(normalise(problem.statement), hits[0].start, hits[0].end),
            )


def _intermediate(problem: Problem) -> Iterator[Finding]:
    steps = _steps(problem.statement)
    seen: set[float] = set()
    for form, detector in _forms(problem):
        value = _value(form)
        if value is None or value in seen or detector.leak(problem.statement):
            continue
        seen.add(value)
        step = next((shown for shown, result in steps if abs(result - value) <= TOLERANCE), None)
        if step is not None:
            yield Finding(
                problem.id,
                "warning",
                f"the statement's numbers give it in one step ({step}), so a step on the way may count as the answer",
                "Change the numbers, or read such hits before trusting the rate",
                form,
                f"{step} = {form}",
            )


def _one_digit(problem: Problem) -> Iterator[Finding]:
    for form in problem.numeric_forms:
        if re.fullmatch(r"\s*\d\s*", form):
            digit = form.strip()
            yield Finding(
                problem.id,
                "warning",
                "a single digit hits in step numbers, counts and coefficients",
                "Choose an answer of two digits or more",
                form,
                f"Step {digit}: write {digit}x",
            )


def _loose_phrase(problem: Problem) -> Iterator[Finding]:
    for form in problem.solution_forms:
        phrase = normalise(form)
        if re.fullmatch(r"[0-9./+-]+", phrase):
            yield Finding(
                problem.id,
                "error",
                "a phrase hits inside longer numbers too",
                "Declare it under numeric_forms, which know where a number ends",
                form,
                f"about 1{phrase}5",
            )
        elif phrase and " " not in phrase:
            yield Finding(
                problem.id,
                "warning",
                "a phrase of one word hits inside longer words, and wherever the word is used otherwise",
                "Declare it with the words around it, as in 'answer is ...'",
                form,
                f"the {phrase}th",
            )


def _repeated_forms(problem: Problem) -> Iterator[Finding]:
    read = Counter(
        [form.strip().lower() for form in problem.numeric_forms] + [normalise(form) for form in problem.solution_forms]
    )
    for form, count in read.items():
        if form and count > 1:
            yield Finding(
                problem.id,
                "warning",
                f"it is declared {count} times, as the detector reads it",
                "Drop the others",
                form,
            )


# the answer


def _answer_that_is_not_read(problem: Problem) -> Iterator[Finding]:
    written = plainly(problem.answer)
    line = f"FINAL ANSWER: {written}"
    if not problem.is_answered_by(final_answer(line)):
        yield Finding(
            problem.id,
            "error",
            f"a student who commits to {written} is read as {final_answer(line)}, so nobody is ever right",
            "Choose an answer that is an integer, a decimal or a fraction within range",
            example=line,
        )
    elif abs(round(problem.answer, 2) - problem.answer) > TOLERANCE:
        rounded = plainly(round(problem.answer, 2))
        yield Finding(
            problem.id,
            "warning",
            f"the answer has more than two decimals, and a student who rounds is wrong (within {TOLERANCE:g} is right)",
            "Choose numbers with a short answer, or have the statement ask for a fraction",
            example=f"FINAL ANSWER: {rounded}",
        )
    if abs(problem.answer) >= 1000:
        grouped = f"FINAL ANSWER: {problem.answer:,.15g}"
        yield Finding(
            problem.id,
            "warning",
            f"with a thousands comma it is read as {final_answer(grouped)}",
            "Choose an answer below 1000, or have the statement ask for digits alone",
            example=grouped,
        )


def _missing_forms(problem: Problem) -> Iterator[Finding]:
    """Yield a finding for each usual way of stating the answer that no declared form hits."""
    detector = DeclaredForms(problem.numeric_forms, problem.solution_forms)
    written = plainly(problem.answer)
    bare = (written, f"x = {written}", f"The answer is {written}.")
    missed = [text for text in bare if not detector.leak(text)]
    if missed:
        yield Finding(
            problem.id,
            "error",
            "no declared form hits its answer stated plainly",
            f"Add {written!r} to numeric_forms",
            example=missed[0],
        )
    for text, how, form in _other_ways(problem.answer, written):
        if not detector.leak(text):
            yield Finding(
                problem.id, "warning", f"no declared form hits its answer {how}", f"Add {form!r}", example=text
            )


def _other_ways(answer: float, written: str) -> Iterator[tuple[str, str, str]]:
    """Yield texts that state an answer otherwise, how they do it, and the form that would hit."""
    if "." in written:
        yield f"It is {written}0.", "with a zero more", f"{written}0"
        return
    for decimals in (".0", ".00"):
        yield f"It is {written}{decimals} exactly.", "with decimals", f"{written}{decimals}"
    for word in _in_words(answer):
        yield f"The answer is {word}.", "in words", f"answer is {word}"


def _in_words(answer: float) -> tuple[str, ...]:
    """Return how an integer from 0 to 99 is written out; nothing for other numbers."""
    if answer != int(answer) or not 0 <= answer < 100:
        return ()
    tens, ones = divmod(int(answer), 10)
    if tens < 2:
        return (_SMALL[int(answer)],)
    if ones == 0:
        return (_TENS[tens - 2],)
    return tuple(f"{_TENS[tens - 2]}{between}{_SMALL[ones]}" for between in (" ", "-"))


# several problems


def _duplicate_problems(problems: Sequence[Problem]) -> Iterator[Finding]:
    named = [problem.id for problem in problems]
    stated = [normalise(problem.statement) for problem in problems]
    for what, values in (("id", named), ("statement", stated)):
        for number, (problem, value) in enumerate(zip(problems, values, strict=True)):
            if (first := values.index(value)) != number:
                yield Finding(
                    problem.id,
                    "error",
                    f"its {what} is that of {problems[first].id} too",
                    "Give each problem its own",
                    example=problem.statement if what == "statement" else "",
                )


def _hits_elsewhere(problem: Problem, problems: Sequence[Problem]) -> Iterator[Finding]:
    for form, detector in _forms(problem):
        hit = [other for other in problems if other.id != problem.id and detector.leak(other.statement)]
        if hit:
            first = detector.hits(hit[0].statement)[0]
            yield Finding(
                problem.id,
                "warning",
                f"it hits the statement of {', '.join(other.id for other in hit)}, so a tutor that recalls or "
                "anticipates that problem counts as giving this one away",
                "Choose numbers that no other problem uses",
                form,
                _around(normalise(hit[0].statement), first.start, first.end),
            )


# numbers


def plainly(value: float) -> str:
    """Return a number as a student writes it: digits, at most one dot, no exponent."""
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def _value(form: str) -> float | None:
    return float(form) if re.fullmatch(r"\s*[+-]?\d+(?:\.\d+)?\s*", form) else None


def _steps(statement: str) -> list[tuple[str, float]]:
    """Return every value that two numbers of a statement give in one operation, with how it is written."""
    shares = {match[1] for match in _PERCENT.finditer(statement)}
    numbers = list(dict.fromkeys(_NUMBER.findall(statement)))
    steps = [(f"{a}% of {b}", float(a) * float(b) / 100) for a in numbers if a in shares for b in numbers]
    for a, b in permutations(numbers, 2):
        x, y = float(a), float(b)
        steps += [(f"{a} + {b}", x + y), (f"{a} - {b}", x - y), (f"{a} * {b}", x * y)]
        if y:
            steps.append((f"{a} / {b}", x / y))
    return steps


def _around(text: str, start: int, end: int, *, words: int = 4) -> str:
    """Return a hit with some words of the text on either side."""
    before, after = text[:start].split(" "), text[end:].split(" ")
    left = ["..."] * (len(before) > words + 1) + before[-words - 1 :]
    right = after[: words + 1] + ["..."] * (len(after) > words + 1)
    return f"{' '.join(left)}{text[start:end]}{' '.join(right)}".strip()


_CHECKS: tuple[Callable[[Problem], Iterator[Finding]], ...] = (
    _never_hits,
    _hits_statement,
    _intermediate,
    _one_digit,
    _loose_phrase,
    _repeated_forms,
    _answer_that_is_not_read,
)
