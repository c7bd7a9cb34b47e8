"""What stands beside the registered tests: matched budget, models, two-stage comparison, the second judge."""

from collections.abc import Callable

from pytest_tutoreval.analyses.replication_causes import OBSERVED_ERROR, Which, observed_holm, wald
from pytest_tutoreval.analyses.replication_checks import Because, Check, Number, Statement
from pytest_tutoreval.analyses.replication_evidence import NEXT_TURN, Evidence, Model, Tested, part_of, tested
from pytest_tutoreval.analyses.replication_finders import (
    BASES,
    FIRST,
    P_VALUE,
    PAIR,
    PRIMARY,
    SECOND,
    Checks,
    Find,
    claim_of,
    estimate_of,
    field_of,
    model_checks,
    part_field,
    row_of,
    shown,
    significant,
    slope_checks,
)
from pytest_tutoreval.analyses.replication_matched import MatchedP3
from pytest_tutoreval.analyses.replication_printed import Digits
from pytest_tutoreval.measures import ARMS
from pytest_tutoreval.records.analysis import AnalysisRow

__all__ = ["adjusted", "cross_judge", "matched", "pooled_slopes", "two_stage"]


# matched budget


def matched() -> dict[str, Checks]:
    """Return the matched budget."""
    cells = row_of("matched_budget", "cells", PRIMARY)
    turns = row_of("matched_budget", "turns", PRIMARY)
    leaky = row_of("matched_budget", "leaky_turns", PRIMARY)
    legs = {
        "matched/sonnet/opus/leakage_to_helpfulness": row_of(
            "matched_budget_helpfulness", "leg.helpfulness", PRIMARY, FIRST
        ),
        "matched/sonnet/leakage_to_independence": row_of("matched_budget", f"leg.{NEXT_TURN}", PRIMARY),
    }

    def leg(row: Callable[[Evidence], AnalysisRow]) -> Checks:
        def slope(evidence: Evidence) -> Tested:
            return tested(part_of(row(evidence), "leakage"))

        return slope_checks(slope, ("estimate", "p_value")) | {"n": Number(field_of(row, "n"))}

    return {
        "matched/sonnet/n": {"value": Number(field_of(turns, "n"))},
        "matched/sonnet/dropped_cells": {
            "value": Number(field_of(cells, "n_dropped")),
            "of": Number(part_field(cells, "all", "n")),
        },
        **{entry: leg(row) for entry, row in legs.items()},
        "matched/sonnet/p": {
            "value.P1": Number(field_of(row_of("matched_budget", "contrast.leakage", PRIMARY), "p_value"), P_VALUE),
            "value.P2": Number(
                field_of(row_of("matched_budget_helpfulness", "contrast.helpfulness", PRIMARY, FIRST), "p_value"),
                P_VALUE,
            ),
            "value.P3": MatchedP3(PRIMARY),
            "before.P1": Number(field_of(claim_of("P1", PRIMARY), "p_value"), P_VALUE),
            "before.P2": Number(field_of(claim_of("P2", PRIMARY, FIRST), "p_value"), P_VALUE),
            "before.P3": Number(field_of(claim_of("P3", PRIMARY), "p_value"), P_VALUE),
        },
        "matched/sonnet/leaky_turns": {
            **{f"value.{arm}": Number(part_field(leaky, arm, "n")) for arm in ARMS},
            "floor": Number(part_field(leaky, "floor", "n")),
        },
    }


# model (2) and the two-stage comparison


def adjusted() -> dict[str, Checks]:
    """Return model (2) on both legs and by both judges."""
    found: dict[str, Checks] = {}
    for base in BASES:
        for judge in (FIRST, SECOND):
            model = Model(base, "helpfulness", judge, adjusted=True)
            printed: tuple[Which, ...] = ("estimate", "p_value") if judge == FIRST else ("estimate",)
            found[f"adjusted/{base}/{judge}/leakage_to_helpfulness"] = model_checks(model, *printed) | (
                {"p_note": _above(model, 0.2)} if judge == SECOND else {}
            )
        model = Model(base, NEXT_TURN, None, adjusted=True)
        found[f"adjusted/{base}/leakage_to_independence"] = model_checks(model, "estimate", "p_value")
    return found


def _above(model: Model, bound: float) -> Check:
    def find(evidence: Evidence) -> tuple[bool, str]:
        p = evidence.slope(model).p_value
        return p > bound, f"p {p:.3f}"

    return Statement(f"raw p > {bound:g}", find)


def two_stage() -> dict[str, Checks]:
    """Return the two-stage comparison."""

    def row(base: str, outcome: str) -> Callable[[Evidence], AnalysisRow]:
        judge = FIRST if outcome == "helpfulness" else None
        name = "two_stage_helpfulness" if judge else "two_stage_independence"
        return row_of(name, outcome, base, judge)

    def comparable(evidence: Evidence) -> tuple[bool, str]:
        gaps, said = [], []
        for base in BASES:
            here = row(base, NEXT_TURN)(evidence)
            slope = evidence.slope(Model(base, NEXT_TURN, None, adjusted=False))
            gaps.append(abs(estimate_of(here) - slope.estimate))
            said.append(f"{base} {estimate_of(here):+.3f} against {slope.estimate:+.3f}")
        return max(gaps) <= 0.05, "; ".join(said)

    def small(evidence: Evidence) -> tuple[bool, str]:
        largest = max(float(field_of(row(base, NEXT_TURN), "p_value")(evidence)) for base in BASES)
        return largest <= 0.006, f"largest p {largest:.4f}"

    def same_directions(evidence: Evidence) -> tuple[bool, str]:
        signs, said = [], []
        for outcome, judge in (("helpfulness", FIRST), (NEXT_TURN, None)):
            here = estimate_of(row(PRIMARY, outcome)(evidence))
            slope = evidence.slope(Model(PRIMARY, outcome, judge, adjusted=False)).estimate
            signs.append(here * slope > 0)
            said.append(f"{outcome} {here:+.3f} against {slope:+.3f}")
        return all(signs), "; ".join(said)

    found: dict[str, Checks] = {
        f"two_stage/{base}/opus/leakage_to_helpfulness": {
            "value": Number(field_of(row(base, "helpfulness"), "estimate"), Digits(3)),
            "p": Number(field_of(row(base, "helpfulness"), "p_value"), P_VALUE),
        }
        for base in ("gpt", "gemini")
    }
    return found | {
        "two_stage/all/leakage_to_independence": {
            "value": Statement("on every base within .05 of the mixed model's coefficient", comparable),
            "p_max": Statement("every p <= .006", small),
        },
        "two_stage/sonnet/direction": {
            "value": Statement("both legs have the sign of the mixed model's coefficient", same_directions)
        },
    }


def pooled_slopes() -> dict[str, Checks]:
    """Return model (1) where only words or a rounded slope are printed."""

    def sign(base: str, judge: str, wanted: int, words: str) -> Check:
        model = Model(base, "helpfulness", judge, adjusted=False)

        def find(evidence: Evidence) -> tuple[bool, str]:
            slope = evidence.slope(model)
            found = significant(evidence, slope.estimate, slope.p_value)
            return found == wanted, shown(slope.estimate, slope.p_value)

        return Statement(words, find)

    def below(base: str) -> Check:
        model = Model(base, "helpfulness", SECOND, adjusted=False)

        def find(evidence: Evidence) -> tuple[bool, str]:
            p = evidence.slope(model).p_value
            return p < 0.01, f"p {p:.4f}"

        return Statement("p < .01", find)

    def second(base: str) -> dict[str, Check]:
        return model_checks(Model(base, "helpfulness", SECOND, adjusted=False), "estimate")

    independence = [Model(base, NEXT_TURN, None, adjusted=False) for base in BASES]

    def extreme(pick: Callable[[list[float]], float]) -> Find:
        return lambda evidence: pick([evidence.slope(model).estimate for model in independence])

    def all_below(evidence: Evidence) -> tuple[bool, str]:
        largest = max(evidence.slope(model).p_value for model in independence)
        return largest <= 1e-11, f"largest p {largest:.2g}"

    def all_below_observed(evidence: Evidence) -> Because | None:
        slopes = [evidence.slope(model) for model in independence]
        errors = [slope.se_observed for slope in slopes]
        if None in errors:
            return None
        largest = max(
            wald(slope.estimate, error)["p_value"] for slope, error in zip(slopes, errors, strict=True) if error
        )
        if largest > 1e-11:
            return None
        return Because(OBSERVED_ERROR, f"with the observed-Hessian standard errors the largest p is {largest:.2g}")

    return {
        "J2/gpt/opus/leakage_to_helpfulness": {
            "value": sign("gpt", FIRST, -1, "the pooled coefficient is significantly negative")
        },
        "J2/gemini/opus/leakage_to_helpfulness": {
            "value": sign("gemini", FIRST, 0, "the pooled coefficient is not significant")
        },
        "J2/sonnet/sol/leakage_to_helpfulness": second("sonnet") | {"p_note": below("sonnet")},
        "J2/gpt/sol/leakage_to_helpfulness": second("gpt") | {"p_note": below("gpt")},
        "J2/gemini/sol/leakage_to_helpfulness": second("gemini")
        | {"p_note": sign("gemini", SECOND, 0, "not significant")},
        "J2/all/independence/range": {
            "value.from": Number(extreme(max), Digits(3)),
            "value.to": Number(extreme(min), Digits(3)),
            "value.p_max": Statement("every p <= 1e-11", all_below, [all_below_observed]),
        },
    }


# cross-judge


def cross_judge() -> dict[str, Checks]:
    """Return the cross-judge audit."""
    measure = "helpfulness.judge_by_policy"
    directions = {"sonnet": -1, "gpt": -1, "gemini": 0}

    def term(base: str, wanted: int) -> Check:
        words = {-1: "judge-by-policy is significant (Holm) and negative", 0: "judge-by-policy is not significant"}

        def find(evidence: Evidence) -> tuple[bool, str]:
            row = evidence.row("holm_judge_by_policy", measure, base)
            return significant(evidence, row.estimate, row.p_holm) == wanted, shown(row.estimate, row.p_holm)

        return Statement(words[wanted], find)

    def reversals(evidence: Evidence) -> float:
        return float(
            part_field(row_of("judge_ordering", "helpfulness", None, PAIR), "ordering_reversal", "estimate")(evidence)
        )

    agreement: dict[str, Checks] = {
        f"agreement/{base}/{rubric}/spearman": {
            "value": Number(
                part_field(row_of("judge_agreement", rubric, base, PAIR), "spearman", "estimate"), Digits(3)
            )
        }
        for base in BASES
        for rubric in ("helpfulness", "pedagogy")
    }
    pooled: dict[str, Checks] = {
        f"agreement/pooled/{rubric}": {
            f"value.{printed}": Number(
                part_field(row_of("judge_agreement_pooled", rubric, None, PAIR), name, "estimate"), Digits(3)
            )
            for printed, name in (("spearman", "spearman"), ("quadratic_kappa", "kappa"))
        }
        for rubric in ("helpfulness", "pedagogy")
    }
    holm: dict[str, Checks] = {
        f"cross_judge/{base}/judge_by_policy/helpfulness": {
            "value": term(base, wanted),
            "p_holm": Number(
                field_of(row_of("holm_judge_by_policy", measure, base), "p_holm"),
                P_VALUE,
                [observed_holm(base, "holm_judge_by_policy", measure)],
            ),
        }
        for base, wanted in directions.items()
    }
    ceiling = {judge: row_of("judge_ceiling", "helpfulness", None, judge) for judge in (FIRST, SECOND)}
    return (
        agreement
        | pooled
        | holm
        | {
            "cross_judge/ordering_reversals": {
                "value": Number(lambda evidence: int(reversals(evidence))),
                "of": Number(field_of(row_of("judge_ordering", "helpfulness", None, PAIR), "n")),
            },
            "ceiling/helpfulness/median_5": {
                **{f"value.{judge}": Number(part_field(row, "median_5", "n")) for judge, row in ceiling.items()},
                "of": Number(field_of(ceiling[FIRST], "n")),
            },
        }
    )
