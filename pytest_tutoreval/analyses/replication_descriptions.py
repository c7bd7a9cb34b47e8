"""Ablation, token control, and what was registered rather than measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_tutoreval.analyses.replication_causes import rounded_parts
from pytest_tutoreval.analyses.replication_checks import Judged, Missing, Number, Statement
from pytest_tutoreval.analyses.replication_evidence import Evidence, part_of
from pytest_tutoreval.analyses.replication_finders import (
    BASES,
    FIRST,
    P_VALUE,
    PRIMARY,
    SECOND,
    Checks,
    Find,
    estimate_of,
    field_of,
    part_field,
    row_of,
    scaled,
    significant,
)
from pytest_tutoreval.analyses.replication_printed import Digits, Printed
from pytest_tutoreval.errors import NotEvaluable
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import complete_scores
from pytest_tutoreval.records.analysis import AnalysisRow
from pytest_tutoreval.records.measured import TurnScore
from pytest_tutoreval.records.study import Study

__all__ = ["ablation", "instrument", "rubric_scores", "significant_controls", "token"]


# ablation


def ablation() -> dict[str, Checks]:
    """Return the ablation."""

    def against_ped(variant: str, rubric: str) -> Callable[[Evidence], AnalysisRow]:
        return row_of("ablation_contrasts", f"{rubric}.{variant}-ped", PRIMARY, FIRST)

    band = row_of("ablation_scores", "helpfulness.span", PRIMARY, FIRST)
    span = row_of("ablation_scores", "pedagogy.span", PRIMARY, FIRST)
    socratic = against_ped("conv_socratic", "pedagogy")
    cascade = against_ped("ped_no_cascade", "pedagogy")

    def above(evidence: Evidence) -> str:
        row = socratic(evidence)
        return f"{part_of(row, 'above').n} of {row.n}"

    def couplings(evidence: Evidence) -> tuple[bool, str]:
        row = evidence.row("ablation_couplings", "couplings", PRIMARY)
        negative, with_zero = (part_of(row, name).n for name in ("negative", "interval_includes_zero"))
        return (row.n, negative, with_zero) == (7, 7, 2), f"{negative} of {row.n} negative, {with_zero} with 0 inside"

    return {
        "ablation/opus/helpfulness_band": {
            "value.min": Number(part_field(band, "min", "estimate"), Digits(2)),
            "value.max": Number(part_field(band, "max", "estimate"), Digits(2)),
            "value.width": Number(
                field_of(band, "estimate"),
                Digits(2),
                [
                    rounded_parts(
                        lambda e: (estimate_of(part_of(band(e), "max")), estimate_of(part_of(band(e), "min"))), 2
                    )
                ],
            ),
            "policies": Number(field_of(band, "n")),
        },
        "ablation/opus/pedagogy_span": {
            "value": Number(field_of(span, "estimate"), Digits(1)),
            "policies": Number(field_of(span, "n")),
        },
        "ablation/socratic_vs_ped/opus/pedagogy": {
            "value": Number(field_of(socratic, "estimate"), Digits(3)),
            "ci.low": Number(field_of(socratic, "ci_low"), Digits(3)),
            "ci.high": Number(field_of(socratic, "ci_high"), Digits(3)),
            "cliffs_delta": Number(field_of(socratic, "cliffs_delta"), Digits(2)),
            "pairs_in_direction": Number(above),
        },
        "ablation/no_cascade_vs_ped/opus/pedagogy": {
            "value": Number(field_of(cascade, "estimate"), Digits(3)),
            "cliffs_delta": Number(field_of(cascade, "cliffs_delta"), Digits(2)),
        },
        "ablation/no_cascade_vs_ped/opus/helpfulness": {
            "value": Number(field_of(against_ped("ped_no_cascade", "helpfulness"), "estimate"), Digits(3)),
        },
        "ablation/answer_ban/leakage_percent": {
            "value": Number(
                scaled(field_of(row_of("ablation_scores", "leakage.conv_no_final_answer", PRIMARY), "estimate"), 100),
                Digits(1),
            )
        },
        "ablation/couplings": {
            "value": Statement("all seven are negative, and two of the seven intervals include zero", couplings)
        },
    }


# token control


def token() -> dict[str, Checks]:
    """Return the token control."""
    return {
        "token/contrasts_significant": {
            "value": Number(lambda evidence: sum(sign != 0 for sign in significant_controls(evidence).values())),
            "of": Number(lambda evidence: len(significant_controls(evidence))),
        },
        "token/gemini/independence/p": {
            "value": Number(field_of(row_of("token_control", "independent_turns_per_1k", "gemini"), "p_value"), P_VALUE)
        },
    }


def significant_controls(evidence: Evidence) -> dict[tuple[str, str], int]:
    """Return the sign of each significant token-normalised contrast, or 0, by base and marginal."""
    found = {}
    for base in BASES:
        for marginal in ("leaky_turns_per_1k", "independent_turns_per_1k"):
            row = evidence.row("token_control", marginal, base)
            found[base, marginal] = significant(evidence, row.estimate, row.p_value)
    return found


# what was registered


_CALIBRATION = "the calibration logs of the student (before collection; not in the tables)"
# A setting is what it is: no rounding.
EXACT = Digits(9)
_RAW_RATINGS = "the single ratings, with what each was billed and how it finished (no table holds them)"


def instrument() -> dict[str, Checks]:
    """Return what the study file, the gates and the calibration say."""

    def study() -> Study:
        return load_instrument().study

    def shared(field: str) -> Find:
        def find(_: Evidence) -> float:
            values = {getattr(base.sampling, field) for base in study().bases if base.id in BASES}
            if len(values) != 1:
                raise NotEvaluable(f"the study file gives the tutor bases {len(values)} values of {field}")
            value: float = values.pop()
            return value

        return find

    def cap(judge: str) -> Find:
        def find(_: Evidence) -> float:
            given = study().judge(judge)
            if given is None:
                raise NotEvaluable(f"the study file has no judge {judge}")
            return given.sampling.max_tokens

        return find

    def gate(evidence: Evidence) -> float:
        if evidence.marker_rate_gate is None:
            raise NotEvaluable("missing input: the limits of the preflight gates")
        return evidence.marker_rate_gate

    def power(_: Evidence) -> tuple[bool, str]:
        pairs = study().protocol.replicates
        at = {effect: _power(effect, pairs, study().inference.alpha) for effect in (0.5, 1.0)}
        found = ", ".join(f"d = {effect:g}: {share:.0%}" for effect, share in at.items())
        return at[1.0] >= 0.7 and at[0.5] < 0.5, f"simulated power at {pairs} pairs: {found}"

    facts: dict[str, Find] = {
        "tutor_temperature": shared("temperature"),
        "tutor_max_tokens": shared("max_tokens"),
        "student_temperature": lambda _: study().student.sampling.temperature or 0.0,
        "replicates": lambda _: study().protocol.replicates,
        "conditions": lambda _: len(study().protocol.condition_order),
        "bases": lambda _: len(study().bases),
        "tutor_turns_per_training_problem": lambda _: study().protocol.tutor_turns,
        "ratings_per_turn": lambda _: study().protocol.repetitions,
        "alpha": lambda _: study().inference.alpha,
        "problems": lambda _: len(load_instrument().problems),
    }
    ours = "from the instrument's study file"
    replies = ("largest_billed", "of_which_reasoning", "largest_visible", "finish_reason")
    return {
        "design": {f"value.{name}": Number(find, EXACT, note=ours) for name, find in facts.items()},
        "sol/completion_tokens": {
            "value.cap": Number(cap(SECOND), note=ours),
            **{f"value.{name}": Missing(_RAW_RATINGS) for name in replies},
        },
        "opus/completion_cap": {"value": Number(cap(FIRST), note=ours)},
        "ratings/valid_holistic_per_turn": {"value": _ValidRatings()},
        "student/isolated_accuracy": {
            f"value.{name}": Missing(_CALIBRATION) for name in ("calibration", "pre_run_recheck", "percent")
        },
        "student/rejected_fp8_route": {"value": Missing(_CALIBRATION)},
        "student/marker_rate_gate": {"value": Number(gate, EXACT, note="the limit of our preflight gate")},
        "inference/null_excludes_only": {
            "value": Statement(
                "at ten pairs the test finds d = 1 in 70 % of samples or more, d = .5 in under half", power
            )
        },
    }


@dataclass(frozen=True)
class _ValidRatings:
    """Three usable ratings of every turn by both judges; tables hold their mean alone, which can only contradict it."""

    def judge(self, evidence: Evidence, printed: Printed) -> Judged:
        """Return the comparison; from tables, the missing input, or that a mean is none of three ratings."""
        scores = rubric_scores(evidence, (FIRST, SECOND))
        repetitions = evidence.study.protocol.repetitions
        if evidence.measures.corpus.has_text:
            fewest = min((score.n_usable for score in scores), default=0)
            return Number(lambda _: fewest, note="the fewest usable ratings of a turn").judge(evidence, printed)
        off = sum(
            score.value is None or abs(score.value * repetitions - round(score.value * repetitions)) > 1e-6
            for score in scores
        )
        if off:
            return Judged("different", off, f"turns whose mean is none of {repetitions} whole ratings")
        return Judged(
            "not_evaluable",
            said=f"missing input: {_RAW_RATINGS}; all {len(scores)} means are multiples of 1/{repetitions}, as means "
            f"of {repetitions} ratings are",
        )


def rubric_scores(evidence: Evidence, judges: Sequence[str]) -> list[TurnScore]:
    """Return every turn's score by some judges, both rubrics, all published bases."""
    return [
        score
        for judge in judges
        for base in BASES
        for rubric in ("helpfulness", "pedagogy")
        for cell in complete_scores(evidence.measures, base, judge, rubric).values()
        for score in cell.turns.values()
    ]


def _power(effect: float, pairs: int, alpha: float, samples: int = 1000) -> float:
    """Return how often the exact test is significant on normal differences of a standardised effect, seeded."""
    import numpy as np

    from pytest_tutoreval.inference import signed_rank

    drawn = np.random.default_rng(0).normal(effect, 1.0, size=(samples, pairs))
    return sum(signed_rank(row).p_value < alpha for row in drawn) / samples
