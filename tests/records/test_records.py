import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.records import (
    RUBRIC_FIELDS,
    Call,
    Component,
    CorpusManifest,
    CouplingClaim,
    JointClaim,
    Leg,
    NotEvaluated,
    PairedClaim,
    Rating,
    Record,
    SessionKey,
    Study,
    TurnId,
    Verdict,
    claim_adapter,
    say,
)
from pytest_tutoreval.records.attempt import FailedAttempt
from tests.builders import DIGEST, a_call, a_header, a_rating, a_rating_header, a_route, a_session

REGISTERED: dict[str, Any] = {
    "id": "P9",
    "title": "t",
    "kind": "live_test",
    "judge_bound": True,
    "role": "confirmatory",
    "status": "s",
    "evidence_visible": "e",
}

RECORDS: list[Record] = [
    a_call(failures=(FailedAttempt(kind="timeout", seconds=1.5),), started=0.25, seconds=2.0, input_tokens=3),
    a_header(routes={"student": a_route(seed="replicate", temperature=0.8)}),
    a_session(condition="ped"),
    a_rating(overall=5, components={"clarity": 4}),
    a_rating_header(),
    a_route(),
    FailedAttempt(kind="quota", status=429, message="m"),
    load_instrument().problems[0],
    load_instrument().study,
    load_instrument().router,
    CorpusManifest(
        name="c",
        provenance="imported",
        content="tables",
        instrument=DIGEST,
        study="s",
        producer="p",
        bases=("sonnet",),
        conditions=("conv", "ped"),
        files={"sessions/a": DIGEST},
    ),
    PairedClaim(**REGISTERED, form="paired_contrast", measure="helpfulness", direction="conv > ped"),
    CouplingClaim(**REGISTERED, form="leakage_coupling", legs=(Leg(outcome="helpfulness", sign="positive"),)),
    JointClaim(**REGISTERED, form="joint", all_of=("P1", "P2")),
    Verdict(
        claim="P1",
        base="sonnet",
        judge=None,
        verdict="inconclusive",
        reversed=True,
        role="confirmatory",
        status="s",
        direction="conv > ped",
        estimate=-0.5,
        components=(Component(name="c", direction="d", holds=False, reversed=True, se=0.1),),
    ),
    NotEvaluated(claim="P1", base="sonnet", judge=None, reason="missing cell"),
]
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)


@each_record
def test_compact_fields_read_back_as_the_same_record(record: Record) -> None:
    assert type(record).model_validate(json.loads(json.dumps(record.compact()))) == record


@each_record
def test_unknown_field_is_refused(record: Record) -> None:
    fields = record.model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="extra_forbidden"):
        type(record).model_validate(fields | {"surprise": 1})


@each_record
def test_record_is_frozen(record: Record) -> None:
    field = next(iter(type(record).model_fields))
    with pytest.raises(ValidationError, match="frozen_instance"):
        setattr(record, field, getattr(record, field))


def test_compact_leaves_defaults_out() -> None:
    assert a_call(text="hm").compact() == {"seq": 1, "role": "student", "problem": "train-1", "text": "hm"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    ("model", "field"),
    [
        (Call, "started"),
        (Call, "seconds"),
        (Rating, "seconds"),
        (FailedAttempt, "seconds"),
        (Verdict, "estimate"),
        (Verdict, "p_value"),
        (Component, "se_observed"),
    ],
)
def test_float_that_is_not_finite_is_refused(model: type[Record], field: str, value: float) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate({field: value})
    assert (field,) in [problem["loc"] for problem in caught.value.errors() if problem["type"] == "finite_number"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=["nan", "inf"])
def test_problem_with_an_answer_that_is_not_finite_is_refused(value: float) -> None:
    fields = load_instrument().problems[0].model_dump()
    with pytest.raises(ValidationError, match="finite_number"):
        type(load_instrument().problems[0]).model_validate(fields | {"answer": value})


@pytest.mark.parametrize("overall", [0, 6, 4.5, "five"])
def test_overall_outside_the_scale_is_refused(overall: Any) -> None:
    with pytest.raises(ValidationError, match="overall"):
        a_rating(overall=overall)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"seq": 0}, id="seq-from-1"),
        pytest.param({"turn": -1}, id="turn"),
        pytest.param({"input_tokens": -1}, id="tokens"),
        pytest.param({"role": "judge"}, id="role"),
        pytest.param({"purpose": "rating"}, id="purpose"),
        pytest.param({"request": "f" * 63}, id="short-digest"),
        pytest.param({"request": "F" * 64}, id="upper-case-digest"),
        pytest.param({"request": "f" * 64 + "\n"}, id="digest-with-line-end"),
    ],
)
def test_call_out_of_bounds_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_call(**{"seq": 1} | changes)


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "name\n", "x" * 65, "ä"])
def test_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        a_header(base=name)


@pytest.mark.parametrize("name", ["sonnet", "gpt-5.5", "my_tutor", "7b", "x" * 64])
def test_plain_name_is_taken(name: str) -> None:
    assert a_header(base=name).base == name


@given(
    text=st.text(),
    turn=st.none() | st.integers(0, 9),
    seconds=st.none() | st.floats(0, 1e9),
    tokens=st.integers(0, 10**9),
)
def test_any_call_reads_back(text: str, turn: int | None, seconds: float | None, tokens: int) -> None:
    call = a_call(text=text, turn=turn, seconds=seconds, output_tokens=tokens)
    assert Call.model_validate(json.loads(json.dumps(call.compact()))) == call


def test_tokens_are_prompt_plus_completion_without_reasoning_or_cache() -> None:
    assert a_call(input_tokens=7, output_tokens=5, reasoning_tokens=3, cached_tokens=2).tokens == 12


def test_session_key_reads_as_a_path() -> None:
    assert str(SessionKey("sonnet", "ped", 3)) == "sonnet/ped/r3"


def test_turn_id_reads_as_a_path() -> None:
    assert str(TurnId("ped", 3, "train-1", 2)) == "ped/r3/train-1/t2"


def test_key_of_a_session_is_its_header_s() -> None:
    assert a_session(base="gpt", replicate=4).key == SessionKey("gpt", "conv", 4)


def test_seed_is_base_seed_plus_replicate() -> None:
    study = load_instrument().study
    protocol = study.protocol.model_copy(update={"base_seed": 100})
    assert study.model_copy(update={"protocol": protocol}).seed(3) == 103


def test_verdict_is_said_with_a_space() -> None:
    assert [say("supported"), say("not_supported"), say("inconclusive")] == [
        "supported",
        "not supported",
        "inconclusive",
    ]


def test_reason_of_what_was_not_evaluated_is_never_empty() -> None:
    with pytest.raises(ValidationError, match="reason"):
        NotEvaluated(claim="P1", base="sonnet", judge=None, reason="")


def test_claim_form_decides_what_is_read() -> None:
    fields = REGISTERED | {"form": "joint", "all_of": ["P1"]}
    assert isinstance(claim_adapter.validate_python(fields), JointClaim)


def test_unknown_claim_form_is_refused() -> None:
    with pytest.raises(ValidationError, match="form"):
        claim_adapter.validate_python(REGISTERED | {"form": "guess"})


def test_every_rubric_asks_for_an_overall_last() -> None:
    assert {fields[-1] for fields in RUBRIC_FIELDS.values()} == {"overall"}


def test_bases_and_judges_are_found_by_id() -> None:
    study = load_instrument().study
    assert (study.base("gpt"), study.judge("sol")) == (study.bases[1], study.judges[1])


def test_unknown_base_and_judge_are_none() -> None:
    study = load_instrument().study
    assert (study.base("sol"), study.judge("gpt")) == (None, None)


def test_study_parses_from_its_own_fields() -> None:
    study = load_instrument().study
    assert Study.parse(study.compact()) == study
