"""A baseline file: what it holds, and everything for which it is refused or not written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.errors import BaselineError
from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.gating import make_baseline, read_baseline, refuse_other_provenance, write_baseline
from pytest_tutoreval.records.baseline import Baseline
from pytest_tutoreval.store import Corpus, open_corpus
from tests.gating.candidates import RUN, Candidates, a_baseline, simulated
from tests.store.corpora import decide, edit_lines, measures_of, stamp


def resealed(fields: dict[str, Any]) -> dict[str, Any]:
    """Return edited fields under a digest that fits them."""
    return Baseline.model_validate(fields).sealed().model_dump(mode="json")


def changed(**update: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda fields: fields | update


def test_a_baseline_holds_verdicts_and_paired_values(candidates: Candidates) -> None:
    baseline = read_baseline(candidates.baseline, load_instrument())
    assert [(row.claim, row.judge) for row in baseline.claims] == [("P1", None), ("P2", "opus"), ("P3", None)]
    series = {(one.measure, one.condition, one.judge) for one in baseline.series}
    judge_free = ("leakage", "next_turn_independence", "independence", "turns_to_commitment", "cost_per_session")
    assert series == {(name, arm, None) for name in judge_free for arm in ("conv", "ped")} | {
        ("pedagogy", arm, "opus") for arm in ("conv", "ped")
    }
    assert all(set(one.values) == set(range(10)) for one in baseline.series)
    corpus = open_corpus(candidates.released)
    assert (baseline.corpus.name, baseline.corpus.sha256) == (corpus.manifest.name, corpus.sha256)
    assert (baseline.run, baseline.instrument) == (RUN, load_instrument().sha256)


def test_the_same_run_gives_the_same_bytes(candidates: Candidates, tmp_path: Path) -> None:
    a_baseline(tmp_path / "b.json", candidates.released)
    assert (tmp_path / "b.json").read_bytes() == candidates.baseline.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"], "nothing is left beside it"


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(changed(study="another"), "it was edited since it was written", id="edited"),
        pytest.param(
            changed(format="tutoreval-baseline/2"), "format 'tutoreval-baseline/2', this version", id="format"
        ),
        pytest.param(lambda fields: [fields], "format None, this version reads", id="no-object"),
        pytest.param(changed(bases=[]), "bases: ", id="not-a-baseline"),
        pytest.param(
            lambda fields: resealed(fields | {"instrument": "f" * 64}),
            "made under instrument ffffffffffff",
            id="foreign",
        ),
        pytest.param(
            lambda fields: resealed(fields | {"amendments": ["a student of ours"]}),
            "made with amendments (a student of ours), this run has no amendment",
            id="amended",
        ),
    ],
)
def test_a_baseline_that_is_not_comparable_is_refused_with_the_way_out(
    candidates: Candidates, tmp_path: Path, edit: Callable[[dict[str, Any]], Any], said: str
) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps(edit(json.loads(candidates.baseline.read_text()))))
    with pytest.raises(BaselineError) as refused:
        read_baseline(path, load_instrument())
    assert str(refused.value).startswith(f"{path}: ")
    assert said in str(refused.value)
    assert "--tutoreval-baseline-update" in str(refused.value)


@pytest.mark.parametrize("text", [None, "", "{", "\x00"], ids=["missing", "empty", "torn", "bytes"])
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BaselineError, match=r"no baseline there|cannot be read as a baseline"):
        read_baseline(path, load_instrument())


def test_simulated_and_real_data_are_never_compared(candidates: Candidates, tmp_path: Path) -> None:
    corpus = open_corpus(candidates.released)
    baseline = read_baseline(candidates.baseline, load_instrument())
    refuse_other_provenance(candidates.baseline, baseline, corpus)
    imported = corpus.manifest.model_copy(update={"provenance": "imported"})
    corpus = Corpus(corpus.folder, imported)
    with pytest.raises(BaselineError, match="simulated data in a corpus that is imported"):
        refuse_other_provenance(candidates.baseline, baseline, corpus)
    (tmp_path / "empty").mkdir()
    corpus = Corpus(tmp_path / "empty", imported)
    with pytest.raises(BaselineError, match=r"made from simulated data .*, this corpus is imported"):
        refuse_other_provenance(candidates.baseline, baseline, corpus)


@pytest.mark.parametrize("part", ["sessions", "ratings"])
def test_no_baseline_is_made_of_mixed_data(tmp_path: Path, part: str) -> None:
    corpus = simulated(tmp_path / "mixed", seed=1)
    verdicts = [decide(corpus, "P1", "mytutor")]
    file = next(iter(sorted((corpus / part).rglob("*.jsonl"))))
    edit_lines(file, lambda lines: [lines[0] | {"provenance": "recorded"}, *lines[1:]])
    stamp(corpus, open_corpus(corpus).manifest, files={})
    with pytest.raises(BaselineError, match="recorded data in a corpus that is simulated"):
        make_baseline(
            measures_of(corpus), verdicts, bases=["mytutor"], judges=["opus"], price_of=lambda _: None, run=RUN
        )


def test_no_baseline_is_made_of_incomplete_data(candidates: Candidates, tmp_path: Path) -> None:
    corpus = simulated(tmp_path / "short", seed=1, replicates=range(6))
    verdicts = [decide(candidates.released, "P1", "mytutor")]
    with pytest.raises(BaselineError, match=r"lacks replicates 6, 7, 8, 9 .*a baseline is made from complete data"):
        make_baseline(
            measures_of(corpus), verdicts, bases=["mytutor"], judges=["opus"], price_of=lambda _: None, run=RUN
        )


def test_a_judge_who_rated_some_turns_only_is_no_complete_data(tmp_path: Path) -> None:
    corpus = simulated(tmp_path / "part", seed=1)
    verdicts = [decide(corpus, "P1", "mytutor")]
    (corpus / "ratings/opus/pedagogy/mytutor/ped/r3.jsonl").unlink()
    with pytest.raises(BaselineError, match="no pedagogy ratings by opus"):
        make_baseline(
            measures_of(corpus), verdicts, bases=["mytutor"], judges=["opus"], price_of=lambda _: None, run=RUN
        )


def test_no_claim_is_lost_without_a_word(candidates: Candidates, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    whole = a_baseline(path, candidates.released)
    before = path.read_bytes()
    fewer = whole.model_copy(update={"claims": whole.claims[:1]}).sealed()
    with pytest.raises(BaselineError, match="did not decide P2 mytutor opus, P3 mytutor, which the baseline holds"):
        write_baseline(fewer, path)
    assert path.read_bytes() == before
    write_baseline(fewer, tmp_path / "other.json")


def test_a_guarded_measure_is_not_lost_without_a_word(candidates: Candidates, tmp_path: Path) -> None:
    """A judge that is gone would take the default guard of its ratings along."""
    path = tmp_path / "b.json"
    whole = a_baseline(path, candidates.released)
    before = path.read_bytes()
    unjudged = whole.model_copy(update={"series": tuple(one for one in whole.series if one.judge is None)}).sealed()
    with pytest.raises(
        BaselineError, match="this run has no pedagogy mytutor conv opus, pedagogy mytutor ped opus, which the baseline"
    ):
        write_baseline(unjudged, path)
    assert path.read_bytes() == before


def test_a_baseline_of_real_data_is_not_replaced_by_a_simulated_one(candidates: Candidates, tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    simulated_one = a_baseline(path, candidates.released)
    real = simulated_one.corpus.model_copy(update={"provenance": "recorded"})
    path.write_text(json.dumps(simulated_one.model_copy(update={"corpus": real}).sealed().model_dump(mode="json")))
    before = path.read_bytes()
    with pytest.raises(
        BaselineError, match=r"it holds recorded data \(corpus released\), this run is on simulated data"
    ):
        write_baseline(simulated_one, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("found", "replaced"),
    [
        pytest.param(b"# My tutor\n", False, id="a-readme"),
        pytest.param(b'{"format": "tutoreval-verdicts/1"}', False, id="verdicts"),
        pytest.param(b"", True, id="empty"),
        pytest.param(b'<<<<<<< ours\n{\n "format": "tutoreval-baseline/1",\n', True, id="a-damaged-baseline"),
    ],
)
def test_only_a_baseline_is_written_over(candidates: Candidates, tmp_path: Path, found: bytes, replaced: bool) -> None:
    (tmp_path / "b.json").write_bytes(found)
    whole = read_baseline(candidates.baseline, load_instrument())
    if replaced:
        write_baseline(whole, tmp_path / "b.json")
        assert read_baseline(tmp_path / "b.json", load_instrument()) == whole
    else:
        with pytest.raises(BaselineError, match="this file is no baseline, and is not written over"):
            write_baseline(whole, tmp_path / "b.json")
        assert (tmp_path / "b.json").read_bytes() == found


def test_a_file_that_cannot_be_replaced_is_an_error(candidates: Candidates, tmp_path: Path) -> None:
    (tmp_path / "b.json").mkdir()
    whole = read_baseline(candidates.baseline, load_instrument())
    with pytest.raises(BaselineError, match="the baseline cannot be written"):
        write_baseline(whole, tmp_path / "b.json")
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]
