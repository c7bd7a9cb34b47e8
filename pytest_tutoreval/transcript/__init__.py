"""Who said what, in which window; no numbers yet."""

from pytest_tutoreval.transcript.dialogue import dialogue_digest, rated_dialogue
from pytest_tutoreval.transcript.episode import Transcript, read_transcript
from pytest_tutoreval.transcript.exchange import Exchange, Probe, StudentTurn, TutorTurn, protocol_breach
from pytest_tutoreval.transcript.window import Window, answer_window, next_student_turn

__all__ = [
    "Exchange",
    "Probe",
    "StudentTurn",
    "Transcript",
    "TutorTurn",
    "Window",
    "answer_window",
    "dialogue_digest",
    "next_student_turn",
    "protocol_breach",
    "rated_dialogue",
    "read_transcript",
]
