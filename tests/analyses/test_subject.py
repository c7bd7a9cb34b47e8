"""What a test says, and how two results differ in it."""

import pytest

from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.analyses.subject import (
    REGISTERED_CONTRASTS,
    REGISTERED_SLOPES,
    Subject,
    change_notes,
    compare,
    fit_frame,
    same_outcome,
    significance,
    two_stage_part,
)
from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.errors import NotCertified, NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import ModelFrame
from pytest_tutoreval.records.analysis import AnalysisPart
from pytest_tutoreval.records.claim import CouplingClaim, PairedClaim
from tests.analyses.building import a_small_instrument, part
from tests.store.corpora import DEMO, measures_of

SUBJECT = Subject("some", "descriptive", a_small_instrument(4), "sonnet")


def test_registered_directions_are_the_claims() -> None:
    """Analyses cannot read the claims, so their copy of the directions is held against them here."""
    claims = bundled_claims().values()
    paired = {c.measure: 1 if c.direction == "conv > ped" else -1 for c in claims if isinstance(c, PairedClaim)}
    (coupling,) = [c for c in claims if isinstance(c, CouplingClaim)]
    assert paired == REGISTERED_CONTRASTS
    assert {leg.outcome: 1 if leg.sign == "positive" else -1 for leg in coupling.legs} == REGISTERED_SLOPES


@pytest.mark.parametrize(
    ("estimate", "p", "expected"),
    [
        (0.3, 0.049, 1),
        (-0.3, 0.049, -1),
        (0.3, 0.05, 0),
        (-0.3, 0.5, 0),
        (0.0, 0.01, 0),
        (None, 0.01, 0),
        (0.3, None, 0),
    ],
)
def test_significance_is_strict_and_signed(estimate: float | None, p: float | None, expected: int) -> None:
    assert significance(estimate, p, 0.05) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.3, 0.01), (0.2, 0.04), None),
        ((0.3, 0.01), (-0.2, 0.04), "reversed"),
        ((0.3, 0.01), (0.2, 0.06), "differ in significance"),
        ((0.3, 0.5), (-0.2, 0.01), "differ in significance"),
        ((0.3, 0.5), (-0.2, 0.5), "differ in sign"),
        ((0.0, 1.0), (-0.2, 0.5), None),
    ],
)
def test_two_results_differ_in_significance_before_sign(
    first: tuple[float, float], second: tuple[float, float], expected: str | None
) -> None:
    assert same_outcome(first, second, 0.05) == expected
    assert same_outcome(second, first, 0.05) == expected


def test_reversal_is_said_with_both_results() -> None:
    before = AnalysisPart(name="x", estimate=0.3, p_value=0.01)
    changed, (note,) = change_notes(("old", before), ("new", SUBJECT.row("m", estimate=-0.3, p_value=0.01)), 0.05)
    assert changed.n == 1
    assert note == (
        "old and new are reversed: old +0.300 (p 0.01), significantly positive; new -0.300 (p 0.01), "
        "significantly negative"
    )


def test_result_without_a_number_cannot_be_compared() -> None:
    changed, (note,) = change_notes(("old", AnalysisPart(name="x")), ("new", SUBJECT.row("m")), 0.05)
    assert changed.n is None
    assert "cannot be compared" in note


def test_contrast_row_by_hand() -> None:
    row = SUBJECT.contrast_row("m", {0: 1.0, 1: 2.0, 2: 3.0, 3: None}, {0: 0.0, 1: 2.0, 2: 4.0, 3: 1.0})
    # differences 1, 0, -1; the fourth pair is dropped
    assert (row.estimate, row.n, row.n_dropped) == (0.0, 3, 1)
    assert [part(row, name).n for name in ("above", "below", "equal")] == [1, 1, 1]
    assert (part(row, "conv").estimate, part(row, "ped").estimate, part(row, "median").estimate) == (2.0, 2.0, 0.0)


def test_mean_row_by_hand() -> None:
    row = SUBJECT.mean_row("m", {0: 1.0, 1: 2.0, 2: 6.0, 3: None})
    assert (row.estimate, row.n, row.n_dropped) == (3.0, 3, 1)
    assert [part(row, name).estimate for name in ("median", "min", "max", "sum")] == [2.0, 1.0, 6.0, 9.0]


def test_mean_of_nothing_keeps_its_place() -> None:
    row = SUBJECT.mean_row("m", {0: None, 1: None})
    assert (row.estimate, row.n, row.n_dropped) == (None, 0, 2)
    assert row.notes == ("not evaluable: undefined in every session",)


def test_contrast_without_a_pair_is_not_evaluable() -> None:
    with pytest.raises(NotEvaluable, match="no pairs"):
        compare(SUBJECT.instrument, {0: 1.0}, {1: 1.0})


def test_analysis_of_a_base_needs_one() -> None:
    given = AnalysisInput(measures_of(DEMO), None, None, ("sonnet",), ())
    with pytest.raises(ValueError, match="base = None"):
        Subject.of("some", "descriptive", given)


def test_alpha_is_the_registered_one() -> None:
    assert SUBJECT.alpha == load_instrument().study.inference.alpha


def test_interval_of_a_mean_does_not_depend_on_the_order_of_the_sessions() -> None:
    one = SUBJECT.mean_row("m", {0: 1.0, 1: 2.0, 2: 6.0})
    assert SUBJECT.mean_row("m", {2: 6.0, 0: 1.0, 1: 2.0}) == one


A_FRAME = ModelFrame([1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], ["r0", "r1", "r1"], ["a", "b", "a"], 0, ())


def test_fit_that_could_not_be_certified_is_not_evaluable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NotCertified("no point passed")

    monkeypatch.setattr("pytest_tutoreval.inference.fit_crossed", refuse)
    with pytest.raises(NotEvaluable, match="no point passed"):
        fit_frame(A_FRAME, adjusted=False)


def test_two_stage_that_is_not_defined_is_no_part() -> None:
    assert two_stage_part(A_FRAME, SUBJECT) == ()
