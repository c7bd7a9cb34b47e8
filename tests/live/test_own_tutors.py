"""A user's own tutor beside a scripted student and scripted judges: from a study file to verdicts."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import ConfigurationProblem, CorpusError
from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from pytest_tutoreval.live import LiveOutcome, LiveRun, Needs, run_gates, run_live
from pytest_tutoreval.planning import plan_cost
from pytest_tutoreval.providers import ConfigurationError
from pytest_tutoreval.providers.money import UnknownPrice, read_prices
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.transcript import read_transcript
from tests.live.running import (
    ROOT,
    child_environ,
    command,
    corpus_facts,
    seals_hold,
    short_instrument,
    tutoreval,
    whole_lines,
)
from tests.loopback.tutor import Answer, TutorServer, a_tutor

CLAIMS = str(ROOT / "suites" / "test_claims.py")
KEY = "canary+tutor/5f1e77c0ab"

STUDENT = """
[student]
label = "Scripted student"
provider = "scripted"
model = "default@7"
sampling = { max_tokens = 256, seed = "replicate" }
date = "2026-12-01"
reason = "a dry run without a model"
"""
JUDGES = """
[[judges]]
id = "mock"
label = "Scripted judge"
provider = "scripted"
model = "default@7"
status = "dry run"
sampling = { max_tokens = 256 }
"""
TUTOR = """
[[bases]]
id = "mine"
label = "My tutor"
provider = "http"
model = "mine-1"
sampling = {{ max_tokens = 256, seed = "replicate" }}
[routes.http]
base_url = "{base_url}"
concurrency = 32
{more}
"""


def a_study(folder: Path, server: TutorServer | None, *, more: str = "", student: str = STUDENT) -> Path:
    """Return a study file with an HTTP tutor where there is a server, a scripted student and a scripted judge."""
    folder.mkdir(parents=True, exist_ok=True)
    tutor = TUTOR.format(base_url=server.base_url, more=more) if server else more
    path = folder / "study.toml"
    path.write_text(student + JUDGES + tutor, encoding="utf-8")
    return path


def a_run(study: Path, corpus: Path, needs: Needs, **changes: Any) -> LiveRun:
    file = read_study_file(study)
    given: dict[str, Any] = {"replicates": (0, 1), "environ": {}, "sync": lambda _: None, "max_retries": 0}
    instrument = extend_instrument(changes.pop("instrument", short_instrument()), file, folder=study.parent)
    return LiveRun(
        instrument,
        corpus,
        needs,
        study_file=file,
        study_folder=study.parent,
        **given | {"prices": file.prices} | changes,
    )


def needs(*bases: str, conditions: tuple[str, ...] = ("conv",), judges: tuple[str, ...] = ("mock",)) -> Needs:
    return Needs.crossed(bases=bases, conditions=conditions, judges=judges, rubrics=("helpfulness", "pedagogy"))


def go(study: Path, corpus: Path, what: Needs, **changes: Any) -> LiveOutcome:
    return run_live(a_run(study, corpus, what, **changes))


@pytest.fixture(scope="module")
def server() -> Iterator[TutorServer]:
    with TutorServer(a_tutor()) as server:
        yield server


# the documentation

PAGE = (ROOT / "docs" / "reference" / "tutor-endpoint.md").read_text(encoding="utf-8")


def test_the_documented_study_file_plans_a_run_of_its_tutors(tmp_path: Path) -> None:
    (tmp_path / "tutoreval.toml").write_text(PAGE.split("```toml\n")[1].partition("```")[0])
    file = read_study_file(tmp_path / "tutoreval.toml")
    instrument = extend_instrument(load_instrument(), file, folder=tmp_path)
    cost = plan_cost(instrument, needs("mytutor", "local"), file.prices, file, replicates=1)
    assert {role.route.provider for role in cost.roles} == {"http", "python", "scripted"}
    assert cost.dollars == 0.0


def test_the_documented_tutor_in_python_runs(tmp_path: Path) -> None:
    (tmp_path / "documented_tutor.py").write_text(PAGE.split("```python\n")[1].partition("```")[0])
    study = a_study(tmp_path, None, more=PYTHON_TUTOR.format(module="documented_tutor"))
    outcome = go(study, tmp_path / "corpus", needs("local"))
    assert outcome.complete, outcome.lines()


# end to end


def decided(folder: Path, study: Path, corpus: Path, *more: str) -> dict[str, Any]:
    """Return the verdicts document of an offline run of the claims."""
    pytest_run = [sys.executable, "-m", "pytest", CLAIMS, "-p", "no:cacheprovider", "-q", *more]
    options = ["--base", "mine", "--judge", "mock", "--corpus", str(corpus), "--tutoreval-study", str(study)]
    finished = subprocess.run(
        [*pytest_run, *options, "--tutoreval-report", str(folder / "report")],
        env={name: value for name, value in child_environ().items() if name != "PYTEST_ADDOPTS"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "SIMULATED" in finished.stdout
    document: dict[str, Any] = json.loads((folder / "report" / "verdicts.json").read_text(encoding="utf-8"))
    return document


def test_an_http_tutor_is_collected_judged_and_decided_on(tmp_path: Path) -> None:
    with TutorServer(a_tutor(0.7)) as server:
        study = a_study(tmp_path, server, more='key_variable = "MY_TUTOR_KEY"')
        corpus = tmp_path / "corpus"
        collected = tutoreval(
            *("collect", "--corpus", corpus, "--base", "mine", "--condition", "cold,conv,ped", "--replicates", "10"),
            *("--study", study, "--jobs", "64"),
            MY_TUTOR_KEY=KEY,
        )
        assert collected.returncode == 0, collected.stdout + collected.stderr
        assert set(server.headers) == {f"Bearer {KEY}"}
        calls = len(server.journal)
        judged = tutoreval("judge", "--corpus", corpus, "--judge", "mock", "--study", study)
        assert judged.returncode == 0, judged.stdout + judged.stderr
        document = decided(tmp_path, study, corpus)
        assert len(server.journal) == calls
    verdicts = {row["claim"]: row for row in document["claims"]}
    # The tutor leaks in 7 of 10 conv turns and in no ped turn, and the student attempts less once it is told.
    assert verdicts["P1"]["verdict"] == "supported"
    assert verdicts["P1"]["estimate"] > 0.3
    assert all(verdicts[claim]["verdict"] for claim in ("P2", "P3", "J1", "J2"))
    assert document["corpus"]["provenance"] == "simulated"
    assert seals_hold(corpus)
    manifest = open_corpus(corpus).manifest
    assert "simulated: a script plays student" in manifest.notes
    assert "simulated: a script plays judge mock" in manifest.notes


@pytest.mark.parametrize("leak_rate", [0.0, 1.0])
def test_what_the_tutor_says_reaches_the_measures(tmp_path: Path, leak_rate: float) -> None:
    with TutorServer(a_tutor(leak_rate)) as server:
        outcome = go(a_study(tmp_path, server), tmp_path / "corpus", needs("mine", judges=()), replicates=range(6))
    assert outcome.complete
    corpus = open_corpus(tmp_path / "corpus")
    sessions = [corpus.session(key) for key in corpus.session_keys("mine", "conv")]
    told = [call for session in sessions for call in session.calls if call.role == "tutor"]
    problem = load_instrument().problem["train-1"]
    assert [f" {problem.numeric_forms[0]}." in call.text for call in told] == [leak_rate == 1.0] * len(told)
    exchanges = [exchange for session in sessions for exchange in read_transcript(session).exchanges.values()]
    assert exchanges
    assert {session.header.provenance for session in sessions} == {"simulated"}


def test_a_preflight_of_an_http_tutor_passes_with_the_default_scripts(server: TutorServer, tmp_path: Path) -> None:
    run = a_run(a_study(tmp_path, server), tmp_path / "corpus", needs("mine"), instrument=load_instrument())
    (preflight,) = run_gates(run)
    assert preflight.passed, preflight
    assert {gate.name for gate in preflight.gates} >= {"capability", "isolated_accuracy", "learnability"}


def test_a_plan_prices_scripts_at_nothing_and_an_http_tutor_at_nobody_knows(
    server: TutorServer, tmp_path: Path
) -> None:
    study = a_study(tmp_path, server)
    file = read_study_file(study)
    instrument = extend_instrument(load_instrument(), file)
    unpriced = plan_cost(instrument, needs("mine"), read_prices(), file, replicates=1)
    dollars = {role.route.provider: role.dollars for role in unpriced.roles}
    assert dollars == {"scripted": 0.0, "http": None}
    priced = {"http": {"input": 1.0, "output": 2.0}}
    file = file.model_validate(file.model_dump() | {"prices": priced})
    cost = plan_cost(instrument, needs("mine"), file.prices, file, replicates=1)
    tutor = next(role for role in cost.roles if role.route.provider == "http")
    assert tutor.dollars == pytest.approx((tutor.input_tokens + 2 * tutor.output_tokens) / 1e6)
    assert cost.dollars == tutor.dollars


# resuming


def test_a_killed_run_pays_a_tutor_for_nothing_twice(tmp_path: Path) -> None:
    def collect(server: TutorServer, corpus: Path) -> list[str]:
        study = a_study(tmp_path / corpus.name, server)
        options = ["--base", "mine", "--condition", "conv,ped", "--replicates", "3", "--judge", "mock"]
        return [*map(str, command("collect", "--corpus", corpus, "--study", study, *options))]

    with TutorServer(a_tutor()) as server:
        subprocess.run(collect(server, tmp_path / "whole"), env=child_environ(), check=True, capture_output=True)
        whole = Counter(json.dumps(body, sort_keys=True) for body in server.journal)
    n_calls = whole.total()
    assert n_calls > 100
    with TutorServer(a_tutor()) as server:
        for part in (0.2, 0.5, 0.8):
            child = subprocess.Popen(
                collect(server, tmp_path / "killed"),
                env=child_environ(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while len(server.journal) < part * n_calls and child.poll() is None:
                time.sleep(0.002)
            child.kill()
            child.wait()
        subprocess.run(collect(server, tmp_path / "killed"), env=child_environ(), check=True, capture_output=True)
        asked = Counter(json.dumps(body, sort_keys=True) for body in server.journal)
    assert set(asked) == set(whole)
    # Of 6 sessions each can have one call in flight when it is killed, and three kills are made.
    assert (asked - whole).total() <= 3 * 6
    unclocked = [corpus_facts(tmp_path / name) for name in ("whole", "killed")]
    assert unclocked[0] == unclocked[1]


def test_a_finished_run_asks_nothing_again(tmp_path: Path) -> None:
    with TutorServer(a_tutor()) as server:
        study = a_study(tmp_path, server)
        go(study, tmp_path / "corpus", needs("mine"))
        calls = len(server.journal)
        again = go(study, tmp_path / "corpus", needs("mine"))
        assert len(server.journal) == calls
    assert (again.collection.found_finished, again.judging.given) == (2, 0)


def test_a_replay_needs_no_tutor(tmp_path: Path) -> None:
    with TutorServer(a_tutor()) as server:
        study = a_study(tmp_path, server)
        options = ("--base", "mine", "--condition", "conv", "--replicates", "1", "--study", study)
        assert tutoreval("collect", "--corpus", tmp_path / "a", *options).returncode == 0
    replayed = tutoreval("collect", "--corpus", tmp_path / "b", *options, "--replay", tmp_path / "a")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert corpus_facts(tmp_path / "a") == corpus_facts(tmp_path / "b")
    assert open_corpus(tmp_path / "b").manifest.provenance == "simulated"


# money and tokens


def test_a_budget_refuses_a_tutor_without_a_price_and_nothing_is_sent(tmp_path: Path) -> None:
    with TutorServer(a_tutor()) as server:
        with pytest.raises(UnknownPrice, match="http/mine-1"):
            go(a_study(tmp_path, server), tmp_path / "corpus", needs("mine"), budget=5.0)
        assert server.journal == []


def test_a_budget_holds_a_run_of_free_parts(tmp_path: Path) -> None:
    with TutorServer(a_tutor()) as server:
        study = a_study(tmp_path, server, more="[prices.http]\ninput = 0\noutput = 0\n")
        outcome = go(study, tmp_path / "corpus", needs("mine"), budget=0.0)
    assert outcome.complete
    assert outcome.dollars == 0.0


def test_an_outcome_says_whose_tokens_were_estimated(tmp_path: Path) -> None:
    with TutorServer(a_tutor(reports_tokens=False)) as server:
        outcome = go(a_study(tmp_path, server), tmp_path / "corpus", needs("mine"))
        calls = len(server.journal)
    assert f"no tokens reported for {calls} calls: estimated from their texts" in "\n".join(outcome.lines())
    (path, *_) = sorted((tmp_path / "corpus" / "sessions").rglob("*.jsonl"))
    marked = {line["role"]: line.get("usage_estimated", False) for line in whole_lines(path)[1:-1]}
    assert marked == {"student": False, "tutor": True}
    (ledger,) = (tmp_path / "corpus" / "runs").glob("2*.jsonl")
    spending = whole_lines(ledger)[-1]["spending"]
    assert spending["http/mine-1"]["estimated_calls"] == calls
    assert spending["http/mine-1"]["dollars"] is None


# provenance


SCRIPTED_TUTOR = """
[[bases]]
id = "made-up"
label = "Scripted tutor"
provider = "scripted"
model = "leaky@2"
sampling = { max_tokens = 256, seed = "replicate" }
"""
# A student that is an HTTP endpoint of OpenAI's shape; never reached here.
REAL_STUDENT = STUDENT.replace('"scripted"', '"compatible"').replace("default@7", "llama")


def test_a_scripted_tutor_plays_any_policy(tmp_path: Path) -> None:
    outcome = go(
        a_study(tmp_path, None, more=SCRIPTED_TUTOR),
        tmp_path / "corpus",
        needs("made-up", conditions=("cold", "conv", "ped", "conv_socratic", "ped_no_tracker")),
    )
    assert outcome.complete, outcome.lines()
    assert outcome.dollars == 0.0


def test_recorded_and_simulated_bases_are_not_collected_into_one_corpus(server: TutorServer, tmp_path: Path) -> None:
    more = SCRIPTED_TUTOR + '[routes.compatible]\nbase_url = "http://127.0.0.1:1/v1"\n'
    study = a_study(tmp_path, server, more=more, student=REAL_STUDENT)
    with pytest.raises(ConfigurationProblem, match=r"mine recorded, made-up simulated.*folder of its own"):
        go(study, tmp_path / "corpus", needs("mine", "made-up", judges=()))


def test_a_scripted_judge_does_not_rate_recorded_sessions(server: TutorServer, tmp_path: Path) -> None:
    study = a_study(
        tmp_path, server, more='[routes.compatible]\nbase_url = "http://127.0.0.1:1/v1"\n', student=REAL_STUDENT
    )
    with pytest.raises(ConfigurationProblem, match=r"judge mock is scripted.*recorded.*another folder"):
        go(study, tmp_path / "corpus", needs("mine"))
    assert not (tmp_path / "corpus" / "corpus.toml").exists()


def test_a_scripted_judge_does_not_rate_a_recorded_corpus(server: TutorServer, tmp_path: Path) -> None:
    study = a_study(tmp_path, server)
    go(study, tmp_path / "corpus", needs("mine", judges=()))
    manifest = tmp_path / "corpus" / "corpus.toml"
    manifest.write_text(manifest.read_text().replace('"simulated"', '"recorded"'))
    with pytest.raises(ConfigurationProblem, match="judge mock is scripted, and these sessions are recorded"):
        go(study, tmp_path / "corpus", replace(needs("mine"), cells={}))


def test_simulated_sessions_are_refused_in_a_recorded_corpus(server: TutorServer, tmp_path: Path) -> None:
    study = a_study(tmp_path, server)
    go(study, tmp_path / "corpus", needs("mine", judges=()))
    manifest = tmp_path / "corpus" / "corpus.toml"
    manifest.write_text(manifest.read_text().replace('"simulated"', '"recorded"'))
    with pytest.raises(CorpusError, match="give another folder"):
        go(study, tmp_path / "corpus", needs("mine", judges=()))


def test_a_judge_and_a_tutor_of_one_script_name_are_no_family(tmp_path: Path) -> None:
    study = a_study(tmp_path, None, more=SCRIPTED_TUTOR.replace("leaky@2", "default@7"))
    outcome = go(study, tmp_path / "corpus", needs("made-up"))
    assert outcome.notes == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(('model = "default@7"', 'model = "nobody"'), "no scripted student.*Known: default", id="script"),
        pytest.param(('provider = "scripted"', 'provider = "http"'), "this is a student", id="http-student"),
        pytest.param(('provider = "scripted"', 'provider = "script"'), "Did you mean 'scripted'", id="typo"),
    ],
)
def test_a_part_nobody_can_play_is_refused_before_anything_is_sent(
    server: TutorServer, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    calls = len(server.journal)
    study = a_study(tmp_path, server, student=STUDENT.replace(*change))
    with pytest.raises(ConfigurationError, match=words):
        go(study, tmp_path / "corpus", needs("mine"))
    assert len(server.journal) == calls


# python


PYTHON_TUTOR = """
[[bases]]
id = "local"
label = "My tutor in Python"
provider = "python"
model = "{module}:tutor"
sampling = {{ max_tokens = 256, seed = "replicate" }}
"""
MODULE = """
from pytest_tutoreval.providers import TutorTurnReply, TutorTurnRequest

def tutor(turn: TutorTurnRequest) -> str | TutorTurnReply:
    if turn.turn == 0:
        return "What do we know about the mixture?"
    return TutorTurnReply("The answer is 24.", input_tokens=180, output_tokens=6, model="my-llm")
"""


def a_python_study(folder: Path, module: str, source: str) -> Path:
    (folder / f"{module}.py").write_text(source)
    return a_study(folder, None, more=PYTHON_TUTOR.format(module=module))


def test_a_python_tutor_beside_the_study_file_is_collected_from_the_command_line(tmp_path: Path) -> None:
    study = a_python_study(tmp_path, "beside_tutor", MODULE)
    collected = tutoreval(
        *("collect", "--corpus", tmp_path / "corpus", "--base", "local", "--condition", "conv", "--replicates", "1"),
        *("--study", study, "--budget", "0", "--judge", "mock"),
    )
    assert collected.returncode == 0, collected.stdout + collected.stderr
    session = open_corpus(tmp_path / "corpus").session(
        next(iter(open_corpus(tmp_path / "corpus").session_keys("local", "conv")))
    )
    said = [call for call in session.calls if call.role == "tutor"]
    assert {(call.turn, call.text) for call in said} == {
        (turn, "The answer is 24." if turn else "What do we know about the mixture?") for turn in range(4)
    }
    assert {(call.turn == 0, call.served_model, call.usage_estimated) for call in said} == {
        (True, None, True),
        (False, "my-llm", False),
    }


def test_a_python_tutor_that_fails_once_fails_its_session_alone(tmp_path: Path) -> None:
    source = MODULE.replace(
        "if turn.turn == 0:", "if turn.replicate == 1:\n        raise KeyError('mine')\n    if turn.turn == 0:"
    )
    outcome = go(
        a_python_study(tmp_path, "failing_tutor", source), tmp_path / "corpus", needs("local"), replicates=(0, 1, 2)
    )
    assert outcome.collection.finished == 2
    (reason,) = outcome.collection.unfinished.values()
    assert "KeyError: 'mine'" in reason
    assert "correct it, then resume" in reason


# keys


def leaks(text: str) -> bool:
    return KEY in text or KEY[-10:] in text


ECHOES: Mapping[str, Callable[[Mapping[str, Any], str], Answer]] = {
    "in-the-text": lambda body, key: Answer({"text": f"your key {key}"}),
    "in-a-500": lambda body, key: Answer({"error": f"your key {key}"}, 500),
    "in-a-401": lambda body, key: Answer({"error": {"message": f"your key {key}"}}, 401),
    "in-a-field-name": lambda body, key: Answer({key: "x"}),
    "in-garbage": lambda body, key: Answer(f"<html>{key}".encode()),
    "in-a-header": lambda body, key: Answer({"error": "no"}, 503, {"x-request-id": key}),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_the_key_of_an_http_tutor_is_nowhere(tmp_path: Path, echo: str) -> None:
    with TutorServer(ECHOES[echo]) as server:
        study = a_study(tmp_path, server, more='key_variable = "MY_TUTOR_KEY"\n[protocol]\nreplicates = 2\n')
        finished = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", CLAIMS, "-k", "p1", "-p", "no:cacheprovider", "--live"),
                *("--base", "mine", "--judge", "mock", "--corpus", "corpus", "--tutoreval-study", str(study)),
                *("--showlocals", "-vv", "--full-trace", "--tutoreval-report", "report", "--junitxml", "junit.xml"),
                *("-o", "log_level=DEBUG", "--log-file", "log.txt", "--tutoreval-max-retries", "1"),
            ],
            env={name: value for name, value in child_environ(MY_TUTOR_KEY=KEY).items() if name != "PYTEST_ADDOPTS"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert set(server.headers) == {f"Bearer {KEY}"}
    assert not leaks(finished.stdout + finished.stderr)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    assert any(path.parts[-4:-2] == ("sessions", "mine") for path in files)
    assert [path for path in files if leaks(path.read_bytes().decode("utf-8", "replace"))] == []


def test_live_claims_are_decided_in_one_command(tmp_path: Path) -> None:
    with TutorServer(a_tutor(0.8)) as server:
        study = a_study(tmp_path, server, more="[protocol]\nreplicates = 6\n")
        document = decided(tmp_path, study, tmp_path / "corpus", "--live")
        calls = len(server.journal)
        assert calls > 0
        decided(tmp_path, study, tmp_path / "corpus", "--live", "-n", "2")
        assert len(server.journal) == calls
    assert {row["claim"] for row in document["claims"]} >= {"P1", "P2", "P3", "J1", "J2"}
