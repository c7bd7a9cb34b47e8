"""Judging by batch: nothing is paid twice, nothing is lost, and the corpus is the ordinary judge's."""

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from pytest_tutoreval.errors import BlindingBroken, ConfigurationProblem, CorpusError
from pytest_tutoreval.judging.batch import BatchFolder, BatchRecord
from pytest_tutoreval.live import LiveOutcome, Needs
from pytest_tutoreval.live.batch import BatchOptions, run_batch
from pytest_tutoreval.live.pending import refuse_while_on_its_way
from pytest_tutoreval.providers.batch import BatchLimits
from pytest_tutoreval.providers.transport import send, tls_context
from pytest_tutoreval.store.growing import GrowingFile, HeldElsewhere
from tests.live.running import (
    KEYS,
    a_run,
    a_study_file,
    asked_bodies,
    child_environ,
    command,
    corpus_facts,
    go,
    seals_hold,
    short_instrument,
    whole_lines,
)
from tests.live.test_canaries import CANARIES, ECHO, files_with_leaks, leaks
from tests.live.voices import digest_of, role_of, speak
from tests.loopback.batches import BatchServer, BatchStep, Fate
from tests.loopback.server import LoopbackServer, Step

JUDGES = {"anthropic": "opus", "openai": "gpt-judge"}
GPT_JUDGE = """
[[judges]]
id = "gpt-judge"
label = "GPT as a judge"
model = "gpt-5.5-2026-04-23"
provider = "openai"
status = "test"
second_tries = 1
sampling = { max_tokens = 128, temperature = 0.7, reasoning = "none", seed = "repetition" }
"""
BOTH = [pytest.param("opus", id="anthropic"), pytest.param("gpt-judge", id="openai")]


def ratings_by(*judges: str, rubrics: tuple[str, ...] = ("helpfulness", "pedagogy")) -> Needs:
    return Needs(ratings=Needs.crossed(bases=["sonnet"], conditions=["conv"], judges=judges, rubrics=rubrics).ratings)


@pytest.fixture(autouse=True, scope="module")
def one_tls_context() -> Iterator[None]:
    """Nothing here is encrypted, and loading certificates for each of some hundred runs is slow."""
    with pytest.MonkeyPatch.context() as patch:
        context = tls_context()
        patch.setattr("pytest_tutoreval.providers.transport.tls_context", lambda: context)
        yield


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two sessions that nobody has rated."""
    folder = tmp_path_factory.mktemp("collected") / "corpus"
    with LoopbackServer(answer=speak) as server:
        assert go(server, folder, Needs.crossed(bases=["sonnet"], conditions=["conv"])).complete
    return folder


@pytest.fixture(scope="module")
def judged(collected: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the ordinary judge leaves: the corpus's facts, the bodies that were asked for, the dollars."""
    ordinary = {}
    for judge in JUDGES.values():
        folder = tmp_path_factory.mktemp("judged") / "corpus"
        shutil.copytree(collected, folder)
        with LoopbackServer(answer=speak) as server:
            study = a_study_file(folder.parent, server.base_urls, price=(10.0, 50.0), more=GPT_JUDGE)
            outcome = go(server, folder, ratings_by(judge), study=study)
            assert outcome.complete
            assert seals_hold(folder)
            ordinary[judge] = corpus_facts(folder), asked_bodies(server), outcome.dollars
    return ordinary


@pytest.fixture
def corpus(collected: Path, tmp_path: Path) -> Path:
    shutil.copytree(collected, tmp_path / "corpus")
    return tmp_path / "corpus"


def batch(
    server: BatchServer,
    folder: Path,
    *judges: str,
    needs: Needs | None = None,
    said: Callable[[str], None] = lambda _: None,
    price: tuple[float, float] | None = None,
    limits: BatchLimits | None = None,
    force: bool = False,
    **changes: Any,
) -> LiveOutcome:
    study = a_study_file(folder.parent / "study", server.base_urls, price=price, more=GPT_JUDGE)
    run = a_run(server, folder, needs or ratings_by(*judges), study=study, **({"max_retries": 3} | changes))
    options = BatchOptions(force=force, limits=limits, first_wait=0.01, longest_wait=0.02)
    return run_batch(run, said=said, options=options)


def records(folder: Path, judge: str) -> list[BatchRecord]:
    return list(BatchFolder(folder).records(judge).values())


def n_ratings(folder: Path) -> int:
    return sum(len(whole_lines(path)) - 1 for path in (folder / "ratings").rglob("*.jsonl"))


def without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tutoreval.providers.client.RetryPolicy.backoff", lambda *_: 0.0)


# the way it should go


@pytest.mark.parametrize("judge", BOTH)
def test_the_corpus_is_the_ordinary_judges(corpus: Path, judged: dict[str, Any], judge: str) -> None:
    facts, bodies, dollars = judged[judge]
    with BatchServer(answer=speak, looks=3) as server:
        outcome = batch(server, corpus, judge, price=(10.0, 50.0))
        assert outcome.complete, outcome.lines()
        assert corpus_facts(corpus) == facts
        assert server.paid == bodies
        assert len(server.made) == 1
        assert outcome.judging.given == bodies.total()
        assert outcome.dollars == pytest.approx(dollars / 2)
        assert not [entry for entry in server.journal if entry.path.endswith(("/messages", "/completions"))]
    assert seals_hold(corpus)
    (record,) = records(corpus, judge)
    assert (record.state, record.failed, record.problem) == ("settled", {}, None)
    assert any(f"{bodies.total()} ratings written" in line for line in outcome.lines())


def test_two_judges_at_two_vendors_in_one_run(corpus: Path) -> None:
    with BatchServer(answer=speak) as server:
        assert batch(server, corpus, "opus", "gpt-judge").complete
        assert [made.shape for made in server.made] == ["anthropic", "openai"]
    assert seals_hold(corpus)


@pytest.mark.parametrize("judge", BOTH)
def test_what_is_rated_already_is_not_handed_over(corpus: Path, judged: dict[str, Any], judge: str) -> None:
    with BatchServer(answer=speak) as server:
        assert batch(server, corpus, needs=ratings_by(judge, rubrics=("pedagogy",))).complete
        first = server.paid
        outcome = batch(server, corpus, judge)
        assert outcome.complete
        assert outcome.judging.found == first.total()
        assert server.paid == judged[judge][1]
        batch(server, corpus, judge)
        assert len(server.made) == 2, "nothing was missing"
    assert corpus_facts(corpus) == judged[judge][0]
    assert seals_hold(corpus)


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize("limits", [BatchLimits(5, 10**9), BatchLimits(10**9, 9_000)], ids=["requests", "bytes"])
def test_batches_are_split_at_the_limits(corpus: Path, judged: dict[str, Any], judge: str, limits: BatchLimits) -> None:
    with BatchServer(answer=speak) as server:
        assert batch(server, corpus, judge, limits=limits).complete
        assert len(server.made) > 2
        assert all(len(made.requests) <= limits.requests for made in server.made)
        sizes = [len(file) for name, file in server.files.items() if name.endswith("in")]
        sizes += [
            len(entry.body.encode()) for entry in server.journal if entry.path == "/v1/messages/batches" and entry.body
        ]
        assert sizes
        assert max(sizes) <= limits.bytes
        assert server.paid == judged[judge][1]
    assert corpus_facts(corpus) == judged[judge][0]
    assert len(records(corpus, judge)) == len(server.made)


def test_a_request_larger_than_a_batch_is_refused(corpus: Path) -> None:
    with BatchServer(answer=speak) as server:
        outcome = batch(server, corpus, "opus", limits=BatchLimits(10, 100))
        assert server.operations == []
    assert not outcome.complete
    assert any("larger than a batch may be" in line for line in outcome.lines())


# what does not come


@pytest.mark.parametrize("judge", BOTH)
def test_what_failed_is_listed_stays_missing_and_is_handed_over_anew(
    corpus: Path, judged: dict[str, Any], judge: str
) -> None:
    fates: dict[int, Fate] = {0: "errored", 1: "overloaded", 2: "expired", 3: "canceled", 4: "missing", 5: "garbled"}
    with BatchServer(answer=speak, fate=lambda number: fates.get(number, "succeeded")) as server:
        outcome = batch(server, corpus, judge, price=(10.0, 50.0))
        assert not outcome.complete
        total = judged[judge][1].total()
        assert outcome.judging.given == total - 6 == n_ratings(corpus)
        text = "\n".join(outcome.lines())
        for reason in (
            "bad_request",
            "too much of something",
            "overloaded",
            "expired at the vendor",
            "canceled at the vendor",
            "no result of this request came",
            "malformed",
        ):
            assert reason in text
        assert "6 ratings stay missing" in text
        (record,) = records(corpus, judge)
        assert record.state == "settled"
        assert sorted(int(name.split("-")[1]) for name in record.failed) == [0, 1, 2, 3, 4, 5]
        (spending,) = outcome.spending.values()
        assert (spending.calls, spending.failed_attempts) == (total - 6, 6)
        server.fate = lambda _: "succeeded"
        again = batch(server, corpus, judge)
        assert again.complete
        assert len(server.made[1].requests) == 6
        assert {digest_of(body) for _, body in server.made[1].requests} <= set(judged[judge][1])
    assert corpus_facts(corpus) == judged[judge][0]
    assert seals_hold(corpus)


@pytest.mark.parametrize("whole", ["failed", "expired", "cancelled"])
def test_a_whole_batch_that_ends_badly_at_openai(corpus: Path, judged: dict[str, Any], whole: str) -> None:
    fate: Fate = "canceled" if whole == "cancelled" else "expired"
    with BatchServer(answer=speak, whole=whole, fate=lambda number: fate if number else "succeeded") as server:
        outcome = batch(server, corpus, "gpt-judge")
        assert outcome.judging.given == (0 if whole == "failed" else 1)
        wanted = "One model a file. (line 2)" if whole == "failed" else f"{fate} at the vendor"
        assert any(wanted in line for line in outcome.lines())
        server.whole, server.fate = None, lambda _: "succeeded"
        assert batch(server, corpus, "gpt-judge").complete
    assert corpus_facts(corpus) == judged["gpt-judge"][0]


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize(
    ("fate", "words"), [("foreign", "it does not hold: 'somebody-elses'"), ("twice", "with more than one result: '")]
)
def test_unknown_and_double_ids_are_named_and_nothing_is_used(
    corpus: Path, judged: dict[str, Any], judge: str, fate: Fate, words: str
) -> None:
    with BatchServer(answer=speak, fate=lambda number: fate if number == 2 else "succeeded") as server:
        outcome = batch(server, corpus, judge)
        assert not outcome.complete
        assert any(words in line for line in outcome.lines())
        assert n_ratings(corpus) == 0
        assert not batch(server, corpus, judge).complete, "asked again, the vendor says the same"
        assert len(server.made) == 1
        server.fate = lambda _: "succeeded"
        assert batch(server, corpus, judge).complete, "the vendor mended it"
        assert len(server.made) == 1
    assert corpus_facts(corpus) == judged[judge][0]


def test_disputed_results_are_given_up_by_force_alone(corpus: Path, judged: dict[str, Any]) -> None:
    with BatchServer(answer=speak, fate=lambda number: "twice" if number == 2 else "succeeded") as server:
        assert not batch(server, corpus, "opus").complete
        server.fate = lambda _: "succeeded"
        server.made[0].id = "gone"
        outcome = batch(server, corpus, "opus")
        assert any("missing_model (404)" in line for line in outcome.lines())
        assert len(server.made) == 1
        assert batch(server, corpus, "opus", force=True).complete
        assert len(server.made) == 2
    assert [record.state for record in records(corpus, "opus")] == ["given-up", "settled"]
    assert corpus_facts(corpus) == judged["opus"][0]


def test_force_pays_for_nothing_that_is_well(corpus: Path) -> None:
    with BatchServer(answer=speak, looks=2) as server:
        assert stopped_while_waiting(server, corpus, "opus").stopped
        assert batch(server, corpus, "opus", force=True).complete
        assert len(server.made) == 1


def test_unusable_replies_are_kept_raw_and_the_missing_second_tries_are_told(corpus: Path) -> None:
    with BatchServer(answer=lambda *_: "no rating \u2028\ud800") as server:
        outcome = batch(server, corpus, "gpt-judge", "opus")
        assert outcome.complete
        assert outcome.judging.unusable == outcome.judging.given == n_ratings(corpus)
    told = [line for line in outcome.lines() if "makes none of the 1 second tries" in line]
    assert len(told) == 1
    assert told[0].startswith("gpt-judge: ")
    lines = [line for path in (corpus / "ratings").rglob("*.jsonl") for line in whole_lines(path)[1:]]
    assert {line["raw"] for line in lines} == {"no rating \u2028\ufffd"}


def test_a_changed_session_does_not_lose_the_rest(corpus: Path, judged: dict[str, Any]) -> None:
    with BatchServer(answer=speak, looks=2) as server:
        assert stopped_while_waiting(server, corpus, "opus").stopped
        away = corpus / "sessions" / "sonnet" / "conv" / "r1.jsonl"
        kept = away.read_bytes()
        away.unlink()
        outcome = batch(server, corpus, "opus")
        assert any("their sessions are gone, unreadable or changed" in line for line in outcome.lines())
        assert 0 < n_ratings(corpus) < judged["opus"][1].total()
        away.write_bytes(kept)
        assert batch(server, corpus, "opus").complete
        assert len(server.made) == 1
    assert corpus_facts(corpus) == judged["opus"][0]


# faults on the way


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize("operation", ["upload", "create", "look", "results"])
@pytest.mark.parametrize(("status", "body"), [(429, "{}"), (529, "{}")])
def test_refusals_are_tried_again(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, judge: str, operation: Any, status: int, body: str
) -> None:
    without_waits(monkeypatch)
    with BatchServer(answer=speak, steps=[BatchStep(operation, times=2, status=status, body=body)]) as server:
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize(
    "step",
    [
        BatchStep("look", times=2, status=500, body="<html>no</html>"),
        BatchStep("look", times=1, cut="body"),
        BatchStep("look", times=1, body="[]"),
        BatchStep("look", times=1, body={"id": "../../else", "processing_status": "ended", "status": "completed"}),
        BatchStep("results", times=2, cut="body"),
        BatchStep("results", times=1, cut="before"),
        BatchStep("results", times=1, body='{"custom_id": "x"\n'),
        BatchStep("results", times=1, body='{"custom_id": 7}\n'),
    ],
    ids=lambda step: f"{step.operation}-{step.status}-{step.cut or str(step.body)[:12]}",
)
def test_a_fault_while_fetching_costs_nothing(
    corpus: Path, judged: dict[str, Any], monkeypatch: pytest.MonkeyPatch, judge: str, step: BatchStep
) -> None:
    without_waits(monkeypatch)
    with BatchServer(answer=speak, steps=[step]) as server:
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1
    assert corpus_facts(corpus) == judged[judge][0]


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize("operation", ["look", "results"])
def test_a_vendor_that_is_down_is_resumed_later(
    corpus: Path, judged: dict[str, Any], monkeypatch: pytest.MonkeyPatch, judge: str, operation: Any
) -> None:
    without_waits(monkeypatch)
    with BatchServer(answer=speak, steps=[BatchStep(operation, times=4, status=500, body="{}")]) as server:
        outcome = batch(server, corpus, judge)
        assert not outcome.complete
        assert any("4 attempts failed" in line for line in outcome.lines())
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1
    assert corpus_facts(corpus) == judged[judge][0]


@pytest.mark.parametrize("judge", BOTH)
def test_a_refused_batch_leaves_nothing_behind(corpus: Path, judge: str) -> None:
    refusal = BatchStep("create", status=401, body={"error": {"type": "authentication_error", "message": "no"}})
    with BatchServer(answer=speak, steps=[refusal]) as server:
        outcome = batch(server, corpus, judge, limits=BatchLimits(5, 10**9))
        assert server.operations.count("create") == 1, "the next part was not tried"
        assert any("Check the key" in line for line in outcome.lines())
        assert records(corpus, judge) == []
        assert not (corpus / "ratings").exists()
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1


LOST_ANSWERS = [
    BatchStep("create", cut="before", done=True),
    BatchStep("create", cut="body", done=True),
    BatchStep("create", status=500, body="{}", done=True),
    BatchStep("create", status=504, body="<html>", done=True),
    BatchStep("create", body="[]", done=True),
]


@pytest.mark.parametrize("judge", BOTH)
@pytest.mark.parametrize("step", LOST_ANSWERS, ids=["cut", "half", "500", "504", "garbage"])
def test_a_batch_whose_answer_was_lost_is_found_at_the_vendor(
    corpus: Path, judged: dict[str, Any], judge: str, step: BatchStep
) -> None:
    said: list[str] = []
    with BatchServer(answer=speak, steps=[step], looks=3, page=1) as server:
        outcome = batch(server, corpus, judge, said=said.append)
        assert outcome.complete, outcome.lines()
        assert server.paid == judged[judge][1]
    assert any("no answer tells whether" in line for line in said)
    assert any("found at the vendor as" in line for line in said)
    assert corpus_facts(corpus) == judged[judge][0]


@pytest.mark.parametrize("judge", BOTH)
def test_a_stranger_of_the_same_size_is_not_adopted(corpus: Path, judge: str) -> None:
    elsewhere = corpus.parent / "elsewhere" / "corpus"
    shutil.copytree(corpus, elsewhere)
    with BatchServer(answer=speak) as server:
        assert batch(server, elsewhere, judge).complete
        server.add_batch_step(BatchStep("create", status=500, body="{}"))
        outcome = batch(server, corpus, judge)
        (line,) = {line for line in outcome.lines() if line.startswith(f"{judge}-1: ")}
        assert "may have been submitted at 20" in line
        assert "pass --force" in line
        assert not batch(server, corpus, judge).complete, "not paid for again unasked"
        assert len(server.made) == 1
        assert records(corpus, judge)[0].state == "submitting"
        assert batch(server, corpus, judge, force=True).complete
        assert len(server.made) == 2
    assert [record.state for record in records(corpus, judge)] == ["given-up", "settled"]


def test_an_unfinished_batch_of_the_same_size_is_waited_for(corpus: Path, judged: dict[str, Any]) -> None:
    said: list[str] = []
    elsewhere = corpus.parent / "elsewhere" / "corpus"
    shutil.copytree(corpus, elsewhere)
    with BatchServer(answer=speak, looks=8) as server:
        assert stopped_while_waiting(server, elsewhere, "opus").stopped
        server.add_batch_step(BatchStep("create", status=500, body="{}", done=True))
        assert batch(server, corpus, "opus", said=said.append).complete
        assert [made.id for made in server.made] == ["msgbatch_0000", "msgbatch_0001"]
    assert "opus-1: msgbatch_0001 may be it; its custom ids are told once it has ended" in said
    assert "opus-1: found at the vendor as msgbatch_0001" in said
    assert corpus_facts(corpus) == judged["opus"][0]


def test_a_stranger_whose_results_are_gone_is_no_obstacle(corpus: Path) -> None:
    elsewhere = corpus.parent / "elsewhere" / "corpus"
    shutil.copytree(corpus, elsewhere)
    with BatchServer(answer=speak) as server:
        assert batch(server, elsewhere, "opus").complete
        server.add_batch_step(BatchStep("create", status=500, body="{}"))
        server.add_batch_step(BatchStep("results", status=404, body="{}"))
        outcome = batch(server, corpus, "opus")
    assert any("may have been submitted" in line for line in outcome.lines())


def test_force_adopts_what_can_be_found_after_all(corpus: Path) -> None:
    with BatchServer(answer=speak, steps=[BatchStep("create", status=500, body="{}", done=True)]) as server:
        hidden = BatchStep("list", times=-1, body={"data": [], "has_more": False})
        server.add_batch_step(hidden)
        assert not batch(server, corpus, "opus").complete
        server._steps.clear()
        assert batch(server, corpus, "opus", force=True).complete
        assert len(server.made) == 1


def test_no_connection_leaves_no_question(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_waits(monkeypatch)
    with BatchServer(answer=speak) as server:
        pass
    outcome = batch(server, corpus, "opus")
    assert not outcome.complete
    assert any("connection: ConnectError" in line for line in outcome.lines())
    assert records(corpus, "opus") == []


# crashes


class Crash(BaseException):
    """What a killed process does not survive."""


class Crashing:
    """Crashes at the n-th step that leaves a trace, at the vendor or on disk; nothing leaves one any more after it."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int | None) -> None:
        self.steps, self._at = 0, at
        renaming, append = os.replace, GrowingFile.append

        async def sending(*given: Any, **options: Any) -> Any:
            self.step()
            answer = await send(*given, **options)
            self.step()
            return answer

        def replacing(source: Any, target: Any) -> None:
            self.step()
            renaming(source, target)
            self.step()

        def appending(file: GrowingFile, fields: dict[str, Any]) -> None:
            self.step()
            append(file, fields)
            self.step()

        patch.setattr("pytest_tutoreval.providers.batch_client.send", sending)
        patch.setattr(os, "replace", replacing)
        patch.setattr(GrowingFile, "append", appending)

    def step(self) -> None:
        self.steps += 1
        if self._at is not None and self.steps > self._at:
            raise Crash


@pytest.mark.parametrize("judge", BOTH)
def test_a_crash_between_any_two_steps_pays_nothing_twice_and_loses_nothing(
    collected: Path, tmp_path: Path, judged: dict[str, Any], monkeypatch: pytest.MonkeyPatch, judge: str
) -> None:
    ordinary, asked, _ = judged[judge]
    needs = ratings_by(judge, rubrics=("helpfulness",))
    facts = {name: lines for name, lines in ordinary.items() if "pedagogy" not in name}
    shutil.copytree(collected, tmp_path / "whole" / "corpus")
    half = BatchLimits(-(-asked.total() // 4), 10**9)
    with BatchServer(answer=speak) as server, monkeypatch.context() as patch:
        counted = Crashing(patch, None)
        assert batch(server, tmp_path / "whole" / "corpus", needs=needs, limits=half).complete
        bodies = server.paid
        assert bodies <= asked
        assert len(server.made) == 2
    assert counted.steps > 2 * bodies.total() + 20
    n_uncertain = 0
    with BatchServer(answer=speak) as server:
        for at in range(counted.steps):
            folder = tmp_path / f"at-{at}" / "corpus"
            shutil.copytree(collected, folder)
            server.made.clear()
            with monkeypatch.context() as patch:
                Crashing(patch, at)
                with pytest.raises(Crash):
                    batch(server, folder, needs=needs, limits=half)
            outcome = batch(server, folder, needs=needs, limits=half)
            if not outcome.complete:
                n_uncertain += 1
                assert any("may have been submitted at" in line for line in outcome.lines())
                assert len(server.made) == 1, "only the other half was handed over"
                assert batch(server, folder, needs=needs, limits=half, force=True).complete
            assert server.paid == bodies, f"crash at step {at}"
            assert corpus_facts(folder) == facts, f"crash at step {at}"
            assert seals_hold(folder)
            shutil.rmtree(folder.parent)
    # Between the marker and the sending, for either half: nobody can know. The vendor can tell all else.
    assert n_uncertain == 4


def judge_command(study: Path, corpus: Path, *more: str) -> list[str]:
    places = ("--corpus", corpus, "--study", study, "--base", "sonnet")
    return command("judge", "--judge", "opus,gpt-judge", "--batch", *places, *more)


@pytest.fixture
def whole_corpus(tmp_path: Path, whole_collected: Path) -> Path:
    shutil.copytree(whole_collected, tmp_path / "corpus")
    return tmp_path / "corpus"


@pytest.fixture(scope="module")
def whole_collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus under the whole instrument, as the command line reads it: one session."""
    from pytest_tutoreval.frozen import load_instrument

    folder = tmp_path_factory.mktemp("whole") / "corpus"
    needs = Needs.crossed(bases=["sonnet"], conditions=["conv"])
    with LoopbackServer(answer=speak) as server:
        assert go(server, folder, needs, instrument=load_instrument(), replicates=(0,)).complete
    return folder


@pytest.mark.parametrize("operation", ["create", "look", "results"])
def test_a_killed_command_is_resumed(whole_corpus: Path, tmp_path: Path, operation: str) -> None:
    children: list[subprocess.Popen[str]] = []

    def kill(seen: str) -> None:
        if seen == operation and children and children[-1].poll() is None:
            children[-1].kill()

    with BatchServer(answer=speak, on=kill) as server:
        study = a_study_file(tmp_path / "study", server.base_urls, more=GPT_JUDGE)
        children.append(subprocess.Popen(judge_command(study, whole_corpus), env=child_environ(), text=True))
        assert children[0].wait(60) == -9
        finished = subprocess.run(
            judge_command(study, whole_corpus), env=child_environ(), capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert [made.shape for made in server.made] in (["anthropic", "openai"], ["openai", "anthropic"])
        assert sum(len(made.requests) for made in server.made) == n_ratings(whole_corpus)
    assert seals_hold(whole_corpus)


# stopping


def stopped_while_waiting(server: BatchServer, folder: Path, judge: str) -> LiveOutcome:
    """Return what came of a run that was asked to stop when its batch was looked at."""

    def stop(operation: str) -> None:
        if operation == "look":
            server.on = lambda _: None
            os.kill(os.getpid(), signal.SIGINT)

    server.on = stop
    return batch(server, folder, judge)


@pytest.mark.parametrize("judge", BOTH)
def test_a_stop_leaves_the_batch_at_the_vendor(corpus: Path, judged: dict[str, Any], judge: str) -> None:
    with BatchServer(answer=speak, looks=-1) as server:
        outcome = stopped_while_waiting(server, corpus, judge)
        assert outcome.stopped
        assert not outcome.complete
        assert any("batches run on at the vendor" in line for line in outcome.lines())
        with pytest.raises(ConfigurationProblem, match=r"ratings of .* are on their way in a batch"):
            refuse_while_on_its_way(corpus, [judge])
        refuse_while_on_its_way(corpus, ["sol"])
        server.made[0].looks = 1
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1
    refuse_while_on_its_way(corpus, [judge])
    assert corpus_facts(corpus) == judged[judge][0]


def test_the_command_stops_with_130_and_resumes(whole_corpus: Path, tmp_path: Path) -> None:
    with BatchServer(answer=speak, looks=-1) as server:
        study = a_study_file(tmp_path / "study", server.base_urls, more=GPT_JUDGE)
        with subprocess.Popen(
            judge_command(study, whole_corpus),
            env=child_environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as child:
            while server.operations.count("look") < 2:
                assert child.poll() is None
                time.sleep(0.01)
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=20)
        assert child.returncode == 130, output
        assert "Traceback" not in output
        assert "batches run on at the vendor" in output
        ordinary = [argument for argument in judge_command(study, whole_corpus) if argument != "--batch"]
        refused = subprocess.run(ordinary, env=child_environ(), capture_output=True, text=True, check=False)
        assert refused.returncode == 1
        assert "fetch them with --batch" in refused.stderr
        for made in server.made:
            made.looks = 1
        finished = subprocess.run(
            judge_command(study, whole_corpus), env=child_environ(), capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        assert len(server.made) == 2
        assert sum(len(made.requests) for made in server.made) == n_ratings(whole_corpus)
    assert seals_hold(whole_corpus)


def test_a_stop_between_two_batches_hands_over_no_further_one(corpus: Path, judged: dict[str, Any]) -> None:
    def stop(operation: str) -> None:
        if operation == "create":
            server.on = lambda _: None
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    with BatchServer(answer=speak, on=stop) as server:
        limits = BatchLimits(5, 10**9)
        assert batch(server, corpus, "opus", limits=limits).stopped
        assert len(server.made) == 1
        assert [record.state for record in records(corpus, "opus")] == ["submitted"]
        assert batch(server, corpus, "opus", limits=limits).complete
        assert server.paid == judged["opus"][1]
    assert corpus_facts(corpus) == judged["opus"][0]


@pytest.mark.parametrize("judge", BOTH)
def test_a_second_signal_cancels_even_while_the_batch_is_made(corpus: Path, judged: dict[str, Any], judge: str) -> None:
    def cancel(operation: str) -> None:
        if operation == "create":
            server.on = lambda _: None
            for _ in range(2):  # the answer is not sent before this returns
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)

    with BatchServer(answer=speak, on=cancel) as server:
        outcome = batch(server, corpus, judge)
        assert outcome.stopped
        assert [record.state for record in records(corpus, judge)] == ["submitting"]
        assert len(server.made) == 1
        assert batch(server, corpus, judge).complete
        assert len(server.made) == 1
    assert corpus_facts(corpus) == judged[judge][0]


# money, keys, blinding, neighbours


def test_a_budget_too_small_refuses_before_anything_is_sent(corpus: Path) -> None:
    with BatchServer(answer=speak) as server:
        outcome = batch(server, corpus, "opus", "gpt-judge", price=(10.0, 50.0), budget=0.05)
        assert server.journal == []
        assert not outcome.complete
        assert outcome.dollars == 0
        assert any("at half price" in line and "nothing was sent" in line for line in outcome.lines())
    assert not (corpus / "batches").exists()
    assert not (corpus / "ratings").exists()


def test_the_whole_is_reserved_at_half_price(corpus: Path) -> None:
    refused: list[float] = []
    with BatchServer(answer=speak) as server:
        outcome = batch(server, corpus, "opus", price=(10.0, 50.0), budget=0.01)
        (line,) = {line for line in outcome.lines() if "could cost" in line}
        refused.append(float(line.split("could cost ")[1].split()[0]))
        assert not batch(server, corpus, "opus", price=(10.0, 50.0), budget=refused[0] - 0.001).complete
        assert server.journal == []
        enough = batch(server, corpus, "opus", price=(10.0, 50.0), budget=refused[0] + 0.001)
        assert enough.complete
        assert enough.dollars is not None
        assert 0 < enough.dollars < refused[0]


def test_what_is_on_its_way_counts_against_the_budget(corpus: Path) -> None:
    with BatchServer(answer=speak, looks=2) as server:
        first = ratings_by("opus", rubrics=("helpfulness",))

        def stop(operation: str) -> None:
            if operation == "look":
                server.on = lambda _: None
                os.kill(os.getpid(), signal.SIGINT)

        server.on = stop
        assert batch(server, corpus, needs=first, price=(10.0, 50.0)).stopped
        outcome = batch(server, corpus, "opus", price=(10.0, 50.0), budget=0.01)
        assert any("nothing was sent" in line for line in outcome.lines())
        assert len(server.made) == 1
        assert outcome.judging.given == len(server.made[0].requests), "what was paid for is fetched all the same"


@pytest.mark.parametrize("judge", ["sol", "gemini-judge"])
def test_other_providers_are_refused_in_words(corpus: Path, judge: str) -> None:
    with BatchServer(answer=speak) as server:
        more = (
            '[[judges]]\nid = "gemini-judge"\nlabel = "G"\nmodel = "gemini-3.1-pro-preview"\nprovider = "gemini"\n'
            'status = "test"\nsampling = { max_tokens = 64 }\n'
        )
        study = a_study_file(corpus.parent / "study", server.base_urls, more=more)
        with pytest.raises(ConfigurationProblem, match=r"batches are not supported .*anthropic, openai"):
            run_batch(a_run(server, corpus, ratings_by(judge), study=study))
        assert server.journal == []


def test_a_request_that_is_not_blind_is_not_handed_over(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BlindingBroken("it holds the answer")

    monkeypatch.setattr("pytest_tutoreval.judging.blinding.BlindingCheck.__call__", refuse)
    with BatchServer(answer=speak) as server:
        outcome = batch(server, corpus, "opus")
        assert server.journal == []
    assert set(outcome.judging.incomplete.values()) == {"it holds the answer"}


def test_every_request_in_a_batch_is_a_judges(corpus: Path) -> None:
    with BatchServer(answer=speak) as server:
        batch(server, corpus, "opus", "gpt-judge")
        assert {role_of(str(body)) for made in server.made for _, body in made.requests} == {"judge"}


def test_a_second_process_makes_no_batches_beside_this_one(corpus: Path) -> None:
    lock = corpus / ".locks" / "batches" / "opus.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with BatchServer(answer=speak) as server, FileLock(lock):
        with pytest.raises(HeldElsewhere, match="another process makes batches of opus"):
            batch(server, corpus, "opus")
        assert server.journal == []


def test_ratings_given_meanwhile_are_left_as_they_are(corpus: Path, judged: dict[str, Any]) -> None:
    with BatchServer(answer=speak, looks=2) as server:
        assert stopped_while_waiting(server, corpus, "opus").stopped
        study = a_study_file(corpus.parent / "study", server.base_urls, more=GPT_JUDGE)
        needs = ratings_by("opus", rubrics=("pedagogy",))
        with pytest.raises(ConfigurationProblem, match="on their way in a batch"):
            go(server, corpus, needs, study=study)
        assert go(server, corpus, needs, study=study, pay_for_pending=True).complete
        before = {path: path.read_bytes() for path in (corpus / "ratings" / "opus" / "pedagogy").rglob("*.jsonl")}
        assert batch(server, corpus, "opus").complete
        assert {path: path.read_bytes() for path in before} == before
    assert corpus_facts(corpus) == judged["opus"][0]


def test_a_file_that_is_held_is_waited_for(corpus: Path, judged: dict[str, Any]) -> None:
    path = corpus / ".locks" / "ratings" / "opus" / "helpfulness" / "sonnet" / "conv" / "r0.jsonl.lock"
    path.parent.mkdir(parents=True)
    lock = FileLock(path, thread_local=False)
    lock.acquire()
    timer = threading.Timer(0.6, lock.release)
    with BatchServer(answer=speak, on=lambda seen: timer.start() if seen == "results" else None) as server:
        assert batch(server, corpus, "opus").complete
    timer.join()
    assert corpus_facts(corpus) == judged["opus"][0]


def test_a_batch_of_another_route_is_not_mixed_in(corpus: Path) -> None:
    with BatchServer(answer=speak, looks=2) as server:
        assert stopped_while_waiting(server, corpus, "opus").stopped
        instrument = short_instrument()
        changed = tuple(
            judge.model_copy(update={"sampling": judge.sampling.model_copy(update={"max_tokens": 300})})
            for judge in instrument.study.judges
        )
        other = replace(instrument, study=instrument.study.model_copy(update={"judges": changed}))
        with pytest.raises(ConfigurationProblem, match="handed over under another route of opus"):
            batch(server, corpus, "opus", instrument=other)
        assert batch(server, corpus, "opus", instrument=other, force=True).complete
        assert [record.state for record in records(corpus, "opus")] == ["given-up", "settled"]


def test_many_failures_are_listed_in_the_record(
    corpus: Path, judged: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tutoreval.live.judge_batches._SHOWN_FAILURES", 5)
    with BatchServer(answer=speak, fate=lambda _: "expired") as server:
        outcome = batch(server, corpus, "opus")
    total = judged["opus"][1].total()
    assert sum("expired at the vendor before it was run" in line for line in outcome.notes) == 5
    assert any(f"and {total - 5} more, all in" in line for line in outcome.notes)
    assert len(records(corpus, "opus")[0].failed) == total


def test_a_record_that_cannot_be_written_means_that_nothing_is_handed_over(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "batches").write_text("in the way")
    with BatchServer(answer=speak) as server:
        with pytest.raises(CorpusError, match="cannot be written"):
            batch(server, corpus, "opus")
        assert server.made == []


def test_a_replay_makes_no_batches(corpus: Path) -> None:
    with BatchServer(answer=speak) as server:
        with pytest.raises(ConfigurationProblem, match="a replay makes no batches"):
            batch(server, corpus, "opus", answerer=lambda _: None)
        assert server.journal == []


def test_a_record_that_cannot_be_read_stops_the_run(corpus: Path) -> None:
    (corpus / "batches").mkdir()
    (corpus / "batches" / "opus-1.json").write_text("{")
    with BatchServer(answer=speak) as server:
        with pytest.raises(CorpusError, match="nobody knows which ratings are on their way"):
            batch(server, corpus, "opus")
        assert server.journal == []


def test_it_runs_inside_a_running_loop(corpus: Path) -> None:
    async def outer(server: BatchServer) -> LiveOutcome:
        return batch(server, corpus, "opus")

    with BatchServer(answer=speak) as server:
        assert asyncio.run(outer(server)).complete


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([], id="fine"),
        pytest.param([BatchStep("create", times=2, status=401, body={"error": {"message": ECHO}})], id="create-401"),
        pytest.param([BatchStep("create", times=2, status=429, body={"error": {"message": ECHO}})], id="create-429"),
        pytest.param([BatchStep("look", times=2, status=500, body=ECHO)], id="look-500"),
        pytest.param([BatchStep("look", times=2, headers={"request-id": "{key}"}, body=f"<p>{ECHO}")], id="look-200"),
        pytest.param([BatchStep("results", times=2, status=403, body={"error": {"message": ECHO}})], id="results-403"),
        pytest.param([BatchStep("upload", times=2, status=400, body={"error": {"message": ECHO}})], id="upload-400"),
    ],
)
def test_keys_are_nowhere(whole_corpus: Path, tmp_path: Path, steps: list[BatchStep]) -> None:
    with BatchServer(answer=speak, steps=steps) as server:
        study = a_study_file(tmp_path / "study", server.base_urls, more=GPT_JUDGE)
        finished = subprocess.run(
            judge_command(study, whole_corpus, "--max-retries", "0"),
            env=child_environ(**CANARIES),
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == (1 if steps else 0), finished.stdout + finished.stderr
        sent = {value for entry in server.journal for value in entry.headers.values()}
        assert CANARIES["ANTHROPIC_API_KEY"] in sent
    assert leaks(finished.stdout + finished.stderr) == []
    assert files_with_leaks(tmp_path) == []
    assert KEYS["ANTHROPIC_API_KEY"] not in finished.stdout


@pytest.mark.parametrize("judge", BOTH)
def test_a_faulty_result_may_echo_the_key(corpus: Path, judge: str) -> None:
    """A key of ours in an item's error is taken out of reasons, records and ledger."""
    key = CANARIES["ANTHROPIC_API_KEY" if judge == "opus" else "OPENAI_API_KEY"]

    class Echoing(BatchServer):
        def _lines(self, batch: Any) -> list[bytes]:
            return [line.replace(b"too much of something", key.encode()) for line in super()._lines(batch)]

    with Echoing(answer=speak, fate=lambda number: "succeeded" if number else "errored") as server:
        outcome = batch(server, corpus, judge, environ=CANARIES)
    text = "\n".join(outcome.lines())
    assert "<redacted>" in text
    assert leaks(text) == []
    assert files_with_leaks(corpus) == []


def test_a_run_without_a_corpus_sends_nothing(tmp_path: Path) -> None:
    with BatchServer([Step()], answer=speak) as server:
        with pytest.raises(CorpusError, match=r"no corpus\.toml there"):
            batch(server, tmp_path / "corpus", "opus")
        assert server.journal == []
