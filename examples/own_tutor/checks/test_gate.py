"""The guarded measures of tutoreval.toml, held against the baseline; these items are there under --gate alone."""

import pytest

from pytest_tutoreval.records.gate import GateRow


@pytest.mark.gate
def test_guarded_measure(guarded: GateRow) -> None:
    """A measure is not worse than the baseline's by its margin or more; a regression fails after this test."""
    assert guarded.outcome in ("held", "not_decided", "regressed")
