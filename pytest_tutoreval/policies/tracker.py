"""The learner-state tracker's private estimate, as notes for the responder (definitions, section 4)."""

from collections.abc import Mapping

from pytest_tutoreval.detectors import widest_object
from pytest_tutoreval.frozen import Instrument

__all__ = ["Estimate", "planning_notes", "read_estimate"]

Estimate = Mapping[str, object]


def read_estimate(reply: str) -> Estimate | None:
    """Return the tracker's fields, or None where its reply holds no JSON object. Never retried."""
    return widest_object(reply)


def planning_notes(estimate: Estimate | None, instrument: Instrument) -> str:
    """Return the block appended to a responder's prompt: heading, notes, blank line, progress line.

    Only the four kept fields, in fixed order; `asked_for_answer` is withheld. Without an estimate the notes are a
    fixed placeholder and the progress line says False. Progress is a truth value: the string "false" counts as True.
    """
    if estimate is None:
        notes = instrument.wording["notes_absent"]
        progressed = False
    else:
        kept = [name for name in instrument.router.tracker_fields if name in estimate]
        notes = "; ".join(f"{name}: {estimate[name]}" for name in kept)
        progressed = bool(estimate.get("progressed"))
    progress = instrument.prompts["template_progress_note"].format(progressed=progressed)
    return f"{instrument.wording['notes_heading']}\n{notes}\n\n{progress}"
