"""`tutoreval verify` on real sockets: opinions are logged and resumed, labels and measures stay what they were."""

from pathlib import Path

from pytest_tutoreval.frozen import load_instrument
from pytest_tutoreval.providers.scripted import JUDGE_SCRIPTS, SCRIPTS
from pytest_tutoreval.simulating import simulate_corpus
from tests.live.running import a_study_file, tutoreval
from tests.loopback.server import LoopbackServer, Step


def a_corpus(folder: Path) -> Path:
    simulate_corpus(
        folder,
        load_instrument(),
        seed=11,
        scripts={"sonnet": SCRIPTS["sonnet"]},
        judge_scripts={"opus": JUDGE_SCRIPTS["opus"]},
        replicates=(0,),
    )
    return folder


def data_of(corpus: Path) -> dict[str, bytes]:
    parts = ("sessions", "ratings")
    return {str(path): path.read_bytes() for part in parts for path in (corpus / part).rglob("*.jsonl")}


def test_opinions_are_kept_and_asked_for_once(tmp_path: Path) -> None:
    corpus = a_corpus(tmp_path / "corpus")
    before = data_of(corpus)
    step = Step(times=-1, text='{"attempted": false, "reason": "only asks"}')
    with LoopbackServer([step]) as server:
        study = a_study_file(tmp_path, server.base_urls)
        first = tutoreval("verify", "--corpus", corpus, "--judge", "opus", "--study", study)
        asked = len(server.journal)
        second = tutoreval("verify", "--corpus", corpus, "--judge", "opus", "--study", study)
        assert len(server.journal) == asked > 20
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert f"{asked} opinions given, 0 were there" in first.stdout
    assert f"0 opinions given, {asked} were there" in second.stdout
    assert "rule True, model False" in first.stdout
    assert data_of(corpus) == before


def test_a_refused_key_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    corpus = a_corpus(tmp_path / "corpus")
    with LoopbackServer([Step(times=-1, status=401, body={"error": {"message": "bad key"}})]) as server:
        study = a_study_file(tmp_path, server.base_urls)
        finished = tutoreval("verify", "--corpus", corpus, "--judge", "opus", "--study", study)
    assert finished.returncode == 1
    assert "authentication" in finished.stdout
    assert "0 opinions given" in finished.stdout
