"""Gate readings a corpus keeps, `tutoreval preflight` on real sockets, and what a failed gate refuses."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.collecting.preflight import GATES, GateReading, Preflight
from pytest_tutoreval.errors import CorpusError, GateFailed
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.live.gates import keep_gates, kept_gates, kept_reading, refuse_after_failed_gate
from pytest_tutoreval.records import SessionKey
from pytest_tutoreval.store import open_corpus
from tests.live.running import KEYS, a_study_file
from tests.live.voices import role_of
from tests.loopback.server import LoopbackServer, Step
from tests.loopback.vendors import Shape

COMMITMENT = json.dumps(load_instrument().prompts["forced_commitment"], ensure_ascii=False).strip('"')
ANSWERS = {problem.statement: problem.answer for problem in load_instrument().problems}

# What OpenRouter says where the pinned host has retired the model.
RETIRED = "No allowed providers are available for the selected model."
RETIREMENT = Step(shape="openrouter", status=404, body={"error": {"code": 404, "message": RETIRED}})

AMENDED = """
[student]
label = "Llama-3.1-8B-Instruct"
model = "meta-llama/llama-3.1-8b-instruct"
provider = "openrouter"
pin = ["nebius"]
sampling = { temperature = 0.8, max_tokens = 512, seed = "replicate" }
date = "2026-12-01"
reason = "Groq has retired the model"
"""


@dataclass
class Voice:
    """Students, tutors and judges for gates. Alone a student commits wrongly unless it `knows`; a tutor lifts it.

    Tutors named in `quiet` never state an answer.
    """

    knows: bool = False
    quiet: tuple[Shape, ...] = ()

    def reset(self) -> None:
        """All gates pass again."""
        self.knows, self.quiet = False, ()

    def __call__(self, shape: Shape, body: Mapping[str, Any]) -> str:
        text = json.dumps(body, ensure_ascii=False)
        if "connection check" in text:
            return "ready"
        answer = max((text.rfind(statement), answer) for statement, answer in ANSWERS.items())[1]
        match role_of(text):
            case "judge":
                return '{"overall": 4}'
            case "student" if "Problem: " in text or "without the tutor" in text:
                return f"FINAL ANSWER: {answer if self.knows else 999:g}"
            case "student" if COMMITMENT in text:
                return f"FINAL ANSWER: {answer:g}"
            case "student":
                return "I am not sure."
            case _:
                return "What do you notice?" if shape in self.quiet else f"The answer is {answer:g}."


VOICE = Voice()


@pytest.fixture(scope="module")
def loopback() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=VOICE) as server:
        yield server


@pytest.fixture
def server(loopback: LoopbackServer) -> LoopbackServer:
    """The module's server, with a passing voice and an empty journal."""
    VOICE.reset()
    loopback.journal.clear()
    return loopback


def command(*arguments: str | Path, environ: Mapping[str, str | None] | None = None) -> tuple[int, str]:
    """Return the exit code and everything said by a command in this process."""
    environ = {"COLUMNS": "250", "TERM": "dumb", **KEYS, **(environ or {})}
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=environ)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def preflight(
    server: LoopbackServer,
    folder: Path,
    *arguments: str,
    more: str = "",
    environ: Mapping[str, str | None] | None = None,
) -> tuple[int, str]:
    study = a_study_file(folder.parent, server.base_urls, more=more)
    return command("preflight", "--corpus", folder, "--study", study, *arguments, environ=environ)


def collect(server: LoopbackServer, folder: Path, *arguments: str, more: str = "") -> tuple[int, str]:
    study = a_study_file(folder.parent, server.base_urls, more=more)
    return command("collect", "--corpus", folder, "--study", study, "--replicates", "1", *arguments)


def a_gate(name: str = "isolated_accuracy", *, passed: bool = True, blocking: bool = True) -> GateReading:
    return GateReading(name, passed, blocking, "3 of 9 probes", "at most 30%", "isolated")


def record(folder: Path, *gates: GateReading, base: str = "sonnet") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    keep_gates(folder, [Preflight(base, gates)])


# what a corpus keeps


def test_nothing_is_kept_where_no_preflight_was_run(tmp_path: Path) -> None:
    assert kept_gates(tmp_path) == kept_gates(tmp_path / "nowhere") == {}
    refuse_after_failed_gate(tmp_path, ["sonnet"])


def test_a_reading_comes_back_as_it_was(tmp_path: Path) -> None:
    record(tmp_path, a_gate(passed=False))
    assert kept_reading(tmp_path, "sonnet", "isolated_accuracy") == a_gate(passed=False)


def test_a_base_s_last_readings_replace_its_earlier_and_no_other_base_s(tmp_path: Path) -> None:
    record(tmp_path, a_gate(passed=False))
    record(tmp_path, a_gate(passed=False), base="gpt")
    record(tmp_path, a_gate())
    assert {base: kept["passed"] for base, kept in kept_gates(tmp_path).items()} == {"sonnet": True, "gpt": False}
    assert [path.name for path in tmp_path.iterdir()] == ["preflight.json"]


@pytest.mark.parametrize(
    ("gates", "reason"),
    [
        pytest.param([], "no preflight is on record", id="never-read"),
        pytest.param([a_gate("capability", passed=False)], "capability failed before it", id="failed-before"),
    ],
)
def test_a_gate_that_was_not_read_says_why(tmp_path: Path, gates: list[GateReading], reason: str) -> None:
    if gates:
        record(tmp_path, *gates)
    with pytest.raises(GateFailed, match=f"sonnet: gate conv_leakage was not read, {reason}"):
        kept_reading(tmp_path, "sonnet", "conv_leakage")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b'{"sonnet": {"ga', id="torn"),
        pytest.param(b"\xff", id="not-utf-8"),
        pytest.param(b"[]", id="a-list"),
        pytest.param(b'{"sonnet": 3}', id="a-number"),
        pytest.param(b'{"sonnet": {}}', id="no-gates"),
        pytest.param(b'{"sonnet": {"gates": [{"name": "capability"}]}}', id="half-a-gate"),
        pytest.param(b'{"sonnet": {"gates": null}}', id="null-gates"),
    ],
)
def test_a_record_that_cannot_be_seen_refuses_and_a_new_preflight_mends_it(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "preflight.json").write_bytes(text)
    with pytest.raises(CorpusError, match=r"preflight\.json: .*; run the preflight again"):
        refuse_after_failed_gate(tmp_path, ["gpt"])
    record(tmp_path, a_gate())
    refuse_after_failed_gate(tmp_path, ["gpt", "sonnet"])
    assert (tmp_path / "preflight.json.unreadable").read_bytes() == text


def test_readings_that_cannot_be_written_are_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"preflight\.json: cannot be written"):
        keep_gates(tmp_path / "nowhere", [Preflight("sonnet", (a_gate(),))])


@pytest.mark.parametrize(
    ("passed", "blocking", "refused"),
    [(True, True, False), (False, True, True), (False, False, False), (True, False, False)],
)
def test_only_a_failed_blocking_gate_refuses(tmp_path: Path, passed: bool, blocking: bool, refused: bool) -> None:
    record(tmp_path, a_gate(passed=passed, blocking=blocking))
    if not refused:
        return refuse_after_failed_gate(tmp_path, ["sonnet"])
    refuse_after_failed_gate(tmp_path, ["gpt"])
    with pytest.raises(GateFailed, match="sonnet: isolated_accuracy read 3 of 9 probes, limit at most 30%"):
        refuse_after_failed_gate(tmp_path, ["gpt", "sonnet"])
    return None


# the command, on real sockets


def test_a_preflight_that_passes_says_every_reading_and_collects_nothing(
    server: LoopbackServer, tmp_path: Path
) -> None:
    code, said = preflight(server, tmp_path / "corpus", "--base", "sonnet", "--judge", "opus,sol")
    assert code == 0, said
    assert said.splitlines()[0] == "sonnet: passed"
    assert [line.split(":")[0].strip() for line in said.splitlines()[1:]] == list(GATES)
    assert "conv_leakage: passed; 24 of 24 conv turns leak (more than none; unwindowed)" in said
    assert "student_pin: passed; served by Groq (exactly groq; every student call)" in said
    # 4 capability calls; 19 items of one reply; 6 problems of 4 tutor turns, 5 student turns and the commitment
    assert len(server.journal) == 4 + 19 + 6 * 10
    assert not (tmp_path / "corpus" / "sessions").exists()
    assert tuple(gate["name"] for gate in kept_gates(tmp_path / "corpus")["sonnet"]["gates"]) == GATES


def test_a_retired_student_host_fails_the_capability_gate_with_the_vendor_s_reason(
    server: LoopbackServer, tmp_path: Path
) -> None:
    server.add(RETIREMENT)
    code, said = preflight(server, tmp_path / "corpus", "--base", "sonnet")
    assert code == 1
    assert said.startswith(
        "sonnet: FAILED\n  capability: FAILED; student: openrouter meta-llama/llama-3.1-8b-instruct:"
    )
    assert RETIRED in said
    assert "No such model is served on this route: check the model, the pin and the base URL." in said
    assert len(server.journal) == 2, "one call a route, and nothing after"
    assert server.bodies[0]["provider"] == {"order": ["groq"], "allow_fallbacks": False}
    assert RETIRED in kept_reading(tmp_path / "corpus", "sonnet", "capability").reading
    server.journal.clear()
    code, said = collect(server, tmp_path / "corpus", "--base", "sonnet", "--condition", "cold")
    assert (code, len(server.journal)) == (1, 0)
    assert RETIRED in said


def test_an_amended_student_passes_and_is_on_the_record(server: LoopbackServer, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    server.add(RETIREMENT)
    assert preflight(server, folder, "--base", "sonnet")[0] == 1
    code, said = preflight(server, folder, "--base", "sonnet", more=AMENDED)
    assert code == 0, said
    assert "student_pin: passed; served by nebius (exactly nebius; every student call)" in said
    code, said = collect(server, folder, "--base", "sonnet", "--condition", "cold", more=AMENDED)
    assert code == 0, said
    amendment = (
        "2026-12-01: student meta-llama/llama-3.1-8b-instruct on openrouter (groq) replaced by "
        "meta-llama/llama-3.1-8b-instruct on openrouter (nebius): Groq has retired the model"
    )
    corpus = open_corpus(folder, instrument=load_instrument().sha256)
    assert corpus.manifest.notes == (amendment,)
    session = corpus.session(SessionKey("sonnet", "cold", 0))
    assert session.header.amendments == (amendment,)
    assert {call.served_provider for call in session.calls} == {"nebius"}


def test_a_failed_blocking_gate_refuses_to_collect_and_a_later_pass_lifts_it(
    server: LoopbackServer, tmp_path: Path
) -> None:
    folder = tmp_path / "corpus"
    VOICE.knows = True
    code, said = preflight(server, folder, "--base", "sonnet")
    assert code == 1
    assert "isolated_accuracy: FAILED; 9 of 9 probes (at most 30%; isolated: a fresh context per item)" in said
    server.journal.clear()
    code, said = collect(server, folder, "--base", "sonnet", "--condition", "cold")
    assert (code, len(server.journal)) == (1, 0)
    assert said == (
        "tutoreval: the preflight failed, no session was paid for: sonnet: isolated_accuracy read 9 of 9 probes, "
        "limit at most 30%; sonnet: learnability read 6 of 6 training problems with the tutor, 6 alone, limit a "
        "difference above 0. Mend the cause and run the preflight again.\n"
    )
    VOICE.reset()
    assert preflight(server, folder, "--base", "sonnet")[0] == 0
    server.journal.clear()
    code, said = collect(server, folder, "--base", "sonnet", "--condition", "cold")
    assert (code, len(server.journal)) == (0, 19), said


def test_an_advisory_gate_that_is_not_reached_refuses_nothing(server: LoopbackServer, tmp_path: Path) -> None:
    VOICE.quiet = ("openai",)
    code, said = preflight(server, tmp_path / "corpus", "--base", "gpt")
    assert code == 0, said
    assert "gpt: passed" in said
    assert "conv_leakage: advisory, not reached; 0 of 24 conv turns leak" in said
    code, said = collect(server, tmp_path / "corpus", "--base", "gpt", "--condition", "cold")
    assert code == 0, said


def test_one_failing_base_of_two_is_exit_one_and_both_are_kept(server: LoopbackServer, tmp_path: Path) -> None:
    VOICE.quiet = ("anthropic", "openai")
    code, said = preflight(server, tmp_path / "corpus", "--base", "gpt, sonnet")
    assert code == 1
    assert [line for line in said.splitlines() if not line.startswith(" ")] == ["gpt: passed", "sonnet: FAILED"]
    assert {base: kept["passed"] for base, kept in kept_gates(tmp_path / "corpus").items()} == {
        "gpt": True,
        "sonnet": False,
    }


def test_a_wrong_served_provider_fails_with_the_pin_s_name(server: LoopbackServer, tmp_path: Path) -> None:
    server.add(Step(shape="openrouter", served="Else"))
    code, said = preflight(server, tmp_path / "corpus", "--base", "sonnet")
    assert code == 1
    assert "pinned to groq, but served by Else" in said


# what is refused before anything is sent


@pytest.mark.parametrize(
    ("arguments", "environ", "more", "message"),
    [
        pytest.param(
            ["--base", "sonnet"],
            {"OPENROUTER_API_KEY": None},
            "",
            "openrouter meta-llama/llama-3.1-8b-instruct: OPENROUTER_API_KEY is not set or empty.",
            id="no-student-key",
        ),
        pytest.param(
            ["--base", "gpt"],
            {"OPENAI_API_KEY": " "},
            "",
            "openai gpt-5.5-2026-04-23: OPENAI_API_KEY is not set or empty.",
            id="blank-tutor-key",
        ),
        pytest.param(
            ["--base", "gpt", "--judge", "opus"],
            {"ANTHROPIC_API_KEY": "can ary"},
            "",
            "anthropic claude-opus-4-8: ANTHROPIC_API_KEY holds white space",
            id="unsendable-judge-key",
        ),
        pytest.param(
            ["--base", "gpt,nobody"],
            {},
            "",
            "base 'nobody' is not in the study (known: sonnet, gpt,",
            id="unknown-base",
        ),
        pytest.param(
            ["--base", "gpt", "--judge", "me"],
            {},
            "",
            "judge 'me' is not in the study (known: opus",
            id="unknown-judge",
        ),
        pytest.param(
            ["--base", "sonnet"],
            {},
            AMENDED.replace('pin = ["nebius"]', ""),
            "the student: openrouter chooses among hosts, and no pin is set",
            id="aggregator-without-pin",
        ),
        pytest.param(
            ["--base", "sonnet", "--budget", "1"],
            {},
            "",
            "no price is known for anthropic/claude-sonnet-4-6, openrouter/meta-llama/llama-3.1-8b-instruct",
            id="unknown-price",
        ),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_sent(
    server: LoopbackServer,
    tmp_path: Path,
    arguments: list[str],
    environ: dict[str, str | None],
    more: str,
    message: str,
) -> None:
    code, said = preflight(server, tmp_path / "corpus", *arguments, environ=environ, more=more)
    assert (code, len(server.journal)) == (1, 0)
    assert said.startswith(f"tutoreval: {message}")
    assert len(said.splitlines()) == 1
    assert "can ary" not in said
    assert not any(key in said for key in KEYS.values())
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("names", ["", " ", ","])
def test_a_preflight_of_nothing_is_a_usage_error(server: LoopbackServer, tmp_path: Path, names: str) -> None:
    code, said = preflight(server, tmp_path / "corpus", "--base", names)
    assert code == 2
    assert "name at least one" in said


def test_a_preflight_is_metered(server: LoopbackServer, tmp_path: Path) -> None:
    preflight(server, tmp_path / "corpus", "--base", "sonnet")
    (ledger,) = (tmp_path / "corpus" / "runs").glob("*.jsonl")
    last = json.loads(ledger.read_text(encoding="utf-8").splitlines()[-1])
    assert sum(route["calls"] for route in last["spending"].values()) == len(server.journal)
    assert [kept["base"] for kept in last["preflight"]] == ["sonnet"]


def test_a_budget_that_is_spent_fails_a_gate_and_says_so(server: LoopbackServer, tmp_path: Path) -> None:
    study = a_study_file(tmp_path, server.base_urls, price=(1.0, 2.0))
    code, said = command(
        *("preflight", "--corpus", tmp_path / "corpus", "--base", "sonnet", "--study", study, "--budget", "0")
    )
    assert (code, len(server.journal)) == (1, 0)
    assert "capability: FAILED; student: the budget of 0.00 dollars is reached" in said
