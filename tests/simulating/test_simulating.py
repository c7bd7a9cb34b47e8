"""Simulated sessions and corpora: what was planted is what is measured, and the seed rules every byte."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.measures import MeasuredSession, SessionMeasurer
from pytest_tutoreval.providers.agent import CallSite, ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS, ScriptedCast, ScriptedJudge
from pytest_tutoreval.records import Problem, Session, TurnId
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.simulating import SimulatedClock, simulate_corpus, simulate_ratings, simulate_session
from pytest_tutoreval.store import open_corpus, seal_corpus
from pytest_tutoreval.transcript import answer_window, protocol_breach, read_transcript
from tests.builders import a_route

INSTRUMENT = load_instrument()
SEED = 11
ONE_BASE = {"sonnet": SCRIPTS["sonnet"]}
ONE_JUDGE = {"opus": JUDGE_SCRIPTS["opus"]}
PLAYED = [(base, condition, replicate) for base in SCRIPTS for condition in ("conv", "ped") for replicate in range(10)]

each_tutored = pytest.mark.parametrize(("base", "condition", "replicate"), PLAYED)


@cache
def cast(base: str) -> ScriptedCast:
    return ScriptedCast(INSTRUMENT.problems, SCRIPTS[base], seed=SEED)


@cache
def session(base: str, condition: str, replicate: int) -> Session:
    return simulate_session(INSTRUMENT, cast(base), base=base, condition=condition, replicate=replicate)


@cache
def measured(base: str, condition: str, replicate: int) -> MeasuredSession:
    return SessionMeasurer(INSTRUMENT).measure(session(base, condition, replicate))


@dataclass(frozen=True)
class PlantedProblem:
    """What the cast planted on one tutored problem; `last` is the student turn that commits first, or the last one."""

    leaks: list[bool | None]
    attempts: list[bool | None]
    commits: list[float | None]
    last: int

    @property
    def n_tutor_turns(self) -> int:
        """Tutor turns before the first commitment: as many as its student turn's number."""
        return min(self.last, len(self.leaks))


def planted_problem(base: str, condition: str, replicate: int, problem: Problem) -> PlantedProblem:
    def site(turn: int) -> CallSite:
        return CallSite(base, condition, replicate, problem.id, "exchange", turn)

    students = [cast(base).planted(site(turn), "student") for turn in range(5)]
    commits = [student.commits for student in students]
    return PlantedProblem(
        leaks=[cast(base).planted(site(turn), "tutor").leaks for turn in range(4)],
        attempts=[student.attempts for student in students],
        commits=commits,
        last=next((turn for turn, value in enumerate(commits) if value is not None), 4),
    )


def planted_session(base: str, condition: str, replicate: int) -> Iterator[tuple[Problem, PlantedProblem]]:
    for problem in INSTRUMENT.training:
        yield problem, planted_problem(base, condition, replicate, problem)


# What is planted is what is measured.


@each_tutored
def test_every_planted_leak_is_a_leaky_turn_and_no_other(base: str, condition: str, replicate: int) -> None:
    planted = {
        TurnId(condition, replicate, problem.id, turn): found.leaks[turn]
        for problem, found in planted_session(base, condition, replicate)
        for turn in range(found.n_tutor_turns)
    }
    assert {turn.id: turn.leaky for turn in measured(base, condition, replicate).turns} == planted


@each_tutored
def test_next_turn_independence_is_the_attempt_planted_in_the_next_student_turn(
    base: str, condition: str, replicate: int
) -> None:
    planted = {
        TurnId(condition, replicate, problem.id, turn): found.attempts[turn + 1]
        for problem, found in planted_session(base, condition, replicate)
        for turn in range(found.n_tutor_turns)
    }
    assert {turn.id: turn.next_turn_independence for turn in measured(base, condition, replicate).turns} == planted


@each_tutored
def test_window_ends_at_the_first_planted_commitment(base: str, condition: str, replicate: int) -> None:
    exchanges = read_transcript(session(base, condition, replicate)).exchanges
    for problem, found in planted_session(base, condition, replicate):
        window = answer_window(exchanges[problem.id])
        assert (len(window.tutor), len(window.student)) == (found.n_tutor_turns, found.last + 1)


@each_tutored
def test_session_rates_are_those_of_what_was_planted(base: str, condition: str, replicate: int) -> None:
    problems = [found for _, found in planted_session(base, condition, replicate)]
    leaks = [leak for found in problems for leak in found.leaks[: found.n_tutor_turns]]
    attempts = [attempt for found in problems for attempt in found.attempts[: found.last + 1]]
    row = measured(base, condition, replicate).row
    assert (row.leakage, row.independence) == (leaks.count(True) / len(leaks), attempts.count(True) / len(attempts))


def planted_answer(base: str, condition: str, replicate: int, problem: Problem) -> bool:
    """Whether the first reply to a probe that commits is planted as correct."""
    for purpose, turn in (("probe", None), ("commitment", 0), ("commitment", 1)):
        site = CallSite(base, condition, replicate, problem.id, purpose, turn)  # type: ignore[arg-type]
        planted = cast(base).planted(site, "student")
        if planted.commits is not None:
            return bool(planted.correct)
    return False


@pytest.mark.parametrize("phase", ["immediate", "delayed", "transfer"])
@pytest.mark.parametrize("condition", ["cold", "conv", "ped"])
@pytest.mark.parametrize("base", SCRIPTS)
def test_accuracy_is_that_of_the_planted_probe_values(base: str, condition: str, phase: str) -> None:
    items = [problem for problem in INSTRUMENT.problems if problem.phase == phase]
    for replicate in range(10):
        correct = [planted_answer(base, condition, replicate, problem) for problem in items]
        row = measured(base, condition, replicate).row
        assert getattr(row, f"accuracy_{phase}") == sum(correct) / len(items)


def test_the_played_sessions_hold_every_kind_of_event() -> None:
    found = [found for played in PLAYED for _, found in planted_session(*played)]
    # a window closed by the opening, one closed later, one never closed, a leak, an attempt
    assert {0, 1, 4} <= {problem.last for problem in found}
    assert any(True in problem.leaks for problem in found)
    assert any(True in problem.attempts for problem in found)


# A simulated session is a session.


@pytest.mark.parametrize("condition", ["cold", "conv", "ped"])
@pytest.mark.parametrize("base", SCRIPTS)
def test_simulated_session_keeps_the_protocol(base: str, condition: str) -> None:
    for replicate in range(10):
        assert protocol_breach(session(base, condition, replicate), INSTRUMENT.problems, 4) is None


def test_session_says_that_it_is_simulated() -> None:
    assert session("gpt", "ped", 1).header.provenance == "simulated"


def test_every_route_of_a_session_is_the_scripted_one() -> None:
    routes = session("gpt", "ped", 1).header.routes
    assert {name: route.provider for name, route in routes.items()} == {"student": "scripted", "tutor": "scripted"}


def test_cold_names_no_tutor_route() -> None:
    assert set(session("gpt", "cold", 1).header.routes) == {"student"}


def test_base_of_the_user_s_own_gets_the_primary_one_s_sampling() -> None:
    own = simulate_session(INSTRUMENT, cast("sonnet"), base="mine", condition="conv", replicate=0)
    assert own.header.routes["tutor"].sampling == INSTRUMENT.study.bases[0].sampling


def test_ratings_say_that_they_are_simulated() -> None:
    judge = ScriptedJudge(JUDGE_SCRIPTS["opus"], seed=SEED)
    header, _ = simulate_ratings(INSTRUMENT, session("gpt", "ped", 1), judge="opus", rubric="pedagogy", answer=judge)
    assert (header.provenance, header.judge, header.rubric) == ("simulated", "opus", "pedagogy")


def test_clock_starts_each_reply_where_the_one_before_ended() -> None:
    clock = SimulatedClock(lambda _: ModelReply("hm", output_tokens=32))
    request = ModelRequest(
        "student", CallSite("b", "cold", 0, "train-1", "probe"), system="", messages=(), route=a_route()
    )
    first, second = clock(request), clock(request)
    # 0.5 s and 32 / 64 s
    assert (first.started, first.seconds, second.started) == (1767225600.0, 1.0, 1767225601.0)


# Corpora.


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def small(folder: Path, *, seed: int = SEED, replace_existing: bool = False) -> Path:
    simulate_corpus(
        folder,
        INSTRUMENT,
        seed=seed,
        scripts=ONE_BASE,
        judge_scripts=ONE_JUDGE,
        replicates=[0],
        replace_existing=replace_existing,
    )
    return folder


def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    assert contents(small(tmp_path / "a" / "small")) == contents(small(tmp_path / "b" / "small"))


def test_another_seed_gives_other_bytes_in_every_session_and_rating_file(tmp_path: Path) -> None:
    first, second = contents(small(tmp_path / "a" / "small")), contents(small(tmp_path / "b" / "small", seed=12))
    assert first.keys() == second.keys()
    assert not any(first[name] == second[name] for name in first)


def test_bundled_demo_is_reproduced_byte_for_byte(tmp_path: Path) -> None:
    simulate_corpus(tmp_path / "demo", INSTRUMENT, seed=20261130)
    made, bundled = contents(tmp_path / "demo"), contents(data_folder("fixtures") / "demo")
    assert made.keys() == bundled.keys()
    assert [name for name in made if made[name] != bundled[name]] == []


def test_every_file_of_a_corpus_says_simulated(tmp_path: Path) -> None:
    for name, data in contents(small(tmp_path / "small")).items():
        said = data if name == "corpus.toml" else data.splitlines()[0]
        assert b"simulated" in said, name


def test_manifest_says_how_the_corpus_was_made(tmp_path: Path) -> None:
    manifest = open_corpus(small(tmp_path / "small")).manifest
    assert (manifest.name, manifest.provenance, manifest.source) == (
        "small",
        "simulated",
        "tutoreval simulate --seed 11",
    )


def test_cold_is_not_rated(tmp_path: Path) -> None:
    assert not any("ratings" in name and "cold" in name for name in contents(small(tmp_path / "small")))


def test_each_finished_base_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    simulate_corpus(
        tmp_path, INSTRUMENT, seed=SEED, scripts=ONE_BASE, judge_scripts={}, replicates=[0], done=told.append
    )
    assert told == ["sonnet"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    assert (small(tmp_path) / "corpus.toml").is_file()


@pytest.mark.parametrize("replace_existing", [False, True])
def test_folder_with_something_else_in_it_is_never_touched(tmp_path: Path, replace_existing: bool) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"not empty|not a simulated corpus"):
        small(tmp_path, replace_existing=replace_existing)
    assert contents(tmp_path) == {"thesis.txt": b"years of work"}


def test_simulated_corpus_is_not_replaced_unasked(tmp_path: Path) -> None:
    small(tmp_path)
    with pytest.raises(CorpusError, match="not empty; give a new folder, or --force"):
        small(tmp_path, seed=12)


def test_simulated_corpus_is_replaced_when_asked(tmp_path: Path) -> None:
    small(tmp_path)
    small(tmp_path, seed=12, replace_existing=True)
    assert open_corpus(tmp_path).manifest.source == "tutoreval simulate --seed 12"


@pytest.mark.parametrize("provenance", ["recorded", "imported"])
def test_corpus_that_is_not_simulated_is_never_replaced(tmp_path: Path, provenance: str) -> None:
    small(tmp_path)
    seal_corpus(tmp_path, open_corpus(tmp_path).manifest.model_copy(update={"provenance": provenance}))
    before = contents(tmp_path)
    with pytest.raises(CorpusError, match="not a simulated corpus, so it is not replaced"):
        small(tmp_path, replace_existing=True)
    assert contents(tmp_path) == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(CorpusError, match="a file; give a folder"):
        small(tmp_path / "file", replace_existing=True)


def test_name_no_corpus_may_have_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"name: .*my corpus"):
        small(tmp_path / "my corpus")
    assert list(tmp_path.iterdir()) == []
