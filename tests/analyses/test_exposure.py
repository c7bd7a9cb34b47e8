"""Turns per session, leaky turns, and means by leakage."""

import json
from pathlib import Path

import pytest

from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, tabled
from tests.store.corpora import measures_of

BASES = ["sonnet", "gpt", "gemini"]
LEGS = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}


def test_released_turns_and_their_gap_are_reproduced(released: Path, paper_tables: Path) -> None:
    rows = analyse(measures_of(released), "exposure")
    file = json.loads((paper_tables / "matched_budget.sonnet.json").read_text())["realized_counts"]
    for arm in ("conv", "ped"):
        row, theirs = rows[f"turns_per_session.{arm}"], file["per_condition"][arm]["inwindow_visible_tutor_turns"]
        found = (row.estimate, row.ci_low, row.ci_high, part(row, "median").estimate, row.n)
        assert found == pytest.approx((theirs["mean"], *theirs["ci95"], theirs["median"], theirs["n"]), abs=1e-9, rel=0)
    gap, theirs = rows["turns_per_session.gap"], file["turn_count_gap_ped_minus_conv"]
    ours = (gap.estimate, gap.ci_low, gap.ci_high, part(gap, "median").estimate, gap.n, part(gap, "above").n)
    expected = (theirs["mean_diff"], *theirs["ci95"], theirs["median_diff"], theirs["n_pairs"], theirs["n_ped_gt_conv"])
    assert ours == pytest.approx(expected, abs=1e-9, rel=0)
    assert (part(gap, "ped").estimate, part(gap, "conv").estimate) == (theirs["ped_mean"], theirs["conv_mean"])


@pytest.mark.parametrize(("base", "conv", "ped"), [("sonnet", 52, 14), ("gpt", 121, 15), ("gemini", 26, 16)])
def test_leaky_turns_by_condition(released: Path, base: str, conv: int, ped: int) -> None:
    row = analyse(measures_of(released), "exposure", base)["leaky_turns"]
    assert (row.n, part(row, "conv").n, part(row, "ped").n) == (conv + ped, conv, ped)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("judge", ["opus", "sol"])
@pytest.mark.parametrize("outcome", LEGS)
def test_released_means_by_leakage_are_reproduced(
    released: Path, paper_tables: Path, base: str, judge: str, outcome: str
) -> None:
    name = f"leakage_means_{outcome.removeprefix('next_turn_')}"
    row = analyse(measures_of(released), name, base, judge)[outcome]
    suffix = "" if judge == "opus" else ".sol"
    file = json.loads((paper_tables / f"inference.{base}{suffix}.json").read_text())
    theirs = (file.get("j2") or file["j2_full"])[LEGS[outcome]]["descriptive_pooled"]
    leaky, other = part(row, "leaky"), part(row, "non_leaky")
    found = (leaky.estimate, other.estimate, row.estimate)
    expected = (theirs["leaky_mean"], theirs["nonleaky_mean"], theirs["leaky_mean"] - theirs["nonleaky_mean"])
    assert found == pytest.approx(expected, abs=1e-9, rel=0)
    assert (leaky.n, other.n) == (theirs["n_leaky"], theirs["n_nonleaky"])
    assert row.p_value is None


def test_means_by_leakage_and_arm_by_hand(tmp_path: Path) -> None:
    conv = [Said((Turn(leaky=True, helpfulness=5.0), Turn(leaky=True, helpfulness=4.0), Turn(helpfulness=3.0)))]
    ped = [Said((Turn(helpfulness=1.0), Turn(helpfulness=None)))]
    measures = tabled(tmp_path, {"conv": {0: conv}, "ped": {0: ped}}, a_small_instrument(1))
    row = analyse(measures, "leakage_means_helpfulness", judge="opus")["helpfulness"]
    # leaky (5 + 4) / 2, others (3 + 1) / 2, one turn without a score
    assert (row.estimate, row.n, row.n_dropped) == (2.5, 4, 1)
    found = {name: part(row, name).estimate for name in ("conv_leaky", "conv_non_leaky", "ped_leaky", "ped_non_leaky")}
    assert found == {"conv_leaky": 4.5, "conv_non_leaky": 3.0, "ped_leaky": None, "ped_non_leaky": 1.0}
    assert part(row, "ped_leaky").n == 0


def test_without_a_leak_there_is_no_difference_to_describe(tmp_path: Path) -> None:
    spec = {arm: {0: [Said((Turn(),))]} for arm in ("conv", "ped")}
    row = analyse(tabled(tmp_path, spec, a_small_instrument(1)), "leakage_means_independence")["next_turn_independence"]
    assert (row.estimate, part(row, "leaky").estimate, part(row, "non_leaky").estimate) == (None, None, 1.0)
