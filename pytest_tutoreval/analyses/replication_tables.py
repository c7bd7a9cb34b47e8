"""Tables 1 and 2, the counts, and the primary base's numbers in the text."""

from collections.abc import Sequence

from pytest_tutoreval.analyses.replication_causes import rounded_parts, summed_by_numpy, tie_free, tie_free_p
from pytest_tutoreval.analyses.replication_checks import Check, Number
from pytest_tutoreval.analyses.replication_evidence import NEXT_TURN, Evidence, Model, part_of
from pytest_tutoreval.analyses.replication_finders import (
    BASES,
    FIRST,
    P_VALUE,
    PRIMARY,
    SECOND,
    Checks,
    Find,
    absolute,
    claim_of,
    contrast_checks,
    estimate_of,
    field_of,
    mean_of,
    model_checks,
    model_checks_with_n,
    n_of,
    pairs_in,
    part_field,
    row_of,
    scaled,
)
from pytest_tutoreval.analyses.replication_printed import Digits
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.measures import ARMS, complete_scores

__all__ = ["counts", "illustrations", "judged_gaps", "leakage_and_slopes", "primary", "verdicts"]


# Table 1 and the second judge's verdicts


def verdicts() -> dict[str, Checks]:
    """Return Table 1 and the verdicts with the second judge."""
    judged = {"P1": False, "P2": True, "P3": False, "J1": True, "J2": True}
    found: dict[str, Checks] = {}
    for claim, by_judge in judged.items():
        for base in BASES:
            found[f"verdict/{claim}/{base}/{FIRST}"] = _verdict(claim, base, FIRST if by_judge else None)
    for claim in ("J1", "P2"):
        for base in BASES:
            found[f"verdict/{claim}/{base}/{SECOND}"] = _verdict(claim, base, SECOND)
    return found


def _verdict(claim: str, base: str, judge: str | None) -> Checks:
    return {"value": Number(lambda evidence: evidence.verdict(claim, base, judge).verdict)}


# Table 2


def judged_gaps() -> dict[str, Checks]:
    """Return Table 2a."""
    found: dict[str, Checks] = {}
    for base in BASES:
        for judge in (FIRST, SECOND):
            for rubric in ("helpfulness", "pedagogy"):
                row = row_of("judged_gaps", rubric, base, judge)
                found[f"table2a/{base}/{judge}/{rubric}"] = {
                    "value": Number(field_of(row, "estimate"), Digits(3)),
                    "cliffs_delta": Number(
                        field_of(row, "cliffs_delta"), Digits(2), [summed_by_numpy(base, judge, rubric, "cliffs_delta")]
                    ),
                    "p": Number(field_of(row, "p_value"), P_VALUE, [summed_by_numpy(base, judge, rubric, "p_value")]),
                    "n_pairs": Number(field_of(row, "n")),
                }
    return found


def leakage_and_slopes() -> dict[str, Checks]:
    """Return Table 2b."""
    found: dict[str, Checks] = {}
    for base in BASES:
        claim = claim_of("P1", base)
        found[f"table2b/{base}/leakage"] = {
            **{f"value.{arm}": Number(mean_of(base, arm), Digits(3)) for arm in ARMS},
            "cliffs_delta": Number(field_of(claim, "cliffs_delta"), Digits(2)),
            "p": Number(field_of(claim, "p_value"), P_VALUE, [tie_free(base, "leakage")]),
            "n_pairs": Number(field_of(claim, "n")),
        }
        model = Model(base, NEXT_TURN, None, adjusted=False)
        found[f"table2b/{base}/leakage_to_independence"] = {
            **model_checks(model, "estimate", "p_value"),
            "n": Number(n_of(model)),
        }
    return found


# counts


def counts() -> dict[str, Checks]:
    """Return the counts of turns, sessions, ratings and routes."""

    def turns(*arms: str, bases: Sequence[str] = BASES) -> Checks:
        return {"value": Number(lambda evidence: sum(evidence.n_turns(base, *arms) for base in bases))}

    def sessions(evidence: Evidence) -> dict[str, int]:
        return {
            base: sum(len(cell.sessions) for cell in evidence.cells(base, untutored=True).values()) for base in BASES
        }

    def per_base(evidence: Evidence) -> float:
        counts = set(sessions(evidence).values())
        if len(counts) > 1:
            raise NotEvaluable(f"the bases hold {', '.join(map(str, sorted(counts)))} sessions, no one number")
        return counts.pop()

    routes = row_of("routes", "routes.ped", PRIMARY)
    leaky = row_of("exposure", "leaky_turns", PRIMARY)
    nodes = {"hint": "hint", "decomposer": "decompose", "gate": "defer"}
    return {
        **{f"count/{base}/answer_phase_turns": turns(*ARMS, bases=(base,)) for base in BASES},
        "count/all/answer_phase_turns": turns(*ARMS),
        "count/all/sol_ratings": {
            "value": Number(_ratings, note="rated turns x registered repetitions where a corpus holds turn means alone")
        },
        "count/all/confirmatory_sessions": {"value": Number(lambda evidence: sum(sessions(evidence).values()))},
        "count/base/sessions": {"value": Number(per_base)},
        "count/sonnet/ped_turns": turns("ped", bases=(PRIMARY,)),
        "count/sonnet/conv_turns": turns("conv", bases=(PRIMARY,)),
        "count/all/ped_turns": turns("ped"),
        "count/all/conv_turns": turns("conv"),
        "count/sonnet/router": {
            f"value.{node}": Number(part_field(routes, route, "n")) for node, route in nodes.items()
        },
        "count/all/gate_fired": {
            "value": Number(
                lambda evidence: sum(
                    part_of(evidence.row("routes", "routes.ped", base), "defer").n or 0 for base in BASES
                )
            )
        },
        "count/sonnet/leaky_turns": {f"value.{arm}": Number(part_field(leaky, arm, "n")) for arm in ARMS},
    }


def _ratings(evidence: Evidence) -> float:
    """Return the second judge's ratings over both rubrics; from tables, its scored turns times the repetitions."""
    scores = [
        score
        for base in BASES
        for rubric in ("helpfulness", "pedagogy")
        for cell in complete_scores(evidence.measures, base, SECOND, rubric).values()
        for score in cell.turns.values()
    ]
    if not evidence.measures.corpus.has_text:
        return len(scores) * evidence.study.protocol.repetitions
    return sum(score.n_ratings for score in scores)


# the primary base


def primary() -> dict[str, Checks]:
    """Return what the text says about the primary base."""
    means = row_of("judged_gaps", "pedagogy", PRIMARY, FIRST)
    gap = row_of("exposure", "turns_per_session.gap", PRIMARY)
    by_leakage = {
        "J2/sonnet/opus/mean_helpfulness_by_leakage": row_of(
            "leakage_means_helpfulness", "helpfulness", PRIMARY, FIRST
        ),
        "J2/sonnet/next_turn_attempt_by_leakage": row_of("leakage_means_independence", NEXT_TURN, PRIMARY),
    }
    accuracy = row_of("accuracy", "accuracy.range", PRIMARY)

    def gap_words(evidence: Evidence) -> str:
        row = gap(evidence)
        return f"{part_of(row, 'above').n} of {row.n}"

    def contrast(claim: str, judge: str | None = None) -> dict[str, Check]:
        return contrast_checks(claim_of(claim, PRIMARY, judge))

    return {
        "turns_per_session/sonnet": {
            f"value.{arm}": Number(
                field_of(row_of("exposure", f"turns_per_session.{arm}", PRIMARY), "estimate"), Digits(1)
            )
            for arm in ARMS
        },
        "turns_per_session_gap/sonnet": {
            "value": Number(
                field_of(gap, "estimate"),
                Digits(1),
                [
                    rounded_parts(
                        lambda e: (estimate_of(part_of(gap(e), "ped")), estimate_of(part_of(gap(e), "conv"))), 1
                    )
                ],
            ),
            "ci.low": Number(field_of(gap, "ci_low"), Digits(1)),
            "ci.high": Number(field_of(gap, "ci_high"), Digits(1)),
            "pairs_in_direction": Number(gap_words),
        },
        "P1/sonnet/percent": {f"value.{arm}": Number(scaled(mean_of(PRIMARY, arm), 100), Digits(1)) for arm in ARMS},
        "P1/sonnet/paired_difference": contrast("P1")
        | {"pairs_in_direction": Number(pairs_in(lambda e: e.differences(PRIMARY, "leakage"), +1))},
        "P3/sonnet/paired_difference": contrast("P3"),
        "P2/sonnet/opus/paired_difference": contrast("P2", FIRST),
        "accuracy/sonnet/range": {
            f"value.{end}": Number(part_field(accuracy, end, "estimate"), Digits(2)) for end in ("min", "max")
        },
        "pedagogy/sonnet/opus/means": {
            f"value.{arm}": Number(part_field(means, arm, "estimate"), Digits(3)) for arm in ARMS
        },
        "effect_contrast/sonnet/opus": {
            f"value.{rubric}_abs_delta": Number(
                absolute(field_of(row_of("judged_gaps", rubric, PRIMARY, FIRST), "cliffs_delta")), Digits(2)
            )
            for rubric in ("helpfulness", "pedagogy")
        },
        "J2/sonnet/opus/leakage_to_helpfulness": model_checks_with_n(
            Model(PRIMARY, "helpfulness", FIRST, adjusted=False)
        ),
        "J2/sonnet/leakage_to_independence": model_checks_with_n(Model(PRIMARY, NEXT_TURN, None, adjusted=False)),
        **{
            entry: {
                f"value.{kind}": Number(part_field(row, kind, "estimate"), Digits(2)) for kind in ("leaky", "non_leaky")
            }
            for entry, row in by_leakage.items()
        },
    }


# illustrations


def illustrations() -> dict[str, Checks]:
    """Return Figure 1b, the percentages, and the p that depends on the library."""

    def score(arm: str, rubric: str) -> Find:
        def find(evidence: Evidence) -> float:
            first = min(
                (turn.id for turn in evidence.cells(PRIMARY)[arm].turns.get(0, ()) if turn.id.problem == "train-1"),
                default=None,
            )
            if first is None:
                raise NotEvaluable(f"{PRIMARY}/{arm}/r0 has no in-window turn on train-1")
            value = complete_scores(evidence.measures, PRIMARY, FIRST, rubric)[arm].turns[first].value
            if value is None:
                raise NotEvaluable(f"turn {first} has no usable {rubric} rating")
            return value

        return find

    return {
        "figure1b/train-1/replicate0/first_turn/opus": {
            f"value.{arm}.{rubric}": Number(score(arm, rubric), Digits(1))
            for arm in ARMS
            for rubric in ("helpfulness", "pedagogy")
        },
        "P1/conv_percent": {f"value.{base}": Number(scaled(mean_of(base, "conv"), 100), Digits(1)) for base in BASES},
        "P1/gemini/version_dependent_p": {
            "value.tie_free": Number(
                lambda evidence: tie_free_p(evidence.differences("gemini", "leakage")),
                P_VALUE,
                note="by the table that ignores ties, computed here",
            ),
            "value.tie_corrected": Number(field_of(claim_of("P1", "gemini"), "p_value"), P_VALUE),
        },
    }
