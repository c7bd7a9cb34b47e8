"""The matched visible-turn budget as rows: by hand, on the study's tables, and against a text corpus's truth."""

import json
import random
import shutil
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tutoreval.analyses.matched_budget import match_arms
from pytest_tutoreval.analyses.matched_openings import MatchedIndependence, bound_contrast, matched_independence
from pytest_tutoreval.detectors import attempts_step
from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.inference import signed_rank
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.simulating import simulate_corpus
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.transcript import answer_window, read_transcript
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, as_tables, part, parts_of, tabled
from tests.store.corpora import measures_of, reseal

SMALL = a_small_instrument(3)
ARMS = ("conv", "ped")
Rows = dict[str, AnalysisRow]


# by hand


def by_hand(folder: Path) -> CorpusMeasures:
    """Replicate 0: train-1 has 1 conv turn of 2, train-2 none in conv; the rest are empty in both.

    conv: train-1 leaks, reply no step, opening a step; train-2's opening a step.
    ped: train-1 step and no step, opening none; train-2 two turns with steps, opening a step.
    """
    conv = [Said((Turn(leaky=True, reply=False, helpfulness=5.0),), opening=True), Said(opening=True)]
    ped = [
        Said((Turn(reply=True, helpfulness=4.0), Turn(leaky=True, reply=False, helpfulness=2.0))),
        Said((Turn(), Turn()), opening=True),
    ]
    same = [Said((Turn(leaky=True), Turn()))]
    return tabled(folder, {"conv": {0: conv, 1: same, 2: same}, "ped": {0: ped, 1: same, 2: same}}, SMALL)


def test_cells_and_turns_are_counted(tmp_path: Path) -> None:
    rows = analyse(by_hand(tmp_path), "matched_budget")
    # 18 cells; kept: train-1 of each replicate
    assert (rows["cells"].n, rows["cells"].n_dropped) == (3, 15)
    assert "r0 train-2 (conv 0, ped 2)" in rows["cells"].notes[0]
    assert (part(rows["cells"], "conv_without_turn").n, part(rows["cells"], "ped_without_turn").n) == (15, 14)
    # conv 1 + 2 + 2 of 5, ped 1 + 2 + 2 of 8
    assert (rows["turns"].n, part(rows["turns"], "conv").n, part(rows["turns"], "ped").n) == (10, 5, 5)
    assert (rows["turns"].n_dropped, part(rows["turns"], "ped").n_dropped) == (3, 3)


def test_leaky_turns_are_counted_before_and_after(tmp_path: Path) -> None:
    row = analyse(by_hand(tmp_path), "matched_budget")["leaky_turns"]
    found = {name: component.n for name, component in parts_of(row).items()}
    assert found == {
        **{"conv": 3, "conv_non_leaky": 2, "ped": 2, "ped_non_leaky": 3, "floor": 10},
        **{"full_window_conv": 3, "full_window_conv_non_leaky": 2},
        **{"full_window_ped": 3, "full_window_ped_non_leaky": 5},
    }
    assert row.notes[0].startswith("2 leaky ped turns survive, below the floor of 10: the legs rest mainly on conv (3")


def test_leakage_is_the_share_of_kept_turns(tmp_path: Path) -> None:
    row = analyse(by_hand(tmp_path), "matched_budget")["contrast.leakage"]
    # conv 1, .5, .5; ped 0, .5, .5: differences 1, 0, 0
    assert (part(row, "conv").estimate, part(row, "ped").estimate) == pytest.approx((2 / 3, 1 / 3))
    assert row.estimate == pytest.approx(1 / 3)
    # the full window: ped's replicate 0 has 1 leak in 4 turns
    assert part(row, "full_window").estimate == pytest.approx((1 - 0.25) / 3)


def test_helpfulness_is_the_mean_of_kept_scores(tmp_path: Path) -> None:
    row = analyse(by_hand(tmp_path), "matched_budget_helpfulness", judge="opus")["contrast.helpfulness"]
    # replicate 0: conv 5, ped 4 (its 2.0 is cut); the others 4 and 4
    assert row.estimate == pytest.approx(1 / 3)


def test_bounds_of_independence_by_hand(tmp_path: Path) -> None:
    row = analyse(by_hand(tmp_path), "matched_budget")["contrast.independence"]
    # Replicate 0 keeps train-1: 2 student turns. conv has 2 openings with a step in all, the five dropped cells may
    # hold both: 0 or 1 kept, no step in the reply: 0 or 1/2. ped has 1 opening: 0 or 1, and a step in its reply: 1/2
    # or 1. Replicates 1 and 2 have no opening with a step, so all is known: 2 steps in 3 turns on both sides.
    parts = parts_of(row)
    assert (row.estimate, row.p_value, row.ci_low) == (None, None, None)
    assert (parts["lowest"].estimate, parts["highest"].estimate) == pytest.approx((-1 / 3, 0.0))
    assert (parts["conv_lowest"].estimate, parts["conv_highest"].estimate) == pytest.approx(
        ((0 + 4 / 3) / 3, (0.5 + 4 / 3) / 3)
    )
    assert (parts["ped_lowest"].estimate, parts["ped_highest"].estimate) == pytest.approx(
        ((0.5 + 4 / 3) / 3, (1 + 4 / 3) / 3)
    )
    assert (parts["fillings"].n, parts["significant"].n) == (4, 0)
    # one pair that differs: p 1 with either filling
    assert (parts["p_lowest"].p_value, parts["p_highest"].p_value) == (1.0, 1.0)
    assert any(note.startswith("the outcome depends on the missing replies") for note in row.notes)
    assert "conv/r0, ped/r0" in row.notes[0]


def test_known_openings_give_the_exact_contrast(tmp_path: Path) -> None:
    """No cell dropped: the session's ratio says how many openings hold a step, and all of them stay."""
    conv = [Said((Turn(reply=False), Turn()), opening=number < 2) for number in range(6)]
    ped = [Said((Turn(),), opening=number < 3) for number in range(6)]
    spec = {"conv": dict.fromkeys(range(3), conv), "ped": dict.fromkeys(range(3), ped)}
    row = analyse(tabled(tmp_path, spec, SMALL), "matched_budget")["contrast.independence"]
    # conv keeps opening and first reply: 2 steps of 12; ped 3 openings and 6 replies: 9 of 12
    assert row.estimate == pytest.approx((2 - 9) / 12)
    assert part(row, "changed").n == 0


def test_sessions_that_lose_everything_drop_the_pair(tmp_path: Path) -> None:
    same, empty = [Said((Turn(leaky=True), Turn()))], [Said()]
    spec = {"conv": {0: empty, 1: same, 2: same}, "ped": {0: same, 1: same, 2: same}}
    rows = analyse(tabled(tmp_path, spec, SMALL), "matched_budget")
    assert [
        (rows[f"contrast.{name}"].n, rows[f"contrast.{name}"].n_dropped) for name in ("leakage", "independence")
    ] == [
        (2, 1),
        (2, 1),
    ]


def test_nothing_left_keeps_its_place_with_the_reason(tmp_path: Path) -> None:
    same, empty = [Said((Turn(leaky=True), Turn()))], [Said()]
    spec = {"conv": dict.fromkeys(range(3), empty), "ped": dict.fromkeys(range(3), same)}
    rows = analyse(tabled(tmp_path, spec, SMALL), "matched_budget")
    for measure in ("contrast.leakage", "contrast.independence", "leg.next_turn_independence"):
        assert rows[measure].estimate is None
        assert any(note.startswith("not evaluable: ") for note in rows[measure].notes)


def test_contradicting_tables_are_not_evaluable(tmp_path: Path) -> None:
    measures = by_hand(tmp_path)
    cell = measures.cell("sonnet", "conv")
    cell.sessions[0] = replace(cell.sessions[0], independence=1.0)
    row = analyse(measures, "matched_budget")["contrast.independence"]
    assert "the tables contradict each other" in row.notes[0]


def test_change_of_significance_is_said(tmp_path: Path) -> None:
    """conv leaks on the first turn, ped from the second on: cut to one turn, a null becomes a difference."""
    small = a_small_instrument(6)
    ped = [Said((Turn(), Turn(leaky=True), *[Turn(leaky=True)] * 2))]
    spec = {
        "conv": {r: [Said((Turn(leaky=True),)), Said((Turn(leaky=r % 2 == 0),))] for r in range(6)},
        "ped": {r: [*ped, *ped] for r in range(6)},
    }
    row = analyse(tabled(tmp_path, spec, small), "matched_budget")["contrast.leakage"]
    assert part(row, "changed").n == 1
    assert any("full window and matched budget differ in significance" in note for note in row.notes)


# the study's tables


@pytest.fixture(scope="module")
def sonnet(released: Path) -> Rows:
    measures = measures_of(released)
    return analyse(measures, "matched_budget") | analyse(measures, "matched_budget_helpfulness", judge="opus")


@pytest.fixture(scope="module")
def theirs(paper_tables: Path) -> Any:
    return json.loads((paper_tables / "matched_budget.sonnet.json").read_text())


@pytest.mark.parametrize(
    ("measure", "claim"), [("contrast.leakage", "P1_leakage"), ("contrast.helpfulness", "P2_helpfulness")]
)
def test_released_contrast_is_reproduced(sonnet: Rows, theirs: Any, measure: str, claim: str) -> None:
    for name, row in (("matched_budget", sonnet[measure]), ("full_window", part(sonnet[measure], "full_window"))):
        file = theirs["marginals_full_vs_matched"][claim][name]
        found = (row.estimate, row.ci_low, row.ci_high, row.p_value, row.cliffs_delta, row.n)
        expected = (file["mean_diff_conv_minus_ped"], *file["diff_ci95"], file["p_two_sided"])
        assert found == pytest.approx((*expected, file["cliffs_delta_conv_vs_ped"], file["n"]), abs=1e-9, rel=0)
    file = theirs["marginals_full_vs_matched"][claim]["matched_budget"]
    means = (part(sonnet[measure], "conv").estimate, part(sonnet[measure], "ped").estimate)
    assert means == pytest.approx((file["conv_mean"], file["ped_mean"]), abs=1e-9, rel=0)
    pairs = (part(sonnet[measure], "above").n, part(sonnet[measure], "below").n)
    assert pairs == (file["n_conv_gt_ped"], file["n_ped_gt_conv"])
    assert part(sonnet[measure], "changed").n == 0


def test_study_s_own_independence_lies_inside_the_bounds(sonnet: Rows, theirs: Any) -> None:
    row = sonnet["contrast.independence"]
    file = theirs["marginals_full_vs_matched"]["P3_independence"]["matched_budget"]
    parts = parts_of(row)
    assert parts["lowest"].estimate <= file["mean_diff_conv_minus_ped"] <= parts["highest"].estimate
    assert parts["p_lowest"].p_value <= file["p_two_sided"] <= parts["p_highest"].p_value
    for arm in ARMS:
        bounds = (parts[f"{arm}_lowest"].estimate - 1e-9, parts[f"{arm}_highest"].estimate + 1e-9)
        assert bounds[0] <= file[f"{arm}_mean"] <= bounds[1]
    assert parts["released"].estimate == file["mean_diff_conv_minus_ped"]
    assert "the study's own value -0.0401 (p 0.695) lies inside the bounds" in row.notes


def test_study_s_own_value_is_one_of_the_fillings(released: Path, theirs: Any) -> None:
    """Some filling gives both arm means, the difference and the p the study printed, to 1e-9."""
    cells, matched = match_arms(measures_of(released), "sonnet")
    independence = matched_independence(cells, matched)
    file = theirs["marginals_full_vs_matched"]["P3_independence"]["matched_budget"]
    options = [independence.values[arm][r] or () for arm in ARMS for r in range(10)]
    found = [
        filling
        for filling in product(*options)
        if fmean(filling[:10]) == pytest.approx(file["conv_mean"], abs=1e-9)
        and fmean(filling[10:]) == pytest.approx(file["ped_mean"], abs=1e-9)
    ]
    p_values = {signed_rank([a - b for a, b in zip(f[:10], f[10:], strict=True)]).p_value for f in found}
    assert any(p == pytest.approx(file["p_two_sided"], abs=1e-9) for p in p_values)


def test_outcome_is_the_same_over_all_fillings_on_every_base(released: Path) -> None:
    for base in ("sonnet", "gpt"):
        row = analyse(measures_of(released), "matched_budget", base)["contrast.independence"]
        assert any(note.startswith("the outcome is the same over all fillings, and that of") for note in row.notes)


def test_gemini_drops_no_cell_so_its_independence_is_exact(released: Path) -> None:
    rows = analyse(measures_of(released), "matched_budget", "gemini")
    assert rows["cells"].n_dropped == 0
    assert rows["contrast.independence"].p_value is not None


@pytest.mark.parametrize("outcome", ["helpfulness", "next_turn_independence"])
def test_released_leg_is_reproduced(sonnet: Rows, theirs: Any, outcome: str) -> None:
    name = {"helpfulness": "leak_to_helpfulness", "next_turn_independence": "leak_to_next_independence"}[outcome]
    row, file = sonnet[f"leg.{outcome}"], theirs["j2_matched_budget"][name]
    counts = (part(row, "leaky").n, part(row, "non_leaky").n, row.n)
    assert counts == (file["n_leaky"], file["n_nonleaky"], 256)
    means = (part(row, "leaky").estimate, part(row, "non_leaky").estimate)
    assert means == pytest.approx((file["leaky_mean"], file["nonleaky_mean"]), abs=1e-9, rel=0)
    clustered = part(row, "two_stage")
    assert (clustered.estimate, clustered.p_value, clustered.n) == pytest.approx(
        (file["cluster_within_rep_effect"], file["cluster_p"], file["cluster_n_rep"]), abs=1e-9, rel=0
    )
    # both fits are at the maximum; the printed p rests on the observed Hessian
    observed = part(row, "observed_hessian")
    assert row.estimate == pytest.approx(file["mixed_coef"], abs=2e-6)
    assert observed.p_value == pytest.approx(file["mixed_p"], rel=2e-3)
    assert (observed.ci_low, observed.ci_high) == pytest.approx(file["mixed_ci95"], abs=2e-5)
    assert part(row, "changed").n == 0


def test_released_counts_are_reproduced(released: Path, sonnet: Rows, theirs: Any) -> None:
    _, matched = match_arms(measures_of(released), "sonnet")
    assert {f"{r}|{problem}": k for (r, problem), k in matched.budget.items()} == theirs[
        "matched_K_by_problem_replicate"
    ]
    dropped = theirs["k0_dropped_cells"]
    assert sonnet["cells"].n_dropped == dropped["n_cells"] == 5
    assert [(str(cell.replicate), cell.problem, cell.conv_turns, cell.ped_turns) for cell in matched.dropped] == [
        tuple(cell.values()) for cell in dropped["cells"]
    ]
    sizes = theirs["j2_leaky_cell_sizes_by_condition"]
    for prefix, of in (("", "matched_budget"), ("full_window_", "full_window")):
        for arm in ARMS:
            assert part(sonnet["leaky_turns"], f"{prefix}{arm}").n == sizes[of][arm]["leaky"]
            assert part(sonnet["leaky_turns"], f"{prefix}{arm}_non_leaky").n == sizes[of][arm]["nonleaky"]
    assert any("6 leaky ped turns survive, below the floor of 10" in note for note in sonnet["leaky_turns"].notes)


def test_damaged_reference_is_named(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    (folder / "reference" / "matched_budget.sonnet.json").write_text("{}")
    reseal(folder)
    with pytest.raises(CorpusError, match=r"reference/matched_budget\.sonnet\.json: no readable P3"):
        analyse(measures_of(folder), "matched_budget")


def test_value_outside_the_bounds_is_a_difference(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    path = folder / "reference" / "matched_budget.sonnet.json"
    file = json.loads(path.read_text())
    file["marginals_full_vs_matched"]["P3_independence"]["matched_budget"]["mean_diff_conv_minus_ped"] = 0.2
    path.write_text(json.dumps(file))
    reseal(folder)
    row = analyse(measures_of(folder), "matched_budget")["contrast.independence"]
    assert any("DIFFERS: it lies OUTSIDE the bounds" in note for note in row.notes)


# a corpus with text, and the same as tables


def simulated(target: Path, *, seed: int, commit_rate: float, replicates: int = 6) -> CorpusMeasures:
    """A corpus whose students often commit in their opening reply, so that cells are dropped."""
    instrument = a_small_instrument(replicates)
    script = replace(SCRIPTS["sonnet"], commit_rate=commit_rate)
    simulate_corpus(
        target,
        instrument,
        seed=seed,
        scripts={"sonnet": script},
        judge_scripts={"opus": JUDGE_SCRIPTS["opus"]},
        replicates=range(replicates),
    )
    return CorpusMeasures(open_corpus(target), instrument)


@pytest.mark.parametrize("seed", range(4))
def test_truth_of_a_text_corpus_lies_inside_the_bounds_its_tables_give(tmp_path: Path, seed: int) -> None:
    text = simulated(tmp_path / "text", seed=seed, commit_rate=0.06)
    truth = analyse(text, "matched_budget")["contrast.independence"]
    assert truth.estimate is not None
    tables = as_tables(text, tmp_path / "tables")
    row = analyse(tables, "matched_budget")["contrast.independence"]
    parts = parts_of(row)
    assert row.estimate is None, "no cell was dropped; choose another seed"
    assert parts["lowest"].estimate - 1e-12 <= truth.estimate <= parts["highest"].estimate + 1e-12
    assert parts["p_lowest"].p_value <= (truth.p_value or 0.0) <= parts["p_highest"].p_value
    for arm in ARMS:
        mean = part(truth, arm).estimate
        assert parts[f"{arm}_lowest"].estimate - 1e-12 <= mean <= parts[f"{arm}_highest"].estimate + 1e-12


def test_everything_but_independence_is_the_same_from_text_and_tables(tmp_path: Path) -> None:
    text = simulated(tmp_path / "text", seed=1, commit_rate=0.06)
    tables = as_tables(text, tmp_path / "tables")
    one, other = (
        analyse(of, "matched_budget") | analyse(of, "matched_budget_helpfulness", judge="opus") for of in (text, tables)
    )
    for measure in one.keys() - {"contrast.independence"}:
        assert one[measure] == other[measure]


def test_text_gives_the_number_worked_out_call_by_call(tmp_path: Path) -> None:
    """Independently: keep the first K in-window turns a problem and the student turns before the first dropped one."""
    text = simulated(tmp_path / "text", seed=2, commit_rate=0.06)
    found: dict[tuple[str, int], float | None] = {}
    for replicate in range(6):
        windows = {
            arm: {
                problem: answer_window(exchange)
                for problem, exchange in read_transcript(
                    text.corpus.session(text.cell("sonnet", arm).sessions[replicate].key)
                ).exchanges.items()
            }
            for arm in ARMS
        }
        for arm in ARMS:
            flags = []
            for problem, window in windows[arm].items():
                k = min(len(windows[other][problem].tutor) for other in ARMS)
                if not k:
                    continue
                first_dropped = window.tutor[k].first if k < len(window.tutor) else float("inf")
                flags += [attempts_step(said.text) for said in window.student if said.seq < first_dropped]
            found[arm, replicate] = fmean(flags) if flags else None
    row = analyse(text, "matched_budget")["contrast.independence"]
    pairs = [(found["conv", r], found["ped", r]) for r in range(6)]
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    assert row.estimate == pytest.approx(fmean(differences), abs=1e-12)


def test_too_many_fillings_keep_the_bounds_of_the_mean(tmp_path: Path) -> None:
    """Half of all openings commit: the mean is bounded exactly, the test is not looked at one by one."""
    text = simulated(tmp_path / "text", seed=3, commit_rate=0.35, replicates=10)
    truth = analyse(text, "matched_budget")["contrast.independence"]
    row = analyse(as_tables(text, tmp_path / "tables"), "matched_budget")["contrast.independence"]
    parts = parts_of(row)
    assert parts["fillings"].n > 50_000
    assert (parts["p_lowest"].p_value, parts["significant"].n) == (None, None)
    assert truth.estimate is not None
    assert parts["lowest"].estimate <= truth.estimate <= parts["highest"].estimate
    assert any(note.startswith("too many fillings to test one by one") for note in row.notes)


# invariances


def some_said(numbers: random.Random) -> list[Said]:
    return [
        Said(
            tuple(
                Turn(
                    leaky=numbers.random() < 0.4,
                    reply=numbers.random() < 0.6,
                    helpfulness=numbers.randint(6, 15) / 3,
                )
                for _ in range(numbers.choice([0, 1, 2, 3, 4, 4]))
            ),
            opening=numbers.random() < 0.5,
        )
        for _ in range(3)
    ]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_swapped_arms_flip_and_relabelled_replicates_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, names: list[int]
) -> None:
    numbers = random.Random(seed)
    spec = {arm: {r: some_said(numbers) for r in range(4)} for arm in ARMS}
    small = a_small_instrument(4, draws=100)
    turned = {"conv": spec["ped"], "ped": spec["conv"]}
    renamed = {arm: {names[r]: said for r, said in of.items()} for arm, of in spec.items()}
    one, swapped, other = (
        analyse(tabled(tmp_path_factory.mktemp("corpus"), of, small), "matched_budget")
        for of in (spec, turned, renamed)
    )
    for measure in ("contrast.leakage", "leg.next_turn_independence"):
        if one[measure].estimate is None:
            continue
        sign = -1 if measure.startswith("contrast") else 1
        assert swapped[measure].estimate == pytest.approx(sign * (one[measure].estimate or 0.0), abs=1e-9)
        assert other[measure].estimate == pytest.approx(one[measure].estimate, abs=1e-9)
        assert other[measure].p_value == pytest.approx(one[measure].p_value, rel=1e-6)
    assert one["cells"].n == swapped["cells"].n == other["cells"].n


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_bounds_are_those_of_every_filling_written_out(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Independently: every 0/1 assignment of the openings that fits the session's ratio, cell by cell."""
    numbers = random.Random(seed)
    spec = {arm: {0: some_said(numbers)} for arm in ARMS}
    measures = tabled(tmp_path_factory.mktemp("corpus"), spec, a_small_instrument(1, draws=100))
    k = [min(len(spec[arm][0][p].turns) for arm in ARMS) for p in range(3)]
    if not any(k):
        return
    values = {}
    for arm in ARMS:
        said = spec[arm][0]
        in_all = sum(of.opening for of in said)
        n = sum(budget + 1 for budget in k if budget)
        replies = sum(bool(turn.reply) for of, budget in zip(said, k, strict=True) for turn in of.turns[:budget])
        # train-4 to train-6 have an opening too, and no turn
        fillings = [f for f in product([0, 1], repeat=6) if sum(f) == in_all]
        values[arm] = {(sum(f[p] for p in range(3) if k[p]) + replies) / n for f in fillings}
    differences = [one - other for one, other in product(values["conv"], values["ped"])]
    cells, matched = match_arms(measures, "sonnet")
    bounds = bound_contrast(matched_independence(cells, matched), 0.05)
    assert (bounds.low, bounds.high) == pytest.approx((min(differences), max(differences)), abs=1e-12)


def test_same_outcome_unlike_the_full_window_s_is_said(tmp_path: Path) -> None:
    """Cut to one turn, ped's many later steps go: a negative difference turns positive in every filling."""
    conv = [Said((Turn(),), opening=True), Said()]
    ped = [Said((Turn(reply=False), *[Turn()] * 3)), Said((Turn(), Turn()))]
    spec = {"conv": dict.fromkeys(range(3), conv), "ped": dict.fromkeys(range(3), ped)}
    row = analyse(tabled(tmp_path, spec, SMALL), "matched_budget")["contrast.independence"]
    assert any("unlike the full window's (negative, not significant)" in note for note in row.notes)


def test_no_pair_has_no_bounds() -> None:
    nothing = MatchedIndependence({arm: {0: None, 1: None} for arm in ARMS})
    with pytest.raises(NotEvaluable, match="no replicate has a cell"):
        bound_contrast(nothing, 0.05)
