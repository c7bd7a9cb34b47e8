"""Tables 1, 2a and 2b: what the corpus says."""

import math

from pytest_tutoreval.records.verdict import Verdict, say
from pytest_tutoreval.reporting.tables import Cell, Column, Table, absent, number, p_cell, text, whole
from pytest_tutoreval.reporting.tables_source import Missing, StudyResults

__all__ = ["coupling_table", "gaps_table", "result_tables", "verdicts_table"]

_KINDS = {
    "manipulation_check": "manipulation check",
    "live_test": "live test",
    "joint": "joint",
    "headline": "headline",
}


def result_tables(results: StudyResults) -> list[Table]:
    """Return Table 1 by the primary judge, the same by every other judge, then Tables 2a and 2b."""
    primary = results.study.primary_judge
    others = [judge for judge in results.judges if judge != primary]
    verdicts = [verdicts_table(results, judge) for judge in (primary, *others)]
    return [*verdicts, gaps_table(results), coupling_table(results)]


# Table 1


def verdicts_table(results: StudyResults, judge: str) -> Table:
    """Return Table 1: a claim a row, a base a column. The study's own shows the frozen primary judge's alone."""
    frozen = judge == results.study.primary_judge
    label = results.judge_label(judge)
    columns = [
        Column("claim", "Claim"),
        Column("kind", "Kind"),
        Column("judge", None),
        Column("direction", "Registered", width=0.2),
    ]
    for base in results.bases:
        columns.append(Column(f"verdict_{base}", results.base_label(base)))
        columns += [Column(f"{name}_{base}", None, exact=True) for name in ("estimate", "p", "cliffs_delta")]
    rows = [_verdict_row(results, claim_id, judge) for claim_id in results.claims]
    return Table(
        number="1" if frozen else f"1-{judge}",
        title=(
            f"Verdicts on the registered claims by the frozen primary judge ({label})"
            if frozen
            else f"Verdicts on the registered claims by {label}: robustness, not the frozen verdicts"
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(
            f"Supported only with p below {_level(results)} and the observed sign in the registered direction. P1 and "
            "P3 are judge-free. A manipulation check that does not separate is inconclusive, not falsified; "
            "nonsignificance is never equivalence. Judges are never averaged.",
        ),
        simulated=results.simulated,
    )


def _verdict_row(results: StudyResults, claim_id: str, judge: str) -> tuple[Cell, ...]:
    claim = results.claims[claim_id]
    verdicts = [results.verdict(claim, base, judge) for base in results.bases]
    direction = next((found.direction for found in verdicts if isinstance(found, Verdict)), claim.title)
    cells = [
        text(claim_id),
        text(_KINDS[claim.kind]),
        text(judge if claim.judge_bound else "judge-free"),
        text(direction.replace("_", " ")),
    ]
    for found in verdicts:
        if isinstance(found, Missing):
            cells += [absent(found.reason)] * 4
            continue
        joint = "a joint claim has no number of its own"
        cells.append(text(say(found.verdict), _reversal(found)))
        cells.append(number(found.estimate, missing=joint))
        cells.append(p_cell(found.p_value, missing=joint))
        cells.append(number(found.cliffs_delta, 2, missing=joint))
    return tuple(cells)


def _reversal(verdict: Verdict) -> str | None:
    """Return what of a verdict is reversed, or None: a reversal is named beside whatever the verdict is."""
    if not verdict.reversed:
        return None
    parts = ", ".join(part.name.replace("_", " ") for part in verdict.components if part.reversed)
    return f"reversed{f' in {parts}' if parts else ''}: significant in the direction opposite to the registered one"


# Table 2a


def gaps_table(results: StudyResults) -> Table:
    """Return Table 2a: the judged gap of each base, judge and rubric."""
    columns = (
        Column("base_id", None),
        Column("base", "Base"),
        Column("judge_id", None),
        Column("judge", "Judge"),
        Column("rubric", "Rubric"),
        Column("difference", "\N{GREEK CAPITAL LETTER DELTA}", "right", exact=True),
        Column("ci_low", None, exact=True),
        Column("ci_high", None, exact=True),
        Column("cliffs_delta", "\N{GREEK SMALL LETTER DELTA}", "right", exact=True),
        Column("p", "p", "right", exact=True),
        Column("n_pairs", None),
        Column("n_dropped", None),
    )
    rows = [
        _gap_row(results, base, judge, rubric)
        for base in results.bases
        for judge in results.judges
        for rubric in results.study.rubrics
    ]
    draws = results.study.inference.bootstrap_draws
    return Table(
        number="2a",
        title="Judged gaps, conv \N{MINUS SIGN} ped, by base, judge and rubric",
        columns=columns,
        rows=tuple(rows),
        notes=(
            "\N{GREEK CAPITAL LETTER DELTA}: mean over replicates of conv \N{MINUS SIGN} ped session means; "
            "\N{GREEK SMALL LETTER DELTA}: Cliff's delta of the unpaired groups, so its sign may differ; p: exact "
            f"two-sided signed-rank test. Intervals in the CSV are percentile bootstraps of {draws} draws. The "
            "pedagogy gap is a manipulation check and in no verdict.",
        ),
        simulated=results.simulated,
    )


def _gap_row(results: StudyResults, base: str, judge: str, rubric: str) -> tuple[Cell, ...]:
    row = results.gap(rubric, base, judge)
    names = (text(base), text(results.base_label(base)), text(judge), text(results.judge_label(judge)), text(rubric))
    if isinstance(row, Missing):
        return (*names, *[absent(row.reason)] * 7)
    return (
        *names,
        number(row.estimate),
        number(row.ci_low),
        number(row.ci_high),
        number(row.cliffs_delta, 2),
        p_cell(row.p_value),
        whole(row.n),
        whole(row.n_dropped),
    )


# Table 2b


def coupling_table(results: StudyResults) -> Table:
    """Return Table 2b: leakage of both policies, and its coefficient on next-turn independence, by base."""
    columns = (
        Column("base_id", None),
        Column("base", "Base"),
        Column("leakage_conv", "Leakage conv", "right", exact=True),
        Column("leakage_ped", "ped", "right", exact=True),
        Column("cliffs_delta", "\N{GREEK SMALL LETTER DELTA}", "right", exact=True),
        Column("p_leakage", "p", "right", exact=True),
        Column("n_turns", "n", "right"),
        Column("beta", "\N{GREEK SMALL LETTER BETA}", "right", exact=True),
        Column("se", None, exact=True),
        Column("p_beta", "p", "right", exact=True),
        Column("se_observed", None, exact=True),
        Column("p_beta_observed", "p (obs.)", "right", exact=True),
    )
    return Table(
        number="2b",
        title="Answer leakage, and its coefficient on next-turn independence, by base",
        columns=columns,
        rows=tuple(_coupling_row(results, base) for base in results.bases),
        notes=(
            "Leakage: mean over replicates of the share of in-window turns that disclose the answer; "
            "\N{GREEK SMALL LETTER DELTA} and p as in Table 2a. \N{GREEK SMALL LETTER BETA}: model (1), a linear "
            "probability model over the n in-window turns of both policies that a student turn follows, fitted to the "
            "certified maximum; p from the expected-information standard error (the verdict rests on it), p (obs.) "
            "from the observed-Hessian one (the study's printed p). Observational, and part of any drop is mechanical.",
        ),
        simulated=results.simulated,
    )


def _coupling_row(results: StudyResults, base: str) -> tuple[Cell, ...]:
    return (text(base), text(results.base_label(base)), *_leakage_cells(results, base), *_slope_cells(results, base))


def _leakage_cells(results: StudyResults, base: str) -> tuple[Cell, ...]:
    found = results.leakage_gap(base)
    if isinstance(found, Missing):
        return (absent(found.reason),) * 4
    means = {part.name: part.estimate for part in found.components}
    verdict = results.verdict(results.claims["P1"], base, None)
    note = results.released_note(verdict) if isinstance(verdict, Verdict) else None
    return (
        number(means["conv"], sign=False),
        number(means["ped"], sign=False),
        number(found.cliffs_delta, 2),
        p_cell(found.p_value, note=note),
    )


def _slope_cells(results: StudyResults, base: str) -> tuple[Cell, ...]:
    fit = results.independence_fit(base, adjusted=False)
    if isinstance(fit, Missing):
        return (absent(fit.reason),) * 6
    slope = fit.coefficients["leakage"]
    observed = slope.se_observed
    flat = "the observed Hessian gives no variance here"
    return (
        whole(fit.n),
        number(slope.estimate, note="boundary fit: a variance is estimated at zero" if fit.singular else None),
        number(slope.se, sign=False),
        p_cell(slope.p_value),
        number(observed, sign=False, missing=flat),
        p_cell(None if observed is None else _wald_p(slope.estimate, observed), missing=flat),
    )


def _wald_p(estimate: float, se: float) -> float:
    """Return the two-sided normal p of a coefficient: the study's, from its own standard error."""
    return math.erfc(abs(estimate / se) / math.sqrt(2.0))


def _level(results: StudyResults) -> str:
    return f"{results.study.inference.alpha:g}".removeprefix("0")
