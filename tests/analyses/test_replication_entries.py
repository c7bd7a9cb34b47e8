"""The registry: no published value without a comparator, no comparator without a value."""

import json

import pytest

from pytest_tutoreval.analyses.replication_entries import NOTE, comparators, comparators_of
from pytest_tutoreval.analyses.replication_printed import published_entries
from tests.analyses.replicating import PUBLISHED, published_with

# Fields that say what an entry is about, written out here on their own.
ABOUT = {
    *("id", "where", "claim", "base", "judge", "measure", "statistic", "model", "unit", "note", "derived"),
    "descriptive",
}


def leaves(value: object) -> int:
    if isinstance(value, dict):
        return sum(leaves(inner) for inner in value.values())
    return len(value) if isinstance(value, list) else 1


def test_every_leaf_of_the_file_has_a_comparator() -> None:
    file = json.loads(PUBLISHED.read_text(encoding="utf-8"))["entries"]
    expected = {entry["id"]: sum(leaves(value) for name, value in entry.items() if name not in ABOUT) for entry in file}
    found = {name: len(checks.keys() - {NOTE}) for name, checks in comparators_of(published_entries()).items()}
    assert found == expected
    assert len(found) == 124
    assert sum(found.values()) == 277


def test_an_entry_without_a_comparator_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"count/new: no comparator"):
        comparators_of(published_with(entry="design", id="count/new"))


def test_a_value_without_a_comparator_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"count/base/sessions: p_holm: no comparator"):
        comparators_of(published_with(entry="count/base/sessions", p_holm=0.1))


def test_a_comparator_without_a_value_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"design: value.alpha: no such value in the file"):
        comparators_of(published_with(entry="design", value={"replicates": 10}))


def test_an_entry_that_left_the_file_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"count/base/sessions: no such entry in the file"):
        comparators_of([entry for entry in published_entries() if entry.id != "count/base/sessions"])


def test_every_comparator_is_registered_once() -> None:
    assert len(comparators()) == 124
