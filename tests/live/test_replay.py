"""A collected corpus as the network: the same sessions and ratings, byte for byte, or a named miss."""

import asyncio
import json
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.cli import app
from pytest_tutoreval.errors import CorpusError, ForeignInstrument, ReplayMiss
from pytest_tutoreval.frozen import Instrument
from pytest_tutoreval.live import LiveOutcome, LiveRun, Needs, replay_answerer, run_live
from pytest_tutoreval.live.jobs import judge_route
from pytest_tutoreval.providers.agent import CallSite, Message, ModelReply, ModelRequest
from pytest_tutoreval.records import SessionKey
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.store.ratings import ratings_path
from pytest_tutoreval.store.sessions import session_path
from tests.live.running import KEYS, a_study_file, corpus_facts, go, short_instrument
from tests.live.voices import speak
from tests.loopback.server import LoopbackServer
from tests.store.corpora import edit_lines, reseal

RUBRICS = ("helpfulness", "pedagogy")
NEEDS = Needs.crossed(bases=["sonnet"], conditions=["cold", "conv", "ped"], judges=["opus", "sol"], rubrics=RUBRICS)
CONV, PED = SessionKey("sonnet", "conv", 0), SessionKey("sonnet", "ped", 1)


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


@pytest.fixture(scope="module")
def collected(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collected") / "corpus"
    outcome = go(server, folder, NEEDS)
    assert outcome.complete, outcome.lines()
    assert outcome.judging.given > 20
    return folder


@pytest.fixture
def damaged(collected: Path, tmp_path: Path) -> Path:
    """A copy of the collected corpus to damage."""
    return Path(shutil.copytree(collected, tmp_path / "damaged"))


@pytest.fixture(autouse=True)
def line_is_cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here connects to anything or looks up a name, once its corpus is there."""
    for name in ("collected", "damaged", "by_command"):
        if name in request.fixturenames:
            request.getfixturevalue(name)

    def cut(*_: object, **__: object) -> None:
        raise AssertionError("a replay opened a connection")

    monkeypatch.setattr(socket.socket, "connect", cut)
    monkeypatch.setattr(socket.socket, "connect_ex", cut)
    monkeypatch.setattr(socket, "getaddrinfo", cut)


def replay(
    source: Path,
    target: Path,
    *,
    needs: Needs = NEEDS,
    instrument: Instrument | None = None,
    replicates: tuple[int, ...] = (0, 1),
    budget: float | None = None,
) -> LiveOutcome:
    """Return what came of a run that a corpus answers; without a key, a price or a study file."""
    asked = instrument or short_instrument()
    return run_live(
        LiveRun(
            instrument=asked,
            folder=target,
            needs=needs,
            replicates=replicates,
            budget=budget,
            environ={},
            answerer=replay_answerer(source, asked.sha256),
            sync=lambda _: None,
        )
    )


def files(folder: Path, part: str) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted((folder / part).rglob("*.jsonl"))}


def reasons(outcome: LiveOutcome) -> dict[str, str]:
    """Why sessions and rating files were not finished."""
    return {
        **{str(key): reason for key, reason in outcome.collection.unfinished.items()},
        **outcome.judging.incomplete,
    }


# the same run


def test_a_replay_makes_the_same_corpus_with_no_connection(
    collected: Path, server: LoopbackServer, tmp_path: Path
) -> None:
    before = len(server.journal)
    outcome = replay(collected, tmp_path / "again")
    assert outcome.complete, outcome.lines()
    assert len(server.journal) == before
    assert files(tmp_path / "again", "sessions") == files(collected, "sessions")
    assert corpus_facts(tmp_path / "again") == corpus_facts(collected)


def test_a_replayed_corpus_can_be_replayed(collected: Path, tmp_path: Path) -> None:
    replay(collected, tmp_path / "once")
    assert replay(tmp_path / "once", tmp_path / "twice").complete
    assert corpus_facts(tmp_path / "twice") == corpus_facts(collected)


def test_a_replay_needs_no_key_no_price_and_no_dollar(collected: Path, tmp_path: Path) -> None:
    assert replay(collected, tmp_path / "again", budget=0.0).complete


def test_a_replay_of_a_part_asks_for_that_part(collected: Path, tmp_path: Path) -> None:
    needs = Needs.crossed(bases=["sonnet"], conditions=["ped"])
    assert replay(collected, tmp_path / "again", needs=needs, replicates=(1,)).complete
    assert list(files(tmp_path / "again", "sessions")) == [session_path(PED)]


# one byte


def with_a_byte_more(instrument: Instrument, part: str, name: str) -> Instrument:
    """The instrument with one byte more in a text, under the same digest."""
    texts = getattr(instrument, part)
    given: dict[str, Any] = {part: {**texts, name: texts[name] + " "}}
    return replace(instrument, **given)


@pytest.mark.parametrize(
    ("part", "name", "missed"),
    [
        pytest.param(
            "prompts",
            "student",
            {f"sonnet/{condition}/r{number}": 1 for condition in ("cold", "conv", "ped") for number in (0, 1)},
            id="student-prompt",
        ),
        pytest.param("prompts", "convtutor", {"sonnet/conv/r0": 2, "sonnet/conv/r1": 2}, id="tutor-prompt"),
        pytest.param("prompts", "pedtutor_tracker", {"sonnet/ped/r0": 2, "sonnet/ped/r1": 2}, id="tracker-prompt"),
    ],
)
def test_a_prompt_that_differs_by_one_byte_is_a_named_miss(
    collected: Path, tmp_path: Path, part: str, name: str, missed: dict[str, int]
) -> None:
    changed = with_a_byte_more(short_instrument(), part, name)
    outcome = replay(collected, tmp_path / "again", instrument=changed, needs=replace(NEEDS, ratings={}))
    assert reasons(outcome) == {
        key: f"session {key}: call {seq} was asked otherwise when it was recorded" for key, seq in missed.items()
    }
    assert not outcome.complete
    assert outcome.collection.finished == 6 - len(missed)


def test_a_rubric_that_differs_by_one_byte_is_a_named_miss(collected: Path, tmp_path: Path) -> None:
    changed = with_a_byte_more(short_instrument(), "rubrics", "pedagogy")
    outcome = replay(collected, tmp_path / "again", instrument=changed)
    assert {path.split("/")[2] for path in reasons(outcome)} == {"pedagogy"}
    assert all(
        "no rating of exactly this request (rubric pedagogy, repetition" in reason
        for reason in reasons(outcome).values()
    )
    assert outcome.judging.given == sum(
        len(lines) - 1 for path, lines in corpus_facts(collected).items() if "/helpfulness/" in path
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text + " ", id="a-space-more"),
        pytest.param(lambda text: text[:-1], id="a-byte-less"),
        pytest.param(lambda text: text.swapcase(), id="case"),
    ],
)
def test_a_recorded_text_that_was_changed_is_missed_at_the_call_that_heard_it(
    damaged: Path, tmp_path: Path, change: Callable[[str], str]
) -> None:
    edit_lines(
        damaged / session_path(CONV),
        lambda lines: [lines[0], lines[1] | {"text": change(lines[1]["text"])}, *lines[2:]],
    )
    reseal(damaged)
    outcome = replay(damaged, tmp_path / "again", needs=replace(NEEDS, ratings={}))
    assert reasons(outcome) == {
        "sonnet/conv/r0": "session sonnet/conv/r0: call 2 was asked otherwise when it was recorded"
    }


def test_a_sealed_session_that_was_changed_is_refused(damaged: Path, tmp_path: Path) -> None:
    edit_lines(damaged / session_path(CONV), lambda lines: [lines[0], lines[1] | {"text": "Hm"}, *lines[2:]])
    outcome = replay(damaged, tmp_path / "again", needs=replace(NEEDS, ratings={}))
    assert list(reasons(outcome)) == ["sonnet/conv/r0"]
    assert "changed since; restore the file" in reasons(outcome)["sonnet/conv/r0"]


def test_another_route_is_another_question(collected: Path, tmp_path: Path) -> None:
    asked = short_instrument()
    base = asked.study.bases[0].model_copy(update={"model": "claude-sonnet-4-7"})
    study = asked.study.model_copy(update={"bases": (base, *asked.study.bases[1:])})
    needs = Needs.crossed(bases=["sonnet"], conditions=["conv"])
    outcome = replay(collected, tmp_path / "again", instrument=replace(asked, study=study), needs=needs)
    assert {reason.partition(": ")[2] for reason in reasons(outcome).values()} == {
        "call 2 was asked otherwise when it was recorded"
    }


# what is not there


def test_a_session_that_was_not_recorded_is_named(damaged: Path, tmp_path: Path) -> None:
    (damaged / session_path(PED)).unlink()
    outcome = replay(damaged, tmp_path / "again")
    assert reasons(outcome) == {"sonnet/ped/r1": f"session sonnet/ped/r1: it was not recorded in {damaged}"}


def test_a_replicate_that_was_not_recorded_is_named(collected: Path, tmp_path: Path) -> None:
    needs = Needs.crossed(bases=["sonnet"], conditions=["cold"])
    outcome = replay(collected, tmp_path / "again", needs=needs, replicates=(0, 9))
    assert list(reasons(outcome)) == ["sonnet/cold/r9"]


def test_a_longer_protocol_misses_the_call_that_was_never_made(collected: Path, tmp_path: Path) -> None:
    asked = short_instrument()
    longer = replace(
        asked,
        study=asked.study.model_copy(update={"protocol": asked.study.protocol.model_copy(update={"tutor_turns": 5})}),
    )
    needs = Needs.crossed(bases=["sonnet"], conditions=["conv"])
    outcome = replay(collected, tmp_path / "again", instrument=longer, needs=needs, replicates=(0,))
    assert reasons(outcome) == {
        "sonnet/conv/r0": "session sonnet/conv/r0: no call of the tutor was recorded at train-1 exchange 4 conv"
    }


def test_a_rating_that_was_not_recorded_is_named(damaged: Path, tmp_path: Path) -> None:
    path = ratings_path("opus", "helpfulness", CONV)
    gone: dict[str, Any] = json.loads((damaged / path).read_text(encoding="utf-8").splitlines()[1])
    edit_lines(damaged / path, lambda lines: [lines[0], *lines[2:]])
    reseal(damaged)
    outcome = replay(damaged, tmp_path / "again")
    assert reasons(outcome) == {
        path: f"session sonnet/conv/r0, {gone['problem']} turn {gone['turn']}: no rating of exactly this request "
        f"(rubric helpfulness, repetition {gone['repetition']}) was recorded"
    }


def test_a_rating_file_that_was_not_recorded_is_named(damaged: Path, tmp_path: Path) -> None:
    path = ratings_path("sol", "pedagogy", CONV)
    (damaged / path).unlink()
    outcome = replay(damaged, tmp_path / "again")
    assert list(reasons(outcome)) == [path]


@pytest.mark.parametrize("role", ["student", "judge"])
def test_a_miss_is_an_error_of_its_own(collected: Path, role: str) -> None:
    instrument = short_instrument()
    route = judge_route(instrument, "opus")
    site = CallSite("sonnet", "conv", 0, "train-1", "exchange" if role == "student" else "rating", turn=0)
    request = ModelRequest(
        role="student" if role == "student" else "judge",
        site=site if role == "student" else replace(site, rubric="helpfulness", repetition=0),
        system="What nobody asked.",
        messages=(Message("user", "?"),),
        route=route,
    )
    answerer = replay_answerer(collected, instrument.sha256)(route)
    with pytest.raises(ReplayMiss, match="session sonnet/conv/r0"):
        asyncio.run(answerer.complete(request))


def test_a_replay_under_another_instrument_is_refused(collected: Path, tmp_path: Path) -> None:
    with pytest.raises(ForeignInstrument, match=r"made under instrument 0+, this one is f+\..*never mixed"):
        replay(collected, tmp_path / "again", instrument=replace(short_instrument(), sha256="f" * 64))
    assert not (tmp_path / "again").exists()


def test_a_folder_that_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no corpus\.toml there"):
        replay_answerer(tmp_path, short_instrument().sha256)


# second tries, and ratings of the same words


class Stub:
    """Students and tutors who always say the same, and a judge whose rating tells the place; some tries fail first.

    Two problems then begin with the same dialogue, so their ratings answer one and the same request.
    """

    def __init__(self) -> None:
        self.tries = Counter[tuple[object, ...]]()

    def __call__(self, _: Route) -> "Stub":
        return self

    async def complete(self, request: ModelRequest) -> ModelReply:
        site = request.site
        if request.role != "judge":
            return ModelReply("What do you notice?" if request.role == "tutor" else "I am not sure.")
        place = (site.replicate, site.problem, site.turn, site.rubric, site.repetition)
        self.tries[place] += 1
        number = site.replicate + int(site.problem[-1]) + (site.turn or 0) + (site.repetition or 0)
        if self.tries[place] <= number % 3:
            return ModelReply(f"no rating of {place}, try {self.tries[place]}")
        return ModelReply(json.dumps({"overall": 1 + number % 5, "place": str(place)}))


@pytest.fixture(scope="module")
def monotonous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monotonous") / "corpus"
    needs = Needs.crossed(bases=["sonnet"], conditions=["conv"], judges=["sol"], rubrics=RUBRICS)
    run = LiveRun(short_instrument(2, 1), folder, needs, replicates=(0, 1), answerer=Stub(), sync=lambda _: None)
    outcome = run_live(run)
    assert outcome.complete
    assert outcome.judging.second_tries > 0
    return folder


def test_second_tries_are_replayed_in_order_and_each_rating_at_its_own_place(monotonous: Path, tmp_path: Path) -> None:
    needs = Needs.crossed(bases=["sonnet"], conditions=["conv"], judges=["sol"], rubrics=RUBRICS)
    outcome = replay(monotonous, tmp_path / "again", needs=needs, instrument=short_instrument(2, 1))
    assert outcome.complete, outcome.lines()
    assert corpus_facts(tmp_path / "again") == corpus_facts(monotonous)
    ratings = [
        rating
        for number in (0, 1)
        for rating in open_corpus(tmp_path / "again").ratings("sol", "helpfulness", CONV._replace(replicate=number))
        or ()
    ]
    # 2 sessions of 2 problems of 4 turns, 3 repetitions each
    assert len(ratings) == 48
    assert {len(rating.discarded) for rating in ratings} == {0, 1, 2}
    assert len({rating.request for rating in ratings}) < len(ratings)
    for rating in ratings:
        assert [text.rpartition(" ")[2] for text in rating.discarded] == [
            str(number + 1) for number in range(len(rating.discarded))
        ]


# the command


def command(*arguments: str | Path, **environ: str | None) -> tuple[int, str]:
    result = CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={"COLUMNS": "250", "TERM": "dumb", **environ}
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def by_command(server: LoopbackServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    study = a_study_file(folder, server.base_urls)
    code, said = command(
        *("collect", "--corpus", folder / "corpus", "--base", "gpt", "--condition", "cold,conv", "--judge", "sol"),
        *("--replicates", "1", "--study", study),
        **KEYS,
    )
    assert code == 0, said
    return folder / "corpus"


NO_KEYS: dict[str, str | None] = dict.fromkeys(KEYS)


def test_the_command_replays_without_keys(by_command: Path, server: LoopbackServer, tmp_path: Path) -> None:
    before = len(server.journal)
    code, said = command(
        *("collect", "--corpus", tmp_path / "again", "--base", "gpt", "--condition", "cold,conv", "--judge", "sol"),
        *("--replicates", "1", "--replay", by_command),
        **NO_KEYS,
    )
    assert code == 0, said
    assert "sessions: 2 finished, 0 were there, 0 unfinished" in said
    assert len(server.journal) == before
    assert corpus_facts(tmp_path / "again") == corpus_facts(by_command)


def test_the_command_names_a_miss_and_exits_one(by_command: Path, tmp_path: Path) -> None:
    code, said = command(
        *("collect", "--corpus", tmp_path / "again", "--base", "gpt", "--condition", "ped", "--replicates", "1"),
        *("--replay", by_command),
        **NO_KEYS,
    )
    assert code == 1
    assert f"1 x session gpt/ped/r0: it was not recorded in {by_command}" in said


def test_the_command_refuses_what_is_no_corpus(tmp_path: Path) -> None:
    code, said = command(*("collect", "--corpus", tmp_path / "again", "--base", "gpt", "--replay", tmp_path), **NO_KEYS)
    assert code == 1
    assert said.startswith(f"tutoreval: {tmp_path}: no corpus.toml there")
    assert not (tmp_path / "again").exists()
