"""What a loopback server says to a whole study, decided by the request body alone: a resumed run hears the same."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pytest_tutoreval.frozen import load_instrument
from tests.loopback.vendors import Shape

__all__ = ["digest_of", "role_of", "speak"]

_TRAINING, _PROBE = (
    json.dumps(load_instrument().wording[name].partition("{statement}")[0], ensure_ascii=False)[1:-1]
    for name in ("training_opening", "probe_opening")
)
_FIELDS = re.compile(r"exactly these fields: ([a-z_, ]+)\.")


def digest_of(body: object) -> str:
    """Return what tells one body from another."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def role_of(text: str) -> str:
    """Return who is asked, going by what the body holds."""
    if "You are a student learning algebra" in text:
        return "student"
    if "Please rate the final tutor turn" in text:
        return "judge"
    return "tracker" if "private planning component" in text else "tutor"


@cache
def _answers() -> tuple[tuple[str, float], ...]:
    return tuple((problem.statement, problem.answer) for problem in load_instrument().problems)


def speak(shape: Shape, body: Mapping[str, Any]) -> str:
    """Return a believable text: conv tutors state the answer often, students then commit, judges give one object."""
    text = json.dumps(body, ensure_ascii=False)
    digest = digest_of(body)
    chance = int(digest[:6], 16) / 16**6
    name = digest[-6:]
    match role_of(text):
        case "judge":
            return _rating(text, chance)
        case "tracker":
            return f'{{"demonstrated": "step {name}", "missing": "the total", "stuck": false, "progressed": true}}'
        case "tutor":
            answer = next(answer for statement, answer in _answers() if statement in text)
            if "hint" not in text and "Socratic" not in text and "tracker" not in text and chance < 0.4:
                return f"The answer is {answer:g} ({name})."
            return f"What does the first amount hold ({name})?"
        case _:
            return _student(text, chance, name)


def _student(text: str, chance: float, name: str) -> str:
    at, answer = max((text.rfind(statement), answer) for statement, answer in _answers())
    opening, heard = text[:at], text[at:]
    if "FINAL ANSWER: <number>" in heard or "state your final answer" in heard:
        return f"FINAL ANSWER: {answer:g}"
    is_exchange = opening.rfind(_TRAINING) > opening.rfind(_PROBE)
    is_told = "The answer is" in heard
    if is_told or chance < (0.8 if not is_exchange else 0.1 if "utor" in heard else 0.0):
        return f"I think so ({name}).\nFINAL ANSWER: {answer + (chance < 0.05):g}"
    return f"Is it 0.5 * 48 = 24 ({name})?" if chance < 0.6 else f"I am not sure ({name})."


def _rating(text: str, chance: float) -> str:
    fields = _FIELDS.search(text)
    assert fields is not None
    overall = 1 + int(chance * 5)
    return json.dumps(dict.fromkeys(fields[1].split(", "), overall))
