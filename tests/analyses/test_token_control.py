"""Turns per 1000 tutor tokens, the flag, and what the flag cannot see."""

import json
from pathlib import Path

import pytest

from pytest_tutoreval.analyses.token_control import per_thousand
from tests.analyses.building import Said, Turn, a_small_instrument, analyse, part, tabled
from tests.store.corpora import DEMO, measures_of

NAMES = {
    "leaky_turns_per_1k": "leaky_turns_per_1k_tutor_tok",
    "independent_turns_per_1k": "independent_turns_per_1k_tutor_tok",
}
SMALL = a_small_instrument(6)
FLAGGED = "flagged: significance in the registered direction"


@pytest.mark.parametrize("base", ["sonnet", "gpt", "gemini"])
@pytest.mark.parametrize("measure", NAMES)
def test_every_released_number_is_reproduced(released: Path, paper_tables: Path, base: str, measure: str) -> None:
    row = analyse(measures_of(released), "token_control", base)[measure]
    theirs = json.loads((paper_tables / f"inference.{base}.json").read_text())["cost_normalized"][NAMES[measure]]
    found = (row.estimate, row.ci_low, row.ci_high, row.p_value, row.cliffs_delta, part(row, "median").estimate)
    expected = (theirs["mean_diff_conv_minus_ped"], *theirs["diff_ci95"], theirs["p_two_sided"])
    assert found == pytest.approx(
        (*expected, theirs["cliffs_delta_conv_vs_ped"], theirs["median_diff"]), abs=1e-9, rel=0
    )
    means = (part(row, "conv").estimate, part(row, "ped").estimate, part(row, "signed_rank").estimate)
    assert means == pytest.approx((theirs["conv_mean"], theirs["ped_mean"], theirs["wilcoxon_W"]), abs=1e-9, rel=0)
    counts = (row.n, part(row, "above").n, part(row, "below").n, bool(part(row, "flag").n))
    assert counts == (
        theirs["n"],
        theirs["n_conv_gt_ped"],
        theirs["n_ped_gt_conv"],
        theirs["flips_under_normalization"],
    )


def test_gemini_null_that_becomes_a_reversal_is_not_flagged_but_said(released: Path) -> None:
    row = analyse(measures_of(released), "token_control", "gemini")["independent_turns_per_1k"]
    assert part(row, "flag").n == 0
    assert row.notes[0].startswith("not flagged, and yet the result changes: unnormalised +0.082 (p 0.28)")
    assert "it cannot see a null that becomes a significant reversal" in row.notes[0]


def test_where_nothing_changes_nothing_is_said(released: Path) -> None:
    rows = analyse(measures_of(released), "token_control", "gpt").values()
    assert [row.notes for row in rows] == [(), ()]


def leaking(conv: int, ped: int) -> dict[str, dict[int, list[Said]]]:
    """Sessions of ten turns with so many leaks, varied a little over replicates so that they differ."""

    def session(leaks: int) -> list[Said]:
        flags = [number < leaks for number in range(12)]
        return [Said(tuple(Turn(leaky=flag) for flag in flags[at : at + 4])) for at in (0, 4, 8)]

    return {
        "conv": {r: session(conv + r % 2) for r in range(6)},
        "ped": {r: session(ped) for r in range(6)},
    }


def test_hand_worked_rate(tmp_path: Path) -> None:
    measures = tabled(tmp_path, leaking(6, 3), SMALL, tokens={"conv": 2000, "ped": 500})
    rows = analyse(measures, "token_control")
    # conv (6 + 7) / 2 leaks in 2000 tokens: 3.25; ped 3 in 500: 6
    row = rows["leaky_turns_per_1k"]
    assert (part(row, "conv").estimate, part(row, "ped").estimate) == (3.25, 6.0)
    # 12 replies with a step in 2000 and 500 tokens
    row = rows["independent_turns_per_1k"]
    assert (part(row, "conv").estimate, part(row, "ped").estimate) == (6.0, 24.0)


@pytest.mark.parametrize(
    ("spec", "tokens", "flag", "said"),
    [
        pytest.param((6, 3), (1000, 1000), 0, None, id="significant-before-and-after"),
        pytest.param((6, 3), (2000, 500), 1, FLAGGED, id="significant-to-reversal"),
        pytest.param((3, 6), (500, 2000), 1, FLAGGED, id="reversal-to-significant"),
        pytest.param((3, 6), (1000, 1000), 0, None, id="reversed-before-and-after"),
        pytest.param((3, 6), (1000, 1846), 0, "not flagged, and yet the result changes", id="reversal-to-null"),
    ],
)
def test_flag_sees_the_registered_direction_alone(
    tmp_path: Path, spec: tuple[int, int], tokens: tuple[int, int], flag: int, said: str | None
) -> None:
    measures = tabled(tmp_path, leaking(*spec), SMALL, tokens=dict(zip(("conv", "ped"), tokens, strict=True)))
    row = analyse(measures, "token_control")["leaky_turns_per_1k"]
    assert part(row, "flag").n == flag
    assert [note.startswith(said or "") for note in row.notes] == [True] * (said is not None)


def test_rate_of_a_text_corpus_counts_its_own_turns() -> None:
    cell = measures_of(DEMO).cell("sonnet", "conv")
    for replicate, row in cell.sessions.items():
        leaks = sum(turn.leaky for turn in cell.turns[replicate])
        steps = sum(sum(flags) for flags in cell.attempts[replicate].values())
        assert per_thousand(row, "leakage") == 1000 * leaks / row.tutor_tokens
        assert per_thousand(row, "independence") == 1000 * steps / row.tutor_tokens


def test_session_without_tokens_or_turns_has_no_rate(tmp_path: Path) -> None:
    empty = {arm: {r: [Said()] for r in range(6)} for arm in ("conv", "ped")}
    rows = analyse(tabled(tmp_path, empty, SMALL, tokens={"conv": 0}), "token_control")
    assert [row.notes[0].startswith("not evaluable: ") for row in rows.values()] == [True, True]
