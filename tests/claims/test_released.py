"""The study's own tables give the study's own verdicts and numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records import PairedClaim
from pytest_tutoreval.resources import data_folder
from tests.store.corpora import decide, measures_of

PUBLISHED = json.loads((data_folder("reports/reference") / "published.json").read_text(encoding="utf-8"))["entries"]
VERDICTS = {
    (entry["claim"], entry["base"], entry["id"].split("/")[3]): entry["value"]
    for entry in PUBLISHED
    if entry["measure" if "measure" in entry else "id"] == "verdict"
}
TABLE_2A = [entry for entry in PUBLISHED if entry["id"].startswith("table2a/")]
BASES = ("sonnet", "gpt", "gemini")
JUDGES = ("opus", "sol")
CONTRASTS = {"P1": "P1_leakage", "P2": "P2_helpfulness", "P3": "P3_independence"}
LEGS = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}


@pytest.fixture(scope="module")
def measures(released: Path) -> CorpusMeasures:
    return measures_of(released)


def inference(paper_tables: Path, base: str, judge: str) -> dict[str, Any]:
    suffix = "" if judge == "opus" else f".{judge}"
    parsed: dict[str, Any] = json.loads((paper_tables / f"inference.{base}{suffix}.json").read_text(encoding="utf-8"))
    return parsed


def test_there_are_twenty_one_published_verdicts() -> None:
    assert len(VERDICTS) == 21


@pytest.mark.parametrize(("claim", "base", "judge"), list(VERDICTS))
def test_published_verdict_is_reproduced(released: Path, claim: str, base: str, judge: str) -> None:
    asked = judge if bundled_claims()[claim].judge_bound else None
    assert decide(released, claim, base, asked).verdict == VERDICTS[claim, base, judge]


@pytest.mark.parametrize(
    ("base", "expected"), [("sonnet", "supported"), ("gpt", "supported"), ("gemini", "not_supported")]
)
def test_the_second_judges_headline_follows_from_its_released_file(
    released: Path, paper_tables: Path, base: str, expected: str
) -> None:
    holds = inference(paper_tables, base, "sol")["j2_full"]["J2_supported"]
    assert ("supported" if holds else "not_supported") == expected
    assert decide(released, "J2", base, "sol").verdict == expected


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("claim", CONTRASTS)
def test_contrasts_equal_the_released_numbers(
    released: Path, paper_tables: Path, claim: str, base: str, judge: str
) -> None:
    theirs = inference(paper_tables, base, judge)["j1" if judge == "opus" else "j1_full"][CONTRASTS[claim]]
    ours = decide(released, claim, base, judge if claim == "P2" else None)
    assert ours.estimate == pytest.approx(theirs["mean_diff_conv_minus_ped"], rel=0, abs=1e-9)
    assert [ours.ci_low, ours.ci_high] == pytest.approx(theirs["diff_ci95"], rel=0, abs=1e-9)
    assert ours.cliffs_delta == pytest.approx(theirs["cliffs_delta_conv_vs_ped"], rel=0, abs=1e-9)
    assert (ours.n, ours.n_dropped) == (10, 0)
    if (claim, base, judge) == ("P1", "gemini", "opus"):
        assert theirs["p_two_sided"] == 0.625
        assert ours.p_value == 0.623046875
        assert any("released p 0.625 (scipy 1.11.4)" in note and "0.623047" in note for note in ours.notes)
    else:
        assert ours.p_value == pytest.approx(theirs["p_two_sided"], rel=0, abs=1e-9)
    if judge == "opus" or claim == "P2":
        assert sum("1e-9" in note for note in ours.notes) == 1


def a_pedagogy_claim() -> PairedClaim:
    stated = bundled_claims()["P2"].model_dump() | {"id": "ped", "measure": "pedagogy", "direction": "ped > conv"}
    return PairedClaim.model_validate(stated)


@pytest.mark.parametrize("entry", TABLE_2A, ids=lambda entry: str(entry["id"]))
def test_table_2a_is_reproduced_to_its_digits(measures: CorpusMeasures, entry: dict[str, Any]) -> None:
    claim = a_pedagogy_claim() if entry["measure"] == "pedagogy" else bundled_claims()["P2"]
    assert isinstance(claim, PairedClaim)
    verdict = decide_paired(claim, measures, entry["base"], entry["judge"])
    assert verdict.estimate is not None
    assert verdict.cliffs_delta is not None
    assert verdict.p_value is not None
    digits = max(len(f"{entry['p']:.10f}".rstrip("0").partition(".")[2]), 3)
    assert round(verdict.estimate, 3) == entry["value"]
    assert round(verdict.cliffs_delta, 2) == entry["cliffs_delta"]
    assert round(verdict.p_value, digits) == pytest.approx(entry["p"], abs=1e-9)
    assert verdict.n == entry["n_pairs"]


@pytest.mark.parametrize("base", BASES)
def test_the_second_judges_pedagogy_equals_its_released_file(
    measures: CorpusMeasures, paper_tables: Path, base: str
) -> None:
    theirs = inference(paper_tables, base, "sol")["session_pedagogy_contrast_manipulation_check"]
    ours = decide_paired(a_pedagogy_claim(), measures, base, "sol")
    assert ours.estimate == pytest.approx(theirs["mean_diff_conv_minus_ped"], abs=1e-9)
    assert [ours.ci_low, ours.ci_high] == pytest.approx(theirs["diff_ci95"], abs=1e-9)
    assert ours.cliffs_delta == pytest.approx(theirs["cliffs_delta_conv_vs_ped"], abs=1e-9)
    assert ours.p_value == pytest.approx(theirs["p_two_sided"], abs=1e-9)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("base", "n"), [("sonnet", 358), ("gpt", 379), ("gemini", 442)])
def test_headline_legs_lie_at_the_maximum_within_a_hundredth_of_the_released(
    released: Path, paper_tables: Path, base: str, n: int, judge: str
) -> None:
    theirs = inference(paper_tables, base, judge)["j2" if judge == "opus" else "j2_full"]
    verdict = decide(released, "J2", base, judge)
    assert verdict.n == n
    for leg in verdict.components:
        fit = theirs[LEGS[leg.name]]["mixed_effects"]
        assert leg.estimate == pytest.approx(fit["coef"], abs=0.01)
        assert leg.n == fit["n_obs"] == n
        assert leg.holds == fit["significant_in_predicted_direction"]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("base", BASES)
def test_the_notes_name_the_released_fits_that_stopped_early(released: Path, base: str, judge: str) -> None:
    early = {("gpt", "opus"): "-0.3134", ("gemini", "sol"): "+0.0438"}
    named = [note for note in decide(released, "J2", base, judge).notes if "is not the maximum" in note]
    if (base, judge) in early:
        assert len(named) == 1
        assert named[0].startswith(f"helpfulness: released {early[base, judge]} is not the maximum ")
        assert "its optimiser stopped early" in named[0]
    else:
        assert named == []


def test_the_notes_name_a_standard_error_of_the_other_kind(released: Path) -> None:
    notes = decide(released, "J2", "sonnet", "opus").notes
    (note,) = [note for note in notes if note.startswith("next_turn_independence: released")]
    assert "its standard error 0.0560 is the observed-Hessian one, the expected-information one is 0.0594" in note
