"""The session protocol: condition x replicate in, a session's calls out."""

from pytest_tutoreval.collecting.episode import EpisodePlan, collect_calls, episode, record_call
from pytest_tutoreval.collecting.student import StudentContext

__all__ = ["EpisodePlan", "StudentContext", "collect_calls", "episode", "record_call"]
