"""The fit against lme4 at tight settings, to the tolerances of shared/reference/lme4/README.md."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tutoreval.errors import DegenerateData
from pytest_tutoreval.inference import CrossedFit, fit_crossed

REGULAR = [
    "binary_both_zero",
    "binary_interior",
    "binary_rare",
    "few_leaky",
    "gauss_interior",
    "gauss_zero_true",
    "large_theta",
    "rating_both_zero",
    "rating_ceiling",
    "rating_interior",
    "rating_n256",
    "rating_replicate_zero",
]
COLUMNS = {"L": ["L"], "L_C": ["L", "C"], "intercept": []}
FITS = [(name, model) for name in REGULAR for model in ("L", "L_C")] + [("penicillin", "intercept")]


def fitted(shared: Path, name: str, columns: list[str]) -> CrossedFit:
    with (shared / "reference" / "lme4" / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    factors = ("plate", "sample") if name == "penicillin" else ("replicate", "problem")
    return fit_crossed(
        [float(row["y"]) for row in rows],
        {column: np.array([float(row[column]) for row in rows]) for column in columns},
        {factor: [row[factor] for row in rows] for factor in factors},
    )


def reference(shared: Path, name: str, model: str) -> dict[str, Any]:
    text = (shared / "reference" / "lme4" / f"{name}.json").read_text()
    found: dict[str, Any] = json.loads(text)["models"][model]
    return found


def assert_same_fit(ours: CrossedFit, theirs: dict[str, Any]) -> None:
    assert ours.deviance == pytest.approx(theirs["deviance"], rel=0, abs=1e-8)
    assert ours.log_likelihood == pytest.approx(theirs["loglik"], rel=0, abs=1e-8)
    assert list(ours.coefficients) == list(theirs["fixef"])
    for name, coefficient in ours.coefficients.items():
        assert coefficient.estimate == pytest.approx(theirs["fixef"][name], rel=0, abs=1e-7)
        assert coefficient.se == pytest.approx(theirs["se"][name], rel=1e-6)
        assert coefficient.z == pytest.approx(theirs["z"][name], rel=2e-6, abs=1e-6)
        assert coefficient.p_value == pytest.approx(theirs["p_normal"][name], rel=1e-4, abs=1e-300)
        assert coefficient.ci_low == pytest.approx(theirs["ci95_low"][name], rel=0, abs=1e-6)
        assert coefficient.ci_high == pytest.approx(theirs["ci95_high"][name], rel=0, abs=1e-6)
    np.testing.assert_allclose(ours.vcov, theirs["vcov_fixef"], rtol=2e-6)
    for group, theta in theirs["theta"].items():
        tolerance = 1e-5 if theta < 1 else 1e-6 * theta
        assert ours.theta[group] == pytest.approx(theta, rel=0, abs=tolerance)
        # The variance inherits the tolerance: d(theta**2) = 2 theta d(theta).
        assert ours.variances[group] == pytest.approx(
            theirs["varcomp"][group],
            rel=0,
            abs=ours.residual_variance * (2 * theta + 1e-5) * tolerance + 1e-12,
        )
    assert ours.sigma == pytest.approx(theirs["sigma"], rel=1e-6)
    assert ours.residual_variance == pytest.approx(theirs["varcomp"]["Residual"], rel=1e-6)
    assert ours.singular is theirs["singular"]
    assert ours.kkt < 1e-5


@pytest.mark.parametrize(("name", "model"), [pytest.param(*fit, id="-".join(fit)) for fit in FITS])
def test_fit_is_lme4s(shared: Path, name: str, model: str) -> None:
    assert_same_fit(fitted(shared, name, COLUMNS[model]), reference(shared, name, model))


@pytest.mark.parametrize("model", ["L", "L_C"])
def test_constant_leakage_is_named_where_lme4_drops_it(shared: Path, model: str) -> None:
    with pytest.raises(DegenerateData, match="'L' is 0") as caught:
        fitted(shared, "L_constant", COLUMNS[model])
    assert caught.value.kind == "constant predictor"
    kept = [column for column in COLUMNS[model] if column != "L"]
    assert_same_fit(fitted(shared, "L_constant", kept), reference(shared, "L_constant", model))


@pytest.mark.parametrize("model", ["L", "L_C"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("one_problem", "single level"),
        ("constant_outcome", "constant outcome"),
        ("perfect_separation", "separated outcome"),
    ],
)
def test_degenerate_set_is_named_before_fitting(shared: Path, name: str, kind: str, model: str) -> None:
    with pytest.raises(DegenerateData) as caught:
        fitted(shared, name, COLUMNS[model])
    assert caught.value.kind == kind
