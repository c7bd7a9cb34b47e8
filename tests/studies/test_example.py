"""The example that `tutoreval init` writes, used as its README says: serve, lock, collect, decide, keep, gate."""

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pytest_tutoreval.resources import data_folder
from tests.live.running import child_environ

EXAMPLE = data_folder("examples/own_tutor")
MODULE = [sys.executable, "-m"]
CLAIMS = ["P1", "P3", "C1", "C2"]


@contextmanager
def serving(folder: Path, *rates: str) -> Generator[str]:
    """Serve the example's tutor on a free port and yield its address."""
    command = [sys.executable, str(folder / "example_tutor.py"), "--port", "0", *rates]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tutor:
        try:
            assert tutor.stdout is not None
            yield tutor.stdout.readline().removeprefix("listening on ").strip()
        finally:
            tutor.kill()


def call(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the example's folder; pytest there is a run of its own."""
    environ = {name: value for name, value in child_environ().items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [*MODULE, *command], cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )


def collect(folder: Path, corpus: str, *rates: str) -> None:
    """Collect and judge against a tutor with these rates, on whatever port it got."""
    with serving(folder, *rates) as address:
        study = folder / "tutoreval.toml"
        text = re.sub(r'base_url = "[^"]*"', f'base_url = "{address}"', study.read_text(encoding="utf-8"))
        study.write_text(text, encoding="utf-8")
        done = call(folder, "pytest_tutoreval", "collect", "--corpus", corpus, "--base", "mytutor", "--judge", "rater")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 finished" in done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with two corpora: one of its tutor as it is, one of a tutor that leaks more."""
    folder = tmp_path_factory.mktemp("project")
    assert call(folder, "pytest_tutoreval", "init").returncode == 0
    collect(folder, "corpora/first")
    collect(folder, "corpora/next", "--leak-rate", "0.9", "--forbidden-leak-rate", "0.6")
    return folder


def test_the_example_gets_verdicts_and_then_a_gate_that_fails_where_the_tutor_leaks_more(project: Path) -> None:
    locked = call(project, "pytest_tutoreval", "lock")
    assert locked.returncode == 0, locked.stderr
    keeping = ("--tutoreval-baseline", "baseline.json", "--tutoreval-baseline-update")
    decided = call(project, "pytest", "--corpus=corpora/first", *keeping)
    assert decided.returncode == 0, decided.stdout
    assert "SIMULATED DATA" in decided.stdout
    assert "study: policy candidate added: prompt prompts/candidate.txt" in decided.stdout
    assert re.search(r"study: study file tutoreval\.toml locked on \d{4}-\d\d-\d\d", decided.stdout)
    assert [line.split()[0] for line in decided.stdout.splitlines() if re.match(r"[PC]\d +mytutor", line)] == CLAIMS

    held = call(project, "pytest", "--corpus=corpora/first", "--gate", "--tutoreval-baseline", "baseline.json")
    assert held.returncode == 0, held.stdout
    leaky = call(project, "pytest", "--corpus=corpora/next", "--gate", "--tutoreval-baseline", "baseline.json", "-n2")
    assert leaky.returncode == 1
    assert "REGRESSION leakage of mytutor/candidate" in leaky.stdout


def test_a_prompt_that_is_edited_stops_the_next_run_until_it_is_amended(project: Path) -> None:
    call(project, "pytest_tutoreval", "lock")
    prompt = project / "prompts" / "candidate.txt"
    before = prompt.read_bytes()
    try:
        prompt.write_bytes(before + b"Be brief.\n")
        stopped = call(project, "pytest", "--corpus=corpora/first", "--base", "mytutor")
        assert stopped.returncode == 4
        assert "  prompts/candidate.txt: sha256 is " in stopped.stderr
        assert call(project, "pytest_tutoreval", "lock", "--amend", "shorter turns").returncode == 0
        decided = call(project, "pytest", "--corpus=corpora/first", "--base", "mytutor")
        assert "prompts/candidate.txt amended: shorter turns" in decided.stdout
        assert "session mytutor/candidate/r0: collected under another text of policy candidate" in decided.stdout
    finally:
        prompt.write_bytes(before)
        call(project, "pytest_tutoreval", "lock", "--amend", "as it was")


# the tutor by itself


@pytest.fixture(scope="module")
def address() -> Generator[str]:
    with serving(EXAMPLE, "--leak-rate", "1", "--forbidden-leak-rate", "0") as found:
        yield found


def a_turn(**changes: object) -> dict[str, object]:
    return {
        "format": "tutoreval-tutor/1",
        "model": "example-tutor",
        "problem": "train-1",
        "turn": 0,
        "replicate": 0,
        "seed": 0,
        "system": "You are a tutor.",
        "messages": [{"role": "user", "content": "hm"}],
    } | changes


def test_it_leaks_at_its_rate_and_at_the_other_where_its_prompt_forbids_it(address: str) -> None:
    open_ = httpx.post(address, json=a_turn()).json()
    forbidden = httpx.post(address, json=a_turn(system="Teach.\nNever state the final\nanswer.")).json()
    assert open_["text"] == "Put it all together and the answer is 24."
    assert forbidden["text"].endswith("?")
    assert open_["model"] == "example-tutor"
    assert open_["input_tokens"] == 5  # 16 + 2 characters, four a token, and one
    assert httpx.post(address, json=a_turn()).json() == open_


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_its_rate_is_a_share_of_its_turns(rate: float) -> None:
    with serving(EXAMPLE, "--leak-rate", str(rate)) as there, httpx.Client() as client:
        turns = [a_turn(replicate=replicate, turn=turn) for replicate in range(50) for turn in range(4)]
        said = [client.post(there, json=turn).json()["text"] for turn in turns]
    leaks = sum("answer is" in text for text in said) / len(said)
    # 200 draws: three standard errors are 3 * sqrt(.25 * .75 / 200) = .09
    assert abs(leaks - rate) <= (0.09 if 0 < rate < 1 else 0)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"no json", id="no-json"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(b'{"format": "tutoreval-tutor/9"}', id="another-format"),
        pytest.param(b'{"format": "tutoreval-tutor/1"}', id="fields-missing"),
    ],
)
def test_what_it_cannot_read_is_a_400_with_the_error(address: str, body: bytes) -> None:
    answer = httpx.post(address, content=body)
    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}


def test_a_problem_it_does_not_know_it_only_asks_about(address: str) -> None:
    assert httpx.post(address, json=a_turn(problem="own-1")).json()["text"].endswith("?")
