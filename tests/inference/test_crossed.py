import dataclasses
import math
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tutoreval.errors import DegenerateData, NotCertified
from pytest_tutoreval.inference import CrossedFit, crossed, fit_crossed, maximum, profile_log_likelihood
from pytest_tutoreval.inference.design import CrossedDesign, crossed_design
from pytest_tutoreval.inference.deviance import profiled_deviance

FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Turns:
    outcome: FloatArray
    fixed: dict[str, FloatArray]
    groups: dict[str, npt.NDArray[np.str_]]

    def fit(self) -> CrossedFit:
        return fit_crossed(self.outcome, self.fixed, self.groups)

    def design(self) -> CrossedDesign:
        return crossed_design(self.outcome, self.fixed, self.groups, {})

    def profile(self, at: dict[str, float]) -> float:
        return profile_log_likelihood(self.outcome, self.fixed, self.groups, at)


def some_turns(
    seed: int, *, n: int = 400, replicate_sd: float = 0.4, problem_sd: float = 0.3, slope: float = 0.3
) -> Turns:
    """Turns of 10 replicates on 6 problems under two policies, leakier under the first."""
    rng = np.random.default_rng(seed)
    replicate, problem, ped = rng.integers(0, 10, n), rng.integers(0, 6, n), rng.integers(0, 2, n)
    leaky = (rng.random(n) < np.where(ped == 1, 0.12, 0.35)).astype(float)
    outcome = (
        4.5
        + slope * leaky
        + replicate_sd * rng.normal(size=10)[replicate]
        + problem_sd * rng.normal(size=6)[problem]
        + rng.normal(size=n)
    )
    return Turns(
        outcome=outcome,
        fixed={"L": leaky, "C": ped.astype(float)},
        groups={
            "replicate": np.array([f"r{k:02d}" for k in replicate]),
            "problem": np.array([f"train-{k + 1}" for k in problem]),
        },
    )


def test_balanced_one_way_layout_worked_by_hand() -> None:
    # Two levels of two: 1, 3 and 5, 7. Within SS = 2 + 2 = 4 on 2 df: sigma**2 = 4/2 = 2. Between SS
    # = 2 (2 - 4)**2 + 2 (6 - 4)**2 = 16, and ML sets sigma**2 + 2 tau**2 = 16/2 = 8: tau**2 = 3. Var of the
    # mean = 8/4 = 2. The covariance has eigenvalues 2 (twice) and 8 (twice):
    # deviance = 4 log 2 pi + 2 log 2 + 2 log 8 + 4.
    fit = fit_crossed([1.0, 3.0, 5.0, 7.0], {}, {"replicate": ["a", "a", "b", "b"]})
    mean = fit.coefficients["(Intercept)"]
    assert mean.estimate == pytest.approx(4.0, abs=1e-12)
    assert mean.se == pytest.approx(math.sqrt(2.0), abs=1e-9)
    assert mean.z == pytest.approx(4.0 / math.sqrt(2.0), abs=1e-8)
    assert fit.residual_variance == pytest.approx(2.0, abs=1e-9)
    assert fit.variances["replicate"] == pytest.approx(3.0, abs=1e-8)
    assert fit.theta["replicate"] == pytest.approx(math.sqrt(1.5), abs=1e-8)
    assert fit.deviance == pytest.approx(4 * math.log(2 * math.pi) + 8 * math.log(2) + 4, abs=1e-10)
    assert (fit.n, fit.levels, fit.singular) == (4, {"replicate": 2}, False)


def test_no_group_variance_leaves_least_squares_worked_by_hand() -> None:
    # Means 2 and 2 in both levels: the component is 0. Mean 2, sigma**2 = (1 + 1 + 1 + 1)/4 = 1,
    # se = 1/2, deviance = 4 (1 + log 2 pi).
    fit = fit_crossed([1.0, 3.0, 1.0, 3.0], {}, {"replicate": ["a", "a", "b", "b"]})
    assert (fit.theta["replicate"], fit.singular) == (0.0, True)
    assert fit.coefficients["(Intercept)"].estimate == pytest.approx(2.0, abs=1e-12)
    assert fit.coefficients["(Intercept)"].se == pytest.approx(0.5, abs=1e-12)
    assert fit.deviance == pytest.approx(4 * (1 + math.log(2 * math.pi)), abs=1e-12)


@pytest.mark.parametrize("columns", [["L"], ["L", "C"]], ids=["model-1", "model-2"])
@pytest.mark.parametrize(
    ("replicate_sd", "problem_sd"),
    [
        pytest.param(0.6, 0.5, id="interior"),
        pytest.param(0.5, 0.0, id="problem-at-zero"),
        pytest.param(0.0, 0.0, id="nothing"),
    ],
)
def test_agrees_with_statsmodels_powell(columns: list[str], replicate_sd: float, problem_sd: float) -> None:
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    turns = some_turns(7, replicate_sd=replicate_sd, problem_sd=problem_sd)
    turns = dataclasses.replace(turns, fixed={name: turns.fixed[name] for name in columns})
    # MixedLM.from_formula(..., groups=ones, re_formula="0", vc_formula=...).fit(reml=False, method="powell")
    frame = pd.DataFrame({"y": turns.outcome, **turns.fixed, **turns.groups})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM.from_formula(
            "y ~ " + " + ".join(columns),
            frame,
            groups=np.ones(len(frame)),
            re_formula="0",
            vc_formula={"replicate": "0 + replicate", "problem": "0 + problem"},
        ).fit(reml=False, method="powell")
    ours = turns.fit()
    # powell stops at 1e-4 in the roots of the variances: estimates to 1e-4, never a higher likelihood.
    assert theirs.llf - 1e-6 <= ours.log_likelihood <= theirs.llf + 1e-3
    for name in columns:
        assert ours.coefficients[name].estimate == pytest.approx(theirs.params[name], abs=1e-4)
        assert ours.coefficients[name].se_observed == pytest.approx(theirs.bse[name], rel=2e-3)


def everything(fit: CrossedFit) -> list[float]:
    """The numbers of a fit that carry a unit-free tolerance."""
    numbers = [fit.deviance, fit.sigma, *fit.theta.values()]
    for coefficient in fit.coefficients.values():
        numbers += [coefficient.estimate, coefficient.se]
    return numbers


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 3.0]), st.sampled_from([0.0, 0.3]))
def test_permuted_rows_do_not_change_a_bit(seed: int, replicate_sd: float, problem_sd: float) -> None:
    turns = some_turns(seed, n=120, replicate_sd=replicate_sd, problem_sd=problem_sd)
    order = np.random.default_rng(seed).permutation(120)
    permuted = Turns(
        turns.outcome[order],
        {name: column[order] for name, column in turns.fixed.items()},
        {name: labels[order] for name, labels in turns.groups.items()},
    )
    assert everything(permuted.fit()) == everything(turns.fit())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(10)))
def test_relabelled_replicates_do_not_change_the_fit(seed: int, names: list[int]) -> None:
    turns = some_turns(seed, n=120)
    renamed = np.array([f"session {names[int(label[1:])]}" for label in turns.groups["replicate"]])
    relabelled = dataclasses.replace(turns, groups={**turns.groups, "replicate": renamed})
    assert everything(relabelled.fit()) == pytest.approx(everything(turns.fit()), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(-50, 50), st.floats(0.01, 100))
def test_shifted_and_scaled_outcome_moves_the_fit_along(seed: int, shift: float, scale: float) -> None:
    turns = some_turns(seed, n=120)
    plain = turns.fit()
    moved = dataclasses.replace(turns, outcome=shift + scale * turns.outcome).fit()
    assert moved.coefficients["L"].z == pytest.approx(plain.coefficients["L"].z, rel=1e-6, abs=1e-6)
    assert moved.coefficients["L"].estimate == pytest.approx(
        scale * plain.coefficients["L"].estimate, rel=1e-6, abs=1e-6 * scale
    )
    assert moved.deviance == pytest.approx(plain.deviance + 2 * 120 * math.log(scale), abs=1e-6)
    assert list(moved.theta.values()) == pytest.approx(list(plain.theta.values()), abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_swapped_policies_flip_their_sign(seed: int) -> None:
    turns = some_turns(seed, n=120)
    swapped = dataclasses.replace(turns, fixed={"L": turns.fixed["L"], "C": 1 - turns.fixed["C"]})
    there, back = turns.fit(), swapped.fit()
    assert back.coefficients["C"].estimate == pytest.approx(-there.coefficients["C"].estimate, abs=1e-7)
    assert back.coefficients["L"].estimate == pytest.approx(there.coefficients["L"].estimate, abs=1e-7)
    assert back.deviance == pytest.approx(there.deviance, abs=1e-8)


def test_order_of_groups_does_not_matter() -> None:
    turns = some_turns(3)
    reversed_groups = dataclasses.replace(turns, groups=dict(reversed(turns.groups.items())))
    assert reversed_groups.fit().theta == pytest.approx(turns.fit().theta, abs=1e-6)


def test_gradient_and_hessian_are_those_of_the_deviance() -> None:
    turns = some_turns(4)
    design = turns.design()
    at, h = np.array([0.3, 0.1]), 1e-5
    point = profiled_deviance(design, at)
    for k in range(2):
        step = h * np.eye(2)[k]
        above, below = profiled_deviance(design, at + step), profiled_deviance(design, at - step)
        assert point.gradient[k] == pytest.approx((above.deviance - below.deviance) / (2 * h), rel=1e-5)
        assert point.hessian[k] == pytest.approx((above.gradient - below.gradient) / (2 * h), rel=1e-5)


def test_standard_error_from_a_likelihood_of_row_covariances() -> None:
    # The definition without a formula of the module: V as an n x n matrix at the fitted variances.
    turns = some_turns(5, n=80)
    fit = turns.fit()
    covariance = fit.residual_variance * np.eye(80)
    for name, labels in turns.groups.items():
        covariance += fit.variances[name] * (labels[:, None] == labels[None, :])
    design = np.column_stack([np.ones(80), *turns.fixed.values()])
    vcov = np.linalg.inv(design.T @ np.linalg.solve(covariance, design))
    estimates = vcov @ design.T @ np.linalg.solve(covariance, turns.outcome)
    r = turns.outcome - design @ estimates
    deviance = 80 * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1] + r @ np.linalg.solve(covariance, r)
    assert [c.estimate for c in fit.coefficients.values()] == pytest.approx(estimates.tolist(), abs=1e-9)
    np.testing.assert_allclose(fit.vcov, vcov, rtol=1e-8)
    assert fit.deviance == pytest.approx(float(deviance), abs=1e-8)


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-6], ids=str)
def test_outcome_nearly_given_by_the_groups_is_still_certified(noise: float) -> None:
    turns = some_turns(6)
    level = np.array([int(label[1:]) for label in turns.groups["replicate"]], dtype=float)
    rows = np.random.default_rng(6).normal(size=400)
    fit = dataclasses.replace(turns, outcome=level**2 + noise * rows).fit()
    assert fit.kkt < 1e-5
    assert fit.sigma == pytest.approx(noise, rel=0.15)


def test_optimum_beyond_double_precision_is_refused() -> None:
    # theta is about 1e9: log|V| and r2 lose all digits that would tell the optimum.
    turns = some_turns(6)
    level = np.array([int(label[1:]) for label in turns.groups["replicate"]], dtype=float)
    rows = np.random.default_rng(6).normal(size=400)
    with pytest.raises(NotCertified, match="projected gradient"):
        dataclasses.replace(turns, outcome=level**2 + 1e-8 * rows).fit()


def test_descent_cut_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maximum, "_MAX_STEPS", 1)
    with pytest.raises(NotCertified, match="projected gradient"):
        some_turns(1).fit()


def test_ratio_a_hair_above_zero_is_taken_to_zero() -> None:
    design = crossed_design([1.0, 3.0, 1.0, 3.0], {}, {"replicate": ["a", "a", "b", "b"]}, {})
    assert maximum._descend(design, np.array([1e-12])).ratios.tolist() == [0.0]


def test_observed_error_is_none_where_its_hessian_gives_no_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two names for one grouping: only the sum of their variances is identified.
    turns = some_turns(2)
    twice = dataclasses.replace(
        turns, groups={"replicate": turns.groups["replicate"], "session": turns.groups["replicate"]}
    )
    plain = dataclasses.replace(turns, groups={"replicate": turns.groups["replicate"]})
    fit = twice.fit()
    assert fit.deviance == pytest.approx(plain.fit().deviance, abs=1e-8)
    assert sum(fit.variances.values()) == pytest.approx(plain.fit().variances["replicate"], rel=1e-5)

    def singular(matrix: FloatArray) -> FloatArray:
        raise np.linalg.LinAlgError("Singular matrix")

    point = maximum.certified_maximum(plain.design())
    monkeypatch.setattr(np.linalg, "inv", singular)
    assert np.isnan(crossed._observed_variances(point, np.eye(3))).all()
    assert crossed._wald(1.0, 1.0, math.nan).se_observed is None


def test_profile_at_the_estimate_is_the_maximum() -> None:
    turns = some_turns(8)
    fit = turns.fit()
    at = {"L": fit.coefficients["L"].estimate}
    assert turns.profile(at) == pytest.approx(fit.log_likelihood, abs=1e-9)


def test_profile_falls_by_half_a_squared_z_away_from_the_estimate() -> None:
    turns = some_turns(8)
    fit = turns.fit()
    leakage = fit.coefficients["L"]
    drop = fit.log_likelihood - turns.profile({"L": leakage.estimate + 2 * leakage.se})
    # Wald's parabola: z**2 / 2 = 2, up to the re-estimated variances.
    assert drop == pytest.approx(2.0, rel=0.03)


def test_every_coefficient_may_be_held() -> None:
    turns = some_turns(8)
    fit = turns.fit()
    at = {name: coefficient.estimate for name, coefficient in fit.coefficients.items()}
    assert turns.profile(at) == pytest.approx(fit.log_likelihood, abs=1e-9)


@pytest.mark.parametrize("at", [{"leakage": 0.1}, {"L": math.nan}], ids=["unknown", "nan"])
def test_coefficient_that_cannot_be_held_is_named(at: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"at\['"):
        some_turns(8).profile(at)


def _degenerate(kind: str) -> Turns:
    turns = some_turns(9, n=60)
    fixed, groups = dict(turns.fixed), dict(turns.groups)
    outcome = turns.outcome
    match kind:
        case "constant outcome":
            outcome = np.where(np.arange(60) % 2, 0.3, 0.1 + 0.2)  # equal but for dust
        case "separated outcome":
            outcome = 1 - fixed["L"]
        case "constant predictor":
            fixed["L"] = np.zeros(60)
        case "rank-deficient design":
            fixed["D"] = 2 * fixed["L"] - fixed["C"] + 1
        case "single level":
            groups["problem"] = np.array(["train-1"] * 60)
        case "too few observations":
            outcome, fixed = outcome[:6], {name: column[:6] for name, column in fixed.items()}
            groups = {name: labels[:6] for name, labels in groups.items()}
    return Turns(outcome, fixed, groups)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("constant outcome", "in all 60 rows"),
        ("separated outcome", "L, C give the outcome exactly"),
        ("constant predictor", "'L' is 0"),
        ("rank-deficient design", "'D' is a combination"),
        ("single level", "'problem'"),
        ("too few observations", "6 observations"),
    ],
)
def test_degenerate_data_are_named(kind: str, message: str) -> None:
    with pytest.raises(DegenerateData, match=message) as caught:
        _degenerate(kind).fit()
    assert caught.value.kind == kind


def test_group_with_a_level_a_row_is_named() -> None:
    turns = some_turns(9, n=60)
    groups = {**turns.groups, "turn": np.array([f"t{k}" for k in range(60)])}
    with pytest.raises(DegenerateData, match="a level for each of 60") as caught:
        dataclasses.replace(turns, groups=groups).fit()
    assert caught.value.kind == "too few observations"


def test_outcome_given_by_the_groups_is_separated() -> None:
    turns = some_turns(9, n=60)
    level = np.array([float(label[1:]) for label in turns.groups["replicate"]])
    with pytest.raises(DegenerateData, match="replicate, problem give") as caught:
        dataclasses.replace(turns, outcome=level).fit()
    assert caught.value.kind == "separated outcome"


def test_outcome_given_by_held_coefficients_is_separated() -> None:
    turns = some_turns(9, n=60)
    exact = dataclasses.replace(turns, outcome=1 - turns.fixed["L"])
    with pytest.raises(DegenerateData):
        exact.profile({"(Intercept)": 1.0, "L": -1.0, "C": 0.0})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"outcome": [1.0, math.nan, math.inf, 2.0]}, "outcome has 2 of 4", id="outcome"),
        pytest.param({"fixed": {"L": [0.0, 1.0, math.nan, 0.0]}}, "L has 1 of 4", id="column"),
        pytest.param({"fixed": {"L": [0.0, 1.0]}}, r"L has shape \(2,\)", id="short-column"),
        pytest.param({"outcome": [[1.0]]}, r"outcome has shape \(1, 1\)", id="table"),
        pytest.param({"fixed": {"(Intercept)": [0.0] * 4}}, "always added", id="second-intercept"),
        pytest.param({"groups": {}}, "groups is empty", id="no-group"),
        pytest.param({"groups": {"replicate": ["a"]}}, "1 labels; expected 4", id="short-group"),
        pytest.param({"groups": {"replicate": ["a", None, "b", "b"]}}, "1 of 4 labels missing", id="none"),
        pytest.param({"groups": {"replicate": ["a", math.nan, "b", "b"]}}, "1 of 4 labels", id="nan-beside-strings"),
        pytest.param({"groups": {"replicate": [1.0, math.nan, 2.0, 2.0]}}, "1 of 4 labels", id="nan-label"),
    ],
)
def test_wrong_argument_is_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "outcome": [1.0, 2.0, 3.0, 5.0],
        "fixed": {},
        "groups": {"replicate": ["a", "a", "b", "b"]},
        **change,
    }
    with pytest.raises(ValueError, match=message):
        fit_crossed(**arguments)


def test_importing_the_room_costs_numpy_alone() -> None:
    code = (
        "import sys, pytest_tutoreval.inference; "
        "print(sorted({'scipy', 'pandas', 'statsmodels', 'pydantic', 'pytest'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_interval_covers_about_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(1000):
        leakage = some_turns(seed).fit().coefficients["L"]
        covered += leakage.ci_low <= 0.3 <= leakage.ci_high
    # .95 with a simulation error of .007; ML intervals are a little short.
    assert 0.93 <= covered / 1000 <= 0.97


@pytest.mark.slow
def test_fit_without_effect_rejects_about_one_time_in_twenty() -> None:
    rejected = sum(
        some_turns(seed, slope=0.0, problem_sd=0.0).fit().coefficients["L"].p_value < 0.05 for seed in range(5000, 6000)
    )
    assert 0.03 <= rejected / 1000 <= 0.07
