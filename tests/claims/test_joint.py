"""Joint claims: all members or nothing, each judged where it is judge-bound."""

from pathlib import Path

import pytest

from pytest_tutoreval.errors import NotEvaluable
from tests.store.corpora import Row, decide, edited


def test_members_stand_as_components_with_their_numbers(released: Path) -> None:
    joint = decide(released, "J1", "gpt", "sol")
    assert (joint.verdict, joint.estimate, joint.p_value, joint.n) == ("supported", None, None, None)
    for part, (claim, judge) in zip(joint.components, (("P1", None), ("P2", "sol"), ("P3", None)), strict=True):
        member = decide(released, claim, "gpt", judge)
        assert (part.name, part.verdict, part.holds) == (claim, member.verdict, True)
        assert (part.estimate, part.p_value, part.ci_low) == (member.estimate, member.p_value, member.ci_low)


def test_one_member_that_fails_fails_the_joint_claim(released: Path) -> None:
    joint = decide(released, "J1", "sonnet", "sol")
    assert [part.verdict for part in joint.components] == ["supported", "supported", "inconclusive"]
    assert joint.verdict == "not_supported"


def test_a_reversed_member_shows(released: Path) -> None:
    joint = decide(released, "J1", "gpt", "opus")
    assert (joint.verdict, joint.reversed) == ("not_supported", True)
    assert "P2: significant in the direction opposite to the registered one" in joint.notes


def test_a_member_that_is_not_evaluable_makes_the_joint_claim_so(released: Path, tmp_path: Path) -> None:
    def without_one(rows: list[Row]) -> list[Row]:
        return [row for row in rows if (row["base"], row["condition"], row["replicate"]) != ("gpt", "ped", "4")]

    folder = edited(released, tmp_path / "c", sessions=without_one, turns=without_one)
    with pytest.raises(NotEvaluable, match="member P1 is not evaluable: gpt/ped lacks replicate 4 of 10 registered"):
        decide(folder, "J1", "gpt", "sol")
