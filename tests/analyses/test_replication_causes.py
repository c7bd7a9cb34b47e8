"""A cause counts only where it is true: each is fed a published value, or a released file, it cannot explain."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tutoreval.analyses.replication_causes import (
    EARLY_STOP,
    LIBRARY_VERSION,
    OBSERVED_ERROR,
    ROUNDING,
    SUMMATION_ORDER,
    rounded_parts,
    tie_free_p,
    wald,
)
from pytest_tutoreval.analyses.replication_evidence import Evidence
from pytest_tutoreval.errors import CorpusError
from tests.analyses.replicating import evidence, evidence_of, judged, published_with
from tests.store.corpora import reseal

__all__ = ["evidence"]

ADJUSTED = "adjusted/sonnet/opus/leakage_to_helpfulness"
LEG = "J2/sonnet/leakage_to_independence"
GEMINI = "table2b/gemini/leakage"


# the optimiser


def test_the_released_fit_that_stopped_early_is_recomputed_where_it_stopped(evidence: Evidence) -> None:
    value, p = (judged(evidence, ADJUSTED, path) for path in ("value", "p"))
    assert (value.outcome, value.cause) == ("reproduced_with_cause", EARLY_STOP)
    assert value.said == (
        "released +0.5002 (se 0.0818), at the maximum +0.4928; the log-likelihood is lower by 0.0097; "
        "at its stopping point 0.500218"
    )
    assert p.cause == EARLY_STOP
    assert p.said.endswith("at its stopping point 9.64378e-10")


@pytest.mark.parametrize(("field", "wrong"), [("value", 0.51), ("value", -0.5), ("p", 9.7e-10)])
def test_another_printed_number_is_not_explained_by_stopping_early(
    evidence: Evidence, field: str, wrong: float
) -> None:
    found = judged(evidence, ADJUSTED, field, published_with(entry=ADJUSTED, **{field: wrong}))
    assert (found.outcome, found.cause) == ("different", None)


def test_a_p_at_the_maximum_has_the_other_cause(evidence: Evidence) -> None:
    found = judged(evidence, ADJUSTED, "p", published_with(entry=ADJUSTED, p=1.2e-11))
    assert found.cause == OBSERVED_ERROR


def edited_reference(released: Path, folder: Path, name: str, edit: Callable[[dict[str, Any]], object]) -> Evidence:
    shutil.copytree(released, folder)
    path = folder / "reference" / name
    parsed = json.loads(path.read_text(encoding="utf-8"))
    edit(parsed)
    path.write_text(json.dumps(parsed), encoding="utf-8")
    reseal(folder)
    return evidence_of(folder)


def fit_of(file: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = file["results"]["sonnet"]["models"]["helpfulness"]
    return found


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda file: fit_of(file).update(coefficient=0.4999), id="coefficient-of-another-point"),
        pytest.param(lambda file: fit_of(file).update(standard_error=0.09), id="error-of-another-point"),
        pytest.param(lambda file: fit_of(file).update(n_obs=300), id="another-number-of-turns"),
        pytest.param(lambda file: fit_of(file)["variance_components"].update(replicate=0.05), id="another-variance"),
    ],
)
def test_a_released_fit_that_is_not_of_these_turns_explains_nothing(
    released: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    evidence = edited_reference(released, tmp_path / "corpus", "condition_adjusted.json", edit)
    assert judged(evidence, ADJUSTED, "value").outcome == "different"


def test_without_the_released_file_there_is_no_such_cause(released: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(released, tmp_path / "corpus")
    (folder / "reference" / "condition_adjusted.json").unlink()
    reseal(folder)
    assert judged(evidence_of(folder), ADJUSTED, "value").outcome == "different"


def test_a_released_file_without_its_fit_is_a_corpus_error(released: Path, tmp_path: Path) -> None:
    evidence = edited_reference(
        released, tmp_path / "corpus", "condition_adjusted.json", lambda file: fit_of(file).pop("variance_components")
    )
    with pytest.raises(CorpusError, match=r"condition_adjusted.json: no readable fit"):
        judged(evidence, ADJUSTED, "value")


# standard errors


def test_the_observed_error_gives_the_printed_p_and_interval(evidence: Evidence) -> None:
    found = {path: judged(evidence, LEG, path) for path in ("value", "p", "ci.low", "ci.high")}
    assert found["value"].outcome == "reproduced"
    assert {found[path].cause for path in ("p", "ci.low", "ci.high")} == {OBSERVED_ERROR}
    assert found["p"].said == "0.05598, ours is from the expected information (0.05945); with theirs 5.63721e-12"


@pytest.mark.parametrize(
    ("path", "changes"),
    [("p", {"p": 5.7e-12}), ("ci.low", {"ci": [-0.496, -0.276]}), ("ci.high", {"ci": [-0.495, -0.275]})],
)
def test_another_p_or_interval_is_not_explained_by_the_error(
    evidence: Evidence, path: str, changes: dict[str, Any]
) -> None:
    assert judged(evidence, LEG, path, published_with(entry=LEG, **changes)).outcome == "different"


def test_the_error_never_explains_a_coefficient(evidence: Evidence) -> None:
    assert judged(evidence, LEG, "value", published_with(entry=LEG, value=-0.387)).outcome == "different"


def test_a_holm_p_is_explained_by_the_whole_family_with_those_errors(evidence: Evidence) -> None:
    name = "cross_judge/gpt/judge_by_policy/helpfulness"
    assert judged(evidence, name, "p_holm").cause == OBSERVED_ERROR
    raw = published_with(entry=name, p_holm=4.6e-11)  # the uncorrected p with the observed error
    assert judged(evidence, name, "p_holm", raw).outcome == "different"


def test_wald_is_two_sided_with_a_normal_interval() -> None:
    # z = 1.959963984540054: p = .05, and an end of the interval at 0
    test = wald(1.959963984540054, 1.0)
    assert test["p_value"] == pytest.approx(0.05, abs=1e-12)
    assert test["ci_low"] == pytest.approx(0.0, abs=1e-12)


# the signed-rank table


def test_the_table_without_ties_gives_the_printed_p(evidence: Evidence) -> None:
    found = judged(evidence, GEMINI, "p")
    assert (found.outcome, found.cause) == ("reproduced_with_cause", LIBRARY_VERSION)
    assert found.said.startswith("an older scipy's exact table ignores ties: 0.625 here by that table")


def test_another_p_is_not_explained_by_the_table(evidence: Evidence) -> None:
    assert judged(evidence, GEMINI, "p", published_with(entry=GEMINI, p=0.63)).outcome == "different"


def test_where_nothing_ties_the_table_explains_nothing(evidence: Evidence) -> None:
    name = "table2b/gpt/leakage"
    assert judged(evidence, name, "p", published_with(entry=name, p=0.003)).outcome == "different"


def test_without_ties_both_tables_are_one() -> None:
    from scipy.stats import wilcoxon

    values = np.random.default_rng(7).normal(0.4, 1.0, 10)
    assert tie_free_p(values.tolist()) == pytest.approx(wilcoxon(values, method="exact").pvalue, abs=1e-15)


def test_a_hand_worked_tie() -> None:
    # |d| = 1, 1, 2: midranks 1.5, 1.5, 3; W+ = 1.5 + 3 = 4.5, cut to 4. Sums of 1..3: 0 1 2 3 3 4 5 6, so
    # P(W >= 4) = 3/8 and p = .75; W+ is not the centre, 3.
    assert tie_free_p([1.0, -1.0, 2.0]) == 0.75
    # W+ = 3, the centre
    assert tie_free_p([1.0, 2.0, -3.0]) == 1.0


# sums and rounding


def test_numpy_means_explain_a_delta_of_theirs(evidence: Evidence) -> None:
    name = "table2a/sonnet/sol/helpfulness"
    assert judged(evidence, name, "cliffs_delta").outcome == "reproduced"
    running = published_with(entry=name, cliffs_delta=0.83)
    found = judged(evidence, name, "cliffs_delta", running)
    assert (found.outcome, found.cause) == ("reproduced_with_cause", SUMMATION_ORDER)
    assert found.said == "with numpy.mean for the session means 0.83, with exact sums 0.84"


def test_numpy_means_explain_no_other_delta(evidence: Evidence) -> None:
    name = "table2a/sonnet/sol/helpfulness"
    wrong = published_with(entry=name, cliffs_delta=0.82)
    assert judged(evidence, name, "cliffs_delta", wrong).outcome == "different"


def test_a_difference_of_rounded_numbers_is_explained_by_rounding_and_no_other_is(evidence: Evidence) -> None:
    # 4.949 - 4.704 = .245, but 4.95 - 4.70 = .25
    cause = rounded_parts(lambda _: (4.949, 4.704), 2)
    because = cause(evidence, lambda number: abs(number - 0.25) < 1e-9)
    assert because is not None
    assert (because.name, because.said) == (ROUNDING, "the difference of the rounded 4.95 and 4.70")
    assert cause(evidence, lambda number: abs(number - 0.24) < 1e-9) is None
