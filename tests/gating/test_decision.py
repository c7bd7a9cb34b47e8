"""The gate of a base: one family, three outcomes, looks, and what cannot be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import BaselineError, ConfigurationProblem
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import Gate, failure_message, match_bases, read_baseline, standing
from pytest_tutoreval.inference import Look, decide_guards
from pytest_tutoreval.records.gate import GateRow, GateSettings, Guard, SequentialRule
from tests.gating.candidates import Candidates, simulated
from tests.store.corpora import decide, measures_of

LEAKAGE = Guard(measure="leakage", margin=0.1, worse="higher")
TURNS = Guard(measure="turns_to_commitment", margin=0.5, worse="lower")


def a_gate(path: Path, bases: Mapping[str, str], *guards: Guard, **settings: Any) -> Gate:
    return Gate(
        read_baseline(path, load_instrument()),
        path=path,
        instrument=load_instrument(),
        guards=guards,
        settings=GateSettings(**settings),
        bases=bases,
        price_of=lambda _: None,
    )


def rows(gate: Gate, base: str, corpus: Path) -> dict[str, GateRow]:
    measures = measures_of(corpus)
    return {place.id: gate.measure_row(place, measures) for place in gate.places(base)}


def test_verdicts_stand_in_one_order() -> None:
    order = [
        standing("supported", reversed=False),
        standing("not_supported", reversed=False),
        standing("inconclusive", reversed=True),
    ]
    assert order == [2, 1, 0]
    assert standing("inconclusive", reversed=False) == standing("not_supported", reversed=False)
    assert standing("not_supported", reversed=True) == 0


@pytest.mark.parametrize(
    ("bases", "matched"),
    [
        pytest.param(["mytutor"], {"mytutor": "mytutor"}, id="namesake"),
        pytest.param(["newtutor"], {"newtutor": "mytutor"}, id="one-and-one"),
        pytest.param(["mytutor", "newtutor"], None, id="unclear"),
    ],
)
def test_a_base_is_held_against_its_namesake_or_the_only_other_one(
    candidates: Candidates, bases: list[str], matched: dict[str, str] | None
) -> None:
    baseline = read_baseline(candidates.baseline, load_instrument())
    if matched is None:
        with pytest.raises(BaselineError, match="holds mytutor, not newtutor; a base of another name"):
            match_bases(baseline, bases, path=candidates.baseline)
    else:
        assert match_bases(baseline, bases, path=candidates.baseline) == matched


def test_a_tutor_is_no_worse_than_itself(candidates: Candidates) -> None:
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"})
    found = rows(gate, "mytutor", candidates.released)
    assert gate.by_default
    assert len(found) == 12
    assert {row.outcome for row in found.values()} == {"held"}
    assert {row.estimate for row in found.values()} == {0.0}
    assert {row.p_held for row in found.values()} == {12 / 1024}
    assert not any(row.failed or row.turns for row in found.values())
    assert "margin by default, none is registered" in (found["leakage-conv"].method or "")


def test_a_tutor_that_leaks_more_regresses_with_its_turns(candidates: Candidates) -> None:
    gate = a_gate(candidates.baseline, {"newtutor": "mytutor"}, LEAKAGE, TURNS)
    row = rows(gate, "newtutor", candidates.leaky)["leakage-ped"]
    assert (row.outcome, row.failed, row.base, row.baseline_base) == ("regressed", True, "newtutor", "mytutor")
    assert row.estimate is not None
    assert row.ci_low is not None
    assert row.current is not None
    assert row.baseline is not None
    assert row.estimate == pytest.approx(row.current - row.baseline)
    assert row.ci_low > 0.1
    cell = measures_of(candidates.leaky).cell("newtutor", "ped")
    leaky = {f"newtutor/{turn.id}" for turns in cell.turns.values() for turn in turns if turn.leaky}
    assert row.turns
    assert set(row.turns) <= leaky
    message = failure_message(row)
    for part in (
        "REGRESSION leakage of newtutor/ped (baseline: mytutor): ",
        f"{row.current:.3f}, baseline {row.baseline:.3f}",
        f"difference +{row.estimate:.3f} [+{row.ci_low:.3f}, +{row.ci_high:.3f}], margin 0.100, n 10",
        row.turns[0],
    ):
        assert part in message


def test_lower_is_worse_reads_the_interval_from_the_other_side(candidates: Candidates) -> None:
    row = rows(a_gate(candidates.baseline, {"newtutor": "mytutor"}, TURNS), "newtutor", candidates.leaky)[
        "turns_to_commitment-ped"
    ]
    assert row.outcome == "regressed"
    assert row.estimate is not None
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert row.ci_low <= row.estimate <= row.ci_high < -0.5


def test_the_guards_of_a_base_are_one_family(candidates: Candidates) -> None:
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, LEAKAGE, TURNS)
    found = rows(gate, "mytutor", candidates.again)
    differences: dict[str, list[float]] = {}
    before = {(one.measure, one.condition): one.values for one in gate.baseline.series}
    measures = measures_of(candidates.again)
    for measure, sign in (("leakage", 1.0), ("turns_to_commitment", -1.0)):
        for arm in ("conv", "ped"):
            differences[f"{measure}-{arm}"] = []
            for replicate, turns in sorted(measures.cell("mytutor", arm).turns.items()):
                changes = []
                for problem, old in before[measure, arm][replicate].items():
                    mine = [turn for turn in turns if turn.id.problem == problem]
                    new = float(len(mine))
                    if measure == "leakage":
                        if not mine or old is None:
                            continue
                        new = sum(turn.leaky for turn in mine) / len(mine)
                    assert old is not None
                    changes.append(new - old)
                differences[f"{measure}-{arm}"].append(sign * sum(changes) / len(changes))
    expected = decide_guards(list(differences.values()), margins=[0.1, 0.1, 0.5, 0.5], alpha=0.05)
    for name, decision in zip(differences, expected, strict=True):
        assert found[name].outcome == decision.outcome
        assert found[name].p_held == pytest.approx(decision.p_held)
        assert found[name].p_regressed == pytest.approx(decision.p_regressed)
        assert found[name].n_needed == decision.n_needed


@pytest.mark.parametrize(("undecided", "failed"), [("fail", True), ("warn", False), ("pass", False)])
def test_what_is_not_decided_fails_where_the_policy_says_so(
    candidates: Candidates, undecided: str, failed: bool
) -> None:
    # no margin is small enough for ten replicates of noise
    tight = LEAKAGE.model_copy(update={"margin": 0.001})
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, tight, undecided=undecided)
    row = rows(gate, "mytutor", candidates.again)["leakage-conv"]
    assert (row.outcome, row.failed) == ("not_decided", failed)
    assert "would decide" in row.reason
    assert row.n_needed is None or row.n_needed > 10


def test_a_relative_margin_is_a_share_of_the_baselines_mean(candidates: Candidates) -> None:
    cost = Guard(measure="cost_per_session", margin=0.5, worse="higher", relative=True)
    row = rows(a_gate(candidates.baseline, {"mytutor": "mytutor"}, cost), "mytutor", candidates.again)[
        "cost_per_session-ped"
    ]
    assert (row.unit, row.outcome) == ("tokens", "held")
    assert row.baseline is not None
    assert row.margin == 0.5 * row.baseline


# verdicts


def test_a_verdict_that_stands_lower_regressed_and_one_that_stands_higher_held(candidates: Candidates) -> None:
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"})
    verdict = decide(candidates.released, "P1", "mytutor")
    assert verdict.verdict == "supported"
    now = [
        gate.verdict_row(verdict),
        gate.verdict_row(verdict.model_copy(update={"verdict": "inconclusive"})),
        gate.verdict_row(verdict.model_copy(update={"verdict": "inconclusive", "reversed": True})),
        gate.verdict_row(verdict.model_copy(update={"claim": "X9"})),
    ]
    assert [row.outcome for row in now] == ["held", "regressed", "regressed", "not_decided"]
    assert [row.failed for row in now] == [False, True, True, True]
    assert now[1].reason == "was supported in the baseline, is inconclusive now"
    assert (now[1].verdict_before, now[1].verdict_now) == ("supported", "inconclusive")
    assert failure_message(now[2]).startswith(
        "REGRESSION P1 of mytutor: was supported in the baseline, is inconclusive ("
    )


# looks


def sequential(*looks: int) -> SequentialRule:
    return SequentialRule(looks=looks, spending="pocock")


def test_a_look_is_decided_at_its_own_level(candidates: Candidates, tmp_path: Path) -> None:
    early = simulated(tmp_path / "early", seed=3, base="newtutor", leaky=True, replicates=range(8))
    gate = a_gate(candidates.baseline, {"newtutor": "mytutor"}, LEAKAGE, sequential=sequential(8, 10))
    row = rows(gate, "newtutor", early)["leakage-ped"]
    look = Look((8, 10), 0, "pocock")
    assert (row.outcome, row.n) == ("regressed", 8)
    # eight replicates worse each: p 1/256 at the first look, adjusted over two guards
    assert row.p_regressed == pytest.approx(2 * look.repeated_p(1 / 256))
    assert "look 1 of 2" in (row.method or "")


@pytest.mark.parametrize(
    ("looks", "replicates", "said"),
    [
        pytest.param((6, 10), range(8), "holds 8 replicates, looks are registered at the first 6, 10", id="no-look"),
        pytest.param((6, 10), [0, 1, 2, 3, 4, 9], "holds 6 replicates", id="not-the-first"),
        pytest.param(None, range(8), "lacks replicates 8, 9 of 10 registered", id="no-rule"),
    ],
)
def test_a_look_nobody_registered_decides_nothing_and_fails(
    candidates: Candidates, tmp_path: Path, looks: tuple[int, ...] | None, replicates: Any, said: str
) -> None:
    early = simulated(tmp_path / "early", seed=3, base="newtutor", leaky=True, replicates=replicates)
    rule = sequential(*looks) if looks else None
    gate = a_gate(candidates.baseline, {"newtutor": "mytutor"}, LEAKAGE, sequential=rule, undecided="pass")
    for row in rows(gate, "newtutor", early).values():
        assert (row.outcome, row.failed, row.n) == ("not_decided", True, None)
        assert row.reason.startswith("cannot be read: ")
        assert said in row.reason


def test_the_last_look_is_the_registered_n(candidates: Candidates) -> None:
    with pytest.raises(ConfigurationProblem, match="the last look is at 9 replicates, the study registers 10"):
        a_gate(candidates.baseline, {"mytutor": "mytutor"}, sequential=sequential(5, 9))


# what cannot be read


def test_a_guard_without_its_data_fails_and_leaves_the_family_as_it_is(candidates: Candidates, tmp_path: Path) -> None:
    corpus = simulated(tmp_path / "unrated", seed=1)
    (corpus / "ratings/opus/pedagogy/mytutor/ped/r3.jsonl").unlink()
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, undecided="pass")
    found = rows(gate, "mytutor", corpus)
    unread = found.pop("pedagogy-ped-opus")
    assert (unread.outcome, unread.failed) == ("not_decided", True)
    assert "no pedagogy ratings by opus" in unread.reason
    # eleven are read, and still adjusted over twelve
    assert {row.p_held for row in found.values()} == {12 / 1024}


def test_a_registered_guard_the_baseline_has_no_values_for_is_there_and_fails(
    candidates: Candidates, tmp_path: Path
) -> None:
    from tests.gating.candidates import a_baseline

    path = tmp_path / "unjudged.json"
    a_baseline(path, candidates.released, judges=[])
    pedagogy = Guard(measure="pedagogy", margin=0.5, worse="lower", conditions=("ped",))
    found = rows(a_gate(path, {"mytutor": "mytutor"}, pedagogy), "mytutor", candidates.released)
    assert found["pedagogy-ped"].failed
    assert "the baseline holds no pedagogy of mytutor/ped" in found["pedagogy-ped"].reason
    by_default = a_gate(path, {"mytutor": "mytutor"})
    assert not any(place.guard.measure == "pedagogy" for place in by_default.places("mytutor"))
