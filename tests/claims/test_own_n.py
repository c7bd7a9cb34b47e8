"""A claim with a registered n of its own: exactly its first n replicates, no fewer and no more."""

from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.records import Claim, CouplingClaim, JointClaim, PairedClaim, Verdict
from tests.claims.made_up import MadeUp
from tests.store.corpora import Row, a_table_corpus, demo_copy, edited, measures_of

HIGH, LOW = [0.5 + i / 100 for i in range(12)], [0.1 + i / 200 for i in range(12)]


def a_claim(replicates: int | None, **changes: Any) -> PairedClaim:
    stated = bundled_claims()["P1"].model_dump() | {"id": "X1", "replicates": replicates}
    return PairedClaim.model_validate(stated | changes)


def decided(folder: Path, replicates: int | None, judge: str | None = None, **changes: Any) -> Verdict:
    return decide_claim(a_claim(replicates, **changes), {}, measures_of(folder), "sonnet", judge)


def test_more_than_the_studys_n_is_used_where_it_is_registered(tmp_path: Path) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW)
    verdict = decided(folder, 12)
    assert (verdict.n, verdict.p_value, verdict.notes) == (12, 2 / 2**12, ())
    with pytest.raises(NotEvaluable, match=r"holds replicates 10, 11, not registered \(registered n 10\)"):
        decided(folder, None)


def test_what_is_on_disk_besides_is_not_used_and_said(tmp_path: Path) -> None:
    # the last four pairs would turn the estimate: .4, .405, … .425 over the first six, mean .4125
    folder = a_table_corpus(tmp_path / "c", [*HIGH[:6], 0.0, 0.0, 0.0, 0.0], [*LOW[:6], 1.0, 1.0, 1.0])
    verdict = decided(folder, 6)
    assert (verdict.n, verdict.n_dropped, verdict.p_value) == (6, 0, 2 / 2**6)
    assert verdict.estimate == pytest.approx(0.4125, abs=1e-12)
    assert verdict.notes == (
        "sonnet/conv: decided on the registered first 6 replicates, not on r6, r7, r8, r9 on disk besides",
        "sonnet/ped: decided on the registered first 6 replicates, not on r6, r7, r8 on disk besides",
    )


def test_the_first_n_decide_as_if_there_were_no_more(tmp_path: Path) -> None:
    some = decided(a_table_corpus(tmp_path / "some", HIGH[:8], LOW[:8]), 8)
    more = decided(a_table_corpus(tmp_path / "more", HIGH, LOW), 8)
    assert some.notes == ()
    assert more.model_copy(update={"notes": ()}) == some


def test_fewer_on_disk_are_not_evaluable(tmp_path: Path) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW[:11])
    with pytest.raises(NotEvaluable, match=r"^sonnet/ped lacks replicate 11 of 12 registered$"):
        decided(folder, 12)
    with pytest.raises(NotEvaluable, match=r"lacks replicates 12, 13 of 14 registered; .*lacks replicates 11, 12, 13"):
        decided(folder, 14)


def test_five_can_never_reach_the_level(tmp_path: Path) -> None:
    with pytest.raises(NotEvaluable, match="defined in 5 of 5 pairs, at least 6 are needed"):
        decided(a_table_corpus(tmp_path / "c", HIGH, LOW), 5)


def test_a_broken_session_that_is_not_used_breaks_nothing(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "c", rubrics=False)
    (folder / "sessions" / "sonnet" / "conv" / "r9.jsonl").write_text("{}\n", encoding="utf-8")
    verdict = decided(folder, 8)
    assert verdict.n == 8
    assert "sonnet/conv: decided on the registered first 8 replicates, not on r8, r9 on disk besides" in verdict.notes
    with pytest.raises(NotEvaluable, match=r"sonnet/conv/r9"):
        decided(folder, 10)


def test_ratings_that_are_missing_beyond_n_are_not_missing(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "c")
    for replicate in (8, 9):
        (folder / "ratings" / "opus" / "helpfulness" / "sonnet" / "ped" / f"r{replicate}.jsonl").unlink()
    judged: dict[str, Any] = {"measure": "helpfulness", "judge_bound": True, "kind": "live_test"}
    assert decided(folder, 8, "opus", **judged).n == 8
    with pytest.raises(NotEvaluable, match=r"session sonnet/ped/r8: no helpfulness ratings by opus"):
        decided(folder, 9, "opus", **judged)


def test_a_coupling_claim_sees_the_turns_of_its_first_replicates(released: Path, tmp_path: Path) -> None:
    def the_first_eight(rows: list[Row]) -> list[Row]:
        return [row for row in rows if int(row["replicate"]) < 8]

    tables = dict.fromkeys(("turns", "sessions", "scores", "session_scores"), the_first_eight)
    claim = CouplingClaim.model_validate(bundled_claims()["J2"].model_dump() | {"id": "X2", "replicates": 8})
    cut = decide_claim(claim, {}, measures_of(released), "gemini", "opus")
    alone = decide_claim(claim, {}, measures_of(edited(released, tmp_path / "c", **tables)), "gemini", "opus")
    assert cut.components == alone.components
    assert cut.n is not None
    assert 0 < cut.n < 442


def test_the_studys_n_said_again_changes_nothing() -> None:
    measures = MadeUp({("sonnet", "conv"): HIGH, ("sonnet", "ped"): LOW})
    assert decide_claim(a_claim(12), {}, measures, "sonnet", None) == decide_claim(
        a_claim(None), {}, measures, "sonnet", None
    )


# more replicates on disk, because another claim registers them


def beside(n: int | None, **changes: Any) -> dict[str, PairedClaim]:
    """Another claim that is known, of an n of its own."""
    return {"X2": a_claim(n, **{"id": "X2"} | changes)}


def test_replicates_another_claim_registers_are_there_for_it_and_the_studys_n_decides(tmp_path: Path) -> None:
    # pairs 10 and 11 would turn the estimate: .4, .405, … .445 over the first ten, mean .4225
    folder = a_table_corpus(tmp_path / "c", [*HIGH[:10], 0.0, 0.0], [*LOW[:10], 1.0, 1.0])
    verdict = decide_claim(a_claim(None), beside(12), measures_of(folder), "sonnet", None)
    assert (verdict.n, verdict.n_dropped, verdict.p_value) == (10, 0, 2 / 2**10)
    assert verdict.estimate == pytest.approx(0.4225, abs=1e-12)
    assert verdict.notes == tuple(
        f"sonnet/{arm}: decided on the study's first 10 replicates, not on r10, r11 on disk besides"
        for arm in ("conv", "ped")
    )


def test_more_than_any_known_claim_registers_is_refused(tmp_path: Path) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW)
    with pytest.raises(
        NotEvaluable, match=r"^sonnet/conv holds replicate 11, not registered \(registered n 10\); sonn"
    ):
        decide_claim(a_claim(None), beside(11), measures_of(folder), "sonnet", None)
    for known in ({}, beside(None), beside(8)):
        with pytest.raises(NotEvaluable, match=r"holds replicates 10, 11, not registered \(registered n 10\)"):
            decide_claim(a_claim(None), known, measures_of(folder), "sonnet", None)


@pytest.mark.parametrize(
    ("arms", "unregistered"),
    [
        pytest.param(("rc", "live"), "sonnet/conv holds .*; sonnet/ped holds", id="other-conditions"),
        pytest.param(
            ("conv", "live"), "^sonnet/ped holds replicates 10, 11, not registered[^;]*$", id="one-cell-alone"
        ),
        pytest.param(("gpt:conv", "gpt:ped"), "sonnet/conv holds .*; sonnet/ped holds", id="another-base"),
        pytest.param(("sonnet:ped", "gpt:ped"), "^sonnet/conv holds [^;]*$", id="one-cell-by-its-base"),
    ],
)
def test_replicates_are_registered_for_the_cells_of_the_claim_alone(
    tmp_path: Path, arms: tuple[str, str], unregistered: str
) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW)
    known = beside(12, arms=arms, direction=" > ".join(arms))
    with pytest.raises(NotEvaluable, match=unregistered):
        decide_claim(a_claim(None), known, measures_of(folder), "sonnet", None)


def test_a_joint_claims_members_see_each_its_own_replicates(tmp_path: Path) -> None:
    folder = a_table_corpus(tmp_path / "c", HIGH, LOW)
    known: dict[str, Claim] = {"X1": a_claim(None), **beside(12)}
    joint = JointClaim.model_validate(
        {name: value for name, value in bundled_claims()["J1"].model_dump().items() if name != "judge_bound"}
        | {"id": "X3", "all_of": ("X1", "X2"), "judge_bound": False}
    )
    verdict = decide_claim(joint, known | {"X3": joint}, measures_of(folder), "sonnet", None)
    assert [part.n for part in verdict.components] == [10, 12]


def test_a_session_that_broke_beyond_the_studys_n_breaks_nothing(tmp_path: Path) -> None:
    folder = demo_copy(tmp_path / "c", rubrics=False)
    (folder / "sessions" / "sonnet" / "conv" / "r10.jsonl").write_text("{}\n", encoding="utf-8")
    verdict = decide_claim(a_claim(None), beside(12), measures_of(folder), "sonnet", None)
    assert verdict.n == 10
    assert "sonnet/conv: decided on the study's first 10 replicates, not on r10 on disk besides" in verdict.notes
    with pytest.raises(NotEvaluable, match=r"sonnet/conv/r10"):
        decide_claim(a_claim(None), {}, measures_of(folder), "sonnet", None)


def test_what_another_claim_registers_changes_nothing_where_there_is_no_more(released: Path) -> None:
    for base in ("sonnet", "gemini"):
        for claim, judge in (("P1", None), ("P2", "opus"), ("J2", "sol")):
            plain = decide_claim(bundled_claims()[claim], bundled_claims(), measures_of(released), base, judge)
            known = {**bundled_claims(), **beside(12)}
            assert decide_claim(bundled_claims()[claim], known, measures_of(released), base, judge) == plain
