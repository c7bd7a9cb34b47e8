"""The study's own tables: what it printed, recomputed."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tutoreval.inference import CrossedFit, fit_crossed, paired_contrast, profile_log_likelihood

BASES = ["sonnet", "gpt", "gemini"]
CLAIMS = {
    "P1_leakage": "leakage_rate",
    "P2_helpfulness": "helpfulness_mean",
    "P3_independence": "independence_ratio",
}
LEGS = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}
# definitions, section 10: released fits that stopped early; base, outcome, columns -> maximum.
EARLY_STOPS = {
    ("gpt", "helpfulness", "L"): -0.312,
    ("sonnet", "helpfulness", "LC"): 0.493,
    ("gpt", "next_turn_independence", "LC"): -0.291,
}
FITS = [(base, outcome, columns) for base in BASES for outcome in LEGS for columns in ("L", "LC")]
AT_THE_MAXIMUM = [fit for fit in FITS if fit not in EARLY_STOPS]


def rows_of(shared: Path, table: str) -> list[dict[str, str]]:
    with (shared / "data" / "paper-tables" / table).open(newline="") as file:
        return list(csv.DictReader(file))


def json_of(shared: Path, name: str) -> Any:
    return json.loads((shared / "data" / "paper-tables" / name).read_text())


def arm(rows: list[dict[str, str]], condition: str, column: str) -> list[float]:
    chosen = sorted((row for row in rows if row["condition"] == condition), key=lambda row: int(row["replicate_id"]))
    return [float(row[column]) if row[column] else float("nan") for row in chosen]


def a_model(
    shared: Path, base: str, outcome: str, columns: str
) -> tuple[list[float], dict[str, list[float]], dict[str, list[str]]]:
    rows = rows_of(shared, f"per_turn.{base}.csv")
    values = {"True": 1.0, "False": 0.0}
    y = [values[row[outcome]] if row[outcome] in values else float(row[outcome]) for row in rows]
    fixed = {
        "L": [values[row["leaks"]] for row in rows],
        "C": [float(row["condition"] == "ped") for row in rows],
    }
    groups = {factor: [row[f"{factor}_id"] for row in rows] for factor in ("replicate", "problem")}
    return y, {name: fixed[name] for name in columns}, groups


def released(shared: Path, base: str, outcome: str, columns: str) -> dict[str, float]:
    if columns == "L":
        fit = json_of(shared, f"inference.{base}.json")["j2"][LEGS[outcome]]["mixed_effects"]
        return {"b": fit["coef"], "se": fit["se"], "p": fit["p"], **fit["variance_components"]}
    fit = json_of(shared, "condition_adjusted.json")["results"][base]["models"][outcome]
    return {
        "b": fit["coefficient"],
        "se": fit["standard_error"],
        "p": fit["p_value"],
        **fit["variance_components"],
    }


def fitted(shared: Path, base: str, outcome: str, columns: str) -> CrossedFit:
    return fit_crossed(*a_model(shared, base, outcome, columns))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("claim", CLAIMS)
def test_contrast_is_the_released_one(shared: Path, base: str, claim: str) -> None:
    rows = rows_of(shared, f"per_session.{base}.csv")
    ours = paired_contrast(
        arm(rows, "conv", CLAIMS[claim]), arm(rows, "ped", CLAIMS[claim]), rng=np.random.default_rng(0)
    )
    theirs = json_of(shared, f"inference.{base}.json")["j1"][claim]
    # Printed by scipy 1.11.4, which ignores ties; the permutation p is 638 / 1024.
    p_value = 638 / 1024 if (base, claim) == ("gemini", "P1_leakage") else theirs["p_two_sided"]
    found = (ours.value, ours.conv_mean, ours.ped_mean, ours.ci_low, ours.ci_high, ours.statistic)
    expected = (
        theirs["mean_diff_conv_minus_ped"],
        theirs["conv_mean"],
        theirs["ped_mean"],
        *theirs["diff_ci95"],
        theirs["wilcoxon_W"],
    )
    assert found == pytest.approx(expected, abs=1e-9, rel=0)
    assert ours.p_value == pytest.approx(p_value, abs=1e-9, rel=0)
    assert ours.cliffs_delta == pytest.approx(theirs["cliffs_delta_conv_vs_ped"], abs=1e-9, rel=0)
    assert (ours.n_pairs, ours.n_dropped) == (10, 0)


def test_gemini_leakage_shows_the_rounded_test_beside(shared: Path) -> None:
    rows = rows_of(shared, "per_session.gemini.csv")
    ours = paired_contrast(
        arm(rows, "conv", "leakage_rate"), arm(rows, "ped", "leakage_rate"), rng=np.random.default_rng(0)
    )
    assert (round(ours.p_value, 3), round(ours.p_value_rounded, 3)) == (0.623, 0.576)


@pytest.mark.parametrize(("base", "outcome", "columns"), AT_THE_MAXIMUM)
def test_released_fit_is_ours_where_it_is_the_maximum(shared: Path, base: str, outcome: str, columns: str) -> None:
    ours = fitted(shared, base, outcome, columns)
    theirs = released(shared, base, outcome, columns)
    leakage = ours.coefficients["L"]
    assert leakage.estimate == pytest.approx(theirs["b"], abs=2e-6, rel=0)
    assert ours.residual_variance == pytest.approx(theirs["residual"], rel=1e-5)
    # theirs stops at 1e-10 above a zero variance
    for group in ("replicate", "problem"):
        assert ours.variances[group] == pytest.approx(theirs[group], rel=1e-3, abs=1e-8)


@pytest.mark.parametrize(("base", "outcome", "columns"), AT_THE_MAXIMUM)
def test_observed_hessian_gives_the_released_standard_error(
    shared: Path, base: str, outcome: str, columns: str
) -> None:
    leakage = fitted(shared, base, outcome, columns).coefficients["L"]
    assert leakage.se_observed == pytest.approx(released(shared, base, outcome, columns)["se"], rel=1e-6)


def test_boundary_fit_parts_the_two_standard_errors(shared: Path) -> None:
    fit = fitted(shared, "sonnet", "next_turn_independence", "L")
    leakage = fit.coefficients["L"]
    assert fit.singular
    assert leakage.se_observed is not None
    assert (round(leakage.se, 4), round(leakage.se_observed, 4)) == (0.0594, 0.0560)
    assert leakage.p_value == pytest.approx(8.8e-11, rel=0.01)


@pytest.mark.parametrize(("base", "outcome", "columns"), EARLY_STOPS)
def test_released_early_stop_is_below_the_maximum(shared: Path, base: str, outcome: str, columns: str) -> None:
    y, fixed, groups = a_model(shared, base, outcome, columns)
    fit = fit_crossed(y, fixed, groups)
    theirs = released(shared, base, outcome, columns)["b"]
    assert round(fit.coefficients["L"].estimate, 3) == EARLY_STOPS[base, outcome, columns]
    # Held at the released value, everything else at its best, the likelihood is lower.
    assert profile_log_likelihood(y, fixed, groups, {"L": theirs}) < fit.log_likelihood - 1e-4
