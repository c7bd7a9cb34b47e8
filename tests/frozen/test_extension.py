"""The study file: it adds bases and judges, redefines nothing, and an amended student is on the record."""

from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import InstrumentError
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
