"""The dialogue a judge reads for one turn, rebuilt from logged turn text alone (definitions, section 8)."""

import hashlib

from pytest_tutoreval.transcript.exchange import TutorTurn
from pytest_tutoreval.transcript.window import Window

__all__ = ["dialogue_digest", "rated_dialogue"]


def rated_dialogue(window: Window, turn: TutorTurn) -> str:
    """Return the in-window turns up to and including the rated one: `Student: …` and `Tutor: …`, a blank line between.

    Absent by construction: the statement, tracker text, anything after the rated turn, other problems, and every label.
    """
    said = [(item.seq, "Student", item.text) for item in window.student if item.seq <= turn.first]
    said += [(item.first, "Tutor", item.text) for item in window.tutor if item.first <= turn.first]
    return "\n\n".join(f"{speaker}: {text.strip()}" for _, speaker, text in sorted(said))


def dialogue_digest(dialogue: str) -> str:
    """Return the sha256 that ties a rating to exactly this dialogue."""
    # An import may hold a lone surrogate, which strict UTF-8 refuses.
    return hashlib.sha256(dialogue.encode("utf-8", "surrogatepass")).hexdigest()
