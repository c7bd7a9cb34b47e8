"""Live runs: the only room that spends."""

from pytest_tutoreval.live.jobs import Needs
from pytest_tutoreval.live.outcome import LiveOutcome
from pytest_tutoreval.live.progress import Progress
from pytest_tutoreval.live.replay import replay_answerer
from pytest_tutoreval.live.run import run_gates, run_live, run_verification
from pytest_tutoreval.live.settings import LiveRun

__all__ = [
    "LiveOutcome",
    "LiveRun",
    "Needs",
    "Progress",
    "replay_answerer",
    "run_gates",
    "run_live",
    "run_verification",
]
