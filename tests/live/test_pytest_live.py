"""`pytest --live`: what was selected is paid for, once, in the controller; the workers only decide."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from pytest_tutoreval.frozen import load_instrument
from tests.live.running import (
    ROOT,
    a_study_file,
    asked_bodies,
    bodies_on_disk,
    child_environ,
    lines_of,
    seals_hold,
)
from tests.live.voices import role_of, speak
from tests.loopback.server import LoopbackServer, Step

CLAIMS = str(ROOT / "suites" / "test_claims.py")


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


@dataclass
class Finished:
    """A finished pytest run and the calls it made."""

    code: int
    text: str
    calls: int
    report: Path

    @property
    def document(self) -> dict[str, Any]:
        """The verdicts document."""
        document: dict[str, Any] = json.loads((self.report / "verdicts.json").read_text(encoding="utf-8"))
        return document

    @property
    def verdicts(self) -> dict[str, str]:
        """Each claim's verdict, by claim and base."""
        return {f"{row['claim']}-{row['base']}": row["verdict"] for row in self.document["claims"]}


def arguments(server: LoopbackServer, folder: Path, *more: str, items: str = CLAIMS) -> list[str]:
    study = a_study_file(folder, server.base_urls, price=(1.0, 2.0))
    return [
        *(sys.executable, "-m", "pytest", items, "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")),
        *("--live", "--corpus", str(folder / "corpus"), "--tutoreval-study", str(study)),
        *("--tutoreval-report", str(folder / "report"), *more),
    ]


def run(server: LoopbackServer, folder: Path, *more: str, items: str = CLAIMS) -> Finished:
    before = len(server.journal)
    finished = subprocess.run(
        arguments(server, folder, *more, items=items),
        **{"env": child_environ(), "cwd": folder, "capture_output": True, "text": True, "timeout": 200},  # type: ignore[call-overload]
        check=False,
    )
    return Finished(
        finished.returncode, finished.stdout + finished.stderr, len(server.journal) - before, folder / "report"
    )


def sessions(folder: Path) -> int:
    return len(list((folder / "corpus" / "sessions").rglob("*.jsonl")))


@pytest.fixture(scope="module")
def three_bases(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    folder = tmp_path_factory.mktemp("three")
    first = len(server.journal)
    finished = run(server, folder, "--base", "sonnet,gpt,gemini", "-n", "8", "-m", "P1 or P3")
    asked = server.journal[first:]
    del server.journal[:first]
    assert len(asked) == finished.calls
    return folder, finished


def test_sixty_sessions_at_n8_are_collected_once(server: LoopbackServer, three_bases: tuple[Path, Finished]) -> None:
    folder, finished = three_bases
    assert sessions(folder) == 60
    done, due = bodies_on_disk(folder / "corpus", load_instrument())
    assert not due
    assert asked_bodies(server) == done
    assert finished.calls == done.total()
    assert seals_hold(folder / "corpus")
    assert lines_of(finished.text, "sessions: 60 finished, 0 were there, 0 unfinished")
    assert len(finished.document["claims"]) == 6
    assert finished.code == 0, finished.text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_second_run_pays_nothing_and_decides_the_same(
    server: LoopbackServer, three_bases: tuple[Path, Finished], workers: str
) -> None:
    folder, first = three_bases
    expected = first.verdicts
    again = run(server, folder, "--base", "all", "-n", workers, "-m", "P1 or P3")
    assert again.calls == 0
    assert again.verdicts == expected
    assert (again.code, len(again.verdicts)) == (0, 6)


def test_only_what_is_selected_is_paid_for(server: LoopbackServer, tmp_path: Path) -> None:
    first = len(server.journal)
    by_mark = run(server, tmp_path, "--base", "gpt", "--judge", "opus", "-m", "P1", "-n", "2")
    assert by_mark.code == 0, by_mark.text
    assert sessions(tmp_path) == 20
    assert {entry.shape for entry in server.journal[first:]} == {"openai", "openrouter"}
    assert not any(role_of(json.dumps(entry.body)) == "judge" for entry in server.journal[first:])
    first = len(server.journal)
    by_name = run(server, tmp_path, "--base", "all", "-k", "p1 and gemini")
    assert by_name.code == 0, by_name.text
    assert sessions(tmp_path) == 40
    assert {entry.shape for entry in server.journal[first:]} == {"gemini", "openrouter"}


def test_judge_bound_claims_are_judged_before_they_are_decided(server: LoopbackServer, tmp_path: Path) -> None:
    finished = run(server, tmp_path, "--base", "sonnet", "--judge", "opus", "-m", "J1 or P3", "-n", "2")
    assert finished.code == 0, finished.text
    assert sessions(tmp_path) == 20
    assert not bodies_on_disk(tmp_path / "corpus", load_instrument())[1]
    assert all(row["verdict"] for row in finished.document["claims"])
    assert seals_hold(tmp_path / "corpus")
    again = run(server, tmp_path, "--base", "sonnet", "--judge", "opus", "-m", "J1 or P3")
    assert again.calls == 0
    assert again.verdicts == finished.verdicts
    broke = run(server, tmp_path, "--base", "sonnet", "--judge", "sol", "-m", "J1", "--tutoreval-budget", "0")
    assert broke.calls == 0
    (row,) = broke.document["not_evaluable"]
    assert "the budget of 0.00 dollars is reached" in row["reason"]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_collect_only_pays_nothing(server: LoopbackServer, tmp_path: Path, workers: str) -> None:
    finished = run(server, tmp_path, "--base", "all", "--judge", "all", "--collect-only", "-n", workers)
    assert (finished.code, finished.calls) == (0, 0), finished.text
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_collection_error_pays_nothing(server: LoopbackServer, tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_broken.py").write_text("import pytest\nraise RuntimeError('broken on purpose')\n")
    (tmp_path / "test_claim.py").write_text(
        "import pytest\n\n\n@pytest.mark.claim('P1')\ndef test_p1(decided, base):\n    pass\n"
    )
    finished = run(server, tmp_path, "--base", "sonnet", "-n", workers, items=str(tmp_path))
    assert (finished.code, finished.calls) == (2, 0), finished.text
    assert "broken on purpose" in finished.text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_items_without_a_claim_pay_nothing(server: LoopbackServer, tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_plain.py").write_text("def test_plain():\n    pass\n")
    finished = run(server, tmp_path, "--base", "sonnet", "-n", workers, items=str(tmp_path / "test_plain.py"))
    assert (finished.code, finished.calls) == (0, 0), finished.text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(["--corpus", "corpus"], "--live needs --base", id="no-base"),
        pytest.param(["--base", "sonnet"], "--live needs --corpus", id="no-corpus"),
        pytest.param(["--corpus", "corpus", "--base", "nobody"], "unknown nobody", id="unknown-base"),
        pytest.param(
            ["--corpus", "corpus", "--base", "sonnet", "--judge", "nobody"], "unknown nobody", id="unknown-judge"
        ),
    ],
)
def test_what_is_paid_for_is_named(tmp_path: Path, options: list[str], says: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", CLAIMS, "-p", "no:cacheprovider", "--live", *options],
        env=child_environ(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 4
    assert says in finished.stderr
    assert not (tmp_path / "corpus").exists()


def test_a_missing_key_is_a_usage_error_before_anything_is_sent(server: LoopbackServer, tmp_path: Path) -> None:
    before = len(server.journal)
    environ = {name: value for name, value in child_environ().items() if name != "ANTHROPIC_API_KEY"}
    finished = subprocess.run(
        arguments(server, tmp_path, "--base", "sonnet", "-m", "P1"),
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 4
    assert "ANTHROPIC_API_KEY is not set or empty" in finished.stderr
    assert len(server.journal) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_first_signal_finishes_calls_in_flight_and_exits_2(
    tmp_path: Path, number: signal.Signals, workers: str
) -> None:
    with LoopbackServer([Step(times=-1, delay=0.3)], answer=speak) as slow:
        with subprocess.Popen(
            arguments(slow, tmp_path, "--base", "sonnet", "-m", "P1", "-n", workers),
            env=child_environ(),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as child:
            while len(slow.journal) < 60:
                assert child.poll() is None
                time.sleep(0.01)
            child.send_signal(number)
            text, _ = child.communicate(timeout=30)
        done, _ = bodies_on_disk(tmp_path / "corpus", load_instrument())
        assert asked_bodies(slow) == done, "a call in flight was lost"
    assert child.returncode == 2, text
    assert "stopping: calls in flight finish" in text
    assert not lines_of(text, "Traceback")
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


def test_a_budget_that_is_spent_is_the_reason_in_the_document(server: LoopbackServer, tmp_path: Path) -> None:
    finished = run(server, tmp_path, "--base", "sonnet", "-m", "P1", "--tutoreval-budget", "0")
    assert finished.calls == 0
    assert finished.code != 0
    assert "the budget of 0.00 dollars is reached" in finished.text
    (row,) = finished.document["not_evaluable"]
    assert "the budget of 0.00 dollars is reached" in row["reason"]


# claims of the user's own


def write_own(folder: Path, **claims: dict[str, Any]) -> Path:
    """Write claims with a test for each, beside the study's P1, and return the test file."""
    (folder / "claims").mkdir()
    tests = ["import pytest"]
    for name, stated in claims.items():
        fields = {
            **{"id": name, "title": "One of our own.", "form": "paired_contrast", "kind": "live_test"},
            **{"role": "sensitivity", "status": "registered here", "evidence_visible": "none"},
            **stated,
        }
        (folder / "claims" / f"{name}.toml").write_text(tomli_w.dumps(fields), encoding="utf-8")
        arguments = "decided, base, judge" if fields["judge_bound"] else "decided, base"
        tests.append(f"@pytest.mark.claim({name!r})\ndef test_{name.lower()}({arguments}):\n    pass")
    tests.append("@pytest.mark.claim('P1')\ndef test_p1(decided, base):\n    pass")
    path = folder / "test_own.py"
    path.write_text("\n\n\n".join(tests) + "\n", encoding="utf-8")
    return path


SOCRATIC = {
    **{"arms": ["conv_socratic", "conv"], "direction": "conv_socratic > conv", "replicates": 6},
    **{"measure": "helpfulness", "judge_bound": True},
}
LONGER = {"measure": "leakage", "direction": "conv > ped", "replicates": 11, "judge_bound": False}
ACROSS = {
    **{"arms": ["conv", "gpt:conv"], "direction": "conv > gpt:conv", "replicates": 6},
    **{"measure": "leakage", "judge_bound": False},
}


def test_each_claim_is_paid_for_in_its_own_arms_on_its_own_n(server: LoopbackServer, tmp_path: Path) -> None:
    items, corpus, first = str(write_own(tmp_path, X1=SOCRATIC, X2=LONGER)), tmp_path / "corpus", len(server.journal)
    finished = run(server, tmp_path, "--base", "sonnet", "--judge", "opus", "-n", "2", items=items)
    assert finished.code == 0, finished.text
    on_disk = Counter(path.parent.name for path in (corpus / "sessions" / "sonnet").rglob("*.jsonl"))
    assert on_disk == {"conv": 11, "ped": 11, "conv_socratic": 6}
    rated = {path.relative_to(corpus / "ratings").as_posix() for path in (corpus / "ratings").rglob("*.jsonl")}
    assert rated == {
        f"opus/helpfulness/sonnet/{condition}/r{number}.jsonl"
        for condition in ("conv", "conv_socratic")
        for number in range(6)
    }
    done, due = bodies_on_disk(corpus, load_instrument())
    assert not due
    del server.journal[:first]
    assert asked_bodies(server) == done
    rows = {row["claim"]: row for row in finished.document["claims"]}
    assert {name: row["n"] for name, row in rows.items()} == {"P1": 10, "X1": 6, "X2": 11}
    # P1 registers no n of its own: the eleventh is there for X2
    assert [note for note in rows["P1"]["notes"] if "first" in note] == [
        f"sonnet/{arm}: decided on the study's first 10 replicates, not on r10 on disk besides"
        for arm in ("conv", "ped")
    ]
    again = run(server, tmp_path, "--base", "sonnet", "--judge", "opus", items=items)
    assert (again.calls, again.verdicts) == (0, finished.verdicts)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_base_that_only_a_claim_file_names_is_paid_for_when_it_is_named(
    server: LoopbackServer, tmp_path: Path, workers: str
) -> None:
    items = str(write_own(tmp_path, X1=ACROSS))
    unnamed = run(server, tmp_path, "--base", "sonnet", "-n", workers, items=items)
    assert (unnamed.code, unnamed.calls) == (4, 0), unnamed.text
    assert (
        "--live pays for the bases that --base names, sonnet, and claim X1, decided for sonnet, rests on gpt (nothing "
        "of it is on disk). Add gpt to --base, or deselect X1"
    ) in unnamed.text
    assert not (tmp_path / "corpus").exists()
    named = run(server, tmp_path, "--base", "sonnet,gpt", "-k", "x1", "-n", workers, items=items)
    assert named.code == 0, named.text
    assert sessions(tmp_path) == 12
    paid_for = run(server, tmp_path, "--base", "sonnet", "-k", "x1", "-n", workers, items=items)
    assert (paid_for.code, paid_for.calls, paid_for.verdicts) == (0, 0, named.verdicts), paid_for.text
    (tmp_path / "corpus" / "sessions" / "gpt" / "conv" / "r5.jsonl").unlink()
    gone = run(server, tmp_path, "--base", "sonnet", "-k", "x1", "-n", workers, items=items)
    assert (gone.code, gone.calls) == (4, 0), gone.text
    assert "rests on gpt (gpt/conv lacks replicate 5 of 6 registered)" in gone.text
