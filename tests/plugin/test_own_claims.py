"""A user's own claim file with a test beside it, and what is wrong with them, at collection."""

from pathlib import Path

import pytest
import tomli_w

from tests.plugin.runs import document, reasons, run, verdicts, write_test
from tests.store.corpora import a_corpus_of

X1 = {
    "id": "X1",
    "title": "Ped teaches better.",
    "form": "paired_contrast",
    "measure": "pedagogy",
    "direction": "ped > conv",
    "kind": "live_test",
    "judge_bound": True,
    "role": "sensitivity",
    "status": "registered here",
    "evidence_visible": "none",
}
X2 = {name: value for name, value in X1.items() if name not in ("measure", "direction")} | {
    "id": "X2",
    "form": "joint",
    "all_of": ["P1", "X1"],
    "kind": "joint",
}
TEST = """
@pytest.mark.claim("{claim}")
def test_own({arguments}):
    pass
"""


def write_claim(pytester: pytest.Pytester, fields: dict[str, object], *, name: str | None = None) -> None:
    folder = pytester.path / "claims"
    folder.mkdir(exist_ok=True)
    (folder / f"{name or fields['id']}.toml").write_text(tomli_w.dumps(fields), encoding="utf-8")


def write_own(pytester: pytest.Pytester, claim: str = "X1", arguments: str = "decided, base, judge") -> None:
    write_test(pytester, TEST.format(claim=claim, arguments=arguments))


def test_a_users_own_claim_is_decided_like_the_studys(pytester: pytest.Pytester, released: Path) -> None:
    write_claim(pytester, X1)
    write_claim(pytester, X2)
    write_test(
        pytester,
        """
@pytest.mark.claim("X1")
def test_x1(decided, base, judge):
    decided.registered_as(measure="pedagogy", direction="ped > conv", kind="live_test")

@pytest.mark.claim("X2")
def test_x2(decided, base, judge):
    decided.registered_as(all_of=["P1", "X1"], kind="joint")
""",
    )
    result = run(pytester, "--corpus", released, "--base", "sonnet,gemini", "--strict-markers")
    assert result.ret == 0
    found = verdicts(document(pytester))
    # Table 2a: -1.721 and -1.240 at p .002; gemini p .426 and 1.0
    assert found == {
        ("X1", "sonnet", "opus"): "supported",
        ("X1", "sonnet", "sol"): "supported",
        ("X1", "gemini", "opus"): "not_supported",
        ("X1", "gemini", "sol"): "not_supported",
        ("X2", "sonnet", "opus"): "supported",
        ("X2", "sonnet", "sol"): "supported",
        ("X2", "gemini", "opus"): "not_supported",
        ("X2", "gemini", "sol"): "not_supported",
    }
    result.stdout.fnmatch_lines(["X1    sonnet opus  supported           -1.721 *", "X2 *"])
    chosen = run(pytester, "--corpus", released, "--collect-only", "-q", "-m", "X2 and sensitivity and gpt")
    chosen.stdout.fnmatch_lines(["test_own.py::test_x2[[]gpt-opus]", "test_own.py::test_x2[[]gpt-sol]"])


@pytest.mark.parametrize(
    ("change", "name", "lines"),
    [
        pytest.param(
            {"measure": "pedagogie"},
            "X1",
            ["*X1.toml: measure = 'pedagogie' is not a known measure. Known: *Did you mean 'pedagogy'[?]"],
            id="unknown-measure",
        ),
        pytest.param(
            {"direction": "ped < conv"},
            "X1",
            ["*X1.toml: direction = 'ped < conv' is not a possible direction. Known: 'conv > ped', 'ped > conv'."],
            id="impossible-direction",
        ),
        pytest.param(
            {"measure": "leakege", "direction": "up"},
            "X1",
            ["*X1.toml: measure = 'leakege' is not*Did you mean 'leakage'[?]", "*X1.toml: direction = 'up' is not *"],
            id="two-problems-at-once",
        ),
        pytest.param({"id": "X9"}, "X1", ["*X1.toml: id = 'X9', the file is named 'X1'; give both one name"]),
        pytest.param({"id": "P1"}, "P1", ["*claims: P1.toml: this id is registered already; choose another"]),
        pytest.param({"judge_bound": False}, "X1", ["*X1.toml: judge_bound = false, but pedagogy rests on a judge's*"]),
    ],
)
def test_a_wrong_claim_file_is_said_at_collection(
    pytester: pytest.Pytester, released: Path, change: dict[str, object], name: str, lines: list[str]
) -> None:
    write_claim(pytester, X1 | change, name=name)
    write_own(pytester)
    result = run(pytester, "--corpus", released)
    assert result.ret == 2
    result.stdout.fnmatch_lines(lines)
    result.stdout.fnmatch_lines(["*1 error*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    assert not (pytester.path / "reports").exists()


def test_a_joint_claim_with_an_unknown_member_is_said_at_collection(pytester: pytest.Pytester, released: Path) -> None:
    write_claim(pytester, X2)
    write_own(pytester, "X2")
    result = run(pytester, "--corpus", released)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*X2.toml: all_of = 'X1' is not a known claim. Known: *"])


@pytest.mark.parametrize(
    ("claim", "arguments", "message"),
    [
        (
            "X1",
            "decided, base",
            "test_own: claim X1 is judge-bound, so its test takes exactly base, decided, judge of*",
        ),
        ("X1", "base, judge", "test_own: claim X1 is judge-bound, so its test takes exactly base, decided, judge of*"),
        ("P1", "decided, base, judge", "test_own: claim P1 is judge-free, so its test takes exactly base, decided of*"),
        ("P1", "decided", "test_own: claim P1 is judge-free, so its test takes exactly base, decided of*"),
        ("X7", "decided, base", "*X7.toml: no such claim file, and no registered claim 'X7'. Known: P1, *X1."),
    ],
)
def test_a_signature_that_contradicts_the_claim_is_said_at_collection(
    pytester: pytest.Pytester, released: Path, claim: str, arguments: str, message: str
) -> None:
    write_claim(pytester, X1)
    write_own(pytester, claim, arguments)
    result = run(pytester, "--corpus", released)
    assert result.ret == 2
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize("marker", ["claim", "claim()", "claim(1)", "claim('P1', 'P2')"])
def test_a_claim_marker_takes_one_id(pytester: pytest.Pytester, released: Path, marker: str) -> None:
    write_test(pytester, f"@pytest.mark.{marker}\ndef test_own(decided, base): pass\n")
    result = run(pytester, "--corpus", released)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["test_own: the claim marker takes one claim id, as in claim('P1')"])


def test_a_registration_that_differs_names_both_values(pytester: pytest.Pytester, released: Path) -> None:
    write_claim(pytester, X1)
    write_test(
        pytester,
        """
@pytest.mark.claim("X1")
def test_own(decided, base, judge):
    decided.registered_as(measure="helpfulness", direction="ped > conv", kind="live_test")
""",
    )
    result = run(pytester, "--corpus", released, "--base", "gpt", "--judge", "sol")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*X1: measure is 'helpfulness' in the test, 'pedagogy' in the claim file*"])
    assert document(pytester)["claims"] == []


# arms of the user's own

NEAR, FAR = [0.30 + i / 100 for i in range(10)], [0.80 + i / 50 for i in range(10)]
LEAKY = {
    ("mine", "live"): NEAR,
    ("mine", "rc"): [value - 0.05 for value in NEAR],
    ("mine", "rc2"): FAR,
    ("rival", "live"): FAR,
    ("rival", "rc"): FAR,
    ("rival", "rc2"): NEAR,
}
JUDGE_FREE = {name: value for name, value in X1.items() if name not in ("measure", "direction", "judge_bound")} | {
    "judge_bound": False,
    "measure": "leakage",
}
ARMS: dict[str, dict[str, object]] = {
    # within a base: rc leaks less than live; on the rival's the two are equal
    "A1": {"arms": ["rc", "live"], "direction": "live > rc"},
    # not worse than live by .10 or more
    "A2": {"arms": ["rc", "live"], "direction": "live > rc", "margin": 0.1, "non_inferiority": True},
    # one policy against the rival's, wherever it is not the rival's own
    "A3": {"arms": ["live", "rival:live"], "direction": "rival:live > live"},
    # both arms named: decided once
    "A4": {"arms": ["rival:rc2", "mine:rc2"], "direction": "mine:rc2 > rival:rc2", "margin": 0.4},
    "A5": {
        "form": "many_to_one",
        "candidates": ["rc", "rc2"],
        "reference": "live",
        "direction": "reference > candidates",
        "multiplicity": "holm",
        "supported_when": "any",
        "replicates": 8,
    },
}
DECIDED = {
    ("A1", "mine", None): "supported",
    ("A1", "rival", None): "not_supported",
    ("A2", "mine", None): "supported",
    ("A2", "rival", None): "supported",
    ("A3", "mine", None): "supported",
    ("A4", "rival", None): "supported",
    ("A5", "mine", None): "supported",
    ("A5", "rival", None): "supported",
}


def write_arms(pytester: pytest.Pytester, *claims: str) -> None:
    tests = []
    for claim in claims or ARMS:
        write_claim(pytester, JUDGE_FREE | {"id": claim} | ARMS[claim])
        stated = {name: value for name, value in ARMS[claim].items() if name != "form"}
        tests.append(
            f"""
@pytest.mark.claim("{claim}")
def test_{claim.lower()}(decided, base):
    decided.registered_as(kind="live_test", measure="leakage", **{stated!r})
"""
        )
    write_test(pytester, "\n".join(tests))


@pytest.mark.parametrize("workers", ["0", "2"])
def test_policies_are_compared_as_the_claim_files_say(pytester: pytest.Pytester, tmp_path: Path, workers: str) -> None:
    write_arms(pytester)
    folder = a_corpus_of(tmp_path / "c", LEAKY)
    result = run(pytester, "--corpus", folder, "-n", workers, "--strict-markers", fresh=True)
    assert result.ret == 0
    written = document(pytester)
    assert verdicts(written) == DECIDED
    assert (written["run"]["deselected"], written["run"]["partial"], written["run"]["complete"]) == (0, False, True)
    rows = {(row["claim"], row["base"]): row for row in written["claims"]}
    assert rows["A4", "rival"]["margin"] == 0.4
    assert rows["A1", "mine"]["margin"] is None
    assert rows["A1", "mine"]["estimate"] == pytest.approx(-0.05)
    # of 8 pairs each p is 2/256; Holm doubles the smaller of two equal ones and carries it on
    assert [part["p_adjusted"] for part in rows["A5", "mine"]["components"]] == [4 / 256] * 2
    assert [part["holds"] for part in rows["A5", "mine"]["components"]] == [True, False]
    assert (rows["A5", "mine"]["n"], rows["A5", "mine"]["reversed"]) == (8, True)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_claim_about_no_selected_base_is_not_there(pytester: pytest.Pytester, tmp_path: Path, workers: str) -> None:
    write_arms(pytester)
    folder = a_corpus_of(tmp_path / "c", LEAKY)
    result = run(pytester, "--corpus", folder, "--base", "mine", "-n", workers, fresh=True)
    assert result.ret == 0
    written = document(pytester)
    assert verdicts(written) == {key: word for key, word in DECIDED.items() if key[1] == "mine"}
    assert (written["run"]["deselected"], written["run"]["partial"], written["run"]["complete"]) == (0, False, True)
    only = run(pytester, "--corpus", folder, "--base", "mine", "-n", workers, "-k", "a4", fresh=True)
    assert only.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_item_ids_name_the_base_a_claim_is_decided_for(pytester: pytest.Pytester, tmp_path: Path) -> None:
    write_arms(pytester, "A3", "A4")
    folder = a_corpus_of(tmp_path / "c", LEAKY)
    for chosen in ([], ["--base", "all"]):
        listed = run(pytester, "--corpus", folder, "--collect-only", "-q", *chosen)
        assert [line for line in listed.outlines if "::" in line] == [
            "test_own.py::test_a3[mine]",
            "test_own.py::test_a4[rival]",
        ]


def test_a_base_the_corpus_does_not_hold_is_a_reason_and_never_no_item(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    write_arms(pytester, "A3", "A4")
    folder = a_corpus_of(tmp_path / "c", {key: value for key, value in LEAKY.items() if key[0] == "mine"})
    result = run(pytester, "--corpus", folder)
    assert result.ret == 1
    written = document(pytester)
    assert written["claims"] == []
    assert reasons(written) == {
        ("A3", "mine", None): "no sessions in cell rival/live",
        ("A4", "rival", None): "no sessions in cell rival/rc2",
    }


def test_a_judged_claim_across_bases_is_decided_once_a_judge(pytester: pytest.Pytester, released: Path) -> None:
    stated = {"arms": ["sonnet:ped", "gpt:ped"], "direction": "sonnet:ped > gpt:ped"}
    write_claim(pytester, X1 | stated)
    write_own(pytester)
    result = run(pytester, "--corpus", released)
    assert result.ret == 0
    assert set(verdicts(document(pytester))) == {("X1", "sonnet", "opus"), ("X1", "sonnet", "sol")}
