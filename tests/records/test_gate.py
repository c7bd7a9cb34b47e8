"""How a guarded measure's value is printed, the same in every report."""

import pytest

from pytest_tutoreval.records.gate import in_unit


@pytest.mark.parametrize(
    ("value", "unit", "sign", "shown"),
    [
        pytest.param(0.18778, "share of tutor turns", "", "0.188", id="share"),
        pytest.param(0.49444, "share of tutor turns", "+", "+0.494", id="signed"),
        pytest.param(-1234.56, "tokens", "+", "-1235", id="whole-from-100"),
        pytest.param(0.00125, "dollars", "", "0.0013", id="dollars"),
        pytest.param(None, "tokens", "+", "-", id="none"),
    ],
)
def test_a_value_is_printed_in_its_unit(value: float | None, unit: str, sign: str, shown: str) -> None:
    assert in_unit(value, unit, sign=sign) == shown
