"""Numbers as they are printed."""

import pytest

from pytest_tutoreval.reporting.numbers import p_value, signed


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (None, "-"),
        (1.0, "1.000"),
        (0.9996, "1.000"),
        (0.9, ".900"),
        (0.623046875, ".623"),
        (0.16015625, ".160"),
        (0.05, ".050"),
        (0.0497, ".0497"),
        (0.049999, ".049999"),
        (0.0494, ".049"),
        (0.02, ".020"),
        (0.01953125, ".0195"),
        (0.001953125, ".0020"),
        (0.001, ".0010"),
        (0.00099, "9.9e-04"),
        (3.4e-39, "3.4e-39"),
        (0.0, "0.0e+00"),
    ],
)
def test_p_values_keep_three_or_four_decimals(p: float | None, text: str) -> None:
    assert p_value(p) == text
    assert len(text) <= 7


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (None, 3, "-"),
        (0.36536, 3, "+0.365"),
        (-0.0939, 3, "-0.094"),
        (0.0, 3, "+0.000"),
        (-0.0, 3, "-0.000"),
        (-0.0001, 3, "-0.000"),
        (4.0, 3, "+4.000"),
        (-1.0, 2, "-1.00"),
    ],
)
def test_numbers_are_signed(number: float | None, digits: int, text: str) -> None:
    assert signed(number, digits) == text
