"""Text in, labels out: the frozen detectors. Never tuned; a better one is a second, named one."""

from pytest_tutoreval.detectors.answer import final_answer
from pytest_tutoreval.detectors.attempt import (
    ATTEMPT_PATTERNS,
    AttemptSpan,
    attempt_patterns,
    attempt_spans,
    attempts_step,
)
from pytest_tutoreval.detectors.json_span import widest_object
from pytest_tutoreval.detectors.leakage import DeclaredForms, Hit, Span, normalise

__all__ = [
    "ATTEMPT_PATTERNS",
    "AttemptSpan",
    "DeclaredForms",
    "Hit",
    "Span",
    "attempt_patterns",
    "attempt_spans",
    "attempts_step",
    "final_answer",
    "normalise",
    "widest_object",
]
