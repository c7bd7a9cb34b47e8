"""Claim files: found, read, and every problem named at once."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from pytest_tutoreval.claims import bundled_claims, find_claim, read_claim, read_claims
from pytest_tutoreval.errors import ClaimFileError
from pytest_tutoreval.resources import data_folder

COMMON = {
    "title": "A claim of one's own.",
    "kind": "live_test",
    "role": "confirmatory",
    "status": "registered here",
    "evidence_visible": "none",
}
PAIRED = COMMON | {
    "id": "X1",
    "form": "paired_contrast",
    "measure": "pedagogy",
    "direction": "ped > conv",
    "judge_bound": True,
}
COUPLING = COMMON | {
    "id": "X2",
    "form": "leakage_coupling",
    "legs": [{"outcome": "next_turn_independence", "sign": "negative"}],
    "judge_bound": False,
}
KNOWN = "Known: helpfulness, independence, leakage, next_turn_independence, pedagogy."
JOINT = COMMON | {"id": "X3", "form": "joint", "all_of": ["P1", "X1"], "judge_bound": True}


MANY = COMMON | {
    "id": "X4",
    "form": "many_to_one",
    "measure": "leakage",
    "candidates": ["rc1", "rc2"],
    "reference": "live",
    "direction": "reference > candidates",
    "multiplicity": "holm",
    "supported_when": "all",
    "margin": 0.1,
    "non_inferiority": True,
    "replicates": 20,
    "judge_bound": False,
}


def write(folder: Path, *claims: dict[str, object], name: str | None = None) -> Path:
    own = folder / "claims"
    own.mkdir(exist_ok=True)
    for claim in claims:
        (own / f"{name or claim['id']}.toml").write_text(tomli_w.dumps(claim), encoding="utf-8")
    return own


def problems(folder: Path, claim: dict[str, object], name: str | None = None) -> list[str]:
    own = write(folder, claim, name=name)
    with pytest.raises(ClaimFileError) as refused:
        read_claim(own / f"{name or claim['id']}.toml")
    assert all(line.startswith(str(own)) for line in str(refused.value).splitlines())
    return refused.value.problems


def test_the_registered_claims_are_in_report_order() -> None:
    assert list(bundled_claims()) == ["P1", "P2", "P3", "J1", "J2"]
    assert read_claims(data_folder("instrument") / "claims") == bundled_claims()


def test_a_users_claims_follow_by_name(tmp_path: Path) -> None:
    write(tmp_path, COUPLING, PAIRED, JOINT)
    _, known = find_claim("X3", beside=tmp_path)
    assert list(known) == ["P1", "P2", "P3", "J1", "J2", "X1", "X2", "X3"]


@pytest.mark.parametrize("claim", [PAIRED, COUPLING, JOINT, MANY], ids=lambda claim: str(claim["form"]))
def test_each_form_can_be_a_users_own(tmp_path: Path, claim: dict[str, object]) -> None:
    write(tmp_path, PAIRED, claim)
    found, _ = find_claim(str(claim["id"]), beside=tmp_path)
    assert (found.id, found.form) == (claim["id"], claim["form"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            {"measure": "pedagogie"},
            [f"measure = 'pedagogie' is not a known measure. {KNOWN} "
             "Did you mean 'pedagogy'?"],
            id="unknown-measure",
        ),
        pytest.param(
            {"measure": "zzz"},
            [f"measure = 'zzz' is not a known measure. {KNOWN}"],
            id="unknown-measure-near-nothing",
        ),
        pytest.param(
            {"direction": "ped >= conv"},
            ["direction = 'ped >= conv' is not a possible direction. Known: 'conv > ped', 'ped > conv'."],
            id="impossible-direction",
        ),
        pytest.param(
            {"measure": "leakege", "direction": "up", "judge_bound": False},
            [
                f"measure = 'leakege' is not a known measure. {KNOWN} "
                "Did you mean 'leakage'?",
                "direction = 'up' is not a possible direction. Known: 'conv > ped', 'ped > conv'.",
            ],
            id="two-problems-at-once",
        ),
        pytest.param(
            {"judge_bound": False},
            ["judge_bound = false, but pedagogy rests on a judge's ratings"],
            id="judge-free-on-a-judged-measure",
        ),
        pytest.param(
            {"measure": "leakage"},
            ["judge_bound = true, but leakage rests on no judge"],
            id="judge-bound-on-a-judge-free-measure",
        ),
        pytest.param({"id": "X7"}, ["id = 'X7', the file is named 'X1'; give both one name"], id="not-the-stem"),
        pytest.param(
            {"id": "X7", "direction": "up", "measure": "leakege"},
            [
                f"measure = 'leakege' is not a known measure. {KNOWN} "
                "Did you mean 'leakage'?",
                "id = 'X7', the file is named 'X1'; give both one name",
                "direction = 'up' is not a possible direction. Known: 'conv > ped', 'ped > conv'.",
            ],
            id="three-problems-at-once",
        ),
        pytest.param(
            {"surprise": 1}, ["surprise: Extra inputs are not permitted (found 1)"], id="unknown-field"
        ),
        pytest.param(
            {"kind": "hope"},
            ["kind: Input should be 'manipulation_check', 'live_test', 'joint' or 'headline' (found 'hope')"],
            id="unknown-kind",
        ),
        pytest.param(
            {"measure": ["leakage"]},
            [
                "measure = ['leakage'] is not a known measure. "
                f"{KNOWN} Did you mean 'leakage'?",
                "measure: Input should be a valid string (found ['leakage'])",
            ],
            id="a-list-for-a-name",
        ),
        pytest.param({"legs": 3}, ["legs: Extra inputs are not permitted (found 3)"], id="legs-that-are-none"),
    ],
)  # fmt: skip
def test_everything_wrong_with_a_file_is_named_at_once(
    tmp_path: Path, change: dict[str, object], expected: list[str]
) -> None:
    assert problems(tmp_path, PAIRED | change, name="X1") == expected


@pytest.mark.parametrize(
    ("claim", "change", "expected"),
    [
        pytest.param(
            PAIRED,
            {"arms": ["rc", "live"]},
            ["direction = 'ped > conv' is not a possible direction. Known: 'rc > live', 'live > rc'."],
            id="direction-of-other-arms",
        ),
        pytest.param(
            PAIRED,
            {"arms": ["rc", "live:"], "direction": "rc > live"},
            ["arms.1 = 'live:' is no arm; expected a condition, or base:condition"],
            id="no-arm",
        ),
        pytest.param(
            PAIRED,
            {"arms": ["rc", "rc"], "direction": "rc > rc"},
            ["arms = ['rc', 'rc'] names no contrast; expected two different arms"],
            id="one-arm-twice",
        ),
        pytest.param(
            PAIRED,
            {"arms": ["rc", "rc2", "live"], "direction": "rc > live"},
            ["arms = ['rc', 'rc2', 'live'] names no contrast; expected two different arms"],
            id="three-arms",
        ),
        pytest.param(
            PAIRED,
            {"margin": -0.1, "replicates": 0, "margins": 0.1},
            [
                "margin: Input should be greater than or equal to 0 (found -0.1)",
                "replicates: Input should be greater than or equal to 1 (found 0)",
                "margins: Extra inputs are not permitted (found 0.1). Did you mean 'margin'?",
            ],
            id="impossible-numbers-and-a-typing-error",
        ),
        pytest.param(
            PAIRED, {"margin": float("nan")}, ["margin: Input should be a finite number (found nan)"], id="nan-margin"
        ),
        pytest.param(
            PAIRED,
            {"non_inferiority": True},
            ["non_inferiority = True needs a margin above 0: how much less than the other an arm may have"],
            id="non-inferior-by-nothing-said",
        ),
        pytest.param(
            PAIRED,
            {"non_inferiority": True, "margin": 0},
            ["non_inferiority = True needs a margin above 0: how much less than the other an arm may have"],
            id="non-inferior-by-nothing",
        ),
        pytest.param(
            MANY,
            {"candidates": ["rc1"], "direction": "rc1 > live", "multiplicity": "holms", "supported_when": "most"},
            [
                "candidates = ['rc1'] names no family; expected two or more different candidates (one is a "
                "paired_contrast)",
                "direction = 'rc1 > live' is not a possible direction. Known: 'candidates > reference', "
                "'reference > candidates'.",
                "multiplicity: Input should be 'holm', 'bonferroni' or 'none' (found 'holms')",
                "supported_when: Input should be 'all' or 'any' (found 'most')",
            ],
            id="everything-about-a-family",
        ),
        pytest.param(
            MANY,
            {"candidates": ["rc1", "live"], "measure": "leakege"},
            [f"measure = 'leakege' is not a known measure. {KNOWN} Did you mean 'leakage'?",
             "reference = 'live' is a candidate too; expected an arm that is none"],
            id="the-reference-among-its-candidates",
        ),
        pytest.param(
            MANY,
            {"measure": "pedagogy"},
            ["judge_bound = false, but pedagogy rests on a judge's ratings"],
            id="a-judged-family",
        ),
        pytest.param(
            COUPLING,
            {"arms": ["rc", "theirs:live"]},
            ["arms.1: String should match pattern '^[A-Za-z0-9][A-Za-z0-9_.-]*$' (found 'theirs:live')"],
            id="a-coupling-across-bases",
        ),
    ],
)  # fmt: skip
def test_everything_wrong_with_arms_and_margins_is_named_at_once(
    tmp_path: Path, claim: dict[str, object], change: dict[str, object], expected: list[str]
) -> None:
    assert problems(tmp_path, claim | change) == expected


@pytest.mark.parametrize("field", ["multiplicity", "supported_when", "reference", "candidates"])
def test_a_family_declares_its_rule(tmp_path: Path, field: str) -> None:
    claim = {name: value for name, value in MANY.items() if name != field}
    assert problems(tmp_path, claim) == [f"{field}: missing; every claim of this form states it"]


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    claim = {name: value for name, value in PAIRED.items() if name not in ("status", "direction")}
    missing = "missing; every claim of this form states it"
    assert problems(tmp_path, claim) == [f"status: {missing}", f"direction: {missing}"]


def test_an_unknown_form_lists_the_known(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, PAIRED | {"form": "guess"})
    assert "'paired_contrast'" in problem
    assert "'leakage_coupling'" in problem


def test_an_unknown_outcome_of_a_leg_is_named(tmp_path: Path) -> None:
    found = problems(tmp_path, COUPLING | {"legs": [{"outcome": "helpfulnes", "sign": "up"}]})
    assert found == [
        "outcome = 'helpfulnes' is not a known turn-level outcome. "
        "Known: helpfulness, next_turn_independence, pedagogy. Did you mean 'helpfulness'?",
        "legs.0.sign: Input should be 'positive' or 'negative' (found 'up')",
    ]


@pytest.mark.parametrize("text", [b"id = ", b"id = '\xff'"], ids=["not-toml", "not-utf-8"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "X1.toml").write_bytes(text)
    with pytest.raises(ClaimFileError, match=r"X1\.toml: cannot be read as TOML"):
        read_claim(tmp_path / "X1.toml")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda folder: write(folder, PAIRED | {"id": "P1"}),
            "claims: P1.toml: this id is registered already; choose another",
            id="a-registered-id",
        ),
        pytest.param(
            lambda folder: write(folder, JOINT | {"all_of": ["P1", "P33"]}),
            r"X3\.toml: all_of = 'P33' is not a known claim\. Known: J1, J2, P1, P2, P3, X3\. Did you mean 'P3'",
            id="unknown-member",
        ),
        pytest.param(
            lambda folder: write(folder, PAIRED, JOINT | {"judge_bound": False}),
            "X3.toml: judge_bound = false, its members say true",
            id="members-are-judged",
        ),
        pytest.param(
            lambda folder: write(folder, JOINT | {"all_of": ["P1", "P3"]}),
            "X3.toml: judge_bound = true, its members say false",
            id="members-are-judge-free",
        ),
        pytest.param(
            lambda folder: write(folder, JOINT | {"all_of": ["P2", "J1"]}),
            "X3.toml: all_of: a joint claim cannot have a joint claim as member",
            id="joint-in-joint",
        ),
        pytest.param(
            lambda folder: write(folder, PAIRED),
            r"X3\.toml: no such claim file, and no registered claim 'X3'\. Known: P1, P2, P3, J1, J2, X1\.",
            id="no-such-claim",
        ),
    ],
)
def test_a_claim_that_cannot_be_found_or_joined_says_why(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(tmp_path)
    with pytest.raises(ClaimFileError, match=message):
        find_claim("X3", beside=tmp_path)


def test_two_clashes_are_named_at_once(tmp_path: Path) -> None:
    write(tmp_path, PAIRED | {"id": "P1"}, PAIRED | {"id": "P2"})
    with pytest.raises(ClaimFileError) as refused:
        find_claim("P1", beside=tmp_path)
    assert len(refused.value.problems) == 2
