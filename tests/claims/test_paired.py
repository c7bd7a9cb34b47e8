"""Paired contrasts, decided from corpora made up to order."""

from pathlib import Path

import pytest

from pytest_tutoreval.claims import bundled_claims
from pytest_tutoreval.claims.paired import decide_paired
from pytest_tutoreval.errors import DegenerateData, NotEvaluable
from pytest_tutoreval.records import PairedClaim, Verdict
from tests.store.corpora import Row, a_table_corpus, edited, measures_of

HIGH, LOW = [0.5 + i / 100 for i in range(10)], [0.1 + i / 200 for i in range(10)]


def a_claim(measure: str = "leakage", direction: str = "conv > ped", kind: str = "manipulation_check") -> PairedClaim:
    stated = bundled_claims()["P1"].model_dump() | {"measure": measure, "direction": direction, "kind": kind}
    return PairedClaim.model_validate(stated)


def decided(folder: Path, claim: PairedClaim, judge: str | None = None) -> Verdict:
    return decide_paired(claim, measures_of(folder), "sonnet", judge)


def test_a_hand_worked_contrast(tmp_path: Path) -> None:
    # conv - ped = .4, .405, …, .445: all positive, so two of 2**10 sign patterns are as extreme: p = 2/1024.
    # The mean is .4 + .005 * 4.5; every conv value exceeds every ped value, so delta is 1.
    verdict = decided(a_table_corpus(tmp_path / "c", HIGH, LOW), a_claim())
    assert verdict.verdict == "supported"
    assert verdict.estimate == pytest.approx(0.4225, abs=1e-12)
    assert verdict.p_value == 2 / 1024
    assert verdict.cliffs_delta == 1.0
    assert (verdict.n, verdict.n_dropped, verdict.reversed) == (10, 0, False)
    assert verdict.ci_low is not None
    assert verdict.ci_high is not None
    assert 0.40 < verdict.ci_low < 0.4225 < verdict.ci_high < 0.445


@pytest.mark.parametrize(
    ("direction", "kind", "word", "reversed_"),
    [
        ("conv > ped", "manipulation_check", "supported", False),
        ("ped > conv", "manipulation_check", "inconclusive", True),
        ("ped > conv", "live_test", "not_supported", True),
        ("conv > ped", "live_test", "supported", False),
    ],
)
def test_direction_and_kind_make_the_word(
    tmp_path: Path, direction: str, kind: str, word: str, reversed_: bool
) -> None:
    verdict = decided(a_table_corpus(tmp_path / "c", HIGH, LOW), a_claim(direction=direction, kind=kind))
    assert (verdict.verdict, verdict.reversed) == (word, reversed_)
    assert ("significant in the direction opposite to the registered one" in verdict.notes) is reversed_
    assert verdict.estimate is not None
    assert verdict.estimate > 0, "the contrast is always conv - ped, whatever is claimed"


def test_equal_arms_decide_nothing(tmp_path: Path) -> None:
    verdict = decided(a_table_corpus(tmp_path / "c", HIGH, HIGH), a_claim())
    assert (verdict.verdict, verdict.estimate, verdict.p_value, verdict.cliffs_delta) == ("inconclusive", 0.0, 1.0, 0.0)


def test_an_undefined_pair_is_dropped_counted_and_named(tmp_path: Path) -> None:
    verdict = decided(a_table_corpus(tmp_path / "c", [None, *HIGH[1:]], [*LOW[:9], None]), a_claim())
    assert (verdict.n, verdict.n_dropped) == (8, 2)
    assert verdict.p_value == 2 / 2**8
    assert "leakage undefined in conv/r0, ped/r9: pair dropped" in verdict.notes


def test_a_pair_undefined_in_both_arms_is_dropped_once(tmp_path: Path) -> None:
    verdict = decided(a_table_corpus(tmp_path / "c", [None, *HIGH[1:]], [None, *LOW[1:]]), a_claim())
    assert (verdict.n, verdict.n_dropped) == (9, 1)


def test_six_pairs_are_enough_and_five_are_not(tmp_path: Path) -> None:
    six = a_table_corpus(tmp_path / "six", [*HIGH[:6], *[None] * 4], LOW)
    five = a_table_corpus(tmp_path / "five", [*HIGH[:5], *[None] * 5], LOW)
    verdict = decided(six, a_claim())
    assert (verdict.verdict, verdict.p_value) == ("supported", 2 / 2**6)
    with pytest.raises(
        NotEvaluable, match="leakage is defined in 5 of 10 pairs, at least 6 are needed: fewer can never"
    ):
        decided(five, a_claim())


def test_no_pair_at_all_is_not_evaluable(tmp_path: Path) -> None:
    with pytest.raises(NotEvaluable, match="defined in 0 of 10 pairs"):
        decided(a_table_corpus(tmp_path / "c", [None] * 10, LOW), a_claim())


@pytest.mark.parametrize(
    ("conv", "ped", "message"),
    [
        pytest.param(HIGH[:9], LOW, "sonnet/conv lacks replicate 9 of 10 registered", id="one-arm-short"),
        pytest.param(HIGH[:8], LOW[:9], "conv lacks replicates 8, 9 .*ped lacks replicate 9", id="both-short"),
        pytest.param([*HIGH, 0.7], LOW, "holds replicate 10, not registered .registered n 10.", id="one-too-many"),
        pytest.param([], LOW, "no sessions in cell sonnet/conv", id="empty-cell"),
        pytest.param([], [], "no sessions in cell sonnet/conv; no sessions in cell sonnet/ped", id="no-cell"),
    ],
)
def test_the_registered_n_is_needed_in_both_arms(
    tmp_path: Path, conv: list[float], ped: list[float], message: str
) -> None:
    with pytest.raises(NotEvaluable, match=message):
        decided(a_table_corpus(tmp_path / "c", conv, ped), a_claim())


def test_judged_measures_need_a_judge(tmp_path: Path) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW, measure="helpfulness")
    assert decided(folder, a_claim("helpfulness"), "opus").n == 10
    with pytest.raises(NotEvaluable, match="helpfulness needs a judge, and the corpus holds no ratings; run a judge"):
        decided(folder, a_claim("helpfulness"))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_non_finite_session_rate_is_excluded_counted_and_explained(
    released: Path, tmp_path: Path, number: str
) -> None:
    def damage(rows: list[Row]) -> list[Row]:
        hit = ("sonnet", "conv", "3")
        return [
            row | {"leakage": number} if (row["base"], row["condition"], row["replicate"]) == hit else row
            for row in rows
        ]

    verdict = decided(edited(released, tmp_path / "c", sessions=damage), a_claim())
    assert (verdict.n, verdict.n_dropped) == (9, 1)
    assert f"sessions.csv conv/3: leakage is {number}, excluded" in verdict.notes
    assert "leakage undefined in conv/r3: pair dropped" in verdict.notes


def test_a_non_finite_released_mean_is_excluded_counted_and_explained(released: Path, tmp_path: Path) -> None:
    def damage(rows: list[Row]) -> list[Row]:
        hit = ("opus", "helpfulness", "sonnet", "ped", "2")
        return [row | {"score": "nan"} if tuple(row.values())[:5] == hit else row for row in rows]

    verdict = decided(edited(released, tmp_path / "c", session_scores=damage), a_claim("helpfulness"), "opus")
    assert (verdict.n, verdict.n_dropped) == (9, 1)
    assert "session_scores.csv opus/helpfulness/ped/2: score is nan, excluded" in verdict.notes


def test_a_non_finite_turn_score_is_explained_where_session_means_rest_on_it(released: Path, tmp_path: Path) -> None:
    def damage(rows: list[Row]) -> list[Row]:
        first = next(row for row in rows if (row["judge"], row["rubric"], row["base"]) == ("sol", "helpfulness", "gpt"))
        return [row | {"score": "inf"} if row is first else row for row in rows]

    folder = edited(released, tmp_path / "c", scores=damage)
    verdict = decide_paired(a_claim("helpfulness"), measures_of(folder), "gpt", "sol")
    assert any(
        note.startswith("scores.csv sol/helpfulness/conv/") and note.endswith("inf, excluded") for note in verdict.notes
    )
    assert "conv: 1 turns without a usable rating (dropped), 0 with some unusable" in verdict.notes


def test_the_exclusions_of_another_judge_are_not_noted(released: Path, tmp_path: Path) -> None:
    def damage(rows: list[Row]) -> list[Row]:
        return [row | {"score": "inf"} if row["judge"] == "sol" and row["turn"] == "0" else row for row in rows]

    verdict = decided(edited(released, tmp_path / "c", scores=damage), a_claim("helpfulness"), "opus")
    assert not any("inf" in note for note in verdict.notes)


def test_a_table_that_contradicts_itself_is_not_evaluable(released: Path, tmp_path: Path) -> None:
    folder = edited(released, tmp_path / "c", turns=lambda rows: rows[1:])
    with pytest.raises(NotEvaluable, match=r"sonnet/conv/r0: 10 turns in the table, its session row says 11"):
        decided(folder, a_claim())


def test_data_on_which_the_contrast_is_not_defined_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DegenerateData("no pairs", "None of the 10 replicates has the measure defined")

    monkeypatch.setattr("pytest_tutoreval.inference.paired_contrast", refuse)
    with pytest.raises(NotEvaluable, match=r"^leakage: None of the 10 replicates"):
        decided(a_table_corpus(tmp_path / "c", HIGH, LOW), a_claim())
