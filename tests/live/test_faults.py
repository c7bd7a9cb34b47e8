"""Faults of providers, through the whole engine: what stops, what goes on, what is kept."""

import json
import time
from pathlib import Path

import pytest

from pytest_tutoreval.live import Needs
from tests.live.running import (
    a_run,
    a_study_file,
    asked_bodies,
    bodies_on_disk,
    go,
    seals_hold,
    short_instrument,
    whole_lines,
)
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer, Step

CONV = Needs.crossed(bases=["sonnet"], conditions=["conv"])
UNAUTHORISED = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}


def ledger(folder: Path) -> list[dict[str, object]]:
    return [line for path in sorted((folder / "runs").glob("*.jsonl")) for line in whole_lines(path)]


def test_a_route_that_stops_leaves_the_others_to_finish(tmp_path: Path) -> None:
    needs = Needs.crossed(bases=["sonnet", "gpt"], conditions=["cold", "conv"])
    stop = Step(times=-1, shape="anthropic", status=401, body=UNAUTHORISED)
    with LoopbackServer([stop], answer=speak) as server:
        outcome = go(server, tmp_path / "corpus", needs)
        asked_of_anthropic = [entry for entry in server.journal if entry.shape == "anthropic"]
    # Cold sessions need no tutor, so sonnet's finish too.
    assert outcome.collection.finished == 6
    assert sorted(map(str, outcome.collection.unfinished)) == ["sonnet/conv/r0", "sonnet/conv/r1"]
    assert all("authentication (401)" in reason for reason in outcome.collection.unfinished.values())
    assert 1 <= len(asked_of_anthropic) <= 2, "the stopped route was asked again"
    assert any("authentication" in str(line.get("message")) for line in ledger(tmp_path / "corpus"))
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        again = go(server, tmp_path / "corpus", needs, study=study)
    assert again.complete
    assert seals_hold(tmp_path / "corpus")


def test_a_storm_of_429_is_waited_out_and_every_attempt_is_kept(tmp_path: Path) -> None:
    storm = Step(times=6, status=429, headers={"retry-after-ms": "20"}, body={"error": {"message": "slow down"}})
    with LoopbackServer([storm], answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls, concurrency=3)
        outcome = go(server, tmp_path / "corpus", CONV, study=study, replicates=(0, 1, 2), max_retries=50)
        assert outcome.complete
        assert len(server.journal) == outcome.collection.calls + 6
        assert server.most_at_once <= 6
    kept = [
        failure["kind"]
        for path in (tmp_path / "corpus" / "sessions").rglob("*.jsonl")
        for line in whole_lines(path)
        for failure in line.get("failures", ())
    ]
    assert kept == ["rate_limit"] * 6
    assert sum(spending.failed_attempts for spending in outcome.spending.values()) == 6


def test_no_retries_is_one_attempt_a_call(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, status=500, body="down")], answer=speak) as server:
        outcome = go(server, tmp_path / "corpus", CONV, max_retries=0)
        assert len(server.journal) == 2
    assert len(outcome.collection.unfinished) == 2
    assert all("1 attempt failed" in reason for reason in outcome.collection.unfinished.values())


def test_a_session_past_its_deadline_is_left_to_be_resumed(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=4), Step(times=-1, delay=5)], answer=speak) as server:
        started = time.monotonic()
        outcome = go(server, tmp_path / "corpus", CONV, session_deadline=0.6)
        assert time.monotonic() - started < 4
    assert set(outcome.collection.unfinished.values()) == {"not finished within its deadline of 0.6 s"}
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        outcome = go(server, tmp_path / "corpus", CONV, study=study)
        assert outcome.complete
        assert outcome.collection.resumed == 4


def test_a_wrong_served_provider_stops_the_route_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, shape="openrouter", served="Somebody")], answer=speak) as server:
        outcome = go(server, tmp_path / "corpus", CONV, replicates=(0,))
        assert len(server.journal) == 1
    (reason,) = outcome.collection.unfinished.values()
    assert "wrong_provider" in reason
    (path,) = (tmp_path / "corpus" / "sessions").rglob("*.jsonl")
    assert len(whole_lines(path)) == 1


@pytest.mark.parametrize(
    ("step", "finish", "text"),
    [
        pytest.param(Step(shape="anthropic", finish="length"), "length", None, id="truncated"),
        pytest.param(Step(shape="anthropic", finish="refusal"), "refusal", "", id="refused"),
        pytest.param(Step(shape="anthropic", empty=True), None, "", id="empty"),
        pytest.param(Step(shape="anthropic", text=" \n "), "stop", " \n ", id="white-space"),
        pytest.param(Step(shape="openrouter", finish="length"), "length", None, id="student-truncated"),
        pytest.param(Step(shape="openrouter", text=""), "stop", "", id="student-empty"),
        pytest.param(Step(shape="openrouter", finish="content_filter"), "content_filter", None, id="student-filtered"),
    ],
)
def test_an_odd_reply_is_data_and_the_session_goes_on(
    tmp_path: Path, step: Step, finish: str | None, text: str | None
) -> None:
    with LoopbackServer([step], answer=speak) as server:
        outcome = go(server, tmp_path / "corpus", CONV, replicates=(0,))
        assert outcome.complete, outcome.lines()
        done, _ = bodies_on_disk(tmp_path / "corpus", short_instrument())
        assert asked_bodies(server) == done, "an odd reply was asked for again"
    (path,) = (tmp_path / "corpus" / "sessions").rglob("*.jsonl")
    role = "tutor" if step.shape == "anthropic" else "student"
    first = next(line for line in whole_lines(path) if line.get("role") == role)
    assert first.get("finish", None if finish is None else "missing") == finish or finish is None
    if text is not None:
        assert first["text"] == text


def test_a_bug_in_one_place_is_not_hidden(tmp_path: Path) -> None:
    class Broken:
        async def complete(self, request: object) -> None:
            raise ZeroDivisionError("a bug of ours")

    with LoopbackServer() as server, pytest.raises(ExceptionGroup) as caught:
        go(server, tmp_path / "corpus", CONV, answerer=lambda _: Broken())
    assert caught.group_contains(ZeroDivisionError)


def test_an_unknown_condition_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    from pytest_tutoreval.errors import ConfigurationProblem

    with LoopbackServer() as server:
        for needs in (
            Needs.crossed(bases=["sonnet"], conditions=["cold", "nonsense"]),
            Needs.crossed(bases=["sonnet"], conditions=["cold"], judges=["opus"], rubrics=["kindness"]),
        ):
            with pytest.raises(ConfigurationProblem, match="is not known"):
                go(server, tmp_path / "corpus", needs)
        assert server.journal == []
    assert not (tmp_path / "corpus").exists()


def test_the_ledger_holds_what_no_session_does(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=-1, status=400, body=json.dumps({"error": {"message": "no"}}))]) as server:
        run = a_run(server, tmp_path / "corpus", CONV, replicates=(0,))
        outcome = go(server, tmp_path / "corpus", CONV, replicates=(0,))
    assert run.folder == tmp_path / "corpus"
    assert not outcome.complete
    failed, closed = ledger(tmp_path / "corpus")
    assert failed["failed_call"] == "sonnet/conv/r0/train-1/student/0"
    assert isinstance(failed["attempts"], list)
    assert closed["sessions_unfinished"] == 1
