"""Digits as printed, and the published file read value by value."""

import json
from decimal import Decimal

import pytest

from pytest_tutoreval.analyses.replication_printed import Digits, Printed, published_entries


def file_of(*entries: dict[str, object]) -> str:
    return json.dumps({"entries": list(entries)})


@pytest.mark.parametrize(
    ("ours", "printed", "digits", "same"),
    [
        pytest.param(-0.0938665, "-0.094", Digits(), True, id="rounds-to-it"),
        pytest.param(-0.0932, "-0.094", Digits(), False, id="rounds-elsewhere"),
        pytest.param(0.0938665, "-0.094", Digits(), False, id="wrong-sign"),
        pytest.param(0.4296, "0.43", Digits(), True, id="two-decimals-as-in-the-file"),
        pytest.param(0.4341, "0.43", Digits(), True, id="too-coarse-without-places"),
        pytest.param(0.4341, "0.43", Digits(3), False, id="its-table-prints-.430"),
        pytest.param(0.125, "0.13", Digits(), True, id="tie-half-up"),
        pytest.param(0.125, "0.12", Digits(), True, id="tie-half-even"),
        pytest.param(0.126, "0.12", Digits(), False, id="above-the-tie"),
        pytest.param(5.637e-12, "5.6e-12", Digits(is_p=True), True, id="two-significant-digits"),
        pytest.param(5.66e-12, "5.6e-12", Digits(is_p=True), False, id="third-digit-rounds-away"),
        pytest.param(1.988e-19, "2e-19", Digits(is_p=True), True, id="2.0e-19-lost-its-zero"),
        pytest.param(2.2e-19, "2e-19", Digits(is_p=True), False, id="2.2e-19-is-not-2.0e-19"),
        pytest.param(2.2e-19, "2e-19", Digits(), True, id="as-in-the-file-it-would-be"),
        pytest.param(0.16015625, "0.16", Digits(is_p=True), True, id="p-to-three-decimals"),
        pytest.param(0.1634, "0.16", Digits(is_p=True), False, id="p-.163-is-not-.160"),
        pytest.param(0.01953125, "0.0195", Digits(is_p=True), True, id="p-to-four-decimals"),
        pytest.param(1.0, "1.0", Digits(is_p=True), True, id="p-of-one"),
    ],
)
def test_a_number_is_compared_at_the_printed_digits(ours: float, printed: str, digits: Digits, same: bool) -> None:
    assert digits.agree(ours, Printed("value", Decimal(printed))) is same


@pytest.mark.parametrize(
    ("ours", "raw", "same"),
    [
        pytest.param(358, 358, True, id="count"),
        pytest.param(359, 358, False, id="another-count"),
        pytest.param("9 of 10", "9 of 10", True, id="words"),
        pytest.param("8 of 10", "9 of 10", False, id="other-words"),
        pytest.param("supported", Decimal("0.4"), False, id="a-word-is-no-number"),
        pytest.param(0.0, None, False, id="nothing-printed-agrees-with-nothing"),
    ],
)
def test_counts_and_words_are_equal_or_different(
    ours: float | str, raw: Decimal | int | str | None, same: bool
) -> None:
    assert Digits().agree(ours, Printed("value", raw)) is same


def test_an_entry_is_read_value_by_value_and_keeps_its_digits() -> None:
    (entry,) = published_entries(
        file_of(
            {
                "id": "made/up",
                "where": "Table 9",
                "judge": "opus",
                "note": "words",
                "value": {"conv": 0.430, "ped": {"inner": 2}},
                "ci": [0.1, 2e-19],
                "p_note": "p < .01",
                "before": None,
            }
        )
    )
    assert [(value.path, value.text) for value in entry.values] == [
        ("value.conv", "0.43"),
        ("value.ped.inner", "2"),
        ("ci.low", "0.1"),
        ("ci.high", "2e-19"),
        ("p_note", "p < .01"),
        ("before", "-"),
    ]
    assert (entry.where, entry.note) == ("Table 9", "words")


def test_an_id_that_stands_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"made/up stands there twice"):
        published_entries(file_of({"id": "made/up", "where": "1"}, {"id": "made/up", "where": "2"}))


def test_the_package_brings_124_entries() -> None:
    entries = published_entries()
    assert len(entries) == 124
    assert all(entry.values for entry in entries)
