"""Model (2) on both legs, beside model (1) and the study's own fits."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.measures import model_frame
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, parts_of, tabled
from tests.store.corpora import DEMO, measures_of, reseal

BASES = ["sonnet", "gpt", "gemini"]
# README of the tables and definitions, section 10: released fits that are not the maximum -> the maximum.
EARLY_STOPS = {
    ("sonnet", "opus", "helpfulness"): 0.493,
    ("gpt", None, "next_turn_independence"): -0.291,
    ("sonnet", "sol", "helpfulness"): 0.0437,
    ("gpt", "sol", "helpfulness"): 0.0314,
}
FITS: list[tuple[str, str | None, str]] = [(base, judge, "helpfulness") for base in BASES for judge in ("opus", "sol")]
FITS += [(base, None, "next_turn_independence") for base in BASES]
NAMES = {"helpfulness": "policy_adjusted_helpfulness", "next_turn_independence": "policy_adjusted_independence"}
Fit = tuple[str, str | None, str]


def adjusted(folder: Path, fit: Fit) -> Any:
    base, judge, outcome = fit
    return analyse(measures_of(folder), NAMES[outcome], base, judge)[outcome]


def theirs(tables: Path, fit: Fit) -> dict[str, Any]:
    base, judge, outcome = fit
    if judge == "sol":
        file = json.loads((tables / f"policy_adjusted.{base}.sol.json").read_text())
        return dict(file["models"][outcome])
    return dict(json.loads((tables / "condition_adjusted.json").read_text())["results"][base]["models"][outcome])


@pytest.mark.parametrize("fit", [fit for fit in FITS if fit not in EARLY_STOPS])
def test_released_fit_is_the_maximum_s(released: Path, paper_tables: Path, fit: Fit) -> None:
    row, file = adjusted(released, fit), theirs(paper_tables, fit)
    assert row.estimate == pytest.approx(file["coefficient"], abs=2e-6, rel=0)
    assert part(row, "policy").estimate == pytest.approx(file["condition_coefficient_ped_vs_conv"], abs=2e-6, rel=0)
    assert part(row, "leakage").se_observed == pytest.approx(file["standard_error"], rel=1e-3)
    observed = part(row, "observed_hessian")
    # The study's error, so the study's p and interval.
    assert math.log(observed.p_value) == pytest.approx(math.log(file["p_value"]), rel=2e-3)
    assert (observed.ci_low, observed.ci_high) == pytest.approx(file["confidence_interval_95"], abs=2e-4)
    for group in ("replicate", "problem", "residual"):
        variance = part(row, f"variance_{group}").estimate
        assert variance == pytest.approx(file["variance_components"][group], rel=1e-2, abs=1e-6)
    assert row.n == file["n_obs"]
    assert any(note.startswith("released") and "at the maximum" in note for note in row.notes)


@pytest.mark.parametrize("fit", EARLY_STOPS)
def test_early_stop_is_named_with_the_maximum_and_its_shortfall(released: Path, paper_tables: Path, fit: Fit) -> None:
    row, file = adjusted(released, fit), theirs(paper_tables, fit)
    assert row.estimate == pytest.approx(EARLY_STOPS[fit], abs=6e-4 if abs(EARLY_STOPS[fit]) > 0.1 else 6e-5)
    said = f"released {file['coefficient']:+.4f} is not the maximum {row.estimate:+.4f} (log-likelihood lower by "
    (note,) = [note for note in row.notes if note.startswith(said)]
    shortfall = float(note.removeprefix(said).split(")")[0])
    assert 0 < shortfall < 0.1
    assert "its optimiser stopped early" in note


@pytest.mark.parametrize("fit", FITS)
def test_released_numbers_stand_beside_ours(released: Path, paper_tables: Path, fit: Fit) -> None:
    beside, file = part(adjusted(released, fit), "released"), theirs(paper_tables, fit)
    found = (beside.estimate, beside.se, beside.p_value, beside.ci_low, beside.ci_high, beside.n)
    low, high = file["confidence_interval_95"]
    assert found == (file["coefficient"], file["standard_error"], file["p_value"], low, high, file["n_obs"])


def test_printed_p_rests_on_the_observed_hessian_and_ours_on_expected_information(released: Path) -> None:
    row = adjusted(released, ("gemini", None, "next_turn_independence"))
    # README: 3e-22 with lme4's standard error, 2e-19 printed
    assert f"{row.p_value:.0e}" == "3e-22"
    assert f"{part(row, 'observed_hessian').p_value:.0e}" == "2e-19"
    assert any("is the observed-Hessian one, the expected-information one is" in note for note in row.notes)


def test_pooled_slope_is_model_1_s(released: Path) -> None:
    pooled = part(adjusted(released, ("sonnet", "opus", "helpfulness")), "pooled")
    # definitions, section 10: +0.303 (SE 0.0682), p 9.1e-6
    assert pooled.estimate == pytest.approx(0.3028465, abs=2e-6)
    assert pooled.se_observed == pytest.approx(0.0682494, abs=2e-6)


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (("gpt", "opus", "helpfulness"), "models (1) and (2) differ in significance: pooled -0.312 (p 4.9e-10)"),
        (("sonnet", "sol", "helpfulness"), "models (1) and (2) differ in significance: pooled +0.096 (p 0.0059)"),
        (("gpt", "sol", "helpfulness"), "models (1) and (2) differ in significance: pooled +0.078 (p 0.0012)"),
    ],
)
def test_disagreement_with_model_1_is_said(released: Path, fit: Fit, said: str) -> None:
    assert any(note.startswith(said) for note in adjusted(released, fit).notes)


@pytest.mark.parametrize(
    "fit", [fit for fit in FITS if fit[:2] not in {("gpt", "opus"), ("sonnet", "sol"), ("gpt", "sol")}]
)
def test_agreement_with_model_1_needs_no_note(released: Path, fit: Fit) -> None:
    assert not any("models (1) and (2)" in note for note in adjusted(released, fit).notes)


def test_judge_free_leg_is_the_same_in_both_judges_files(paper_tables: Path) -> None:
    for base in BASES:
        one = json.loads((paper_tables / f"policy_adjusted.{base}.sol.json").read_text())
        other = theirs(paper_tables, (base, None, "next_turn_independence"))
        assert one["models"]["next_turn_independence"]["coefficient"] == pytest.approx(other["coefficient"], abs=1e-9)


def test_corpus_without_the_study_s_files_says_nothing_of_them() -> None:
    row = analyse(measures_of(DEMO), "policy_adjusted_independence")["next_turn_independence"]
    assert "released" not in parts_of(row)
    assert not any("released" in note for note in row.notes)


def test_planted_policy_effect_is_taken_out(tmp_path: Path) -> None:
    """Scores depend on the policy alone; conv leaks more, so model (1) sees a slope and model (2) sees none."""
    spec = {
        arm: {
            replicate: [
                Said(
                    tuple(
                        Turn(
                            leaky=(at + problem + replicate) % (2 if arm == "conv" else 5) == 0,
                            helpfulness=level + 0.1 * ((at * 7 + problem * 3 + replicate) % 5),
                        )
                        for at in range(4)
                    )
                )
                for problem in range(6)
            ]
            for replicate in range(6)
        }
        for arm, level in (("conv", 4.5), ("ped", 3.5))
    }
    row = analyse(tabled(tmp_path, spec, a_small_instrument(6)), "policy_adjusted_helpfulness", judge="opus")[
        "helpfulness"
    ]
    assert row.estimate == pytest.approx(0.0, abs=0.05)
    assert part(row, "policy").estimate == pytest.approx(-1.0, abs=0.05)
    assert part(row, "pooled").estimate > 0.2
    assert any("models (1) and (2) differ in significance" in note for note in row.notes)


def test_undefined_model_is_not_evaluable(tmp_path: Path) -> None:
    spec = {arm: {r: [Said((Turn(),))] * 2 for r in range(6)} for arm in ("conv", "ped")}
    with pytest.raises(NotEvaluable, match="constant predictor"):
        analyse(tabled(tmp_path, spec, a_small_instrument(6)), "policy_adjusted_helpfulness", judge="opus")


# a damaged reference file

Edit = Callable[[dict[str, Any]], object]


def damaged(released: Path, target: Path, edit: Edit) -> Path:
    folder = shutil.copytree(released, target)
    path = folder / "reference" / "condition_adjusted.json"
    file = json.loads(path.read_text(encoding="utf-8"))
    edit(file)
    path.write_text(json.dumps(file), encoding="utf-8")
    reseal(folder)
    return folder


def helpfulness_of(file: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = file["results"]["sonnet"]["models"]["helpfulness"]
    return found


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda file: helpfulness_of(file).pop("coefficient"), id="a-number"),
        pytest.param(lambda file: file["results"]["sonnet"]["models"].pop("helpfulness"), id="a-model"),
        pytest.param(lambda file: file.pop("results"), id="all-results"),
    ],
)
def test_file_that_lost_a_field_is_named(released: Path, tmp_path: Path, edit: Edit) -> None:
    folder = damaged(released, tmp_path / "corpus", edit)
    with pytest.raises(CorpusError, match=r"reference/condition_adjusted\.json: no field .*restore the file"):
        adjusted(folder, ("sonnet", "opus", "helpfulness"))


def test_file_that_is_no_json_is_named(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    (folder / "reference" / "condition_adjusted.json").write_text("{")
    reseal(folder)
    with pytest.raises(CorpusError, match="not JSON"):
        adjusted(folder, ("sonnet", "opus", "helpfulness"))


def test_base_the_file_does_not_have_is_no_difference(released: Path, tmp_path: Path) -> None:
    folder = damaged(released, tmp_path / "corpus", lambda file: file["results"].pop("sonnet"))
    assert "released" not in parts_of(adjusted(folder, ("sonnet", "opus", "helpfulness")))


def test_other_number_of_turns_is_a_difference(released: Path, tmp_path: Path) -> None:
    folder = damaged(released, tmp_path / "corpus", lambda file: helpfulness_of(file).update(n_obs=357))
    notes = adjusted(folder, ("sonnet", "opus", "helpfulness")).notes
    assert "DIFFERS from the released result: 358 turns against 357" in notes


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (0.1, "its standard error 0.1000, here 0.0674 expected and 0.0703 observed"),
        (None, "standard errors agree (0.0674)"),
    ],
)
def test_standard_error_of_another_kind_is_shown(
    released: Path, tmp_path: Path, error: float | None, said: str
) -> None:
    ours = adjusted(released, ("gpt", "opus", "helpfulness")).se

    def change(file: dict[str, Any]) -> None:
        file["results"]["gpt"]["models"]["helpfulness"]["standard_error"] = error or ours

    folder = damaged(released, tmp_path / "corpus", change)
    assert any(note.endswith(said) for note in adjusted(folder, ("gpt", "opus", "helpfulness")).notes)


def test_rows_rest_on_the_same_turns_as_the_claim(released: Path) -> None:
    measures = measures_of(released)
    frame = model_frame("helpfulness", measures, "gpt", "opus")
    row = analyse(measures, "policy_adjusted_helpfulness", "gpt", "opus")["helpfulness"]
    assert (row.n, row.n_dropped) == (len(frame.outcome), frame.dropped)
