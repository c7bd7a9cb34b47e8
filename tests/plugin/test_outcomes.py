"""What each end of a claim's test looks like, and that every report counts the same."""

from pathlib import Path

import pytest

from tests.plugin.runs import document, junit, make_suite, reasons, run, verdicts, write_test
from tests.store.corpora import a_table_corpus

P1 = """
@pytest.mark.claim("P1")
def test_p1(decided, base{more}):
    {body}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """One base whose leakage differs; nothing else is defined, so P1 alone can be decided."""
    return a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)


def test_verdicts_have_letters_words_and_counts_of_their_own(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    chosen = ("--corpus", released, "--base", "sonnet", "--judge", "opus", "-k", "p1 or p2 or p3")
    short, long = run(pytester, *chosen), run(pytester, *chosen, "-v")
    assert (short.ret, long.ret) == (0, 0)
    short.stdout.fnmatch_lines(["test_claims.py SNI *"])
    short.stdout.re_match_lines([r"=+ 2 deselected, 1 supported, 1 not supported, 1 inconclusive in .*s =+"])
    long.stdout.fnmatch_lines(
        ["*::test_p1[[]sonnet] SUPPORTED *", "*::test_p2[[]sonnet-opus] NOT SUPPORTED *", "*test_p3* INCONCLUSIVE *"]
    )


def test_the_claims_section_is_there_at_any_verbosity(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    for flag in ("-q", "-qq", "--tb=no", "--no-header"):
        run(pytester, "--corpus", corpus, "-m", "P1", flag).stdout.fnmatch_lines(
            [
                "* claims *",
                "SIMULATED DATA, scripted agents took part: corpus made-up *",
                "P1    sonnet -     supported *",
            ]
        )


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
def test_errors_are_errors_everywhere_with_equal_counts(
    pytester: pytest.Pytester, corpus: Path, workers: list[str]
) -> None:
    make_suite(pytester)
    result = run(pytester, "--corpus", corpus, "--junitxml", "j.xml", *workers, fresh=bool(workers))
    assert result.ret == 1
    cases = junit(pytester.path / "j.xml")
    written = document(pytester)
    outcomes = [outcome for outcome, _ in cases.values()]
    assert (outcomes.count("passed"), outcomes.count("error"), len(outcomes)) == (1, 4, 5)
    assert (written["run"]["evaluated"], written["run"]["not_evaluable"]) == (1, 4)
    result.stdout.re_match_lines(
        [r"1 claims decided, 4 not evaluable", r"=+ (1 supported, 4 errors|4 errors, 1 supp).*"]
    )
    assert cases["test_p1[sonnet]"] == ("passed", "supported")
    assert cases["test_p3[sonnet]"] == ("error", None)
    assert reasons(written)["P3", "sonnet", None].startswith("independence is defined in 0 of 10 pairs")
    result.stdout.fnmatch_lines(["not evaluable", "  P3 sonnet: independence is defined in 0 of 10 pairs*"])


@pytest.mark.parametrize(
    ("more", "body", "outcome", "reason"),
    [
        pytest.param(
            "", 'raise RuntimeError("later")', "failure", "the test failed at call: RuntimeError: later", id="raises"
        ),
        pytest.param("", "assert base == 'gpt'", "failure", "the test failed at call: *", id="asserts"),
        pytest.param(
            "",
            'decided.registered_as(measure="leakage", direction="ped > conv", kind="manipulation_check")',
            "failure",
            "the test failed at call: *direction is 'ped > conv' in the test, 'conv > ped' in the claim file*",
            id="states-another-registration",
        ),
        pytest.param(
            "", 'pytest.skip("not today")', "skipped", "the test was skipped, and a skip decides nothing: *not today*"
        ),
        pytest.param("", 'pytest.xfail("known")', "skipped", "the test was skipped, and a skip decides nothing: *"),
        pytest.param(
            ", broken",
            "pass",
            "error",
            "the test failed at setup: ValueError: no such thing",
            id="another-fixture-breaks",
        ),
    ],
)
def test_a_claim_whose_test_does_not_pass_is_not_evaluated(
    pytester: pytest.Pytester, corpus: Path, more: str, body: str, outcome: str, reason: str
) -> None:
    fixture = '\n@pytest.fixture\ndef broken(decided):\n    raise ValueError("no such thing")\n'
    write_test(pytester, P1.format(more=more, body=body) + fixture)
    result = run(pytester, "--corpus", corpus, "--junitxml", "j.xml")
    assert result.ret == 1, "nothing was evaluated"
    written = document(pytester)
    assert (written["claims"], written["run"]["evaluated"], written["run"]["not_evaluable"]) == ([], 0, 1)
    assert junit(pytester.path / "j.xml")["test_p1[sonnet]"] == (outcome, None), "no verdict in JUnit either"
    pytest.LineMatcher([" ".join(reasons(written)["P1", "sonnet", None].split())]).fnmatch_lines([reason])
    result.stdout.fnmatch_lines(["0 claims decided, 1 not evaluable"])


def test_a_skip_mark_is_never_silent(pytester: pytest.Pytester, corpus: Path) -> None:
    write_test(pytester, '\n@pytest.mark.skip(reason="later")' + P1.format(more="", body="pass"))
    result = run(pytester, "--corpus", corpus)
    assert result.ret == 1
    assert "later" in reasons(document(pytester))["P1", "sonnet", None]


def test_a_skipped_claim_beside_a_decided_one_shows(pytester: pytest.Pytester, corpus: Path) -> None:
    write_test(
        pytester,
        P1.format(more="", body="pass") + '\n@pytest.mark.claim("P3")\ndef test_p3(base, decided): pytest.skip("no")\n',
    )
    run(pytester, "--corpus", corpus)
    written = document(pytester)
    assert (written["run"]["evaluated"], written["run"]["not_evaluable"]) == (1, 1)


def test_a_teardown_that_fails_leaves_no_verdict(pytester: pytest.Pytester, corpus: Path) -> None:
    fixture = '\n@pytest.fixture\ndef broken():\n    yield\n    raise ValueError("afterwards")\n'
    write_test(pytester, P1.format(more=", broken", body="pass") + fixture)
    result = run(pytester, "--corpus", corpus)
    assert result.ret == 1
    written = document(pytester)
    assert written["claims"] == []
    assert reasons(written)["P1", "sonnet", None].startswith("the test failed at teardown: ")


def test_decided_is_only_for_claims(pytester: pytest.Pytester, corpus: Path) -> None:
    write_test(pytester, "def test_mine(decided):\n    pass\n")
    result = run(pytester, "--corpus", corpus)
    assert result.ret != 0
    assert "the decided fixture needs a claim marker on its test" in result.stdout.str() + result.stderr.str()


def test_ordinary_tests_beside_claims_stay_ordinary(pytester: pytest.Pytester, corpus: Path) -> None:
    write_test(pytester, P1.format(more="", body="pass") + "\ndef test_fine(): pass\ndef test_bad(): assert 0\n")
    result = run(pytester, "--corpus", corpus)
    assert result.ret == 1
    result.stdout.re_match_lines([r"=+ 1 failed, 1 passed, 1 supported in .*"])
    written = document(pytester)
    assert verdicts(written) == {("P1", "sonnet", None): "supported"}
    assert (written["run"]["selected"], written["run"]["complete"]) == (3, True)


def test_a_run_without_claims_writes_and_says_nothing(pytester: pytest.Pytester) -> None:
    write_test(pytester, "def test_fine(): pass\n")
    result = run(pytester)
    assert result.ret == 0
    assert not (pytester.path / "reports").exists()
    result.stdout.no_fnmatch_line("* claims *")


def test_an_unjudged_corpus_gives_errors_with_their_reason_never_missing_items(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    from pytest_tutoreval.store import open_corpus
    from tests.store.corpora import stamp

    corpus = a_table_corpus(tmp_path / "c", [0.5 + i / 64 for i in range(10)], [0.25] * 10)
    stamp(corpus, open_corpus(corpus).manifest, judges=[])
    make_suite(pytester)
    result = run(pytester, "--corpus", corpus)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR test_claims.py::test_p2[[]sonnet-unjudged]*"])
    written = document(pytester)
    assert "the corpus holds no ratings; run a judge over it first" in reasons(written)["P2", "sonnet", None]
    assert (written["run"]["evaluated"], written["run"]["not_evaluable"]) == (1, 4)


def test_one_claim_may_be_asked_by_two_tests(pytester: pytest.Pytester, corpus: Path) -> None:
    make_suite(pytester)
    write_test(pytester, P1.format(more="", body="assert decided.verdict.n == 10"))
    result = run(pytester, "--corpus", corpus, "-m", "P1")
    assert result.ret == 0
    assert document(pytester)["run"]["evaluated"] == 2
