"""What a live run makes for a claim: its own cells, its own ratings, its own n, and nothing beside them."""

from pathlib import Path
from typing import Any

import pytest

import pytest_tutoreval.live
from pytest_tutoreval.errors import ConfigurationProblem, NotEvaluable
from pytest_tutoreval.gating import GuardPlace
from pytest_tutoreval.live import LiveRun
from pytest_tutoreval.records import Claim
from pytest_tutoreval.records.gate import Guard
from pytest_tutoreval.workbench import ClaimPlace, LiveSettings, Workbench
from tests.claims.test_cells import KNOWN
from tests.store.corpora import DEMO, a_corpus_of, demo_copy

SMALL = KNOWN["here"].model_copy(update={"id": "small", "replicates": 8})
ACROSS = KNOWN["cross"].model_copy(update={"id": "across", "arms": ("ped", "gpt:ped"), "direction": "ped > gpt:ped"})
RATED = ACROSS.model_copy(update={"id": "rated", "measure": "helpfulness", "judge_bound": True})
CLAIMS: dict[str, Claim] = {**KNOWN, "small": SMALL, "across": ACROSS, "rated": RATED}


def live_run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *wanted: tuple[str, str | None],
    bases: tuple[str, ...] = ("sonnet", "mine", "theirs"),
    guards: tuple[GuardPlace, ...] = (),
) -> LiveRun:
    """The run that would be sent off for these claims and judges, decided for sonnet."""
    sent: list[LiveRun] = []
    monkeypatch.setattr(pytest_tutoreval.live, "run_live", lambda run, *_, **__: sent.append(run))
    places = [ClaimPlace(CLAIMS[name], CLAIMS, "sonnet", judge) for name, judge in wanted]
    nothing: Any = None
    bench = Workbench(folder / "corpus", live=True)
    bench.collect(places, LiveSettings(), nothing, nothing, bases=bases, guards=guards)
    (run,) = sent
    return run


def test_the_studys_claims_need_conv_and_ped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live_run(tmp_path, monkeypatch, ("P1", None), ("P2", "opus"), ("J2", "sol"))
    assert run.needs.cells == {("sonnet", "conv"): 10, ("sonnet", "ped"): 10}
    assert run.needs.ratings == {
        ("sonnet", arm, judge, "helpfulness"): 10 for arm in ("conv", "ped") for judge in ("opus", "sol")
    }
    assert len(run.session_keys()) == 20


def test_a_claim_needs_its_own_arms_in_every_base_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = live_run(tmp_path, monkeypatch, ("cross", None), ("pinned", "opus"))
    cells = [("sonnet", "ped"), ("theirs", "ped"), ("mine", "rc"), ("theirs", "live")]
    assert run.needs.cells == dict.fromkeys(cells, 10)
    # theirs has sessions of ped too, and nobody asked for their ratings
    assert list(run.needs.ratings) == [("mine", "rc", "opus", "helpfulness"), ("theirs", "live", "opus", "helpfulness")]


def test_without_a_judge_nothing_is_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live_run(tmp_path, monkeypatch, ("pinned", None)).needs.ratings == {}


def test_an_n_of_its_own_is_what_is_collected_and_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = live_run(tmp_path, monkeypatch, ("here", "opus")).needs
    assert needs.cells == {("sonnet", "rc"): 12, ("sonnet", "live"): 12}
    assert set(needs.ratings.values()) == {12}


def test_each_cell_has_the_largest_n_of_the_claims_that_rest_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_run(tmp_path, monkeypatch, ("small", "opus"), ("P1", None), ("here", None), ("pinned_many", None))
    assert run.needs.cells == {
        **{("sonnet", "rc"): 12, ("sonnet", "live"): 12},
        **{("sonnet", "conv"): 10, ("sonnet", "ped"): 10},
        **{("mine", "a"): 20, ("sonnet", "a"): 20, ("theirs", "a"): 20},
    }
    # here is not rated in this run: its larger n is of sessions alone
    assert set(run.needs.ratings.values()) == {8}
    keys = run.session_keys()
    assert len(keys) == len(set(keys)) == 12 + 12 + 10 + 10 + 3 * 20
    assert sorted({key.replicate for key in keys if key.condition == "conv"}) == list(range(10))


def test_a_joint_claims_members_need_each_their_own_n(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = live_run(tmp_path, monkeypatch, ("joint", "opus")).needs
    assert needs.cells == {
        **{("sonnet", "rc"): 12, ("sonnet", "live"): 12},
        **{("sonnet", "ped"): 10, ("theirs", "ped"): 10, ("sonnet", "conv"): 10},
    }
    assert needs.ratings == {("sonnet", arm, "opus", "pedagogy"): 12 for arm in ("rc", "live")}


def test_a_guard_needs_its_own_cell_rated_where_it_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(measure="pedagogy", margin=0.5, worse="lower")
    judged, plain = (
        GuardPlace(guard, "sonnet", "ped", "opus"),
        GuardPlace(guard.model_copy(update={"measure": "leakage"}), "sonnet", "conv", None),
    )
    needs = live_run(tmp_path, monkeypatch, ("small", None), guards=(judged, plain)).needs
    assert needs.cells[("sonnet", "ped")] == needs.cells[("sonnet", "conv")] == 10
    assert needs.ratings == {("sonnet", "ped", "opus", "pedagogy"): 10}


# bases nobody named


def test_a_base_that_is_not_named_is_not_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationProblem) as caught:
        live_run(tmp_path, monkeypatch, ("P1", None), ("across", None), ("pinned", "opus"), bases=("sonnet",))
    assert str(caught.value) == (
        "--live pays for the bases that --base names, sonnet, and claim across, decided for sonnet, rests on gpt "
        "(nothing of it is on disk); claim pinned, decided for sonnet, rests on mine, theirs (nothing of it is on "
        "disk). Add gpt, mine, theirs to --base, or deselect across, pinned"
    )


def test_what_is_on_disk_of_a_base_that_is_not_named_is_paid_for_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo_copy(tmp_path / "corpus", base="gpt")
    run = live_run(tmp_path, monkeypatch, ("across", None), ("rated", "opus"), bases=("sonnet",))
    assert run.needs.cells == {("sonnet", "ped"): 10}
    assert run.needs.ratings == {("sonnet", "ped", "opus", "helpfulness"): 10}


@pytest.mark.parametrize(
    ("claim", "judge", "removed", "gap"),
    [
        ("across", None, "sessions/gpt/ped/r9.jsonl", "gpt/ped lacks replicate 9 of 10 registered"),
        ("rated", "opus", "ratings/opus/helpfulness/gpt/ped/r3.jsonl", "session gpt/ped/r3: no helpfulness ratings by"),
        ("rated", "sol", "ratings/sol/helpfulness/gpt/ped/r0.jsonl", "session gpt/ped/r0: no helpfulness ratings by"),
    ],
)
def test_a_gap_in_a_base_that_is_not_named_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claim: str, judge: str | None, removed: str, gap: str
) -> None:
    (demo_copy(tmp_path / "corpus", base="gpt") / removed).unlink()
    with pytest.raises(ConfigurationProblem, match=f"claim {claim}, decided for sonnet, rests on gpt .{gap}"):
        live_run(tmp_path, monkeypatch, (claim, judge), bases=("sonnet",))


def test_only_the_cells_and_replicates_a_claim_rests_on_have_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = demo_copy(tmp_path / "corpus", base="gpt", rubrics=False)
    for gone in ("conv/r0", "ped/r8", "ped/r9"):
        (corpus / "sessions" / "gpt" / f"{gone}.jsonl").unlink()
    eight = ACROSS.model_copy(update={"replicates": 8})
    monkeypatch.setitem(CLAIMS, "eight", eight)
    assert live_run(tmp_path, monkeypatch, ("eight", None), bases=("sonnet",)).needs.cells == {("sonnet", "ped"): 8}
    with pytest.raises(ConfigurationProblem, match="gpt/ped lacks replicates 8, 9 of 10 registered"):
        live_run(tmp_path, monkeypatch, ("across", None), bases=("sonnet",))


# more than the study's n, beside claims


def write_study(folder: Path, n: int) -> Path:
    """A study file whose one claim registers n replicates of conv and ped."""
    study = folder / "tutoreval.toml"
    study.write_text('claims = "claims"\n', encoding="utf-8")
    text = (DEMO.parents[1] / "instrument" / "claims" / "P1.toml").read_text(encoding="utf-8")
    (folder / "claims").mkdir(exist_ok=True)
    own = text.replace('id = "P1"', f'id = "X1"\nreplicates = {n}')
    (folder / "claims" / "X1.toml").write_text(own, encoding="utf-8")
    return study


def a_flat_corpus(folder: Path, n: int) -> Path:
    return a_corpus_of(folder, {("mine", "conv"): [0.5] * n, ("mine", "ped"): [0.25] * n})


def test_a_guard_reads_the_studys_replicates_where_a_claim_of_the_study_file_registers_more(tmp_path: Path) -> None:
    corpus, read = a_flat_corpus(tmp_path / "corpus", 12), []

    class Reading:
        def measure_row(self, place: GuardPlace, measures: Any) -> None:
            read.append(sorted(measures.cell(place.base, place.condition).sessions))

    place, gate = GuardPlace(Guard(measure="leakage", margin=0.1, worse="higher"), "mine", "conv", None), Reading()
    for n in (11, 12):
        Workbench(corpus, study_file=write_study(tmp_path, n)).guard_row(gate, place)  # type: ignore[arg-type]
    # with 11 registered the twelfth is nobody's: it stays, and is refused
    assert read == [[*range(10), 11], [*range(10)]]


def test_an_analysis_reads_them_as_if_there_were_no_more(tmp_path: Path) -> None:
    ten, twelve = a_flat_corpus(tmp_path / "ten", 10), a_flat_corpus(tmp_path / "twelve", 12)
    plain = Workbench(ten).analyse("token_control", "mine", None)
    study = write_study(tmp_path, 12)
    assert Workbench(twelve, study_file=study).analyse("token_control", "mine", None) == plain
    with pytest.raises(NotEvaluable, match="holds replicates 10, 11, not registered"):
        Workbench(twelve).analyse("token_control", "mine", None)
