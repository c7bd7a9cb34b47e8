"""The decision rule, by a table of cases (definitions, section 9)."""

from typing import get_args

import pytest

from pytest_tutoreval.claims import decide, unmet
from pytest_tutoreval.records.claim import ClaimKind


@pytest.mark.parametrize(
    ("estimate", "p_value", "sign", "holds", "reversed_"),
    [
        pytest.param(0.3, 0.0499999, +1, True, False, id="just-below-alpha"),
        pytest.param(0.3, 0.05, +1, False, False, id="exactly-alpha-is-not-below-it"),
        pytest.param(0.3, 0.0500001, +1, False, False, id="just-above-alpha"),
        pytest.param(0.3, 0.0, +1, True, False, id="p-zero"),
        pytest.param(0.3, 1.0, +1, False, False, id="p-one"),
        pytest.param(-0.3, 0.01, -1, True, False, id="a-negative-claim-holds"),
        pytest.param(-0.3, 0.01, +1, False, True, id="reversed-positive-claim"),
        pytest.param(0.3, 0.01, -1, False, True, id="reversed-negative-claim"),
        pytest.param(-0.3, 0.2, +1, False, False, id="wrong-sign-and-not-significant"),
        pytest.param(0.0, 0.01, +1, False, False, id="no-sign-at-all"),
        pytest.param(-0.0, 0.01, -1, False, False, id="negative-zero-has-no-sign"),
        pytest.param(1e-300, 0.01, +1, True, False, id="the-sign-counts-not-the-size"),
        pytest.param(0.3, float("nan"), +1, False, False, id="an-undefined-p-holds-nothing"),
        pytest.param(float("nan"), 0.01, +1, False, False, id="an-undefined-estimate-holds-nothing"),
    ],
)
def test_a_claim_holds_when_significant_with_the_registered_sign(
    estimate: float, p_value: float, sign: int, holds: bool, reversed_: bool
) -> None:
    outcome = decide(estimate, p_value, sign=sign, alpha=0.05)
    assert (outcome.holds, outcome.reversed) == (holds, reversed_)


@pytest.mark.parametrize("p_value", [0.0, 0.01, 0.049, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("estimate", [-1.0, 0.0, 1.0])
def test_significant_reversal_is_never_support(estimate: float, p_value: float) -> None:
    for sign in (+1, -1):
        outcome = decide(estimate, p_value, sign=sign, alpha=0.05)
        assert not (outcome.holds and outcome.reversed)
        mirrored = decide(-estimate, p_value, sign=-sign, alpha=0.05)
        assert (outcome.holds, outcome.reversed) == (mirrored.holds, mirrored.reversed)


def test_an_unmet_claim_is_inconclusive_only_as_a_manipulation_check() -> None:
    words = {kind: unmet(kind) for kind in get_args(ClaimKind)}
    assert words == {
        "manipulation_check": "inconclusive",
        "live_test": "not_supported",
        "joint": "not_supported",
        "headline": "not_supported",
    }
