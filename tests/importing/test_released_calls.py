"""Raw session folders as sessions: the same transcript and measures come back, or a reason why not."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tutoreval.errors import ImportFailure
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.importing import import_released_calls, read_session_folder
from pytest_tutoreval.measures import SessionMeasurer
from pytest_tutoreval.records import Session
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.transcript import read_transcript
from tests.importing.logs import a_session, edit_calls, edit_json, log_line, run_id, write_log

INSTRUMENT = load_instrument()


@pytest.fixture(scope="module")
def session() -> Session:
    return a_session()


@pytest.mark.parametrize(
    ("condition", "base"),
    [("cold", "sonnet"), ("conv", "sonnet"), ("ped", "sonnet"), ("conv", "gpt"), ("ped", "gemini")],
)
def test_the_same_transcript_and_measures_come_back(tmp_path: Path, condition: str, base: str) -> None:
    session = a_session(condition, 4, base)
    write_log(session, tmp_path / "logs")
    manifest, left_out = import_released_calls(tmp_path / "logs", tmp_path / "corpus", INSTRUMENT)
    read = open_corpus(tmp_path / "corpus", instrument=INSTRUMENT.sha256).session(session.key)
    assert read_transcript(read) == read_transcript(session)
    assert SessionMeasurer(INSTRUMENT).measure(read) == SessionMeasurer(INSTRUMENT).measure(session)
    assert (manifest.bases, manifest.conditions, manifest.judges) == ((base,), (condition,), ())
    assert manifest.provenance == read.header.provenance == "imported"
    assert left_out == []


def test_what_the_logs_do_not_keep_stays_absent(session: Session, tmp_path: Path) -> None:
    read, _ = read_session_folder(write_log(session, tmp_path), INSTRUMENT)
    assert {call.finish for call in read.calls} == {None}
    assert {call.failures for call in read.calls} == {()}
    assert {call.request for call in read.calls} == {None}
    assert {call.served_provider for call in read.calls if call.role == "student"} == {"Groq"}
    assert [call.started for call in read.calls] == [call.started for call in session.calls]


def test_the_configured_routes_are_kept_with_their_pin(session: Session, tmp_path: Path) -> None:
    read, _ = read_session_folder(write_log(session, tmp_path), INSTRUMENT)
    student, tutor = read.header.routes["student"], read.header.routes["tutor"]
    assert (student.provider, student.model, student.pin) == (
        "openrouter",
        "meta-llama/llama-3.1-8b-instruct",
        ("groq",),
    )
    assert (tutor.provider, tutor.model, tutor.pin) == ("anthropic", "claude-sonnet-4-6", ())
    assert student.sampling is not None
    assert student.sampling.max_tokens == 512
    assert read.header.source == run_id(session)


def test_judge_calls_are_left_out_and_said_so(session: Session, tmp_path: Path) -> None:
    folder = write_log(session, tmp_path)
    path = folder / "calls.jsonl"
    judge = log_line(session, session.calls[-1]) | {"seq": len(session.calls) + 1, "role": "judge"}
    judge["tags"] |= {"component": "helpfulness_judge", "rep": 0}
    path.write_text(path.read_text(encoding="utf-8") + json.dumps(judge) + "\n", encoding="utf-8")
    read, left_out = read_session_folder(folder, INSTRUMENT)
    assert len(read.calls) == len(session.calls)
    assert left_out == [f"{folder.name}: 1 judge calls left out (they are no part of the session)"]


def test_in_an_old_log_a_tutor_call_takes_the_item_of_the_call_before_it(session: Session, tmp_path: Path) -> None:
    folder = write_log(session, tmp_path)
    for number, call in enumerate(session.calls):
        if call.role != "student":
            edit_calls(folder, number, tags={"problem_id": None})
    read, _ = read_session_folder(folder, INSTRUMENT)
    assert read_transcript(read) == read_transcript(session)


def test_in_an_old_log_condition_and_replicate_may_be_absent_from_the_calls(session: Session, tmp_path: Path) -> None:
    folder = write_log(session, tmp_path)
    for number in range(len(session.calls)):
        edit_calls(folder, number, tags={"condition": None, "replicate_id": None})
    read, _ = read_session_folder(folder, INSTRUMENT)
    assert read.key == session.key


def test_an_ablation_is_a_condition_of_the_primary_base(session: Session, tmp_path: Path) -> None:
    folder = write_log(session, tmp_path)
    edit_json(folder / "confirmatory_meta.json", run_id="abl-s0-ped_no_cascade-r2", condition="ped_no_cascade")
    edit_json(folder / "full_session_result.json", condition="ped_no_cascade")
    for number in range(len(session.calls)):
        edit_calls(folder, number, tags={"condition": "ped_no_cascade"})
    read, _ = read_session_folder(folder, INSTRUMENT)
    assert read.key == ("sonnet", "ped_no_cascade", 2)


def test_several_folders_become_one_corpus(session: Session, tmp_path: Path) -> None:
    for other in (session, a_session("conv", 2), a_session("ped", 2, "gpt")):
        write_log(other, tmp_path / "logs" / other.header.base)
    manifest, _ = import_released_calls(tmp_path / "logs", tmp_path / "corpus", INSTRUMENT)
    assert len(manifest.files) == 3
    assert set(manifest.bases) == {"sonnet", "gpt"}


def without_tutor_turn(folder: Path) -> None:
    path = folder / "calls.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")


def meta(**fields: object) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "confirmatory_meta.json", **fields)


def result(**fields: object) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "full_session_result.json", **fields)


def call(number: int, **fields: object) -> Callable[[Path], None]:
    return lambda folder: edit_calls(folder, number, **fields)


def written(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(text.encode("latin-1"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda folder: (folder / "full_session_result.json").unlink(),
            "full_session_result.json: missing, so the session was never finished; collect it anew",
            id="no-result",
        ),
        pytest.param(
            lambda folder: (folder / "confirmatory_meta.json").unlink(), "confirmatory_meta.json: missing", id="no-meta"
        ),
        pytest.param(written("confirmatory_meta.json", "{"), "confirmatory_meta.json: cannot be read", id="meta-torn"),
        pytest.param(written("confirmatory_meta.json", "[]"), "confirmatory_meta.json: not a JSON object", id="a-list"),
        pytest.param(written("calls.jsonl", ""), "calls.jsonl: holds no calls", id="no-calls"),
        pytest.param(written("calls.jsonl", "[1]\n"), "calls.jsonl: line 1 is no JSON object", id="no-object"),
        pytest.param(written("calls.jsonl", '{"seq": 1'), "calls.jsonl: cannot be read", id="torn-line"),
        pytest.param(written("calls.jsonl", '{"seq": "\xff"}'), "calls.jsonl: cannot be read: .*utf-8", id="latin-1"),
        pytest.param(meta(run_id="pilot-7"), "run id 'pilot-7' is none of the study's", id="run-id"),
        pytest.param(meta(seed="2"), "seed is '2', expected a whole number", id="seed"),
        pytest.param(meta(condition="conv"), "confirmatory_meta.json condition is 'conv'", id="meta-differs"),
        pytest.param(meta(replicate_id=3), "confirmatory_meta.json replicate_id is 3, the run id", id="replicate"),
        pytest.param(result(condition="conv"), "full_session_result.json condition is 'conv'", id="result-differs"),
        pytest.param(result(seed=3), "full_session_result.json seed is 3, .* says 2", id="result-seed"),
        pytest.param(call(5, tags={"condition": "conv"}), "call 6 condition is 'conv'", id="call-condition"),
        pytest.param(call(5, tags={"replicate_id": 9}), "call 6 replicate_id is 9", id="call-replicate"),
        pytest.param(call(5, tags={"base": "gpt"}), "call 6 base is 'gpt'", id="call-base"),
        pytest.param(call(5, seq=5), "call 5 after call 5: twice or out of order", id="twice"),
        pytest.param(call(5, seq=2), "call 2 after call 5: twice or out of order", id="out-of-order"),
        pytest.param(call(5, seq="6"), "call '6' after call 5", id="seq-is-text"),
        pytest.param(call(0, tags={"component": "student"}), "call 1: a bare student call", id="bare-student"),
        pytest.param(call(0, tags={"component": "oracle"}), "call 1: component 'oracle' is not known", id="component"),
        pytest.param(call(0, tags="student_train"), "call 1: tags is 'student_train', expected an object", id="tags"),
        pytest.param(call(0, response="hello"), "call 1: response is 'hello', expected an object", id="response"),
        pytest.param(call(0, usage=[1]), r"call 1: usage is \[1\], expected an object", id="usage"),
        pytest.param(call(0, request=7), "call 1: request is 7, expected an object", id="request"),
        pytest.param(call(0, response={}), "call 1: text: Input should be a valid string", id="no-text"),
        pytest.param(call(0, tags={"problem_id": None}), "call 1: problem: ", id="student-without-item"),
        pytest.param(without_tutor_turn, "ends before transfer-3: 18 of 19 problems|transfer-3: ends", id="cut-short"),
        pytest.param(
            call(2, tags={"turn_index": 3}), r"train-1: tutor turns are numbered \[3, 1, 2, 3\]", id="turn-number"
        ),
    ],
)
def test_a_folder_that_is_refused_says_why(
    session: Session, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    folder = write_log(session, tmp_path / "logs")
    damage(folder)
    with pytest.raises(ImportFailure, match=message) as refused:
        import_released_calls(tmp_path / "logs", tmp_path / "corpus", INSTRUMENT)
    assert run_id(session) in str(refused.value)
    assert not (tmp_path / "corpus").exists()


def test_two_folders_with_one_session_key_are_refused(session: Session, tmp_path: Path) -> None:
    write_log(session, tmp_path / "logs")
    write_log(session, tmp_path / "logs", name="again")
    with pytest.raises(ImportFailure, match=r"session sonnet/ped/r2 stands in .*again already"):
        import_released_calls(tmp_path / "logs", tmp_path / "corpus", INSTRUMENT)


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"no calls\.jsonl below it; give the folder that holds"):
        import_released_calls(tmp_path, tmp_path / "corpus", INSTRUMENT)


@pytest.mark.parametrize("taken", ["folder", "file"])
def test_a_target_that_is_taken_is_refused_and_left_as_it_was(session: Session, tmp_path: Path, taken: str) -> None:
    write_log(session, tmp_path / "logs")
    target = tmp_path / "target"
    kept = target if taken == "file" else target / "mine.txt"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("mine")
    with pytest.raises(ImportFailure, match="target: not empty; give a new folder"):
        import_released_calls(tmp_path / "logs", target, INSTRUMENT)
    assert kept.read_text() == "mine"
