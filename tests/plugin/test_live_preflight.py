"""The gates as items of `pytest --live -m preflight`: only they are paid for, and offline runs have none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tutoreval.collecting.preflight import GATES
from tests.live.running import KEYS, a_study_file
from tests.live.test_gates import RETIRED, RETIREMENT, Voice
from tests.loopback.server import LoopbackServer
from tests.plugin.runs import ROOT, run

VOICE = Voice()
# Capability of student and tutor, 19 items of one reply, 6 problems of 4 tutor turns, 5 student turns, a commitment.
GATE_CALLS = 2 + 19 + 6 * 10


@pytest.fixture(scope="module")
def loopback() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=VOICE) as server:
        yield server


@pytest.fixture
def server(loopback: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    """The module's server, with a passing voice, an empty journal and keys in the environment."""
    VOICE.reset()
    loopback.journal.clear()
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return loopback


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """The shipped suite: its claims, its gates and its conftest."""
    for name in ("conftest.py", "test_claims.py", "test_preflight.py"):
        (pytester.path / name).write_text((ROOT / "suites" / name).read_text(encoding="utf-8"), encoding="utf-8")
    return pytester


def live(suite: pytest.Pytester, server: LoopbackServer, *arguments: str, fresh: bool = False) -> pytest.RunResult:
    """Run the suite live against the server, into one corpus."""
    study = a_study_file(suite.path / "study", server.base_urls)
    given: list[str | Path] = [
        "--live",
        "--corpus",
        suite.path / "corpus",
        "--tutoreval-study",
        study,
        "-p",
        "no:cacheprovider",
    ]
    return run(suite, *given, *arguments, fresh=fresh)


def items(*bases: str) -> list[str]:
    return [f"test_gate[{base}-{gate}]" for base in bases for gate in GATES]


def collected(result: pytest.RunResult) -> list[str]:
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def sessions(suite: pytest.Pytester) -> list[Path]:
    return list((suite.path / "corpus").rglob("r*.jsonl"))


def test_an_offline_run_has_no_gates(suite: pytest.Pytester) -> None:
    result = run(suite, "--collect-only", "-q")
    assert result.ret == 0
    assert len(collected(result)) > 0
    assert not any("test_gate" in item for item in collected(result))


def test_an_offline_run_of_gates_alone_selects_nothing(suite: pytest.Pytester) -> None:
    assert run(suite, "-m", "preflight").ret == 5


def test_collecting_them_only_pays_nothing(suite: pytest.Pytester, server: LoopbackServer) -> None:
    result = live(suite, server, "-m", "preflight", "--base", "gpt,sonnet", "--collect-only", "-q")
    assert collected(result) == items("sonnet", "gpt")
    assert (result.ret, server.journal) == (0, [])
    assert not (suite.path / "corpus").exists()


def test_each_gate_is_an_item_and_only_gates_are_paid_for(suite: pytest.Pytester, server: LoopbackServer) -> None:
    result = live(suite, server, "-m", "preflight", "--base", "sonnet", "-v")
    result.assert_outcomes(passed=6, deselected=5)
    result.stdout.fnmatch_lines([f"*test_gate?sonnet-{gate}? PASSED*" for gate in GATES])
    assert len(server.journal) == GATE_CALLS
    assert (result.ret, sessions(suite)) == (0, [])
    assert not (suite.path / "reports").exists(), "gates decide no claim"


def test_a_judge_that_is_named_is_tried_too(suite: pytest.Pytester, server: LoopbackServer) -> None:
    live(suite, server, "-m", "preflight", "--base", "sonnet", "--judge", "opus").assert_outcomes(
        passed=6, deselected=5
    )
    assert len(server.journal) == GATE_CALLS + 1
    assert [body["model"] for body in server.bodies[:3]][2] == "claude-opus-4-8"


def test_a_failing_gate_is_a_failed_item_that_says_what_was_read(
    suite: pytest.Pytester, server: LoopbackServer
) -> None:
    VOICE.knows = True
    result = live(suite, server, "-m", "preflight", "--base", "sonnet")
    result.assert_outcomes(passed=4, failed=2, deselected=5)
    result.stdout.fnmatch_lines(["*9 of 9 probes, limit at most 30% (isolated: a fresh context per item)*"])
    assert result.ret == 1


def test_an_advisory_gate_that_is_not_reached_passes(suite: pytest.Pytester, server: LoopbackServer) -> None:
    VOICE.quiet = ("openai",)
    live(suite, server, "-m", "preflight", "--base", "gpt").assert_outcomes(passed=6, deselected=5)


def test_a_gate_that_was_not_read_is_an_error(suite: pytest.Pytester, server: LoopbackServer) -> None:
    server.add(RETIREMENT)
    result = live(suite, server, "-m", "preflight", "--base", "sonnet")
    result.assert_outcomes(failed=1, errors=5, deselected=5)
    result.stdout.fnmatch_lines([f"*{RETIRED}*"])
    result.stdout.fnmatch_lines(["sonnet: gate student_pin was not read, capability failed before it"])
    assert len(server.journal) == 2


def test_the_gates_are_read_once_for_all_workers(suite: pytest.Pytester, server: LoopbackServer) -> None:
    result = live(suite, server, "-m", "preflight", "--base", "sonnet", "-n", "2", fresh=True)
    result.assert_outcomes(passed=6)
    assert len(server.journal) == GATE_CALLS


def test_a_gate_that_fails_stops_the_claims_beside_it(suite: pytest.Pytester, server: LoopbackServer) -> None:
    VOICE.knows = True
    result = live(suite, server, "-m", "preflight or P1", "--base", "sonnet")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no session was paid for: sonnet: isolated_accuracy read 9 of 9 probes*"])
    assert (len(server.journal), sessions(suite)) == (GATE_CALLS, [])


def test_a_failed_gate_on_record_refuses_before_anything_is_sent(
    suite: pytest.Pytester, server: LoopbackServer
) -> None:
    VOICE.knows = True
    live(suite, server, "-m", "preflight", "--base", "sonnet")
    server.journal.clear()
    result = live(suite, server, "-m", "P1", "--base", "sonnet")
    assert (result.ret, server.journal, sessions(suite)) == (4, [], [])
    result.stderr.fnmatch_lines(["*the preflight failed, no session was paid for*run the preflight again*"])


def test_a_missing_key_is_a_usage_error_that_names_its_variable(
    suite: pytest.Pytester, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY")
    result = live(suite, server, "-m", "preflight", "--base", "sonnet")
    assert (result.ret, server.journal) == (4, [])
    result.stderr.fnmatch_lines(["*OPENROUTER_API_KEY is not set or empty*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--base", "nobody"], "*--base: unknown nobody (the study has: sonnet, gpt, gemini; or all)*"),
        pytest.param([], "*--live needs --base: name the tutor bases to pay for*"),
    ],
    ids=["unknown-base", "no-base"],
)
def test_a_base_must_be_named_and_known(
    suite: pytest.Pytester, server: LoopbackServer, arguments: list[str], message: str
) -> None:
    result = live(suite, server, "-m", "preflight", *arguments)
    assert (result.ret, server.journal) == (4, [])
    result.stderr.fnmatch_lines([message])
