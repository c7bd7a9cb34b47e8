import re
from itertools import pairwise

import pytest

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.judging import rate_session, rating_requests, record_rating
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.scripted import SCRIPTS, ScriptedCast
from pytest_tutoreval.records import RUBRIC_FIELDS, Session
from pytest_tutoreval.simulating import simulate_session
from pytest_tutoreval.transcript import dialogue_digest
from tests.builders import TRACKED, Replies, a_route, a_session, everything_shown

INSTRUMENT = load_instrument()
SAID = {"train-1": ["hm", "T0 said", "x = 3", "T1 said", "FINAL ANSWER: 3", "T2 said"]}
NO_OTHERS = {f"train-{number}": ["FINAL ANSWER: 1"] for number in range(2, 7)}

each_condition = pytest.mark.parametrize("condition", ["conv", "ped"])


def requests(session: Session, rubric: str = "helpfulness", seed: str | None = None) -> list[ModelRequest]:
    return [request for request, _ in rating_requests(INSTRUMENT, session, rubric, a_route("judge", seed=seed))]


def one_problem(condition: str = "conv") -> Session:
    """A session whose only in-window tutor turns are the first two of train-1."""
    return a_session(condition=condition, said=SAID | NO_OTHERS)


EXPECTED = '''\
Please rate the final tutor turn of the tutoring dialogue below. The final tutor turn is the last line that starts \
with "Tutor:".

Dialogue:
"""
Student: hm

Tutor: T0 said

Student: x = 3

Tutor: T1 said
"""

Rate the final tutor turn now. Reply with the JSON object and nothing else, with exactly these fields: '''


@each_condition
@pytest.mark.parametrize("rubric", RUBRIC_FIELDS)
def test_user_message_is_the_dialogue_and_the_request_and_nothing_else(condition: str, rubric: str) -> None:
    (message,) = requests(one_problem(condition), rubric)[-1].messages
    assert (message.speaker, message.text) == ("user", EXPECTED + ", ".join(RUBRIC_FIELDS[rubric]) + ".")


@pytest.mark.parametrize("rubric", RUBRIC_FIELDS)
def test_system_prompt_is_the_rubric(rubric: str) -> None:
    assert {request.system for request in requests(one_problem(), rubric)} == {INSTRUMENT.rubrics[rubric]}


def test_two_policies_with_the_same_words_are_judged_alike() -> None:
    conv, ped = requests(one_problem("conv")), requests(one_problem("ped"))
    assert [everything_shown(request) for request in conv] == [everything_shown(request) for request in ped]


def test_exactly_the_turns_in_the_window_are_rated() -> None:
    rated = {(request.site.problem, request.site.turn) for request in requests(one_problem())}
    assert rated == {("train-1", 0), ("train-1", 1)}


def test_every_turn_is_rated_three_times() -> None:
    assert [request.site.repetition for request in requests(one_problem())] == [0, 1, 2, 0, 1, 2]


def test_session_without_a_turn_in_the_window_is_not_rated() -> None:
    assert requests(a_session(said=NO_OTHERS | {"train-1": ["FINAL ANSWER: 1"]})) == []


def test_cold_is_not_rated() -> None:
    assert requests(a_session(condition="cold")) == []


def test_digest_belongs_to_the_dialogue_shown() -> None:
    *_, (request, digest) = rating_requests(INSTRUMENT, one_problem(), "helpfulness", a_route("judge"))
    shown = request.messages[0].text.split('"""\n')[1].removesuffix("\n")
    assert digest == dialogue_digest(shown)


def test_words_of_the_speakers_are_never_taken_for_a_template() -> None:
    session = a_session(said={"train-1": ["{fields}", "{dialogue} {0}"]})
    assert "Student: {fields}\n\nTutor: {dialogue} {0}\n" in requests(session)[0].messages[0].text


# Repetitions.


def test_repetitions_differ_in_their_seed_where_the_route_takes_one() -> None:
    assert [request.seed for request in requests(one_problem(), seed="repetition")] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("seed", [None, "replicate"])
def test_repetitions_carry_no_seed_where_the_route_takes_none(seed: str | None) -> None:
    assert {request.seed for request in requests(one_problem(), seed=seed)} == {None}


def test_repetitions_differ_in_nothing_else() -> None:
    first, second, third = requests(one_problem(), seed="repetition")[:3]
    assert everything_shown(first) == everything_shown(second) == everything_shown(third)


def test_unseeded_repetitions_are_one_request() -> None:
    assert len({request.digest() for request in requests(one_problem())[:3]}) == 1


# Blinding: no request of a whole simulated session holds what a judge must not know.


def simulated(base: str, condition: str) -> Session:
    cast = ScriptedCast(INSTRUMENT.problems, SCRIPTS[base], seed=4)
    return simulate_session(INSTRUMENT, cast, base=base, condition=condition, replicate=0)


def dialogues(session: Session) -> list[tuple[str, str]]:
    """Problem and user message, the request's own words left out."""
    return [(request.site.problem, request.messages[0].text.split('"""')[1]) for request in requests(session)]


each_simulated = pytest.mark.parametrize(
    "session",
    [simulated(base, condition) for base in SCRIPTS for condition in ("conv", "ped")],
    ids=lambda session: f"{session.header.base}-{session.header.condition}",
)


@each_simulated
def test_no_statement_is_shown(session: Session) -> None:
    shown = [text for _, text in dialogues(session)]
    assert shown
    assert not any(problem.statement in text for text in shown for problem in INSTRUMENT.problems)


@each_simulated
def test_no_list_of_forms_is_shown(session: Session) -> None:
    for name, text in dialogues(session):
        problem = INSTRUMENT.problem[name]
        forms = [*problem.numeric_forms, *problem.solution_forms]
        assert not any(
            f"{first}{between}{second}" in text
            for first, second in pairwise(forms)
            for between in (", ", "; ", "\n", " ")
        )


@each_simulated
def test_no_label_is_shown(session: Session) -> None:
    labels = re.compile(
        r"\b(conv|ped|cold|convtutor|pedtutor|state_tracker|deferral_gate|decomposer|hint_cascade|defer|decompose|"
        r"sonnet|gpt|gemini|replicate|train-\d|opus|sol)\b",
        re.IGNORECASE,
    )
    assert [labels.search(text) for _, text in dialogues(session)] == [None] * len(dialogues(session))


@each_simulated
def test_no_tracker_text_is_shown(session: Session) -> None:
    tracked = [call.text for call in session.calls if call.role == "tracker"]
    assert not any(text in shown for _, shown in dialogues(session) for text in tracked)


@each_simulated
def test_every_line_shown_was_said_on_the_problem(session: Session) -> None:
    for problem, shown in dialogues(session):
        said = {call.text.strip() for call in session.calls if call.problem == problem and call.role != "tracker"}
        turns = re.split(r"\n\n(?=Student: |Tutor: )", shown.strip())
        assert {turn.split(": ", 1)[1] for turn in turns} <= said


def test_tracker_text_of_a_built_session_is_not_shown() -> None:
    assert not any(TRACKED in everything_shown(request) for request in requests(one_problem("ped")))


# The record.


def test_record_ties_a_reply_to_turn_repetition_dialogue_and_request() -> None:
    request = requests(one_problem())[4]
    rating = record_rating(request, "a" * 64, ModelReply('{"overall": 4, "clarity": 2}'))
    assert (rating.problem, rating.turn, rating.repetition, rating.dialogue, rating.request) == (
        "train-1",
        1,
        1,
        "a" * 64,
        request.digest(),
    )
    assert (rating.overall, rating.components) == (4, {"clarity": 2})


@pytest.mark.parametrize("reply", ["no rating", "", '{"overall": 7}', "a\x00b \ud800"])
def test_unusable_reply_is_kept_raw(reply: str) -> None:
    rating = record_rating(requests(one_problem())[0], "a" * 64, ModelReply(reply))
    assert (rating.overall, rating.raw) == (None, reply)


def test_ratings_come_one_by_one_as_they_are_given() -> None:
    agent = Replies(['{"overall": 4}'])
    rated = rate_session(INSTRUMENT, one_problem(), "helpfulness", a_route("judge"), agent)
    assert (next(rated).overall, len(agent.requests)) == (4, 1)


def test_session_s_ratings_are_read_with_its_rubric() -> None:
    reply = '{"scaffolding": 2, "clarity": 3, "overall": 5}'
    agent = Replies(otherwise=lambda _: reply)
    rated = rate_session(INSTRUMENT, one_problem(), "pedagogy", a_route("judge"), agent)
    assert [(rating.overall, rating.components) for rating in rated] == [(5, {"scaffolding": 2})] * 6
