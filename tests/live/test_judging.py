"""Judging through the engine: which request is answered from disk, and what becomes of every odd reply."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.live import LiveOutcome, Needs
from pytest_tutoreval.store import open_corpus
from tests.live.running import a_study_file, asked_bodies, go, seals_hold, short_instrument, whole_lines
from tests.live.voices import digest_of, role_of, speak
from tests.loopback.server import LoopbackServer, Step
from tests.loopback.vendors import Shape


def needs(*judges: str, rubrics: tuple[str, ...] = ("helpfulness",)) -> Needs:
    return Needs.crossed(bases=["sonnet"], conditions=["conv"], judges=judges, rubrics=rubrics)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=speak) as server:
        yield server


def rating_lines(folder: Path, judge: str, rubric: str = "helpfulness") -> list[dict[str, Any]]:
    return [
        line
        for path in sorted((folder / "ratings" / judge / rubric).rglob("*.jsonl"))
        for line in whole_lines(path)[1:]
    ]


def judge_bodies(server: LoopbackServer) -> list[Any]:
    return [body for body in server.bodies if role_of(json.dumps(body)) == "judge"]


def test_a_second_judge_rates_the_same_turns_later(server: LoopbackServer, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    go(server, folder, needs("opus"))
    before = len(server.journal)
    sol = Needs(ratings=needs("sol").ratings)
    outcome = go(server, folder, sol)
    assert outcome.complete
    rated = {(line["problem"], line["turn"], line["dialogue"]) for line in rating_lines(folder, "sol")}
    assert rated == {(line["problem"], line["turn"], line["dialogue"]) for line in rating_lines(folder, "opus")}
    assert len(server.journal) - before == outcome.judging.given == len(rating_lines(folder, "opus"))
    assert open_corpus(folder).manifest.judges == ("opus", "sol")
    assert seals_hold(folder)


def test_three_repetitions_are_three_calls(server: LoopbackServer, tmp_path: Path) -> None:
    go(server, tmp_path / "corpus", needs("opus", "sol"))
    repetitions = Counter((line["problem"], line["turn"]) for line in rating_lines(tmp_path / "corpus", "opus"))
    assert set(repetitions.values()) <= {3, 6}
    opus = Counter(digest_of(body) for body in judge_bodies(server) if "opus" in body["model"])
    assert set(opus.values()) == {3}, "Opus takes no seed: three times the same body"
    sol = [body for body in judge_bodies(server) if "sol" in body["model"]]
    assert Counter(body["seed"] for body in sol) == {seed: len(sol) // 3 for seed in (0, 1, 2)}


def test_another_route_of_a_judge_is_not_answered_from_old_ratings(server: LoopbackServer, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    go(server, folder, needs("opus"))
    instrument = short_instrument()
    changed = tuple(
        judge.model_copy(update={"sampling": judge.sampling.model_copy(update={"max_tokens": 300})})
        for judge in instrument.study.judges
    )
    other = replace(instrument, study=instrument.study.model_copy(update={"judges": changed}))
    before = len(server.journal)
    outcome = go(server, folder, needs("opus"), instrument=other)
    assert all("begun with other settings (route)" in reason for reason in outcome.judging.incomplete.values())
    assert len(server.journal) == before
    assert not outcome.complete


def test_another_rubric_is_another_instrument_and_refused(server: LoopbackServer, tmp_path: Path) -> None:
    from pytest_tutoreval.errors import ForeignInstrument

    folder = tmp_path / "corpus"
    go(server, folder, needs("opus"))
    rubrics = dict(short_instrument().rubrics) | {"helpfulness": "Rate it."}
    before = len(server.journal)
    with pytest.raises(ForeignInstrument):
        go(server, folder, needs("opus"), instrument=replace(short_instrument(), rubrics=rubrics, sha256="f" * 64))
    # Were the digest the same by mistake, the rubric's own would still tell.
    outcome = go(server, folder, needs("opus"), instrument=replace(short_instrument(), rubrics=rubrics))
    assert all("(rubric_sha256)" in reason for reason in outcome.judging.incomplete.values())
    assert len(server.journal) == before


def judged_with(
    tmp_path: Path, reply: str | Step, judge: str = "opus"
) -> tuple[LiveOutcome, list[dict[str, Any]], int]:
    """Return what came of judging in which every reply is this one, the ratings, and the number of calls."""

    def say(shape: Shape, body: Mapping[str, Any]) -> str:
        is_rating = role_of(json.dumps(body)) == "judge"
        return reply if is_rating and isinstance(reply, str) else speak(shape, body)

    model = "claude-opus-4-8" if judge == "opus" else "openai/gpt-5.6-sol"
    script = [replace(reply, model=model)] if isinstance(reply, Step) else []
    with LoopbackServer(script, answer=say) as server:
        outcome = go(server, tmp_path / "corpus", needs(judge), replicates=(0,))
        lines = rating_lines(tmp_path / "corpus", judge)
        assert lines, "nothing was in the window"
        return outcome, lines, len(judge_bodies(server))


@pytest.mark.parametrize(
    ("reply", "overall"),
    [
        pytest.param("4/5 or maybe 3", None, id="two-numbers-in-prose"),
        pytest.param('{"overall": "4"', 4, id="unclosed-object"),
        pytest.param('{"overall": 2} {"overall": 5}', 2, id="two-objects"),
        pytest.param("The tutor was kind and clear.", None, id="prose"),
        pytest.param("7", None, id="seven"),
        pytest.param('{"overall": 7}', None, id="overall-seven"),
        pytest.param('{"overall": 4, "note": "' + "x" * 2_000_000 + '"}', 4, id="two-megabytes"),
        pytest.param("x" * 2_000_000, None, id="two-megabytes-of-prose"),
        pytest.param('\x00\x07\x1b[31m{"overall": 3}\x7f', 3, id="control-characters"),
        pytest.param("\ud800 no rating \udfff", None, id="lone-surrogates"),
        pytest.param("", None, id="empty"),
        pytest.param("\u2028\u2029\r\n", None, id="line-separators"),
        pytest.param("{" * 100_000, None, id="nested"),
    ],
)
def test_an_odd_reply_is_kept_raw_and_counted(tmp_path: Path, reply: str, overall: int | None) -> None:
    outcome, lines, n_calls = judged_with(tmp_path, reply)
    assert outcome.complete, outcome.lines()
    assert [line.get("overall") for line in lines] == [overall] * len(lines)
    kept = reply.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    assert all(line["raw"] == kept for line in lines)
    assert n_calls == len(lines) == outcome.judging.given, "a reply was asked for again"
    assert outcome.judging.unusable == (len(lines) if overall is None else 0)
    assert any(f"{outcome.judging.unusable} unusable" in line for line in outcome.lines())
    key = open_corpus(tmp_path / "corpus").session_keys("sonnet", "conv")[0]
    assert len(open_corpus(tmp_path / "corpus").ratings("opus", "helpfulness", key) or ()) == len(lines)
    assert seals_hold(tmp_path / "corpus")


@pytest.mark.parametrize("finish", ["length", "refusal"])
def test_a_judge_that_stops_early_is_kept_with_its_reason(tmp_path: Path, finish: str) -> None:
    outcome, lines, _ = judged_with(tmp_path, Step(times=-1, finish=finish, text='{"overall": 4'))
    assert outcome.complete
    assert {line["finish"] for line in lines} == {finish}


def test_second_tries_are_made_only_where_they_are_registered_and_counted(tmp_path: Path) -> None:
    outcome, lines, n_calls = judged_with(tmp_path / "sol", "no rating", judge="sol")
    assert outcome.judging.second_tries == 2 * len(lines)
    assert n_calls == 3 * len(lines)
    assert all(line["discarded"] == ["no rating", "no rating"] for line in lines)
    assert outcome.judging.unusable == len(lines)
    outcome, lines, n_calls = judged_with(tmp_path / "opus", "no rating")
    assert (outcome.judging.second_tries, n_calls) == (0, len(lines))
    assert not any("discarded" in line for line in lines)


def test_a_second_try_that_succeeds_keeps_the_first_reply(tmp_path: Path) -> None:
    outcome, lines, n_calls = judged_with(tmp_path, Step(times=1, text="hm"), judge="sol")
    assert outcome.judging.second_tries == 1
    assert n_calls == len(lines) + 1
    assert sorted(line.get("discarded", []) for line in lines)[-1] == ["hm"]
    assert outcome.judging.unusable == 0


def test_a_judge_that_fails_leaves_what_was_given_and_is_resumed(tmp_path: Path) -> None:
    bad = Step(
        times=4, model="claude-opus-4-8", status=400, body={"type": "error", "error": {"type": "x", "message": "no"}}
    )
    with LoopbackServer([Step(times=2, model="claude-opus-4-8"), bad], answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls, concurrency=1)
        outcome = go(server, tmp_path / "corpus", needs("opus"), study=study)
        assert not outcome.complete
        assert outcome.judging.given == len(rating_lines(tmp_path / "corpus", "opus")) == 2
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        again = go(server, tmp_path / "corpus", needs("opus"), study=study)
        assert again.complete
        assert again.judging.found == 2
        assert sum(asked_bodies(server).values()) == again.judging.given
    assert seals_hold(tmp_path / "corpus")


def test_an_unfinished_session_is_not_rated(tmp_path: Path) -> None:
    with LoopbackServer([Step(times=3), Step(times=-1, status=400, body="{}")], answer=speak) as server:
        go(server, tmp_path / "corpus", needs("opus"), replicates=(0,))
    with LoopbackServer(answer=speak) as server:
        study = a_study_file(tmp_path, server.base_urls)
        outcome = go(server, tmp_path / "corpus", Needs(ratings=needs("opus").ratings), study=study)
        assert server.journal == []
    (reason,) = outcome.judging.incomplete.values()
    assert "the session is not finished" in reason


def test_a_judge_of_the_tutors_own_model_is_reported(server: LoopbackServer, tmp_path: Path) -> None:
    more = (
        '[[judges]]\nid = "itself"\nlabel = "Itself"\nmodel = "claude-sonnet-4-6"\nprovider = "anthropic"\n'
        'status = "test"\nsampling = { max_tokens = 64 }\n'
    )
    study = a_study_file(tmp_path, server.base_urls, more=more)
    outcome = go(server, tmp_path / "corpus", needs("itself", "opus", "sol"), study=study)
    assert outcome.complete
    assert any("judge itself is the model it rates (sonnet)" in line for line in outcome.lines())
    assert any("judge opus and base sonnet share a family (anthropic)" in line for line in outcome.lines())
    assert not any("sol" in note for note in outcome.notes)
