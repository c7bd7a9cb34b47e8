"""The two-stage clustered sensitivity as rows."""

import json
from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, tabled
from tests.store.corpora import measures_of

LEGS = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}
NAMES = {"helpfulness": "two_stage_helpfulness", "next_turn_independence": "two_stage_independence"}


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
@pytest.mark.parametrize("judge", ["opus", "sol"])
@pytest.mark.parametrize("outcome", LEGS)
def test_every_released_number_is_reproduced(
    released: Path, paper_tables: Path, base: str, judge: str, outcome: str
) -> None:
    suffix = "" if judge == "opus" else ".sol"
    file = json.loads((paper_tables / f"inference.{base}{suffix}.json").read_text())
    leg = (file.get("j2") or file["j2_full"])[LEGS[outcome]]
    theirs, pooled = leg["cluster_summary"], leg["descriptive_pooled"]
    row = analyse(measures_of(released), NAMES[outcome], base, judge)[outcome]
    found = (row.estimate, row.ci_low, row.ci_high, row.p_value, part(row, "signed_rank").estimate)
    expected = (theirs["mean_within_replicate_effect"], *theirs["effect_ci95"], theirs["p_two_sided"])
    assert found == pytest.approx((*expected, theirs["wilcoxon_W"]), abs=1e-9, rel=0)
    assert (row.n, row.n_dropped) == (theirs["n_replicates_used"], 0)
    leaky, other = part(row, "leaky"), part(row, "non_leaky")
    assert (leaky.estimate, other.estimate) == pytest.approx(
        (pooled["leaky_mean"], pooled["nonleaky_mean"]), abs=1e-9, rel=0
    )
    assert (leaky.n, other.n) == (pooled["n_leaky"], pooled["n_nonleaky"])


def test_p_that_rests_on_rounding_is_said(released: Path) -> None:
    row = analyse(measures_of(released), "two_stage_helpfulness", "gpt", "opus")["helpfulness"]
    assert any(note.startswith("with exactly summed means W is 7 and p 0.0742188") for note in row.notes)
    assert part(row, "signed_rank_exact_means").p_value == 0.07421875


@pytest.mark.parametrize(
    ("base", "judge", "differs"),
    [("sonnet", "opus", False), ("gpt", "opus", True), ("gemini", "opus", True), ("gpt", "sol", False)],
)
def test_difference_from_model_1_is_said(released: Path, base: str, judge: str, differs: bool) -> None:
    row = analyse(measures_of(released), "two_stage_helpfulness", base, judge)["helpfulness"]
    assert any("model (1) and the two-stage comparison differ" in note for note in row.notes) is differs
    assert "no more policy-controlled than model (1)" in " ".join(row.notes)


def test_skipped_replicates_are_counted_those_without_any_turn_too(tmp_path: Path) -> None:
    both, leaks, none = [Said((Turn(leaky=True), Turn(reply=False)))], [Said((Turn(leaky=True),))], [Said()]
    spec = {"conv": {0: both, 1: leaks, 2: none}, "ped": {0: both, 1: leaks, 2: none}}
    row = analyse(tabled(tmp_path, spec, a_small_instrument(3)), "two_stage_independence")["next_turn_independence"]
    assert (row.estimate, row.n, row.n_dropped) == (1.0, 1, 2)
    assert any(note.startswith("2 replicates lack leaky or non-leaky turns") for note in row.notes)
    assert any(note.startswith("model (1) has no fit to compare with") for note in row.notes)


def test_without_a_leak_it_is_not_evaluable(tmp_path: Path) -> None:
    spec = {arm: {r: [Said((Turn(),))] for r in range(3)} for arm in ("conv", "ped")}
    with pytest.raises(NotEvaluable, match="None of the 3 replicates has both"):
        analyse(tabled(tmp_path, spec, a_small_instrument(3)), "two_stage_independence")
