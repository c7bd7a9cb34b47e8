"""How fast text becomes rows: detectors, windows and dialogues over simulated sessions, one process."""

import time
import tracemalloc
from statistics import median

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import SessionMeasurer
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import Session
from pytest_tutoreval.simulating import simulate_session

RUNS = 9
MILLION = 1_000_000
CORES = 2


def measure() -> str:
    """Return the seconds a million in-window turns take on two cores, from one core's rate."""
    instrument = load_instrument()
    sessions: list[Session] = []
    for base, script in SCRIPTS.items():
        cast = ScriptedCast(instrument.problems, script, seed=1)
        for replicate in range(4):
            for condition in ("conv", "ped"):
                sessions.append(simulate_session(instrument, cast, base=base, condition=condition, replicate=replicate))
    measurer = SessionMeasurer(instrument)
    seconds = []
    n_turns = 0
    for _ in range(RUNS):
        started = time.process_time()
        n_turns = sum(len(measurer.measure(session).turns) for session in sessions)
        seconds.append(time.process_time() - started)
    per_turn = median(seconds) / n_turns
    tracemalloc.start()
    kept = [measurer.measure(session) for session in sessions]
    size = tracemalloc.get_traced_memory()[0] / sum(len(measured.turns) for measured in kept)
    tracemalloc.stop()
    return (
        f"measures: a million turns in {per_turn * MILLION / CORES:.0f} s on {CORES} cores "
        f"({1e6 * per_turn:.0f} us a turn, {size:.0f} bytes kept a turn); target under 60 s"
    )


if __name__ == "__main__":
    print(measure())
