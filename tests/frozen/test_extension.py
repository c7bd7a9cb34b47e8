"""The study file: it adds bases and judges, redefines nothing, and an amended student is on the record."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from pytest_tutoreval.errors import ConstraintViolated, InstrumentError
from pytest_tutoreval.frozen import extend_instrument, load_instrument, read_study_file
from pytest_tutoreval.records.study_file import RouteSettings, StudyFile

INSTRUMENT = load_instrument()

BASE = {"id": "ours", "label": "Ours", "model": "our-tutor", "provider": "compatible", "sampling": {"max_tokens": 64}}
JUDGE = {
    "id": "second",
    "label": "Second",
    "model": "a-judge",
    "provider": "openai",
    "status": "post hoc",
    "sampling": {"max_tokens": 64},
}
STUDENT = {
    "label": "Llama on another host",
    "model": "meta-llama/llama-3.1-8b-instruct",
    "provider": "openrouter",
    "pin": ["nebius"],
    "sampling": {"temperature": 0.8, "max_tokens": 512, "seed": "replicate"},
    "date": "2026-12-01",
    "reason": "Groq has retired the model",
}


def a_file(**tables: Any) -> StudyFile:
    return StudyFile.parse(tables)


def read(folder: Path, text: str) -> StudyFile:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study_file(path)


# what is added


def test_an_empty_file_changes_nothing() -> None:
    extended = extend_instrument(INSTRUMENT, a_file())
    assert (extended.study, extended.amendments) == (INSTRUMENT.study, ())


def test_bases_and_judges_come_after_the_registered_ones() -> None:
    study = extend_instrument(INSTRUMENT, a_file(bases=[BASE], judges=[JUDGE])).study
    assert [base.id for base in study.bases] == ["sonnet", "gpt", "gemini", "ours"]
    assert [judge.id for judge in study.judges] == ["opus", "sol", "second"]
    assert study.bases[:3] == INSTRUMENT.study.bases
    assert (study.primary_base, study.primary_judge, study.student) == ("sonnet", "opus", INSTRUMENT.study.student)


def test_an_extension_keeps_the_frozen_digest_and_leaves_the_bundled_instrument_alone() -> None:
    extended = extend_instrument(INSTRUMENT, a_file(bases=[BASE], student=STUDENT))
    assert extended.sha256 == INSTRUMENT.sha256
    assert load_instrument().study.base("ours") is None
    assert load_instrument().amendments == ()


def test_a_judge_s_second_tries_are_none_unless_registered() -> None:
    study = extend_instrument(INSTRUMENT, a_file(judges=[JUDGE])).study
    assert [judge.second_tries for judge in study.judges] == [0, 2, 0]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        pytest.param({"bases": [BASE | {"id": "sonnet"}]}, "base sonnet is registered already", id="a-base"),
        pytest.param({"judges": [JUDGE | {"id": "opus"}]}, "judge opus is registered already", id="a-judge"),
        pytest.param(
            {"bases": [BASE | {"id": "gpt"}, BASE | {"id": "gemini"}, BASE]},
            "base gemini, gpt is registered already",
            id="two",
        ),
        pytest.param({"bases": [BASE, BASE | {"model": "else"}]}, "base ours stands twice", id="twice-in-the-file"),
        pytest.param({"judges": [JUDGE, JUDGE]}, "judge second stands twice", id="a-judge-twice"),
    ],
)
def test_nothing_is_redefined(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(InstrumentError, match=f"study file: {message}; choose another id"):
        extend_instrument(INSTRUMENT, a_file(**tables))


def test_a_judge_may_share_a_base_s_id() -> None:
    assert extend_instrument(INSTRUMENT, a_file(judges=[JUDGE | {"id": "sonnet"}])).study.judge("sonnet") is not None


def test_an_amended_student_is_stamped_with_its_date_and_reason() -> None:
    extended = extend_instrument(INSTRUMENT, a_file(student=STUDENT))
    assert (extended.study.student.pin, extended.study.student.label) == (("nebius",), "Llama on another host")
    assert extended.amendments == (
        "2026-12-01: student meta-llama/llama-3.1-8b-instruct on openrouter (groq) replaced by "
        "meta-llama/llama-3.1-8b-instruct on openrouter (nebius): Groq has retired the model",
    )


def test_an_amendment_says_where_there_is_no_pin() -> None:
    own = {name: value for name, value in STUDENT.items() if name != "pin"} | {"provider": "compatible", "model": "own"}
    (amendment,) = extend_instrument(INSTRUMENT, a_file(student=own)).amendments
    assert "replaced by own on compatible (no pin)" in amendment


def test_an_amendment_of_an_amendment_names_both() -> None:
    once = extend_instrument(INSTRUMENT, a_file(student=STUDENT))
    twice = extend_instrument(once, a_file(student=STUDENT | {"pin": ["groq"], "reason": "it is back"}))
    assert len(twice.amendments) == 2
    assert "(nebius) replaced by" in twice.amendments[1]


# what is wrong is named


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("surprise = 1", ["surprise: Extra inputs are not permitted"], id="unknown-key"),
        pytest.param(
            "[[bases]]\nid = 'a b'\nlabel = 'A'\nprovider = 'openai'\nsampling = { max_tokens = 'many' }",
            ["bases.0.id: String should match", "bases.0.model: Field required", "bases.0.sampling.max_tokens: Input"],
            id="a-base-with-three",
        ),
        pytest.param(
            "[student]\nlabel = 'S'\nmodel = 'm'\nprovider = 'openrouter'\nsampling = { max_tokens = 5 }",
            ["student.date: Field required", "student.reason: Field required"],
            id="an-amendment-without-date-and-reason",
        ),
        pytest.param(
            "[routes.openai]\nconcurrency = 0\ntokens_per_minute = 0.5\ntimeout = 0\nkey = 'sk'",
            [
                "routes.openai.concurrency: Input should be greater than or equal to 1",
                "routes.openai.tokens_per_minute: Input should be greater than or equal to 1",
                "routes.openai.timeout: Input should be greater than 0",
                "routes.openai.key: Extra inputs are not permitted",
            ],
            id="route-settings",
        ),
        pytest.param(
            "[prices.openai]\ninput = -1\noutput = nan",
            [
                "prices.openai.input: Input should be greater than or equal to 0",
                "prices.openai.output: Input should be",
            ],
            id="prices",
        ),
        pytest.param("[[judges]]\nsecond_tries = -1", ["judges.0.id: Field required", "judges.0.second_tries: Input"]),
    ],
)
def test_every_wrong_field_is_named(tmp_path: Path, text: str, problems: list[str]) -> None:
    with pytest.raises(InstrumentError) as raised:
        read(tmp_path, text)
    lines = str(raised.value).splitlines()
    assert all(line.startswith(f"{tmp_path / 'study.toml'}: ") for line in lines)
    for problem in problems:
        assert any(line.startswith(f"{tmp_path / 'study.toml'}: {problem}") for line in lines), problem


@pytest.mark.parametrize("data", [b"bases = [", b"\xff\xfe"], ids=["not-toml", "not-utf-8"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "study.toml").write_bytes(data)
    with pytest.raises(InstrumentError, match=r"study\.toml: cannot be read as a study file"):
        read_study_file(tmp_path / "study.toml")


@pytest.mark.parametrize("name", ["nowhere.toml", "."])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InstrumentError, match="cannot be read as a study file"):
        read_study_file(tmp_path / name)


# routes


def test_a_model_s_settings_go_before_its_provider_s_and_defaults_last(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        "[routes.openrouter]\nconcurrency = 3\nbase_url = 'http://127.0.0.1:1/v1'\n"
        "[routes.'openrouter/us/ours']\nconcurrency = 5\n",
    )
    assert file.route_settings("openrouter", "us/ours") == RouteSettings(concurrency=5)
    assert file.route_settings("openrouter", "else").concurrency == 3
    assert file.route_settings("openai", "us/ours") == RouteSettings()


def test_prices_are_read_as_numbers_with_their_source(tmp_path: Path) -> None:
    price = read(tmp_path, "[prices.'openai/x']\ninput = 1\noutput = 2.5\nsource = 'the bill'").prices["openai/x"]
    assert (price.input, price.output, price.source) == (1.0, 2.5, "the bill")


# problems and protocol


def own_problems(**first: Any) -> list[dict[str, Any]]:
    """Two tutored problems, one probe after each kind; `first` changes the first."""
    return [
        {"id": "own-1", "phase": "training", "statement": "Add 13 and 4.", "answer": 17.0, "numeric_forms": ["17"]}
        | first,
        {"id": "own-2", "phase": "training", "statement": "Add 13 and 5.", "answer": 18.0, "numeric_forms": ["18"]},
        {
            "id": "own-3",
            "phase": "delayed",
            "statement": "Add 13 and 6.",
            "answer": 19.0,
            "training_parent": "own-1",
        },
    ]


def test_own_problems_take_the_place_of_the_frozen_ones() -> None:
    extended = extend_instrument(INSTRUMENT, a_file(problems=own_problems()))
    assert [problem.id for problem in extended.problems] == ["own-1", "own-2", "own-3"]
    assert extended.study.protocol.phase_counts == {"training": 2, "delayed": 1}
    assert list(extended.problem) == ["own-1", "own-2", "own-3"]


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param({"problems": own_problems()}, id="problems"),
        pytest.param({"protocol": {"tutor_turns": 3}}, id="tutor-turns"),
        pytest.param({"protocol": {"repetitions": 1}}, id="repetitions"),
    ],
)
def test_what_data_mean_changes_the_digest_and_the_core_s_stays_known(tables: dict[str, Any]) -> None:
    extended = extend_instrument(INSTRUMENT, a_file(**tables))
    assert extended.sha256 != INSTRUMENT.sha256
    assert len(extended.sha256) == 64
    assert extended.core_sha256 == INSTRUMENT.sha256
    assert extended == extend_instrument(INSTRUMENT, a_file(**tables))


def test_every_change_of_meaning_has_a_digest_of_its_own() -> None:
    files = [
        a_file(problems=own_problems()),
        a_file(problems=own_problems(numeric_forms=["17", "17.0"])),
        a_file(problems=own_problems(statement="Add 14 and 3.")),
        a_file(protocol={"tutor_turns": 3}),
        a_file(protocol={"tutor_turns": 2}),
        a_file(protocol={"repetitions": 2}),
        a_file(protocol={"tutor_turns": 2, "repetitions": 2}),
        a_file(protocol={"tutor_turns": 2}, problems=own_problems()),
    ]
    assert len({extend_instrument(INSTRUMENT, file).sha256 for file in files}) == len(files)


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param({"protocol": {"replicates": 40}}, id="replicates"),
        pytest.param({"protocol": {"conditions": ["conv", "ped"]}}, id="conditions"),
        pytest.param({"protocol": {"tutor_turns": 4, "repetitions": 3}}, id="the-frozen-values"),
        pytest.param({"problems": [problem.model_dump() for problem in INSTRUMENT.problems]}, id="the-frozen-problems"),
        pytest.param({"policies": [{"id": "own", "direct": True}]}, id="a-policy"),
        pytest.param({"guards": [{"measure": "leakage", "margin": 0.1, "worse": "higher"}]}, id="a-guard"),
        pytest.param({"name": "mine"}, id="a-name"),
    ],
)
def test_more_of_the_same_keeps_the_digest(tables: dict[str, Any]) -> None:
    extended = extend_instrument(INSTRUMENT, a_file(**tables))
    assert (extended.sha256, extended.core_sha256) == (INSTRUMENT.sha256, None)
    assert extended.amendments == ()


def test_the_digest_is_over_the_core_s_and_each_changed_part_s() -> None:
    # sha256 of "<sha256 of the JSON value>  <name>" lines, sorted by name, as sha256sum would print them
    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    lines = f"{digest(json.dumps(INSTRUMENT.sha256))}  core\n{digest('2')}  tutor_turns\n"
    assert extend_instrument(INSTRUMENT, a_file(protocol={"tutor_turns": 2})).sha256 == digest(lines)


def test_protocol_changes_are_what_sessions_and_ratings_are_made_by() -> None:
    change = {"replicates": 12, "tutor_turns": 2, "repetitions": 1, "conditions": ["cold", "ped", "ped_no_gate"]}
    protocol = extend_instrument(INSTRUMENT, a_file(protocol=change)).study.protocol
    assert (protocol.replicates, protocol.tutor_turns, protocol.repetitions) == (12, 2, 1)
    assert protocol.condition_order == ("cold", "ped", "ped_no_gate")
    assert protocol.base_seed == INSTRUMENT.study.protocol.base_seed


def test_changes_of_meaning_are_stamped_and_others_only_shown() -> None:
    change = {"replicates": 12, "tutor_turns": 2, "date": "2026-12-01", "reason": "short lessons"}
    extended = extend_instrument(INSTRUMENT, a_file(protocol=change, problems=own_problems()))
    assert extended.amendments == (
        "2026-12-01: tutor_turns 4 -> 2: short lessons",
        "2026-12-01: 19 problems replaced by 3 of the user's own (2 training, 1 delayed): short lessons",
    )
    assert extended.declared == ("2026-12-01: replicates 10 -> 12: short lessons",)


def test_a_change_without_a_reason_says_so() -> None:
    assert extend_instrument(INSTRUMENT, a_file(protocol={"repetitions": 1})).amendments == (
        "repetitions 3 -> 1: no reason given",
    )


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        pytest.param(
            own_problems(statement="Is it 17 or 4?"),
            ConstraintViolated,
            "study file: problems: own-1: answer 17 stands in the statement",
            id="answer-in-the-statement",
        ),
        pytest.param(
            own_problems(answer=19.0),
            ConstraintViolated,
            "own-3: answer 19 is also the answer of own-1",
            id="a-delayed-answer-that-was-trained",
        ),
        pytest.param(own_problems()[::-1], ConstraintViolated, "phases are not in session order", id="order"),
        pytest.param(
            own_problems(id="own-9"), ConstraintViolated, "own-3: parent 'own-1' is no training problem", id="parent"
        ),
        pytest.param(own_problems(id="own-2"), ConstraintViolated, "own-2: stands 2 times", id="twice"),
        pytest.param(
            [{"id": "alone", "phase": "interference", "statement": "Add 1 and 1.", "answer": 2.0}],
            InstrumentError,
            "none is of phase training",
            id="nothing-tutored",
        ),
    ],
)
def test_own_problems_keep_the_frozen_constraints(
    problems: list[dict[str, Any]], error: type[InstrumentError], message: str
) -> None:
    with pytest.raises(error) as raised:
        extend_instrument(INSTRUMENT, a_file(problems=problems))
    assert message in str(raised.value)


# policies


@pytest.mark.parametrize("name", ["cold", "conv", "ped", "conv_socratic", "ped_no_tracker"])
def test_a_policy_may_not_be_called_like_a_registered_condition(name: str) -> None:
    with pytest.raises(InstrumentError, match=f"study file: policy {name} is registered already"):
        extend_instrument(INSTRUMENT, a_file(policies=[{"id": name, "direct": True}]))


def test_a_condition_that_is_no_policy_is_named_with_those_that_are() -> None:
    with pytest.raises(
        InstrumentError, match=r"protocol\.conditions: mine is not known \(known: cold, conv, .*, ours\)"
    ):
        extend_instrument(
            INSTRUMENT,
            a_file(policies=[{"id": "ours", "direct": True}], protocol={"conditions": ["conv", "ours", "mine"]}),
        )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param({"prompt": "gone.txt"}, "prompt .*gone.txt cannot be read", id="missing-prompt"),
        pytest.param({"prompt": "empty.txt"}, "the prompt of policy own is empty", id="empty-prompt"),
        pytest.param({"prompt": "../outside.txt"}, "is outside", id="outside"),
        pytest.param({"prompt": "/etc/hostname"}, "is outside", id="absolute"),
        pytest.param({"callable": "nowhere_at_all:turn"}, "no module nowhere_at_all", id="missing-module"),
    ],
)
def test_a_policy_that_cannot_be_read_is_named(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "outside.txt").write_text("Ask.", encoding="utf-8")
    (tmp_path / "study" / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(InstrumentError, match=message):
        extend_instrument(INSTRUMENT, a_file(policies=[{"id": "own"} | entry]), folder=tmp_path / "study")


@pytest.mark.parametrize("ways", [{}, {"direct": False}, {"direct": True, "prompt": "a.txt"}])
def test_a_policy_is_made_in_exactly_one_way(tmp_path: Path, ways: dict[str, Any]) -> None:
    with pytest.raises(InstrumentError, match="give exactly one of prompt, callable and direct = true"):
        read(tmp_path, tomli_w.dumps({"policies": [{"id": "own"} | ways]}))
