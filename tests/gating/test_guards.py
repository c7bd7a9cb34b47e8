"""Guarded measures of a session made to order, and guards that name what is not there."""

from pathlib import Path

import pytest

from pytest_tutoreval.errors import ConfigurationProblem
from pytest_tutoreval.gating import DEFAULT_GUARDS, GUARDED_MEASURES, check_guards
from pytest_tutoreval.gating.guards import SESSION, read_series, showing_turns
from pytest_tutoreval.measures import CorpusMeasures
from pytest_tutoreval.records.gate import Guard
from pytest_tutoreval.records.session import Route
from pytest_tutoreval.records.study_file import Price
from pytest_tutoreval.store import declare_corpus, open_corpus, write_session
from tests.builders import INPUT_TOKENS, OUTPUT_TOKENS, a_route, a_session
from tests.gating.candidates import Candidates
from tests.store.corpora import DEMO, measures_of

STEP = "48 * 0.20 = 9.6, so I need 0.3 * (x + 48)."
SAID = {
    # leaks at once; the student then attempts a step, and commits
    "train-1": ("I am unsure.", "The answer is 24.", STEP, "Go on.", "FINAL ANSWER: 24"),
    # commits before the tutor has said anything
    "train-2": ("FINAL ANSWER: 18",),
}


@pytest.fixture
def measures(tmp_path: Path) -> CorpusMeasures:
    """One conv session in a corpus of its own."""
    session = a_session(said=SAID, routes={"student": a_route("student"), "tutor": a_route("tutor")})
    manifest = open_corpus(DEMO).manifest.model_copy(update={"name": "one", "bases": ("sonnet",), "files": {}})
    declare_corpus(tmp_path, manifest)
    write_session(tmp_path, session.header, session.calls, sync=lambda _: None)
    return measures_of(tmp_path)


def of_problems(measures: CorpusMeasures, measure: str, *problems: str) -> list[float | None]:
    (series,) = read_series(measures, "sonnet", "conv", measure, None, lambda _: None)
    return [series.values[0][problem] for problem in problems]


def test_values_are_of_the_window_of_each_problem(measures: CorpusMeasures) -> None:
    """train-1: turn 0 leaks and is followed by a step, turn 1 is followed by the commitment. Student turns: 1 of 3."""
    problems = ("train-1", "train-2", "train-3")
    assert of_problems(measures, "leakage", *problems) == [0.5, None, 0.0]
    assert of_problems(measures, "next_turn_independence", *problems) == [0.5, None, 0.0]
    assert of_problems(measures, "turns_to_commitment", *problems) == [2.0, 0.0, 4.0]
    assert of_problems(measures, "independence", *problems) == [1 / 3, 0.0, 0.0]


def test_cost_is_in_tokens_and_where_prices_are_known_in_dollars(measures: CorpusMeasures) -> None:
    """Every call takes 10 + 5 tokens: a student's at 1 and 2 dollars a million, a tutor's at 10 and 20."""
    session = measures.corpus.session(measures.corpus.session_keys("sonnet", "conv")[0])
    n_student = sum(call.role == "student" for call in session.calls)
    n_tutor = len(session.calls) - n_student

    def price_of(route: Route) -> Price:
        return Price(input=1, output=2) if route.model == "student" else Price(input=10, output=20)

    tokens, dollars = read_series(measures, "sonnet", "conv", "cost_per_session", None, price_of)
    assert (tokens.unit, tokens.values) == ("tokens", {0: {SESSION: 15.0 * len(session.calls)}})
    assert (INPUT_TOKENS, OUTPUT_TOKENS, dollars.unit) == (10, 5, "dollars")
    assert dollars.values[0][SESSION] == pytest.approx((20 * n_student + 200 * n_tutor) / 1e6)
    assert len(read_series(measures, "sonnet", "conv", "cost_per_session", None, lambda _: None)) == 1


def test_a_tutor_that_costs_nothing_is_compared_in_tokens(measures: CorpusMeasures) -> None:
    """0 dollars against 0 would hold however much a tutor talked."""
    read = read_series(measures, "sonnet", "conv", "cost_per_session", None, lambda _: Price(input=0, output=0))
    assert [series.unit for series in read] == ["tokens"]


def test_turns_shown_are_those_that_show_it(measures: CorpusMeasures) -> None:
    def shown(measure: str, *problems: str) -> tuple[str, ...]:
        cells = [(0, problem) for problem in problems]
        return showing_turns(measures, "sonnet", "conv", measure, None, cells, at_most=3)

    assert shown("leakage", "train-3", "train-1") == ("sonnet/conv/r0/train-1/t0",)
    assert shown("next_turn_independence", "train-1") == ("sonnet/conv/r0/train-1/t1",)
    assert shown("turns_to_commitment", "train-2", "train-1") == (
        "sonnet/conv/r0/train-1/t1",
        "sonnet/conv/r0/train-1/t0",
    )


def test_judged_values_are_one_judges(candidates: Candidates) -> None:
    measures = measures_of(candidates.released)
    (opus,) = read_series(measures, "mytutor", "ped", "pedagogy", "opus", lambda _: None)
    (sol,) = read_series(measures, "mytutor", "ped", "pedagogy", "sol", lambda _: None)
    assert opus.values != sol.values
    scores = measures.scores("mytutor", "ped", "opus", "pedagogy")
    turns = [turn for turn in measures.cell("mytutor", "ped").turns[3] if turn.id.problem == "train-2"]
    known = [scores.turns[turn.id].value or 0.0 for turn in turns]
    assert opus.values[3]["train-2"] == pytest.approx(sum(known) / len(known))


# guards


def test_default_guards_are_each_of_the_measures_with_a_reason() -> None:
    assert [guard.measure for guard in DEFAULT_GUARDS] == list(GUARDED_MEASURES)
    assert all(guard.reason for guard in DEFAULT_GUARDS)
    check_guards(DEFAULT_GUARDS, ["conv", "ped"])


def test_more_turns_or_fewer_may_be_the_worse_ones() -> None:
    for worse in ("higher", "lower"):
        check_guards([Guard(measure="turns_to_commitment", margin=0.5, worse=worse)], ["conv"])


@pytest.mark.parametrize(
    ("guards", "said"),
    [
        pytest.param([Guard(measure="leekage", margin=0.1, worse="higher")], "Did you mean 'leakage'?", id="measure"),
        pytest.param(
            [Guard(measure="leakage", margin=0.1, worse="higher", conditions=("cold",))],
            "condition cold is none of the study's tutored ones (conv, ped)",
            id="condition",
        ),
        pytest.param(
            [
                Guard(measure="leakage", margin=0.1, worse="higher"),
                Guard(measure="leakage", margin=0.2, worse="higher", conditions=("ped",)),
            ],
            "leakage is guarded twice in ped",
            id="twice",
        ),
        *(
            pytest.param(
                [Guard(measure=measure, margin=0.1, worse=worse)],
                f"{measure}: worse = {worse!r}, but it is worse where it is ",
                id=f"{measure}-the-wrong-way",
            )
            for measure, worse in (("leakage", "lower"), ("pedagogy", "higher"))
        ),
    ],
)
def test_a_guard_that_cannot_be_meant_is_refused(guards: list[Guard], said: str) -> None:
    with pytest.raises(ConfigurationProblem) as refused:
        check_guards(guards, ["conv", "ped"])
    assert said in str(refused.value)
