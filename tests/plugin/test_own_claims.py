"""A user's own claim file with a test beside it, and what is wrong with them, at collection."""

from pathlib import Path

import pytest
import tomli_w

from tests.plugin.runs import document, run, verdicts, write_test

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
