"""Accuracy, cost, routes, judged gaps and the divergence view."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import model_frame
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, tabled
from tests.store.corpora import DEMO, measures_of, reseal, stamp

BASES = ["sonnet", "gpt", "gemini"]
CONDITIONS = ["cold", "conv", "ped"]


# accuracy


@pytest.mark.parametrize("base", BASES)
def test_every_released_accuracy_is_reproduced(released: Path, paper_tables: Path, base: str) -> None:
    rows = analyse(measures_of(released), "accuracy", base)
    file = json.loads((paper_tables / f"inference.{base}.json").read_text())["accuracy"]
    for condition in CONDITIONS:
        for phase in ("immediate", "delayed", "transfer"):
            row, theirs = rows[f"accuracy.{phase}.{condition}"], file[condition][f"acc_{phase}"]
            found = (row.estimate, row.ci_low, row.ci_high, row.n)
            assert found == pytest.approx((theirs["mean"], *theirs["ci95"], theirs["n"]), abs=1e-9, rel=0)


def test_printed_range_is_reproduced(released: Path) -> None:
    row = analyse(measures_of(released), "accuracy")["accuracy.range"]
    assert [round(part(row, end).estimate, 2) for end in ("min", "max")] == [0.77, 1.0]


def test_condition_that_is_not_there_keeps_its_place(tmp_path: Path) -> None:
    spec = {arm: {r: [Said((Turn(),))] for r in range(2)} for arm in ("conv", "ped")}
    rows = analyse(tabled(tmp_path, spec, a_small_instrument(2)), "accuracy")
    assert rows["accuracy.delayed.cold"].notes[0] == "not evaluable: no sessions in cell sonnet/cold"
    assert rows["accuracy.delayed.conv"].estimate == pytest.approx(2 / 3)
    assert rows["accuracy.range"].n == 6


@pytest.mark.parametrize("name", ["accuracy", "cost"])
def test_without_any_condition_it_is_not_evaluable(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotEvaluable, match="no sessions in cell sonnet/cold"):
        analyse(tabled(tmp_path, {}, a_small_instrument(2)), name)


# cost


def test_released_counts_are_reproduced(released: Path, paper_tables: Path) -> None:
    rows = analyse(measures_of(released), "cost")
    file = json.loads((paper_tables / "matched_budget.sonnet.json").read_text())["realized_counts"]["per_condition"]
    for condition in ("conv", "ped"):
        for ours, name in (
            ("n_calls", "model_calls"),
            ("tutor_tokens", "tutor_tokens"),
            ("total_tokens", "total_tokens"),
        ):
            row, theirs = rows[f"{ours}.{condition}"], file[condition][name]
            found = (row.estimate, row.ci_low, row.ci_high, part(row, "median").estimate, row.n)
            expected = (theirs["mean"], *theirs["ci95"], theirs["median"], theirs["n"])
            assert found == pytest.approx(expected, abs=1e-9, rel=1e-12)


def test_cost_of_a_text_corpus_is_summed_over_its_calls() -> None:
    measures = measures_of(DEMO)
    row = analyse(measures, "cost")["tutor_tokens.ped"]
    sessions = [measures.corpus.session(of.key) for of in measures.cell("sonnet", "ped").sessions.values()]
    assert part(row, "sum").estimate == sum(call.tokens for s in sessions for call in s.calls if call.role != "student")


def test_condition_without_sessions_has_one_row_with_the_reason(tmp_path: Path) -> None:
    spec = {arm: {r: [Said((Turn(),))] for r in range(2)} for arm in ("conv", "ped")}
    rows = analyse(tabled(tmp_path, spec, a_small_instrument(2)), "cost")
    assert rows["n_calls.cold"].notes == ("not evaluable: no sessions in cell sonnet/cold",)
    assert rows["n_calls.ped"].estimate == 67.0


# routes


@pytest.mark.parametrize(("base", "counts"), [("sonnet", (165, 57, 1)), ("gpt", None), ("gemini", None)], ids=BASES)
def test_routes_of_the_study(released: Path, base: str, counts: tuple[int, int, int] | None) -> None:
    row = analyse(measures_of(released), "routes", base)["routes.ped"]
    found = tuple(part(row, name).n for name in ("hint", "decompose", "defer"))
    assert sum(found) == row.n
    # published.json: the gate fired once over all bases
    assert found[2] == (1 if base == "sonnet" else 0)
    if counts:
        assert found == counts
    assert any("practically unexercised" in note for note in row.notes)


def test_route_nobody_knows_is_named(tmp_path: Path) -> None:
    turns = (Turn(route="defer"), Turn(route="elsewhere"), Turn())
    spec = {"conv": {0: [Said((Turn(),))]}, "ped": {0: [Said(turns)]}}
    row = analyse(tabled(tmp_path, spec, a_small_instrument(1)), "routes")["routes.ped"]
    found = {component.name: component.n for component in row.components}
    assert found == {"hint": 0, "decompose": 0, "defer": 1, "elsewhere": 1, "none": 1}
    assert not any("unexercised" in note for note in row.notes)


# judged gaps


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("judge", ["opus", "sol"])
def test_judged_gap_is_the_released_one(released: Path, paper_tables: Path, base: str, judge: str) -> None:
    row = analyse(measures_of(released), "judged_gaps", base, judge)["helpfulness"]
    suffix = "" if judge == "opus" else ".sol"
    file = json.loads((paper_tables / f"inference.{base}{suffix}.json").read_text())
    theirs = (file.get("j1") or file["j1_full"])["P2_helpfulness"]
    found = (row.estimate, row.ci_low, row.ci_high, row.p_value, row.cliffs_delta)
    expected = (theirs["mean_diff_conv_minus_ped"], *theirs["diff_ci95"], theirs["p_two_sided"])
    assert found == pytest.approx((*expected, theirs["cliffs_delta_conv_vs_ped"]), abs=1e-9, rel=0)


@pytest.mark.parametrize("base", BASES)
def test_pedagogy_gap_of_sol_is_the_released_one(released: Path, paper_tables: Path, base: str) -> None:
    row = analyse(measures_of(released), "judged_gaps", base, "sol")["pedagogy"]
    file = json.loads((paper_tables / f"inference.{base}.sol.json").read_text())
    theirs = file["session_pedagogy_contrast_manipulation_check"]
    found = (row.estimate, row.ci_low, row.ci_high, row.p_value, row.cliffs_delta)
    expected = (theirs["mean_diff_conv_minus_ped"], *theirs["diff_ci95"], theirs["p_two_sided"])
    assert found == pytest.approx((*expected, theirs["cliffs_delta_conv_vs_ped"]), abs=1e-9, rel=0)
    assert "manipulation check" in row.notes[0]


def test_rubric_without_ratings_keeps_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(DEMO, folder)
    shutil.rmtree(folder / "ratings" / "opus" / "pedagogy" / "sonnet")
    stamp(folder, measures_of(DEMO).corpus.manifest, files={})
    rows = analyse(measures_of(folder), "judged_gaps", judge="opus")
    assert rows["helpfulness"].estimate is not None
    assert rows["pedagogy"].notes[-1].startswith("not evaluable: session sonnet/conv/r0: no pedagogy ratings by opus")


def test_judge_without_ratings_is_not_evaluable() -> None:
    with pytest.raises(NotEvaluable, match="no helpfulness ratings by nobody"):
        analyse(measures_of(DEMO), "judged_gaps", judge="nobody")


# divergence


def columns(folder: Path, base: str, judge: str) -> dict[str, Any]:
    """Return the three measures of every turn, in the frames' common order."""
    measures = measures_of(folder)
    frames = {
        name: model_frame(name, measures, base, judge) for name in ("helpfulness", "pedagogy", "next_turn_independence")
    }
    return {name: np.array(frame.outcome) for name, frame in frames.items()}


@pytest.mark.parametrize(("base", "judge"), [("sonnet", "opus"), ("gpt", "sol")])
def test_correlations_and_spread_are_numpy_s_and_scipy_s(released: Path, base: str, judge: str) -> None:
    rows, given = analyse(measures_of(released), "divergence", base, judge), columns(released, base, judge)
    names = list(given)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        one, other = names[first], names[second]
        row = rows[f"turns.{one}~{other}"]
        # np.corrcoef and stats.spearmanr of the turns' values
        assert part(row, "pearson").estimate == pytest.approx(np.corrcoef(given[one], given[other])[0, 1], abs=1e-12)
        rank = stats.spearmanr(given[one], given[other]).statistic
        assert row.estimate == part(row, "spearman").estimate == pytest.approx(rank, abs=1e-12)
    # stats.zscore: population SD over the turns of both arms
    spread = np.std(np.column_stack([stats.zscore(given[name]) for name in names]), axis=1)
    assert rows["turns.spread"].estimate == pytest.approx(spread.mean(), abs=1e-12)
    assert (rows["turns.spread"].n, rows["sessions.spread"].n) == (given["helpfulness"].size, 20)


def test_z_means_of_the_arms_balance(released: Path) -> None:
    row = analyse(measures_of(released), "divergence", judge="opus")["turns.spread"]
    for name in ("helpfulness", "pedagogy", "next_turn_independence"):
        conv, ped = part(row, f"conv_z_{name}"), part(row, f"ped_z_{name}")
        assert conv.n * conv.estimate + ped.n * ped.estimate == pytest.approx(0.0, abs=1e-9)


def test_measure_that_never_varies_has_no_z_score(tmp_path: Path) -> None:
    spec = {
        "conv": {0: [Said((Turn(reply=True, pedagogy=2.0), Turn(reply=False, pedagogy=3.0)))]},
        "ped": {0: [Said((Turn(reply=True, pedagogy=5.0), Turn(reply=False, pedagogy=None)))]},
    }
    rows = analyse(tabled(tmp_path, spec, a_small_instrument(1)), "divergence", judge="opus")
    assert "helpfulness is the same in all 3 turns" in rows["turns.spread"].notes[0]
    assert rows["turns.helpfulness~pedagogy"].notes[0].startswith("not evaluable: ")
    assert rows["turns.pedagogy~next_turn_independence"].estimate == pytest.approx(0.0, abs=1e-12)
    assert (rows["turns.spread"].n, rows["turns.spread"].n_dropped) == (3, 1)


def test_study_without_the_rubrics_has_no_view(tmp_path: Path) -> None:
    small = a_small_instrument(1)
    other = replace(small, study=small.study.model_copy(update={"rubrics": ("helpfulness",)}))
    spec = {arm: {0: [Said((Turn(),))]} for arm in ("conv", "ped")}
    with pytest.raises(NotEvaluable, match="the study lacks pedagogy"):
        analyse(tabled(tmp_path, spec, other), "divergence", judge="opus")


def test_one_judge_s_ratings_are_enough(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    for name in ("scores.csv", "session_scores.csv"):
        path = folder / "tables" / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("sol,")), encoding="utf-8")
    reseal(folder)
    one, other = (analyse(measures_of(of), "divergence", judge="opus") for of in (released, folder))
    assert one == other
