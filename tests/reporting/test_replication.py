"""The replication report as people and programs read it: three forms of one document."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pytest_tutoreval.analyses.replication import ReplicatedValue, Replication
from pytest_tutoreval.analyses.replication_checks import Judged
from pytest_tutoreval.cli import app
from pytest_tutoreval.reporting.replication import render_markdown, render_text, replication_document
from tests.analyses.replicating import replication, simulated
from tests.store.corpora import DEMO, a_table_corpus

__all__ = ["replication", "simulated"]

OUTCOMES = ("different", "not evaluable", "reproduced with cause", "reproduced", "not compared")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    given = [str(argument) for argument in ("report", "replication", *arguments)]
    result = CliRunner().invoke(app, given, env={"COLUMNS": "200", "TERM": "dumb"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="session")
def document(replication: Replication) -> dict[str, Any]:
    return replication_document(replication)


def counted(text: str, mark: str) -> dict[str, tuple[int, int]]:
    """Return entries and values by outcome as the summary of a rendered report states them."""
    found = re.findall(rf"^{mark}([a-z ]+): (\d+) entries, (\d+) values$", text, flags=re.MULTILINE)
    return {outcome: (int(entries), int(values)) for outcome, entries, values in found}


def test_all_three_forms_state_the_same_counts(document: dict[str, Any]) -> None:
    entries = Counter(entry["outcome"] for entry in document["entries"])
    values = Counter(value["outcome"] for entry in document["entries"] for value in entry["values"])
    expected = {
        "different": (0, 0),
        **{word.replace("_", " "): (entries[word], values[word]) for word in values},
    }
    assert counted(render_text(document), "  ") == counted(render_markdown(document), "- ") == expected
    assert document["counts"]["entries"] == {
        name.replace(" ", "_"): entries[name.replace(" ", "_")] for name in OUTCOMES
    }


def test_no_entry_vanishes_from_text_or_markdown(document: dict[str, Any]) -> None:
    text, markdown = render_text(document), render_markdown(document)
    for entry in document["entries"]:
        assert text.count(f"\n{entry['id']} [") == 1
        assert markdown.count(f"\n| {entry['id']} |") == len(entry["values"])


def test_the_document_is_strict_json_and_says_where_it_comes_from(document: dict[str, Any]) -> None:
    again = json.loads(json.dumps(document, allow_nan=False))
    assert again == document
    assert again["format"] == "tutoreval-replication/1"
    assert (again["simulated"], again["corpus"]["provenance"]) == (False, "imported")


def test_text_stays_within_120_columns(document: dict[str, Any]) -> None:
    assert max(map(len, render_text(document).splitlines())) <= 120


@pytest.mark.parametrize("render", [render_text, render_markdown])
def test_the_register_the_deviations_and_the_rules_are_printed(document: dict[str, Any], render: Any) -> None:
    words = " ".join(render(document).split())
    for line in document["register"]:
        assert f"{line['component']}: {line['status']}; visible then: {line['evidence_visible']}" in words
    assert "The model-based verification pass of independence was not run." in words
    assert "Ten pairs: session nulls rule out only large effects." in words
    assert words.count("over sonnet, gpt, gemini: registered by the study") == 3
    assert "bases added by the user's study file: none" in words
    assert "the released fit is not the maximum: the released variance ratios" in words


def test_a_value_is_shown_with_what_it_was_held_against(document: dict[str, Any]) -> None:
    text = render_text(document)
    assert "\nadjusted/sonnet/opus/leakage_to_helpfulness [5]\n  value: printed 0.5, ours 0.492849\n" in text
    assert "  p: printed 9.6e-10, ours 8.11356e-12\n" in text
    row = (
        "| table2b/gemini/leakage | Table 2b | p | 0.625 | 0.623047 | reproduced with cause | library version: an older"
    )
    assert row in render_markdown(document)


def test_a_difference_stands_first(replication: Replication) -> None:
    first, *others = replication.entries
    wrong = replace(first, values=(ReplicatedValue(first.values[0].printed, Judged("different", "no", "does not")),))
    document = replication_document(replace(replication, entries=(wrong, *others)))
    text = render_text(document)
    assert text.index("Different, without a cause that was found true (1)") < text.index("Reproduced with a named")
    assert "  different: 1 entries, 1 values" in text


def test_a_simulated_report_says_so_loudly_and_compares_nothing(simulated: Replication) -> None:
    document = replication_document(simulated)
    text, markdown = render_text(document), render_markdown(document)
    for form in (text, markdown):
        assert "SIMULATED DATA: scripted agents played every part, so nothing here is a replication." in " ".join(
            form.split()
        )
        assert "reproduced" not in form.split("Register: specification status")[0].lower()
    assert "value: the study supported, simulated supported" in text
    assert counted(text, "  ") == {"not compared": (124, 286)}


def test_what_a_study_file_adds_is_named(replication: Replication) -> None:
    family = replication.study.families[0].model_copy(update={"registered": False, "judges": ("mine", "opus")})
    study = replication.study.model_copy(update={"families": (*replication.study.families, family)})
    added = replace(replication, study=study, added_judges=("mine",))
    words = " ".join(render_text(replication_document(added)).split())
    assert "by mine-opus over sonnet, gpt, gemini: added by the user's study file, not registered" in words
    assert "judges added by the user's study file: mine" in words


# the command


def test_the_command_exits_0_on_the_released_tables(released: Path, tmp_path: Path) -> None:
    target = tmp_path / "out" / "report.json"
    code, out, _ = run("--corpus", released, "--to", target)
    assert code == 0
    assert out == f"{target}: 124 entries, 5 not evaluable, 20 reproduced with cause, 99 reproduced\n"
    assert json.loads(target.read_text(encoding="utf-8"))["counts"]["entries"]["different"] == 0


def test_the_command_names_simulated_data_and_exits_0(tmp_path: Path) -> None:
    code, out, _ = run("--corpus", DEMO, "--to", tmp_path, "--format", "markdown")
    assert code == 0
    assert out == (
        f"{tmp_path / 'replication.md'}: SIMULATED DATA, nothing is a replication: 124 entries, 124 not compared\n"
    )
    assert (tmp_path / "replication.md").read_text(encoding="utf-8").startswith("# Replication report: Can a")


def test_a_difference_exits_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replication: Replication) -> None:
    first, *others = replication.entries
    wrong = replace(first, values=(ReplicatedValue(first.values[0].printed, Judged("different", "no", "does not")),))
    monkeypatch.setattr(
        "pytest_tutoreval.analyses.replication.replicate",
        lambda *_: replace(replication, entries=(wrong, *others)),
    )
    code, out, _ = run("--corpus", a_table_corpus(tmp_path / "corpus", [0.5] * 10, [0.1] * 10))
    assert code == 1
    assert "different: 1 entries" in out


def test_a_corpus_that_lacks_nearly_everything_still_has_every_entry(tmp_path: Path) -> None:
    corpus = a_table_corpus(tmp_path / "corpus", [0.5] * 10, [0.1] * 10)
    code, out, _ = run("--corpus", corpus, "--format", "json")
    assert code == 0
    assert len(json.loads(out)["entries"]) == 124


def test_an_unknown_form_is_a_usage_error(tmp_path: Path) -> None:
    code, _, err = run("--corpus", DEMO, "--format", "html")
    assert code == 2
    assert "--format html; one of text, markdown, json" in err
