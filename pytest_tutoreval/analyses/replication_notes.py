"""What entries say in words beside their numbers, as predicates: directions, reasons, who comes lowest."""

from collections.abc import Callable, Mapping

from pytest_tutoreval.analyses.matched_budget import match_arms
from pytest_tutoreval.analyses.matched_openings import bound_contrast, matched_independence
from pytest_tutoreval.analyses.replication_checks import Check, Statement
from pytest_tutoreval.analyses.replication_descriptions import significant_controls
from pytest_tutoreval.analyses.replication_evidence import Evidence, part_of
from pytest_tutoreval.analyses.replication_finders import BASES, FIRST, PAIR, PRIMARY, estimate_of, shown, significant
from pytest_tutoreval.measures import BASELINES

__all__ = ["notes"]

# Sign of the normalised contrast that was registered.
_REGISTERED = {"leaky_turns_per_1k": 1, "independent_turns_per_1k": -1}


def notes() -> Mapping[str, Check]:
    """Return the notes that can be checked, by entry; the others are shown as they are."""
    return {
        "count/sonnet/router": Statement("over 223 answer-phase ped turns", _over(223, (PRIMARY,))),
        "count/all/gate_fired": Statement("over 668 answer-phase ped turns", _over(668, BASES)),
        "matched/sonnet/dropped_cells": Statement(
            "every one because conv committed before any in-window tutor turn", _dropped_for_conv
        ),
        "matched/sonnet/p": Statement(
            "significance and sign of P1, P2 and P3 are those of the full window, P3's over all fillings", _unchanged
        ),
        "cross_judge/ordering_reversals": Statement(
            "sonnet: the order turns, not significantly; gpt: both significant, opposite", _reversals
        ),
        "ablation/socratic_vs_ped/opus/pedagogy": Statement(
            "helpfulness near-tied: a difference below .05 with 0 in its interval", _near_tied
        ),
        "ablation/no_cascade_vs_ped/opus/helpfulness": Statement(
            "of ped and its deletions, no cascade has the lowest next-turn independence", _lowest
        ),
        "token/contrasts_significant": Statement(
            "all significant ones in the registered direction but gemini's independence", _all_but_gemini
        ),
        "token/gemini/independence/p": Statement("favours conv, and the unnormalised contrast is null", _favours_conv),
    }


def _over(n: int, bases: tuple[str, ...]) -> Callable[[Evidence], tuple[bool, str]]:
    def find(evidence: Evidence) -> tuple[bool, str]:
        found = sum(evidence.n_turns(base, "ped") for base in bases)
        return found == n, f"{found} turns"

    return find


def _dropped_for_conv(evidence: Evidence) -> tuple[bool, str]:
    row = evidence.row("matched_budget", "cells", PRIMARY)
    conv, ped = (part_of(row, f"{arm}_without_turn").n for arm in ("conv", "ped"))
    return (conv, ped) == (row.n_dropped, 0), f"{conv} of {row.n_dropped} without a conv turn, {ped} without a ped turn"


def _unchanged(evidence: Evidence) -> tuple[bool, str]:
    changed = {
        "P1": part_of(evidence.row("matched_budget", "contrast.leakage", PRIMARY), "changed").n,
        "P2": part_of(evidence.row("matched_budget_helpfulness", "contrast.helpfulness", PRIMARY, FIRST), "changed").n,
        "P3": _p3_changed(evidence),
    }
    words = ", ".join(f"{claim} {'changed' if flag else 'unchanged'}" for claim, flag in changed.items())
    return not any(changed.values()), words


def _p3_changed(evidence: Evidence) -> bool:
    row = evidence.row("matched_budget", "contrast.independence", PRIMARY)
    if row.p_value is not None:
        return bool(part_of(row, "changed").n)
    cells, matched = match_arms(evidence.measures, PRIMARY)
    bounds = bound_contrast(matched_independence(cells, matched), evidence.study.inference.alpha)
    before = part_of(row, "full_window")
    sign = significant(evidence, before.estimate, before.p_value)
    direction = (estimate_of(before) > 0) - (estimate_of(before) < 0)
    return bounds.outcomes is None or set(bounds.outcomes) != {(sign != 0, direction)}


def _reversals(evidence: Evidence) -> tuple[bool, str]:
    flags = {}
    for base in ("sonnet", "gpt"):
        row = evidence.row("judge_ordering", "helpfulness", base, PAIR)
        flags[base] = tuple(bool(part_of(row, name).estimate) for name in ("ordering_reversal", "significant_reversal"))
    said = "; ".join(f"{base}: turned {turned}, significantly {both}" for base, (turned, both) in flags.items())
    return flags == {"sonnet": (True, False), "gpt": (True, True)}, said


def _near_tied(evidence: Evidence) -> tuple[bool, str]:
    row = evidence.row("ablation_contrasts", "helpfulness.conv_socratic-ped", PRIMARY, FIRST)
    low, high = row.ci_low, row.ci_high
    holds = low is not None and high is not None and low <= 0 <= high and abs(estimate_of(row)) < 0.05
    return holds, f"{estimate_of(row):+.3f}"


def _lowest(evidence: Evidence) -> tuple[bool, str]:
    family = ["ped", *(name for name, baseline in BASELINES.items() if baseline == "ped")]
    means = {
        name: estimate_of(evidence.row("ablation_scores", f"next_turn_independence.{name}", PRIMARY)) for name in family
    }
    said = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    return min(means, key=lambda name: means[name]) == "ped_no_cascade", said


def _all_but_gemini(evidence: Evidence) -> tuple[bool, str]:
    against = [
        f"{base} {marginal}"
        for (base, marginal), sign in significant_controls(evidence).items()
        if sign == -_REGISTERED[marginal]
    ]
    return against == ["gemini independent_turns_per_1k"], f"against it: {', '.join(against) or 'none'}"


def _favours_conv(evidence: Evidence) -> tuple[bool, str]:
    row = evidence.row("token_control", "independent_turns_per_1k", "gemini")
    before = part_of(row, "unnormalised")
    holds = estimate_of(row) > 0 and significant(evidence, before.estimate, before.p_value) == 0
    return holds, f"{shown(row.estimate, row.p_value)}; unnormalised {shown(before.estimate, before.p_value)}"
