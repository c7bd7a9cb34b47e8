"""The gate of a base: one family, three outcomes, looks, and what cannot be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import BaselineError, ConfigurationProblem
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import Gate, failure_message, match_bases, read_baseline, standing
from pytest_tutoreval.gating.guards import PriceOf
from pytest_tutoreval.inference import Look, decide_guards
from pytest_tutoreval.records.gate import GateRow, GateSettings, Guard, SequentialRule
from pytest_tutoreval.records.study_file import Price
from tests.gating.candidates import Candidates, simulated
from tests.store.corpora import decide, measures_of

LEAKAGE = Guard(measure="leakage", margin=0.1, worse="higher")
TURNS = Guard(measure="turns_to_commitment", margin=0.5, worse="lower")
PEDAGOGY = Guard(measure="pedagogy", margin=0.5, worse="lower", conditions=("ped",))


def a_gate(
    path: Path, bases: Mapping[str, str], *guards: Guard, price_of: PriceOf = lambda _: None, **settings: Any
) -> Gate:
    return Gate(
        read_baseline(path, load_instrument()),
        path=path,
        instrument=load_instrument(),
        guards=guards,
        settings=GateSettings(**settings),
        bases=bases,
        price_of=price_of,
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


def test_what_costs_nothing_is_held_in_tokens(candidates: Candidates, tmp_path: Path) -> None:
    """A share of no dollars is no margin; and where there are no tokens either, the guard cannot be read."""
    cost = Guard(measure="cost_per_session", margin=0.5, worse="higher", relative=True, conditions=("ped",))
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, cost)
    (tokens,) = (one for one in gate.baseline.series if (one.measure, one.condition) == ("cost_per_session", "ped"))
    nothing = {replicate: {"session": 0.0} for replicate in tokens.values}
    dollars = tokens.model_copy(update={"unit": "dollars", "values": nothing})
    free = Price(input=0.0, output=0.0)
    silent = tokens.model_copy(update={"values": nothing})
    for series, unit in (((tokens, dollars), "tokens"), ((silent,), None)):
        gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, cost, price_of=lambda _: free)
        gate.baseline = gate.baseline.model_copy(update={"series": series})
        (row,) = rows(gate, "mytutor", candidates.again).values()
        assert row.unit == unit
        assert row.failed is (unit is None)
    assert "the baseline's mean is 0 (tokens), and a share of it is no margin" in row.reason


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


def test_a_verdict_under_another_rule_is_not_compared(candidates: Candidates, tmp_path: Path) -> None:
    """The claim file was edited: what is supported now was not claimed then."""
    from pytest_tutoreval.claims import bundled_claims
    from pytest_tutoreval.gating import make_baseline, write_baseline
    from tests.gating.candidates import RUN

    claim, verdict = bundled_claims()["P1"], decide(candidates.released, "P1", "mytutor")
    baseline = make_baseline(
        measures_of(candidates.released),
        [verdict],
        bases=["mytutor"],
        judges=["opus"],
        price_of=lambda _: None,
        run=RUN,
        registered=[claim],
    )
    write_baseline(baseline, tmp_path / "b.json")
    gate = a_gate(tmp_path / "b.json", {"mytutor": "mytutor"}, LEAKAGE, undecided="pass")
    said = claim.model_copy(update={"title": "said otherwise", "evidence_visible": "more"})
    assert gate.verdict_row(verdict, said).outcome == "held"
    for edit in ({"margin": 0.1}, {"direction": "ped > conv"}, {"measure": "independence"}, {"replicates": 10}):
        row = gate.verdict_row(verdict, claim.model_copy(update=edit))
        assert (row.outcome, row.failed, row.verdict_before) == ("not_decided", True, "supported")
        assert "states another rule than the one the baseline was written under" in row.reason


def test_what_was_not_read_is_missing_unless_it_was_left_out_by_choice(candidates: Candidates) -> None:
    gate = a_gate(candidates.baseline, {"newtutor": "mytutor"}, LEAKAGE, PEDAGOGY)
    nothing: dict[str, Any] = {"bases": None, "judges": None, "reasons": {("P1", "newtutor", None): "no data"}}
    missing = gate.missing_rows([], **nothing)
    assert [(row.kind, row.guard, row.condition, row.judge) for row in missing] == [
        ("measure", "leakage", "conv", None),
        ("measure", "leakage", "ped", None),
        ("measure", "pedagogy", "ped", "opus"),
        ("verdict", "P1", None, None),
        ("verdict", "P2", None, "opus"),
        ("verdict", "P3", None, None),
    ]
    assert all(row.failed and row.base == "newtutor" for row in missing)
    assert missing[3].reason == "cannot be compared: no data"
    assert "no test of it came to its end" in missing[0].reason
    assert gate.missing_rows(missing, **nothing) == []
    assert gate.missing_rows([], **{**nothing, "reasons": None}) == missing[:3]
    assert {row.judge for row in gate.missing_rows([], **{**nothing, "judges": ["sol"]})} == {None}


def test_a_base_of_the_baseline_that_the_run_lacks_is_missing(candidates: Candidates) -> None:
    whole = read_baseline(candidates.baseline, load_instrument())
    other = whole.claims[0].model_copy(update={"base": "other"})
    gate = a_gate(candidates.baseline, {"mytutor": "mytutor"}, LEAKAGE)
    gate.baseline = whole.model_copy(update={"claims": (other,), "bases": ("mytutor", "other")})
    read = [gate.unread_row(place, "-") for place in gate.places("mytutor")]
    guards, verdict = gate.missing_rows(read, bases=None, judges=None, reasons={})
    assert (guards.guard, guards.base, guards.failed) == ("every guard", "other", True)
    assert "choose bases with --base" in guards.reason
    assert (verdict.guard, verdict.base) == ("P1", "other")
    # a look at which no claim has its n reads guards alone, and lacks that base's all the same
    assert gate.missing_rows(read, bases=None, judges=None, reasons=None) == [guards]
    assert gate.missing_rows(read, bases=["mytutor"], judges=None, reasons={}) == []


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
    found = rows(a_gate(path, {"mytutor": "mytutor"}, PEDAGOGY), "mytutor", candidates.released)
    assert found["pedagogy-ped"].failed
    assert "the baseline holds no pedagogy of mytutor/ped" in found["pedagogy-ped"].reason
    by_default = a_gate(path, {"mytutor": "mytutor"})
    assert not any(place.guard.measure == "pedagogy" for place in by_default.places("mytutor"))


@pytest.mark.parametrize("conditions", [("conv",), ("conv", "tutor2")])
def test_default_guards_are_not_lost_with_a_condition_that_has_another_name_now(
    candidates: Candidates, conditions: tuple[str, ...]
) -> None:
    from dataclasses import replace

    instrument = load_instrument()
    protocol = instrument.study.protocol.model_copy(update={"condition_order": ("cold", *conditions)})
    renamed = replace(instrument, study=instrument.study.model_copy(update={"protocol": protocol}))
    with pytest.raises(BaselineError, match=f"it guards ped, which the study no longer has; .* has {conditions[0]}"):
        Gate(
            read_baseline(candidates.baseline, instrument),
            path=candidates.baseline,
            instrument=renamed,
            guards=(),
            settings=GateSettings(),
            bases={"mytutor": "mytutor"},
            price_of=lambda _: None,
        )


def test_a_baseline_with_nothing_to_guard_by_default_is_no_gate(candidates: Candidates) -> None:
    whole = read_baseline(candidates.baseline, load_instrument())
    with pytest.raises(BaselineError, match="it holds no guarded measure of mytutor; write it anew"):
        Gate(
            whole.model_copy(update={"series": ()}),
            path=candidates.baseline,
            instrument=load_instrument(),
            guards=(),
            settings=GateSettings(),
            bases={"mytutor": "mytutor"},
            price_of=lambda _: None,
        )
