"""A verdict beside the released result: compared, never changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.analyses import compare_with_released
from pytest_tutoreval.claims import bundled_claims, decide_claim
from pytest_tutoreval.errors import CorpusError, NotCertified
from pytest_tutoreval.records import Verdict
from tests.store.corpora import DEMO, decide, measures_of, reseal

Change = Callable[[dict[str, Any]], object]


def compared(folder: Path, claim: str, base: str, judge: str | None) -> tuple[Verdict, tuple[str, ...]]:
    claims, measures = bundled_claims(), measures_of(folder)
    verdict = decide_claim(claims[claim], claims, measures, base, judge)
    return verdict, compare_with_released(verdict, measures)


@pytest.fixture
def corpus(released: Path, tmp_path: Path) -> Path:
    return shutil.copytree(released, tmp_path / "corpus")


def change(corpus: Path, name: str, edit: Change) -> None:
    path = corpus / "reference" / name
    parsed = json.loads(path.read_text(encoding="utf-8"))
    edit(parsed)
    path.write_text(json.dumps(parsed), encoding="utf-8")
    reseal(corpus)


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("mean_diff_conv_minus_ped", 0.4, "DIFFERS from the released result: estimate 0.3653663969 against 0.4"),
        ("diff_ci95", [0.0, 0.516362067883807], "DIFFERS from the released result: interval 0.2169665012 against 0"),
        ("cliffs_delta_conv_vs_ped", -0.96, "DIFFERS from the released result: delta 0.96 against -0.96"),
        ("p_two_sided", 0.004, "released p 0.004 (scipy 1.17.1) is from a table that ignores ties"),
        ("mean_diff_conv_minus_ped", None, "DIFFERS from the released result: estimate 0.3653663969 against none"),
    ],
)
def test_a_number_that_differs_is_named_with_both_values(corpus: Path, name: str, value: object, note: str) -> None:
    before = compared(corpus, "P1", "sonnet", None)[0]
    change(corpus, "inference.sonnet.json", lambda file: file["j1"]["P1_leakage"].update({name: value}))
    after, notes = compared(corpus, "P1", "sonnet", None)
    assert len(notes) == 1
    assert notes[0].startswith(note)
    assert after == before, "a comparison can change no verdict"


def test_a_change_in_the_tenth_decimal_is_a_difference_and_in_the_twelfth_is_none(corpus: Path) -> None:
    def shift(by: float) -> Change:
        return lambda file: file["j1"]["P1_leakage"].update(mean_diff_conv_minus_ped=0.36536639688813605 + by)

    change(corpus, "inference.sonnet.json", shift(1e-12))
    assert compared(corpus, "P1", "sonnet", None)[1] == ("equal to the released result to 1e-9",)
    change(corpus, "inference.sonnet.json", shift(2e-9))
    assert "DIFFERS" in compared(corpus, "P1", "sonnet", None)[1][0]


def test_a_standard_error_of_neither_kind_shows_all_three(corpus: Path) -> None:
    def other(file: dict[str, Any]) -> None:
        file["j2"]["leak_to_helpfulness"]["mixed_effects"]["se"] = 0.1

    change(corpus, "inference.sonnet.json", other)
    notes = compared(corpus, "J2", "sonnet", "opus")[1]
    assert notes[0].endswith("its standard error 0.1000, here 0.0680 expected and 0.0682 observed")


def test_agreeing_standard_errors_are_said_to_agree(corpus: Path) -> None:
    leg = decide(corpus, "J2", "sonnet", "opus").components[0]

    def same(file: dict[str, Any]) -> None:
        file["j2"]["leak_to_helpfulness"]["mixed_effects"]["se"] = leg.se

    change(corpus, "inference.sonnet.json", same)
    assert compared(corpus, "J2", "sonnet", "opus")[1][0].endswith("standard errors agree (0.0680)")


def test_an_early_stop_is_measured_in_log_likelihood(released: Path) -> None:
    notes = compared(released, "J2", "gpt", "opus")[1]
    assert notes[0].startswith(
        "helpfulness: released -0.3134 is not the maximum -0.3119 (log-likelihood lower by 0.00048): "
        "its optimiser stopped early; "
    )


@pytest.mark.parametrize(("claim", "judge"), [("P1", None), ("P2", "opus"), ("J1", "opus"), ("J2", "opus")])
def test_without_a_released_file_nothing_is_said(claim: str, judge: str | None) -> None:
    claims, measures = bundled_claims(), measures_of(DEMO)
    verdict = decide_claim(claims[claim], claims, measures, "sonnet", judge)
    assert compare_with_released(verdict, measures) == ()


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda file: file.pop("j1"), id="no-contrasts"),
        pytest.param(lambda file: file["j1"].pop("P1_leakage"), id="no-such-contrast"),
    ],
)
def test_a_file_without_the_number_says_nothing(corpus: Path, edit: Change) -> None:
    change(corpus, "inference.sonnet.json", edit)
    assert compared(corpus, "P1", "sonnet", None)[1] == ()


@pytest.mark.parametrize(
    ("edit", "missing"),
    [
        pytest.param(lambda file: file["j1"]["P1_leakage"].pop("p_two_sided"), "p_two_sided", id="a-number"),
        pytest.param(lambda file: file["j1"].update(P1_leakage={}), "mean_diff_conv_minus_ped", id="all-numbers"),
    ],
)
def test_a_file_that_lost_a_field_is_named_with_it(corpus: Path, edit: Change, missing: str) -> None:
    change(corpus, "inference.sonnet.json", edit)
    with pytest.raises(
        CorpusError, match=rf"reference/inference\.sonnet\.json: no field '{missing}' .*restore the file"
    ):
        compared(corpus, "P1", "sonnet", None)


def test_a_leg_that_lost_its_fit_is_named(corpus: Path) -> None:
    change(corpus, "inference.sonnet.json", lambda file: file["j2"]["leak_to_helpfulness"].pop("mixed_effects"))
    with pytest.raises(CorpusError, match=r"reference/inference\.sonnet\.json: no field 'mixed_effects'"):
        compared(corpus, "J2", "sonnet", "opus")


def test_a_file_that_is_no_json_is_named(corpus: Path) -> None:
    (corpus / "reference" / "inference.sonnet.json").write_text("{")
    reseal(corpus)
    with pytest.raises(CorpusError, match=r"reference/inference\.sonnet\.json: not JSON"):
        compared(corpus, "P1", "sonnet", None)


def test_a_file_that_is_another_thing_says_nothing(corpus: Path) -> None:
    (corpus / "reference" / "inference.sonnet.json").write_text("[]")
    reseal(corpus)
    assert compared(corpus, "P1", "sonnet", None)[1] == ()


def test_a_shortfall_that_cannot_be_computed_is_said_to_be_unknown(
    released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotCertified("no point passed the optimality check")

    monkeypatch.setattr("pytest_tutoreval.inference.profile_log_likelihood", refuse)
    note = compared(released, "J2", "gpt", "opus")[1][0]
    assert "is not the maximum -0.3119 (log-likelihood lower by an unknown amount)" in note
