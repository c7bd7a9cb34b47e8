"""The gates before a registered run (definitions, section 3): read with paid calls, so part of live runs only.

With `-m preflight` nothing else is paid for. With claims selected too, the gates are read first, and a blocking gate
that fails stops the run before any session is paid for.
"""

import pytest

from pytest_tutoreval.collecting.preflight import GateReading


@pytest.mark.preflight
def test_gate(gate_reading: GateReading, base: str, gate: str) -> None:
    """A blocking gate passed; an advisory one was read."""
    shown = f"{gate_reading.reading}, limit {gate_reading.limit} ({gate_reading.context})"
    assert gate_reading.passed or not gate_reading.blocking, shown
