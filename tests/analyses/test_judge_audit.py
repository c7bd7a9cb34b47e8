"""The cross-judge audit on made-up corpora: worked by hand, invariances, what is missing, a user's own study."""

import dataclasses
import inspect
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tutoreval.analyses import judge_agreement as agreement_module
from pytest_tutoreval.analyses import judge_audit, judge_contrasts, judge_kin, judge_models, judge_pairs
from pytest_tutoreval.analyses.judge_kin import maker
from pytest_tutoreval.analyses.judge_pairs import AlignedTurns, JudgePair, align_turns, rounded_median
from pytest_tutoreval.analyses.registry import AnalysisInput
from pytest_tutoreval.errors import NotCertified, NotEvaluable
from pytest_tutoreval.inference import CrossedFit, fit_crossed, paired_contrast
from pytest_tutoreval.measures import CorpusMeasures, turn_score
from pytest_tutoreval.records.analysis import AnalysisPart, AnalysisRow
from pytest_tutoreval.records.measured import TurnRow, TurnScore
from pytest_tutoreval.records.study import Base, Family, Sampling
from pytest_tutoreval.store import open_corpus
from tests.analyses.judge_scores import (
    MadeMeasures,
    Rate,
    a_base,
    a_judge,
    a_turn,
    at_random,
    extended,
    made,
    run,
    run_all,
    some_turns,
    the_part,
    the_row,
    with_families,
)
from tests.store.corpora import DEMO, measures_of

PAIR = JudgePair("sol", "opus", declared=True)
ONE = ("sonnet",)
EXAMPLES = settings(max_examples=6)


def family(term: str, *bases: str, judges: tuple[str, str] = ("sol", "opus")) -> Family:
    return Family.model_validate({"term": term, "rubric": "helpfulness", "judges": judges, "bases": bases})


def no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few draws where intervals are not what is tested."""
    monkeypatch.setattr(agreement_module, "DRAWS", 20)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    no_intervals(monkeypatch)


# what there is


def test_every_analysis_is_an_audit_and_named_once() -> None:
    assert {analysis.role for analysis in judge_audit.ANALYSES} == {"audit"}
    names = [analysis.name for analysis in judge_audit.ANALYSES]
    assert len(names) == len(set(names)) == 12


def test_rows_carry_their_analysis_the_role_and_a_pair_or_a_judge() -> None:
    measures = made(at_random())
    for analysis in judge_audit.ANALYSES:
        if analysis.name == "holm_added":
            continue
        rows = run(analysis.name, measures, "sonnet" if analysis.scope == "base" else None)
        assert {row.analysis for row in rows} <= {analysis.name}
        assert {row.role for row in rows} <= {"audit"}
        assert {row.judge for row in rows} <= {"sol-opus", "sol", "opus"}
        identities = [(row.base, row.judge, row.measure) for row in rows]
        assert len(identities) == len(set(identities))


def test_no_function_can_average_judges() -> None:
    """Scores of two judges are subtracted or set side by side: no sum of the two stands anywhere in the audit."""
    for module in (agreement_module, judge_contrasts, judge_kin, judge_models, judge_pairs, judge_audit):
        source = inspect.getsource(module).replace(" ", "")
        for mixture in ("first+second", "second+first", "earlier+later", "later+earlier", "consensus"):
            assert mixture not in source, module.__name__


# which pairs


def pairs_of(measures: MadeMeasures) -> list[tuple[str, bool]]:
    given = AnalysisInput(measures, None, None, measures.bases, measures.judges)
    return [(pair.name, pair.declared) for pair in judge_pairs.judge_pairs(given)]


def a_pair_corpus(*judges: str, instrument: object = None) -> MadeMeasures:
    return MadeMeasures({}, {}, instrument or extended(), ONE, judges)  # type: ignore[arg-type]


def test_declared_pairs_come_first_then_all_others_in_corpus_order() -> None:
    assert pairs_of(a_pair_corpus("opus", "sol")) == [("sol-opus", True)]
    assert pairs_of(a_pair_corpus("opus", "sol", "third")) == [
        ("sol-opus", True),
        ("third-opus", False),
        ("third-sol", False),
    ]


def test_without_a_family_the_primary_judge_is_the_first() -> None:
    assert pairs_of(a_pair_corpus("alpha", "opus", instrument=with_families())) == [("alpha-opus", False)]
    assert pairs_of(a_pair_corpus("alpha", "beta")) == [("beta-alpha", False)]


def test_a_family_sets_which_judge_is_second() -> None:
    turned = with_families(family("judge_by_policy", "sonnet", judges=("opus", "sol")))
    assert pairs_of(a_pair_corpus("opus", "sol", instrument=turned)) == [("opus-sol", True)]


@pytest.mark.parametrize(("judges", "found"), [((), "no ratings"), (("opus",), "ratings by opus only")])
def test_one_judge_is_no_pair(judges: tuple[str, ...], found: str) -> None:
    with pytest.raises(NotEvaluable, match=f"the corpus holds {found}; a cross-judge audit needs two judges"):
        run("judge_difference", a_pair_corpus(*judges), "sonnet")


# alignment


def test_a_turn_one_judge_could_not_rate_is_dropped_counted_and_named() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        unusable = judge == "sol" and turn.id == ("ped", 3, "train-2", 1)
        return [None] if unusable else at_random()(base, judge, rubric, turn)  # type: ignore[return-value]

    measures = made(rate, bases=ONE)
    aligned = align_turns(measures, "sonnet", PAIR, "helpfulness")
    assert (len(aligned.turns), aligned.dropped) == (239, 1)
    assert any("1 of 240 turns lack" in n and "ped/r3/train-2/t1 (sol)" in n for n in aligned.notes)
    for row in run("judge_difference", measures, "sonnet"):
        assert (row.n, row.n_dropped) == (239, 1)
    ceiling = run("judge_ceiling", measures)
    without_one = the_row(ceiling, base="sonnet", judge="sol", measure="pedagogy")
    assert (without_one.n, without_one.n_dropped) == (239, 1)
    assert without_one.estimate == (the_part(without_one, "median_5").n or 0) / 239
    assert (the_row(ceiling, base="sonnet", judge="opus", measure="pedagogy").n_dropped) == 0


def test_turns_without_a_rating_on_record_are_named_and_nothing_is_compared() -> None:
    measures = made(at_random(), bases=ONE)
    measures.made_scores["sonnet", "conv", "sol", "helpfulness"].missing.append("turn conv/r0/train-1/t0: no score")
    rows = run("judge_difference", measures, "sonnet")
    for row in rows[:2]:
        assert row.components == ()
        assert row.notes == ("not evaluable: turn conv/r0/train-1/t0: no score",)
    assert rows[2].n == 240, "the other rubric is untouched"


def test_a_score_of_no_turn_is_left_out_and_named() -> None:
    measures = made(at_random(), bases=ONE)
    stranger = a_turn("conv", 0, "train-9").id
    measures.made_scores["sonnet", "conv", "sol", "helpfulness"].turns[stranger] = turn_score([5, 5, 5])
    aligned = align_turns(measures, "sonnet", PAIR, "helpfulness")
    assert len(aligned.turns) == 240
    assert any(n.startswith("sol scored conv/r0/train-9/t0, no in-window turns") for n in aligned.notes)


def test_no_turn_with_both_scores_is_not_evaluable() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [None] if judge == "sol" else [4]

    with pytest.raises(NotEvaluable, match="no turn has a helpfulness score by both opus and sol"):
        run("judge_difference", made(rate, bases=ONE), "sonnet")


def test_a_turn_without_a_score_cannot_stand_among_aligned_ones() -> None:
    aligned = AlignedTurns("sonnet", (a_turn("conv", 0),), (turn_score([None]),), (turn_score([5]),), 0, ())
    assert aligned.second_values == [5.0]
    with pytest.raises(ValueError, match="align_turns drops it"):
        _ = aligned.first_values


def test_conversations_are_conv_by_replicate_then_ped() -> None:
    aligned = align_turns(made(at_random(), bases=ONE), "sonnet", PAIR, "helpfulness")
    found = [
        {(aligned.turns[i].id.condition, aligned.turns[i].id.replicate) for i in c} for c in aligned.conversations()
    ]
    assert found == [{(arm, replicate)} for arm in ("conv", "ped") for replicate in range(10)]


# model (2) on D


def test_a_difference_is_second_minus_first_at_the_same_turn() -> None:
    measures = made(at_random(), bases=ONE)
    row = run("judge_difference", measures, "sonnet")[0]
    scores = {
        judge: {
            turn: score.value
            for arm in ("conv", "ped")
            for turn, score in measures.scores("sonnet", arm, judge, "helpfulness").turns.items()
        }
        for judge in ("opus", "sol")
    }
    turns = {
        turn.id: turn for arm in ("conv", "ped") for row in measures.cell("sonnet", arm).turns.values() for turn in row
    }
    ids = list(turns)
    random.Random(1).shuffle(ids)
    fit = fit_crossed(
        [scores["sol"][i] - scores["opus"][i] for i in ids],  # type: ignore[operator]
        {"L": [float(turns[i].leaky) for i in ids], "C": [float(i.condition == "ped") for i in ids]},
        {"r": [i.replicate for i in ids], "p": [i.problem for i in ids]},
    )
    for name, column in (("judge_by_leakage", "L"), ("judge_by_policy", "C")):
        ours, theirs = the_part(row, name), fit.coefficients[column]
        assert (ours.estimate, ours.se, ours.se_observed, ours.p_value) == pytest.approx(
            (theirs.estimate, theirs.se, theirs.se_observed, theirs.p_value)
        )


def test_standardised_scores_are_z_scores_with_the_population_deviation() -> None:
    # 1 and 3: mean 2, population deviation 1 (the sample one is 1.414)
    assert judge_models._standardised([1.0, 3.0], "opus") == [-1.0, 1.0]


def test_a_stretched_judge_stands_at_the_same_standardised_place() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> TurnScore:
        value = turn_score(at_random()(base, "both", rubric, turn)).value or 0.0  # type: ignore[arg-type]
        noise = turn_score(at_random(1)(base, judge, rubric, turn)).value or 0.0  # type: ignore[arg-type]
        mixed = value + 0.1 * noise
        return TurnScore(mixed if judge == "opus" else 2.0 + 0.4 * mixed, None, None, 1, 1)

    plain, stretched = made(rate, bases=ONE), made(rate, bases=ONE)
    for scores in (stretched.made_scores["sonnet", arm, "opus", "helpfulness"] for arm in ("conv", "ped")):
        for turn, score in scores.turns.items():
            scores.turns[turn] = dataclasses.replace(score, value=7.0 - 0.5 + 3.0 * (score.value or 0.0))
    before, after = (run("judge_difference", measures, "sonnet")[1] for measures in (plain, stretched))
    assert before.measure == "helpfulness.standardised"
    for name in ("judge_by_leakage", "judge_by_policy"):
        assert the_part(after, name).estimate == pytest.approx(the_part(before, name).estimate, abs=1e-9)


def test_judges_that_never_differ_are_not_evaluable() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return at_random()(base, "both", rubric, turn)  # type: ignore[return-value]

    with pytest.raises(NotEvaluable, match="constant outcome"):
        run("judge_difference", made(rate, bases=ONE), "sonnet")


def test_a_judge_at_the_ceiling_has_no_z_score_but_a_difference() -> None:
    rows = run("judge_difference", made(at_the_ceiling, bases=ONE), "sonnet")
    assert the_part(rows[0], "judge_by_policy").estimate is not None
    assert rows[1].notes == ("not evaluable: sol gives 5 to all 240 turns, so there is no z-score",)


def at_the_ceiling(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
    return [5, 5, 5] if judge == "sol" else at_random()(base, judge, rubric, turn)  # type: ignore[return-value]


# Holm families


def test_a_family_corrects_the_members_it_declares() -> None:
    measures = made(at_random(3))
    rows = run("holm_judge_by_policy", measures)
    p_values = [row.p_value or 0.0 for row in rows]
    assert [row.base for row in rows] == ["sonnet", "gpt", "gemini"]
    order = sorted(range(3), key=lambda i: p_values[i])
    expected, running = {}, 0.0
    for rank, i in enumerate(order):
        running = expected[i] = max(running, min(1.0, (3 - rank) * p_values[i]))
    assert [row.p_holm for row in rows] == [expected[i] for i in range(3)]
    for row in rows:
        (raw,) = (r for r in run("judge_difference", measures, row.base) if r.measure == "helpfulness")
        assert the_part(raw, "judge_by_policy").p_value == row.p_value


@pytest.mark.parametrize("term", ["adjusted_slope", "judge_by_leakage", "judge_by_policy"])
def test_a_base_that_is_not_there_is_never_a_smaller_family(term: str) -> None:
    measures = made(at_random(), bases=("sonnet", "gemini"))
    with pytest.raises(
        NotEvaluable,
        match=rf"Holm family {term} of helpfulness by sol-opus over sonnet, gpt, gemini lacks 1 of 3 members "
        "and is never made smaller: gpt: not in the corpus",
    ):
        run(f"holm_{term}", measures)


def test_a_judge_that_is_not_there_is_named_for_every_member() -> None:
    measures = made(at_random(), judges=("sol", "third"))
    with pytest.raises(NotEvaluable, match=r"lacks 3 of 3 .*sonnet: no ratings by opus in the corpus; gpt: no ratings"):
        run("holm_judge_by_leakage", measures)


def test_slopes_of_the_second_judge_do_not_need_the_first() -> None:
    assert len(run("holm_adjusted_slope", made(at_random(), judges=("sol",)))) == 3


def test_a_degenerate_fit_is_a_missing_member_and_leaves_the_other_families() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return (at_the_ceiling if base == "gpt" else at_random())(base, judge, rubric, turn)  # type: ignore[return-value]

    measures = made(rate)
    with pytest.raises(NotEvaluable, match=r"lacks 1 of 3 members .*gpt: constant outcome: The outcome is 5"):
        run("holm_adjusted_slope", measures)
    assert len(run("holm_judge_by_policy", measures)) == 3


def test_a_fit_that_cannot_be_certified_is_a_missing_member(monkeypatch: pytest.MonkeyPatch) -> None:
    def uncertain(*_: object) -> None:
        raise NotCertified("the best of 5 starts is no optimum")

    monkeypatch.setattr("pytest_tutoreval.inference.fit_crossed", uncertain)
    with pytest.raises(NotEvaluable, match=r"lacks 3 of 3 .*sonnet: the best of 5 starts is no optimum"):
        run("holm_judge_by_policy", made(at_random()))


def test_without_an_observed_error_there_is_no_observed_family(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*given: object) -> CrossedFit:
        fit = fit_crossed(*given)  # type: ignore[arg-type]
        bare = {name: dataclasses.replace(test, se_observed=None) for name, test in fit.coefficients.items()}
        return dataclasses.replace(fit, coefficients=bare)

    measures = made(at_random())
    before = run("holm_judge_by_policy", measures)
    monkeypatch.setattr("pytest_tutoreval.inference.fit_crossed", without)
    after = run("holm_judge_by_policy", measures)
    assert [row.p_holm for row in after] == [row.p_holm for row in before]
    assert [[part.name for part in row.components] for row in after] == [["family_size"]] * 3


def test_a_study_without_families_says_so() -> None:
    measures = made(at_random(), bases=ONE, instrument=with_families())
    with pytest.raises(NotEvaluable, match="the study registers no Holm family of judge_by_policy"):
        run("holm_judge_by_policy", measures)
    assert run("second_judge_slopes", measures, "sonnet")[1].measure == "pedagogy"


# the gap


def test_gaps_worked_by_hand() -> None:
    # One turn a session. opus: conv 4, ped 3, gap 1. sol: conv 5, ped 2 + r/10 rounded to .1: gap 3 - r/10.
    # second - first = 2 - r/10 for r = 0..9: mean 2 - .45 = 1.55, all positive: W 0, p 2/1024
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> TurnScore:
        conv, ped = (4.0, 3.0) if judge == "opus" else (5.0, 2.0 + turn.id.replicate / 10)
        return TurnScore(conv if turn.id.condition == "conv" else ped, None, None, 1, 1)

    measures = made(rate, bases=ONE, turns=lambda _: [a_turn(arm, r) for arm in ("conv", "ped") for r in range(10)])
    row = run("judge_gap", measures, "sonnet")[0]
    assert row.estimate == pytest.approx(1.55, abs=1e-12)
    assert (row.p_value, row.n, row.n_dropped) == (2 / 1024, 10, 0)
    assert the_part(row, "signed_rank").estimate == 0.0
    assert the_part(row, "r4").estimate == pytest.approx(1.6)
    resampled = np.random.default_rng(0).choice([2 - r / 10 for r in range(10)], (10_000, 10)).mean(axis=1)
    assert (row.ci_low, row.ci_high) == pytest.approx(np.percentile(resampled, [2.5, 97.5]), abs=1e-9)


def test_a_replicate_without_turns_in_an_arm_is_dropped_and_named() -> None:
    turns = [turn for turn in some_turns() if (turn.id.condition, turn.id.replicate) != ("ped", 7)]
    row = run("judge_gap", made(at_random(), bases=ONE, turns=lambda _: turns), "sonnet")[0]
    assert (row.n, row.n_dropped) == (9, 1)
    assert the_part(row, "r7").estimate is None
    assert "no turn with both scores in an arm of r7: replicate dropped" in row.notes


def test_too_few_replicates_are_not_evaluable() -> None:
    turns = [turn for turn in some_turns() if turn.id.condition == "conv" or turn.id.replicate < 5]
    measures = made(at_random(), bases=ONE, turns=lambda _: turns)
    with pytest.raises(NotEvaluable, match="the gap is defined in 5 of 10 replicates, at least 6 are needed"):
        run("judge_gap", measures, "sonnet")
    with pytest.raises(NotEvaluable, match="sol: helpfulness is defined in 5 of 10 pairs"):
        run("judge_ordering", measures)


# the order


def leaning(**gaps: tuple[float, float]) -> Rate:
    """Scores with conv - ped of these (mean, alternating deviation) by judge."""

    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> TurnScore:
        mean, deviation = gaps[judge]
        gap = mean + deviation * (-1) ** turn.id.replicate + turn.id.replicate / 1000
        return TurnScore(3.0 + (gap if turn.id.condition == "conv" else 0.0), None, None, 1, 1)

    return rate


@pytest.mark.parametrize(
    ("opus", "sol", "turned", "significant"),
    [
        pytest.param((-0.5, 0.0), (0.5, 0.0), 1.0, 1.0, id="both-significant-and-opposite"),
        pytest.param((-0.1, 0.9), (0.5, 0.0), 1.0, 0.0, id="opposite-one-not-significant"),
        pytest.param((0.5, 0.0), (0.2, 0.0), 0.0, 0.0, id="both-significant-same-sign"),
        pytest.param((-0.1, 0.9), (0.1, 0.9), 1.0, 0.0, id="opposite-neither-significant"),
    ],
)
def test_a_change_of_sign_is_told_from_a_significant_reversal(
    opus: tuple[float, float], sol: tuple[float, float], turned: float, significant: float
) -> None:
    measures = made(leaning(opus=opus, sol=sol), bases=ONE)
    row, _, counted, _ = run("judge_ordering", measures)
    for found in (row, counted):
        assert the_part(found, "ordering_reversal").estimate == turned
        assert the_part(found, "significant_reversal").estimate == significant
    assert (counted.base, counted.n) == (None, 1)


def test_a_difference_of_zero_turns_no_order() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [4, 4, 4] if judge == "opus" or turn.id.condition == "ped" else [5, 5, 5]

    row = run("judge_ordering", made(rate, bases=ONE))[0]
    assert the_part(row, "opus").estimate == 0.0
    assert the_part(row, "ordering_reversal").estimate == 0.0
    assert "a difference of exactly zero has no order, so it turns none" in row.notes


def test_contrasts_are_those_of_the_claims() -> None:
    measures = made(at_random(), bases=ONE)
    part = the_part(run("judge_ordering", measures)[0], "sol")
    conv, ped = (
        [measures.scores("sonnet", arm, "sol", "helpfulness").sessions[r] for r in range(10)] for arm in ("conv", "ped")
    )
    contrast = paired_contrast(conv, ped, rng=np.random.default_rng(0))  # type: ignore[arg-type]
    assert (part.estimate, part.p_value, part.ci_low, part.ci_high, part.cliffs_delta) == (
        contrast.value,
        contrast.p_value,
        contrast.ci_low,
        contrast.ci_high,
        contrast.cliffs_delta,
    )


def test_a_base_that_cannot_be_compared_is_named_and_not_counted() -> None:
    measures = made(at_random())
    measures.made_scores["gpt", "ped", "sol", "helpfulness"].missing.append("session gpt/ped/r0: no ratings")
    rows = run("judge_ordering", measures)
    counted = the_row(rows, base=None, measure="helpfulness")
    assert (counted.n, counted.n_dropped) == (2, 1)
    assert "not evaluable, so not counted: gpt" in counted.notes
    assert the_row(rows, base="gpt", measure="helpfulness").notes == ("not evaluable: session gpt/ped/r0: no ratings",)


# agreement


@pytest.mark.parametrize(
    ("ratings", "category"),
    [
        pytest.param([4, 5], 4, id="four-and-a-half-to-even"),
        pytest.param([3, 4], 4, id="three-and-a-half-to-even"),
        pytest.param([1, 5, 5], 5, id="median-not-mean"),
        pytest.param([None, None], None, id="unusable"),
    ],
)
def test_medians_are_rounded_half_to_even(ratings: list[int | None], category: int | None) -> None:
    assert rounded_median(turn_score(ratings)) == category


@pytest.mark.parametrize(("mean", "category"), [(14 / 3, 5), (13 / 3, 4), (4.5, 4), (3.5, 4)])
def test_a_table_has_only_the_mean_to_round(mean: float, category: int) -> None:
    assert rounded_median(TurnScore(mean, None, None, 1, 1)) == category


def test_agreement_by_hand() -> None:
    # One rating a turn; opus 1 2 3 5 and sol 1 1 5 5 over and over: kappa .8 and Spearman as in test_agreement.
    # D = 0 -1 2 0: mean .25, absolute .75; exact 2 of 4; within one 3 of 4
    opus, sol = (1, 2, 3, 5), (1, 1, 5, 5)

    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [(opus if judge == "opus" else sol)[turn.id.turn]]

    turns = [a_turn(arm, r, turn=t) for arm in ("conv", "ped") for r in range(10) for t in range(4)]
    row = run("judge_agreement", made(rate, bases=ONE, turns=lambda _: turns), "sonnet")[0]
    assert the_part(row, "kappa").estimate == pytest.approx(0.8)
    # ranks 1 2 3 4 and 1.5 1.5 3.5 3.5: products of deviations 1.5 + .5 + .5 + 1.5 = 4, squares 5 and 4
    assert the_part(row, "spearman").estimate == pytest.approx(4 / 20**0.5)
    found = {name: the_part(row, name).estimate for name in ("mean_difference", "mean_absolute_difference")}
    assert found == {"mean_difference": 0.25, "mean_absolute_difference": 0.75}
    assert (the_part(row, "exact_agreement").estimate, the_part(row, "within_one").estimate) == (0.5, 0.75)
    assert (the_part(row, "exact_agreement").n, the_part(row, "within_one").n) == (40, 60)
    # every conversation is the same, so every draw is
    assert (the_part(row, "kappa").ci_low, the_part(row, "kappa").ci_high) == pytest.approx((0.8, 0.8))


def test_single_ratings_show_usability_and_spread_where_there_are_any() -> None:
    # sol: 4 4 5 on every turn, sample variance 1/3; opus one unusable of three, 3 3: variance 0
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [4, 4, 5] if judge == "sol" else [3, None, 3]

    row = run("judge_agreement", made(rate, bases=ONE), "sonnet")[0]
    assert the_part(row, "within_turn_variance_sol").estimate == pytest.approx(1 / 3)
    assert the_part(row, "within_turn_variance_opus").estimate == 0.0
    usable = the_part(row, "usable_ratings_opus")
    assert usable.estimate == pytest.approx(2 / 3)
    assert (usable.n, usable.n_dropped) == (480, 240)
    assert "kappa on per-turn medians, half to even" in row.notes


def test_spearman_of_a_constant_judge_is_undefined_and_kappa_stands() -> None:
    row = run("judge_agreement", made(at_the_ceiling, bases=ONE), "sonnet")[0]
    assert (the_part(row, "spearman").estimate, the_part(row, "spearman").n) == (None, 240)
    assert any(note.startswith("spearman is not defined: second is 5 for all 240 items") for note in row.notes)
    assert the_part(row, "kappa").estimate == 0.0


def test_undefined_draws_are_counted_in_a_note() -> None:
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        exception = judge == "sol" and turn.id.replicate == 0 and turn.id.condition == "conv"
        return [4] if exception else [5] if judge == "sol" else [1 + turn.id.turn]

    row = run("judge_agreement", made(rate, bases=ONE), "sonnet")[0]
    assert any(note.startswith("spearman was undefined in ") for note in row.notes)


def test_pooling_takes_all_bases_or_none() -> None:
    measures = made(at_random())
    row = run("judge_agreement_pooled", measures)[0]
    assert (row.base, row.n) == (None, 720)
    assert "turns pooled over sonnet, gpt, gemini: descriptive" in row.notes
    measures.made_scores["gpt", "ped", "sol", "helpfulness"].missing.append("session gpt/ped/r0: no ratings")
    row = run("judge_agreement_pooled", measures)[0]
    assert row.components == ()
    assert row.notes == ("not evaluable: gpt: session gpt/ped/r0: no ratings",)


# ceiling


def test_the_ceiling_counts_medians_of_five() -> None:
    # leaky turns 5 5 4 (median 5), others 4 5 4 (median 4)
    def rate(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [5, 5, 4] if turn.leaky else [4, 5, 4]

    turns = [a_turn(arm, r, turn=t, leaky=t == 0) for arm in ("conv", "ped") for r in range(10) for t in range(4)]
    measures = made(rate, bases=("sonnet", "gpt"), turns=lambda _: turns)
    rows = run("judge_ceiling", measures)
    one = the_row(rows, base="sonnet", judge="opus", measure="helpfulness")
    assert (one.estimate, one.n, the_part(one, "median_5").n, the_part(one, "median_4").n) == (0.25, 80, 20, 60)
    pooled = the_row(rows, base=None, judge="opus", measure="helpfulness")
    assert (pooled.n, the_part(pooled, "median_5").n) == (160, 40)


def test_the_ceiling_needs_one_judge_only() -> None:
    assert len(run("judge_ceiling", made(at_random(), bases=ONE, judges=("opus",)))) == 4
    with pytest.raises(NotEvaluable, match="no ratings"):
        run("judge_ceiling", made(at_random(), bases=ONE, judges=()))


def test_a_judge_without_a_usable_rating_has_no_ceiling() -> None:
    rows = run("judge_ceiling", made(lambda b, j, r, t: [None] if j == "sol" else [5], bases=ONE))
    row = the_row(rows, base="sonnet", judge="sol", measure="helpfulness")
    assert row.estimate is None
    assert row.notes == ("not evaluable: no turn has a helpfulness score by sol",)


# without the second judge's kin


@pytest.mark.parametrize(
    ("model", "provider", "made_by"),
    [
        ("openai/gpt-5.6-sol", "openrouter", "openai"),
        ("gpt-5.5", "openai", "openai"),
        ("google/gemini-3.1-pro", "openrouter", "gemini"),
        ("gemini-3.1-pro", "gemini", "gemini"),
        ("my-tutor", "compatible", None),
        ("meta-llama/llama-3", "compatible", "meta-llama"),
    ],
)
def test_who_made_a_model(model: str, provider: str, made_by: str | None) -> None:
    base = Base(id="b", label="b", model=model, provider=provider, sampling=Sampling(max_tokens=1))
    assert maker(base) == made_by
    assert maker(None) is None


def test_without_kin_there_is_nothing_to_leave_out() -> None:
    rows = run("judge_without_kin", made(at_random(), bases=("sonnet", "gemini")))
    assert [row.n for row in rows] == [None, None]
    assert rows[0].notes == ("no base of the corpus is by openai, the maker of sol: nothing left out",)


def test_the_first_judges_kin_is_named_only_where_it_is_there() -> None:
    rows = run("judge_without_kin", made(at_random(), bases=("gpt", "gemini")))
    assert rows[0].n == 240
    assert not any("shares its maker" in note for row in rows for note in row.notes)


def test_an_unknown_maker_leaves_nothing_out() -> None:
    rows = run("judge_without_kin", made(at_random(), judges=("opus", "mine"), instrument=with_families()))
    assert "the study does not say who made mine: nothing left out" in rows[0].notes


def test_where_only_kin_is_there_nothing_is_left() -> None:
    rows = run("judge_without_kin", made(at_random(), bases=("gpt",)))
    assert "no base is left" in rows[0].notes
    assert rows[0].components == ()


def test_a_broken_base_is_named_in_the_pooled_ceiling() -> None:
    measures = made(at_random(), bases=("sonnet", "gpt"))
    del measures.made_cells["gpt", "ped"]
    rows = run("judge_ceiling", measures)
    assert the_row(rows, base="sonnet", judge="opus", measure="helpfulness").n == 240
    pooled = the_row(rows, base=None, judge="opus", measure="helpfulness")
    assert pooled.notes == ("not evaluable: gpt: no sessions in cell gpt/ped",)


# a study of one's own


MINE = {"bases": [a_base("mine", "acme/tutor")], "judges": [a_judge("third", "acme/judge")]}
FOUR = ("sonnet", "gpt", "gemini", "mine")


def test_a_third_judge_changes_no_existing_number() -> None:
    two, three = made(at_random()), made(at_random(), judges=("opus", "sol", "third"), instrument=extended(**MINE))
    before, after = run_all(two), run_all(three)
    known = [row for row in after if row.judge in ("sol-opus", "sol", "opus")]
    assert known == before
    added = {row.judge for row in after} - {row.judge for row in before}
    assert added == {"third", "third-opus", "third-sol"}
    undeclared = [row for row in after if row.judge == "third-opus"]
    assert all("no Holm family is declared for third-opus: shown uncorrected" in row.notes for row in undeclared)


def test_a_third_judge_who_read_one_base_only_takes_nothing_from_the_others() -> None:
    three = made(at_random(), judges=("opus", "sol", "third"), instrument=extended(**MINE))
    for key in [key for key in three.made_scores if key[2] == "third" and key[0] != "sonnet"]:
        del three.made_scores[key]
    before = run("judge_agreement_pooled", made(at_random()))
    assert run("judge_agreement_pooled", three)[:2] == before
    assert run("judge_difference", three, "sonnet")[4].n == 240


def test_a_family_of_four_with_a_third_judge_is_declared_in_the_study_file() -> None:
    families = [
        family(term, *FOUR, judges=("third", "opus")).model_dump() for term in ("judge_by_policy", "adjusted_slope")
    ]
    instrument = extended(**MINE, families=families)
    measures = made(at_random(), bases=FOUR, judges=("opus", "sol", "third"), instrument=instrument)
    rows = run("holm_added", measures)
    assert [(row.base, row.judge, row.measure) for row in rows] == [
        (base, "third-opus", f"helpfulness.{term}") for term in ("judge_by_policy", "adjusted_slope") for base in FOUR
    ]
    for row in rows:
        assert the_part(row, "family_size").n == 4
        expected = "Holm family of 4 (sonnet, gpt, gemini, mine), added by the user's study file, not registered"
        assert expected in row.notes
    smallest = min(row.p_value or 0.0 for row in rows[:4])
    assert min(row.p_holm or 0.0 for row in rows[:4]) == min(1.0, 4 * smallest)
    assert [the_part(row, "family_size").n for row in run("holm_judge_by_policy", measures)] == [3, 3, 3]
    kin = run("judge_without_kin", measures)
    assert "without mine, by acme as third is" in the_row(kin, base=None, judge="third-opus", measure="pedagogy").notes
    assert [row.base for row in kin if row.measure == "helpfulness.judge_by_policy" and row.judge == "third-opus"] == [
        "sonnet",
        "gpt",
        "gemini",
    ]


def test_an_added_family_with_a_member_missing_is_an_error_that_leaves_the_registered_ones() -> None:
    families = [family("judge_by_policy", *FOUR).model_dump()]
    measures = made(at_random(), instrument=extended(**MINE, families=families))
    with pytest.raises(NotEvaluable, match="lacks 1 of 4 members and is never made smaller: mine: not in the corpus"):
        run("holm_added", measures)
    assert len(run("holm_judge_by_policy", measures)) == 3


# invariances


def numbers(rows: Sequence[AnalysisRow]) -> list[tuple[object, ...]]:
    return [(row.base, row.judge, row.measure, row.n, row.n_dropped, row.components) for row in rows]


@EXAMPLES
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_rows_in_any_order_give_the_same_to_the_last_bit(seed: int, shuffler: random.Random) -> None:
    turns = some_turns(seed)
    shuffled = list(turns)
    shuffler.shuffle(shuffled)
    one, other = (
        made(at_random(seed), bases=ONE, turns=lambda _, t=t: t, instrument=with_families())  # type: ignore[misc]
        for t in (turns, shuffled)
    )
    assert run_some(one) == run_some(other)


def run_some(measures: MadeMeasures) -> list[AnalysisRow]:
    names = ("judge_difference", "judge_gap", "judge_agreement")
    return [row for name in names for row in run(name, measures, "sonnet")]


@EXAMPLES
@given(st.integers(0, 1000), st.permutations(range(10)))
def test_relabelled_replicates_change_no_estimate(seed: int, labels: list[int]) -> None:
    turns = {turn.id: turn for turn in some_turns(seed)}
    rate = at_random(seed)
    back = {new: old for old, new in enumerate(labels)}

    def relabelled(turn: TurnRow) -> TurnRow:
        return dataclasses.replace(turn, id=turn.id._replace(replicate=labels[turn.id.replicate]))

    def rate_as_before(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None] | TurnScore:
        return rate(base, judge, rubric, turns[turn.id._replace(replicate=back[turn.id.replicate])])

    before = made(rate, bases=ONE, turns=lambda _: turns.values())
    after = made(rate_as_before, bases=ONE, turns=lambda _: [relabelled(turn) for turn in turns.values()])
    for name in ("judge_difference", "judge_agreement"):
        for old, new in zip(run(name, before, "sonnet"), run(name, after, "sonnet"), strict=True):
            assert [part.estimate for part in new.components] == pytest.approx(
                [part.estimate for part in old.components], abs=1e-9
            )
    for old, new in zip(run("judge_gap", before, "sonnet"), run("judge_gap", after, "sonnet"), strict=True):
        assert new.estimate == pytest.approx(old.estimate, abs=1e-12)
        assert the_part(new, f"r{labels[3]}").estimate == the_part(old, "r3").estimate


@EXAMPLES
@given(st.integers(0, 1000))
def test_swapped_judges_flip_the_sign_of_every_difference(seed: int) -> None:
    turned = with_families(family("judge_by_policy", "sonnet", judges=("opus", "sol")))
    measures = made(at_random(seed), bases=ONE)
    swapped = made(at_random(seed), bases=ONE, instrument=turned)
    for one, other in zip(
        run("judge_difference", measures, "sonnet"), run("judge_difference", swapped, "sonnet"), strict=True
    ):
        assert (one.judge, other.judge) == ("sol-opus", "opus-sol")
        for name in ("judge_by_leakage", "judge_by_policy"):
            assert flipped(the_part(one, name)) == pytest.approx(wald(the_part(other, name)), abs=1e-9)
    for one, other in zip(run("judge_gap", measures, "sonnet"), run("judge_gap", swapped, "sonnet"), strict=True):
        assert (-(one.estimate or 0), one.p_value) == pytest.approx((other.estimate, other.p_value))
        assert (-(one.ci_high or 0), -(one.ci_low or 0)) == pytest.approx((other.ci_low, other.ci_high), abs=1e-9)
    for one, other in zip(
        run("judge_agreement", measures, "sonnet"), run("judge_agreement", swapped, "sonnet"), strict=True
    ):
        for name in ("spearman", "kappa"):
            assert the_part(one, name) == the_part(other, name)
        assert the_part(one, "mean_difference").estimate == pytest.approx(
            -(the_part(other, "mean_difference").estimate or 0)
        )


def wald(part: AnalysisPart) -> tuple[float | None, ...]:
    return part.estimate, part.ci_low, part.ci_high, part.p_value, part.se


def flipped(part: AnalysisPart) -> tuple[float | None, ...]:
    return -(part.estimate or 0), -(part.ci_high or 0), -(part.ci_low or 0), part.p_value, part.se


@EXAMPLES
@given(st.integers(0, 1000))
def test_every_rating_twice_changes_no_interval(seed: int) -> None:
    once = at_random(seed)

    def twice(base: str, judge: str, rubric: str, turn: TurnRow) -> Sequence[int | None]:
        return [value for value in once(base, judge, rubric, turn) for _ in range(2)]  # type: ignore[union-attr]

    for name in ("judge_difference", "judge_agreement", "judge_gap"):
        for one, other in zip(
            run(name, made(once, bases=ONE), "sonnet"), run(name, made(twice, bases=ONE), "sonnet"), strict=True
        ):
            intervals = [[(part.name, part.ci_low, part.ci_high) for part in row.components] for row in (one, other)]
            assert [i for i in intervals[0] if i[1] is not None] == [i for i in intervals[1] if i[1] is not None]
            assert (one.ci_low, one.ci_high) == (other.ci_low, other.ci_high)


@EXAMPLES
@given(st.integers(0, 1000))
def test_swapped_arms_flip_the_gap_and_judge_by_policy(seed: int) -> None:
    turns = {turn.id: turn for turn in some_turns(seed)}
    other_arm = {"conv": "ped", "ped": "conv"}
    rate = at_random(seed)

    def swap(turn: TurnRow) -> TurnRow:
        return dataclasses.replace(turn, id=turn.id._replace(condition=other_arm[turn.id.condition]))

    before = made(rate, bases=ONE, turns=lambda _: turns.values())
    after = made(
        lambda b, j, r, turn: rate(b, j, r, turns[swap(turn).id]), bases=ONE, turns=lambda _: map(swap, turns.values())
    )
    for one, other in zip(run("judge_gap", before, "sonnet"), run("judge_gap", after, "sonnet"), strict=True):
        assert other.estimate == pytest.approx(-(one.estimate or 0), abs=1e-12)
    one, other = (run("judge_difference", measures, "sonnet")[0] for measures in (before, after))
    assert the_part(other, "judge_by_policy").estimate == pytest.approx(
        -(the_part(one, "judge_by_policy").estimate or 0)
    )
    assert the_part(other, "judge_by_leakage").estimate == pytest.approx(the_part(one, "judge_by_leakage").estimate)


# a corpus with text


def test_a_corpus_with_text_has_real_medians() -> None:
    measures = measures_of(DEMO)
    manifest = open_corpus(DEMO).manifest
    (agreement,) = (analysis for analysis in judge_audit.ANALYSES if analysis.name == "judge_agreement")
    rows = agreement.run(AnalysisInput(measures, "sonnet", None, manifest.bases, manifest.judges))
    assert "kappa on per-turn medians, half to even" in rows[0].notes
    by_hand = medians_of(measures, "opus"), medians_of(measures, "sol")
    shared = [turn for turn in by_hand[0] if by_hand[0][turn] is not None and by_hand[1][turn] is not None]
    exact = sum(round(by_hand[0][turn] or 0) == round(by_hand[1][turn] or 0) for turn in shared)
    assert the_part(rows[0], "exact_agreement").n == exact
    assert rows[0].n == len(shared)


def medians_of(measures: CorpusMeasures, judge: str) -> dict[object, float | None]:
    return {
        turn: score.median
        for arm in ("conv", "ped")
        for turn, score in measures.scores("sonnet", arm, judge, "helpfulness").turns.items()
    }


def test_an_analysis_of_one_base_needs_its_name() -> None:
    for name in ("judge_difference", "second_judge_slopes", "judge_gap", "judge_agreement"):
        with pytest.raises(ValueError, match="base = None"):
            run(name, made(at_random(), bases=ONE))
