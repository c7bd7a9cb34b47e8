"""The final answer a student turn commits to, as released (definitions, section 5)."""

import math
import re

__all__ = ["final_answer"]

# The marker wherever it stands; one colon or hyphen; then the rest of that line (or of the next non-blank one
# when the marker ends its line), which must hold at least one character. Possessive: giving white space back could
# only leave a rest without a number, and costs quadratic time on a run of line breaks.
_MARKER = re.compile(r"final\s*answer\s*+[:\-]?+\s*+(.+)", re.IGNORECASE)

# Sign, dollar and spaces, then a fraction of two integers, digits-dot-digits, or digits. ASCII only.
_NUMBER = re.compile(r"([+-]?)\s*\$?\s*(?:([0-9]+)/([0-9]+)|([0-9]+\.[0-9]+)|([0-9]+))")


def final_answer(text: str) -> float | None:
    """Return the value a student turn commits to, or None where it commits to nothing.

    Only the first marker counts, and its value is the first number on the rest of that line. A fraction is
    evaluated; a zero denominator is no answer. Thousands commas, bare decimals, typographic minus, exponents and
    number words are not read, as released. A number too long for a float commits to infinity, which is never right.
    """
    marker = _MARKER.search(text)
    if marker is None:
        return None
    number = _NUMBER.search(marker[1])
    if number is None:
        return None
    sign, numerator, denominator, decimal, integer = number.groups()
    if numerator is not None:
        if not denominator.strip("0"):
            return None
        try:
            value = int(numerator) / int(denominator)
        except (ValueError, OverflowError):  # more digits than int reads, or than a float holds
            value = math.inf
    else:
        value = float(decimal if decimal is not None else integer)
    return -value if sign == "-" else value
