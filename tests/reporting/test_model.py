"""The model of the document, its schema, and what a reader of another version meets."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_tutoreval.errors import BrokenDocument
from pytest_tutoreval.reporting.model import Document, document_schema, read_document
from tests.reporting.documents import HOSTILE, a_document, poisoned

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = ROOT / "docs" / "reference" / "verdicts-schema.json"
GOLDEN = Path(__file__).parent / "golden" / "small.json"


def write(document: Any, folder: Path) -> Path:
    path = folder / "verdicts.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def within(part: Any, whole: Any) -> bool:
    """Whether everything in a document stands in another, which may hold more keys."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and within(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return bool(part == whole)


def golden() -> dict[str, Any]:
    """The golden document, with what differs from machine to machine put back."""
    document: dict[str, Any] = json.loads(GOLDEN.read_bytes())
    document["study"]["instrument_sha256"] = "0" * 64
    document["run"]["versions"] = {"python": "3.11"}
    return document


def test_the_schema_in_the_documentation_is_the_models() -> None:
    text = json.dumps(document_schema(), indent=1) + "\n"
    if os.environ.get("TUTOREVAL_WRITE_GOLDEN") == "1":
        SCHEMA.write_text(text, encoding="utf-8", newline="\n")
    assert SCHEMA.read_text(encoding="utf-8") == text


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(SCHEMA.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(golden(), id="golden"),
        pytest.param(a_document(), id="one-of-everything"),
        *(pytest.param(poisoned(a_document(), text), id=name) for name, text in HOSTILE.items()),
    ],
)
def test_documents_satisfy_the_schema_and_the_model(
    validator: jsonschema.Draft202012Validator, document: dict[str, Any], tmp_path: Path
) -> None:
    assert not list(validator.iter_errors(document))
    read = read_document(write(document, tmp_path)).model_dump(mode="json")
    assert within(document, read), "no key of the document is unknown to the model"
    assert not list(validator.iter_errors(read))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"claims": [{}]}, id="an-empty-claim"),
        pytest.param({"format": "tutoreval-verdicts/2"}, id="another-major"),
        pytest.param({"gate": {"settings": {}}}, id="half-a-gate"),
        pytest.param({"run": {"selected": "many"}}, id="not-a-number"),
    ],
)
def test_the_schema_refuses_what_the_model_refuses(
    validator: jsonschema.Draft202012Validator, broken: dict[str, Any], tmp_path: Path
) -> None:
    document = a_document(**broken)
    assert list(validator.iter_errors(document))
    with pytest.raises(BrokenDocument):
        read_document(write(document, tmp_path))


def test_keys_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    document = a_document()
    later = json.loads(json.dumps(document))
    for part in (later, later["run"], later["gate"], later["gate"]["rows"][0], later["gate"]["settings"]):
        part["added_later"] = {"x": 1}
    for name in ("claims", "analyses", "not_evaluable", "not_analysed", "registrations"):
        later[name][0]["added_later"] = 1
    later["claims"][2]["components"][0]["added_later"] = 1
    (tmp_path / "now").mkdir()
    assert read_document(write(later, tmp_path)) == read_document(write(document, tmp_path / "now"))


def test_a_document_of_an_earlier_version_is_read_without_what_was_added(tmp_path: Path) -> None:
    document = a_document()
    for name in ("registrations", "gate"):
        del document[name]
    for name in (
        "id",
        "interrupted",
        "stopped",
        "lost_workers",
        "last_failed",
        "corpus_folder",
        "not_written",
        "outputs",
    ):
        del document["run"][name]
    for claim in document["claims"]:
        del claim["margin"]
    read = read_document(write(document, tmp_path))
    assert (read.registrations, read.gate, read.run.corpus_folder, read.run.outputs) == ((), None, None, {})
    assert len(read.claims) == 3


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("{", "cannot be read as JSON", id="not-json"),
        pytest.param("[" * 100_000, "cannot be read as JSON", id="nested-without-end"),
        pytest.param("[]", "format is None, expected 'tutoreval-verdicts/1'", id="a-list"),
        pytest.param("{}", "format is None", id="no-format"),
        pytest.param('{"format": "junit/1"}', "format is 'junit/1', expected", id="foreign"),
        pytest.param('{"format": "tutoreval-verdicts/0"}', "format is 'tutoreval-verdicts/0', expected", id="older"),
        pytest.param('{"format": "tutoreval-verdicts/2"}', "newer than this version reads", id="newer"),
        pytest.param('{"format": ["tutoreval-verdicts/1"]}', "format is", id="a-list-as-format"),
        pytest.param('{"format": "tutoreval-verdicts/1"}', "study: Field required", id="nothing-in-it"),
    ],
)
def test_what_is_no_document_fails_in_one_line_that_names_the_file(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "verdicts.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BrokenDocument) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert problem in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenDocument, match=r"nowhere\.json: cannot be read"):
        read_document(tmp_path / "nowhere.json")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, number: str) -> None:
    text = json.dumps(a_document()).replace("0.365", number)
    (tmp_path / "v.json").write_text(text, encoding="utf-8")
    with pytest.raises(BrokenDocument, match=r"claims\.0\.estimate: Input should be a finite number"):
        read_document(tmp_path / "v.json")


def test_a_lone_surrogate_is_refused_not_passed_on(tmp_path: Path) -> None:
    document = a_document(not_evaluable=[{"claim": "P1", "base": "a", "judge": None, "reason": "\ud800"}])
    with pytest.raises(BrokenDocument, match=r"not_evaluable\.0\.reason"):
        read_document(write(document, tmp_path))


def test_the_format_of_the_model_is_the_documents() -> None:
    with pytest.raises(ValueError, match="format"):
        Document.model_validate(a_document(format="tutoreval-verdicts/10"))
