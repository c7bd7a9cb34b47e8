"""The whole comparison: on the released tables nothing is different, and a wrong number is."""

import shutil
from pathlib import Path

import pytest

from pytest_tutoreval.analyses.replication import Replication, replicate
from pytest_tutoreval.analyses.replication_checks import Judged, Missing, Statement
from pytest_tutoreval.analyses.replication_descriptions import rubric_scores
from pytest_tutoreval.analyses.replication_evidence import Evidence, Model
from pytest_tutoreval.analyses.replication_printed import Printed, published_entries
from pytest_tutoreval.errors import CorpusError, NotEvaluable
from pytest_tutoreval.records.verdict import NotEvaluated
from tests.analyses.replicating import (
    demo_evidence,
    evidence,
    evidence_of,
    judged,
    published_with,
    replicated_with,
    replication,
    simulated,
)
from tests.store.corpora import Row, edited, measures_of, reseal

__all__ = ["demo_evidence", "evidence", "replication", "simulated"]

P3 = "matched/sonnet/p"


# released tables


def test_no_entry_vanishes(replication: Replication) -> None:
    assert [entry.id for entry in replication.entries] == [entry.id for entry in published_entries()]
    assert sum(replication.count_entries().values()) == 124
    assert sum(replication.count_values().values()) == 286  # 277 in the file, and nine notes that are checked


def test_on_the_released_tables_nothing_is_different(replication: Replication) -> None:
    assert [entry.id for entry in replication.entries if entry.outcome == "different"] == []
    assert replication.count_entries() == {
        "different": 0,
        "not_evaluable": 5,
        "reproduced_with_cause": 20,
        "reproduced": 99,
        "not_compared": 0,
    }


def test_every_cause_is_named_and_every_missing_input_too(replication: Replication) -> None:
    values = [value.judged for entry in replication.entries for value in entry.values]
    assert all(bool(value.cause) == (value.outcome == "reproduced_with_cause") for value in values)
    assert all(value.said.startswith("missing input: ") for value in values if value.outcome == "not_evaluable")


def test_what_tables_cannot_give_is_named(replication: Replication) -> None:
    assert [entry.id for entry in replication.entries if entry.outcome == "not_evaluable"] == [
        "matched/sonnet/p",
        "sol/completion_tokens",
        "ratings/valid_holistic_per_turn",
        "student/isolated_accuracy",
        "student/rejected_fp8_route",
    ]


def test_an_entry_is_as_its_worst_value(replication: Replication) -> None:
    (entry,) = (entry for entry in replication.entries if entry.id == "sol/completion_tokens")
    assert [value.judged.outcome for value in entry.values] == ["reproduced"] + ["not_evaluable"] * 4
    assert entry.outcome == "not_evaluable"


def test_matched_p3_has_its_bounds_and_the_unchanged_outcome(evidence: Evidence) -> None:
    found = judged(evidence, P3, "value.P3")
    assert found.outcome == "not_evaluable"
    assert found.ours == "0.570 to 1.000"
    assert "difference -0.0564 to -0.0077, p 0.570 to 1.000; 6 of them print as the study's 0.695" in found.said
    assert found.said.endswith(
        "the outcome is the same over all fillings, and that of the full window: negative, not significant"
    )


@pytest.mark.parametrize("p", [0.5, 0.7])
def test_a_matched_p3_no_filling_gives_is_different(evidence: Evidence, p: float) -> None:
    wrong = published_with(entry=P3, value={"P1": 0.0039, "P2": 0.426, "P3": p})
    assert judged(evidence, P3, "value.P3", wrong).outcome == "different"


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        pytest.param("verdict/P1/gemini/opus", {"value": "supported"}, id="verdict"),
        pytest.param("count/all/answer_phase_turns", {"value": 1180}, id="count"),
        pytest.param("P1/sonnet/paired_difference", {"pairs_in_direction": "10 of 10"}, id="pairs"),
        pytest.param("table2a/gpt/opus/helpfulness", {"value": -0.375}, id="last-digit"),
        pytest.param("table2a/sonnet/sol/pedagogy", {"value": -1.241}, id="digit-that-json-drops"),
        pytest.param(
            "agreement/pooled/helpfulness", {"value": {"spearman": 0.372, "quadratic_kappa": 0.244}}, id="kappa"
        ),
        pytest.param(
            "figure1b/train-1/replicate0/first_turn/opus",
            {"value": {"conv": {"helpfulness": 5.0, "pedagogy": 2.0}, "ped": {"helpfulness": 5.0, "pedagogy": 5.0}}},
            id="nested",
        ),
        pytest.param("student/marker_rate_gate", {"value": 0.9}, id="design-fact"),
    ],
)
def test_a_wrong_number_is_different(evidence: Evidence, entry: str, changes: dict[str, object]) -> None:
    assert replicated_with(evidence, entry=entry, **changes).outcome == "different"


def test_a_statement_that_does_not_hold_is_different(evidence: Evidence) -> None:
    statement = Statement("the moon is made of it", lambda _: (False, "cheese"))
    assert statement.judge(evidence, Printed("value", None)) == Judged(
        "different", "cheese", "does not hold: the moon is made of it"
    )


def test_what_is_missing_still_says_what_can_be_seen(evidence: Evidence) -> None:
    def nothing(_: Evidence) -> str:
        raise NotEvaluable("nothing can")

    printed = Printed("value", 1)
    assert Missing("the logs", lambda _: "one line is left").judge(evidence, printed).said == (
        "missing input: the logs; one line is left"
    )
    assert Missing("the logs", nothing).judge(evidence, printed).said == "missing input: the logs; nothing can"


def test_means_that_are_of_no_three_ratings_contradict_the_ratings(released: Path, tmp_path: Path) -> None:
    def halve(rows: list[Row]) -> list[Row]:
        rows[0]["score"] = "4.5"
        return rows

    evidence = evidence_of(edited(released, tmp_path / "corpus", scores=halve))
    found = judged(evidence, "ratings/valid_holistic_per_turn", "value")
    assert (found.outcome, found.ours) == ("different", 1)


def test_without_the_gates_the_gate_is_not_evaluable(evidence: Evidence) -> None:
    bare = Evidence(evidence.measures, [])
    (entry,) = (
        entry for entry in replicate(bare, published_entries()).entries if entry.id == "student/marker_rate_gate"
    )
    assert entry.outcome == "not_evaluable"


# evidence


def test_an_undecided_claim_keeps_its_reason(evidence: Evidence) -> None:
    undecided = NotEvaluated(claim="P1", base="sonnet", judge=None, reason="ped lacks replicate 3")
    bare = Evidence(evidence.measures, [], [undecided])
    with pytest.raises(NotEvaluable, match=r"P1 sonnet: ped lacks replicate 3"):
        bare.verdict("P1", "sonnet")
    with pytest.raises(NotEvaluable, match=r"J2 gpt opus: it was not decided"):
        bare.slope(Model("gpt", "next_turn_independence", None, adjusted=False))


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        pytest.param(("judged_gaps", "tact", "sonnet", "opus"), "judged_gaps has no row tact of sonnet", id="row"),
        pytest.param(("routes", "routes.ped", "claude"), "claude is not in the corpus", id="base"),
        pytest.param(("judged_gaps", "pedagogy", "sonnet", "me"), "the corpus holds no ratings by me", id="judge"),
        pytest.param(("full_window", "turns", "sonnet"), "the tables hold in-window turns only", id="analysis"),
    ],
)
def test_evidence_that_is_not_there_has_a_reason(evidence: Evidence, call: tuple[str, ...], reason: str) -> None:
    with pytest.raises(NotEvaluable, match=reason):
        evidence.row(*call)


def test_a_released_file_that_is_no_json_is_a_corpus_error(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    (folder / "reference" / "condition_adjusted.json").write_text("{", encoding="utf-8")
    reseal(folder)
    with pytest.raises(CorpusError, match=r"reference/condition_adjusted.json: not JSON"):
        Evidence(measures_of(folder), []).reference("condition_adjusted.json")


# other corpora


def test_a_simulated_corpus_is_compared_with_nothing(simulated: Replication) -> None:
    assert simulated.simulated
    assert {value.judged.outcome for entry in simulated.entries for value in entry.values} == {"not_compared"}
    assert all(value.judged.cause is None for entry in simulated.entries for value in entry.values)


def test_a_simulated_corpus_shows_its_numbers_or_why_there_is_none(simulated: Replication) -> None:
    values = [value.judged for entry in simulated.entries for value in entry.values]
    assert sum(value.ours is not None for value in values) > 200
    assert all(value.said for value in values if value.ours is None)


def test_text_gives_single_ratings_and_matched_p3(demo_evidence: Evidence) -> None:
    assert isinstance(judged(demo_evidence, "matched/sonnet/p", "value.P3").ours, float)
    scores = rubric_scores(demo_evidence, ("opus", "sol"))
    fewest = min(score.n_usable for score in scores)
    assert judged(demo_evidence, "ratings/valid_holistic_per_turn", "value").ours == fewest
    n_turns = judged(demo_evidence, "count/all/answer_phase_turns", "value").ours
    assert isinstance(n_turns, int)
    assert judged(demo_evidence, "count/all/sol_ratings", "value").ours == 6 * n_turns
