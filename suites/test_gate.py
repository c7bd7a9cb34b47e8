"""The gate: measures that may not be worse than the baseline's by their margin or more; there under --gate alone.

One item a base and guard. The guards of a base are one family, decided together; whether a verdict regressed is seen
where its claim is decided. A guard that fails the run fails its item once the test below has passed, so that a test of
your own may ask for more and never for less.
"""

import pytest

from pytest_tutoreval.records.gate import GateRow


@pytest.mark.gate
def test_gate(guarded: GateRow) -> None:
    """The measure held; a regression fails here, and so does a guard that is not decided, where the policy says so."""
