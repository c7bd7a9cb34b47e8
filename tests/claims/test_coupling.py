"""Leakage coupling: the same verdict in any row order, degenerate data named."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotCertified, NotEvaluable
from pytest_tutoreval.records import Verdict
from tests.store.corpora import Row, decide, edited

Edit = Callable[[list[Row]], list[Row]]


def of_sonnet(change: Callable[[Row], Row]) -> Edit:
    return lambda rows: [change(row) if row["base"] == "sonnet" else row for row in rows]


def j2(folder: Path, judge: str = "opus") -> Verdict:
    return decide(folder, "J2", "sonnet", judge)


@pytest.mark.parametrize("seed", range(3))
def test_the_verdict_does_not_depend_on_the_order_of_table_rows(released: Path, tmp_path: Path, seed: int) -> None:
    def shuffle(rows: list[Row]) -> list[Row]:
        return random.Random(seed).sample(rows, len(rows))

    shuffled = edited(released, tmp_path / "c", turns=shuffle, sessions=shuffle, scores=shuffle, session_scores=shuffle)
    for claim, judge in (("J2", "opus"), ("P2", "opus"), ("P1", None), ("J1", "sol")):
        assert decide(shuffled, claim, "gemini", judge) == decide(released, claim, "gemini", judge)


def test_a_leg_keeps_its_whole_fit(released: Path) -> None:
    verdict = j2(released)
    assert (verdict.estimate, verdict.p_value, verdict.n) == (None, None, 358)
    helpful, independent = verdict.components
    assert (helpful.name, independent.name) == ("helpfulness", "next_turn_independence")
    for leg in verdict.components:
        assert None not in (leg.estimate, leg.se, leg.se_observed, leg.log_likelihood, leg.variance_residual)
        assert leg.holds
        assert leg.n == 358
    assert (helpful.singular, independent.singular) == (False, True)
    assert "next_turn_independence: the fit lies on the boundary (problem variance at zero)" in verdict.notes


def test_a_reversed_leg_is_named_and_never_supports(released: Path) -> None:
    verdict = decide(released, "J2", "gpt", "opus")
    helpful, independent = verdict.components
    assert (helpful.holds, helpful.reversed, independent.holds) == (False, True, True)
    assert (verdict.verdict, verdict.reversed) == ("not_supported", True)
    assert "helpfulness: significant with the sign opposite to the registered one" in verdict.notes


def constant(column: str, value: str) -> Edit:
    return of_sonnet(lambda row: row | {column: value})


def separated(row: Row) -> Row:
    return row | {"next_turn_independence": str(row["leaky"] == "False")}


def one_problem(rows: list[Row]) -> list[Row]:
    """Rename problems so that all turns belong to one; turns stay apart."""
    renamed: list[Row] = []
    for row in rows:
        number = 10 * int(row["problem"].removeprefix("train-")) + int(row["turn"])
        renamed.append(row | {"problem": "train-1", "turn": str(number)} if row["base"] == "sonnet" else row)
    return renamed


@pytest.mark.parametrize(
    ("edits", "kind"),
    [
        pytest.param({"scores": constant("score", "5.0")}, "helpfulness: constant outcome", id="constant-outcome"),
        pytest.param({"turns": constant("leaky", "False")}, "helpfulness: constant predictor", id="no-leaky-turn"),
        pytest.param({"turns": constant("leaky", "True")}, "helpfulness: constant predictor", id="only-leaky-turns"),
        pytest.param({"turns": of_sonnet(separated)}, "next_turn_independence: separated", id="perfect-separation"),
        pytest.param({"turns": one_problem, "scores": one_problem}, "helpfulness: single level", id="one-problem-only"),
    ],
)
def test_degenerate_data_are_named_and_never_fitted(
    released: Path, tmp_path: Path, edits: dict[str, Edit], kind: str
) -> None:
    folder = edited(released, tmp_path / "c", **edits)
    with pytest.raises(NotEvaluable, match=f"^{kind}"):
        j2(folder)
    assert decide(folder, "P1").n == 10, "other claims are decided all the same"
    assert decide(folder, "J2", "gemini", "opus").n == 442, "and other bases"


def test_turns_without_an_outcome_are_dropped_and_counted(released: Path, tmp_path: Path) -> None:
    def damage(rows: list[Row]) -> list[Row]:
        hits = [row for row in rows if (row["base"], row["judge"], row["rubric"]) == ("sonnet", "opus", "helpfulness")]
        for row, score in zip(hits, ("nan", "inf", ""), strict=False):
            row["score"] = score
        return rows

    verdict = j2(edited(released, tmp_path / "c", scores=damage))
    helpful, independent = verdict.components
    assert (helpful.n, helpful.n_dropped, independent.n, independent.n_dropped) == (355, 3, 358, 0)
    assert (verdict.n, verdict.n_dropped) == (None, 3)
    assert "helpfulness: 3 of 358 turns have no value and were dropped" in verdict.notes
    assert sum(note.endswith("excluded") for note in verdict.notes) == 2


def test_a_turn_without_a_score_row_is_not_evaluable(released: Path, tmp_path: Path) -> None:
    with pytest.raises(NotEvaluable, match=r"turn conv/r0/train-1/t0: no helpfulness score by opus in the tables"):
        j2(edited(released, tmp_path / "c", scores=lambda rows: rows[1:]))


def test_a_fit_that_cannot_be_certified_decides_nothing(released: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotCertified("no point passed the optimality check")

    monkeypatch.setattr("pytest_tutoreval.inference.fit_crossed", refuse)
    with pytest.raises(NotEvaluable, match=r"^helpfulness: no point passed the optimality check"):
        j2(released)
