"""Live runs for tests: a study file that points at loopback, runs in this process or a child, and what is on disk."""

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_tutoreval.collecting import episode
from pytest_tutoreval.frozen import Instrument, extend_instrument, load_instrument, read_study_file
from pytest_tutoreval.judging import rating_requests
from pytest_tutoreval.live import LiveOutcome, LiveRun, Needs, run_live
from pytest_tutoreval.live.jobs import judge_route, session_jobs
from pytest_tutoreval.providers.agent import ModelReply, ModelRequest
from pytest_tutoreval.providers.routes import wire_format
from pytest_tutoreval.records.session import SessionKey
from pytest_tutoreval.store import open_corpus
from pytest_tutoreval.store.corpus import file_digest
from tests.live.voices import digest_of
from tests.loopback.server import LoopbackServer

__all__ = [
    "KEYS",
    "a_run",
    "a_study_file",
    "asked_bodies",
    "bodies_on_disk",
    "body_of",
    "child_environ",
    "corpus_facts",
    "go",
    "seals_hold",
    "short_instrument",
    "tutoreval",
]

ROOT = Path(__file__).resolve().parents[2]

KEYS = {
    "ANTHROPIC_API_KEY": "test-anthropic",
    "OPENAI_API_KEY": "test-openai",
    "GEMINI_API_KEY": "test-gemini",
    "OPENROUTER_API_KEY": "test-openrouter",
}

PROVIDERS = ("anthropic", "openai", "gemini", "openrouter", "compatible")


def a_study_file(
    folder: Path,
    base_urls: Mapping[str, str],
    *,
    concurrency: int = 64,
    price: tuple[float, float] | None = None,
    more: str = "",
) -> Path:
    """Return a study file whose routes all lead to `base_urls`; `price` is every provider's."""
    lines = []
    for provider in PROVIDERS:
        lines += [f"[routes.{provider}]", f'base_url = "{base_urls[provider]}"', f"concurrency = {concurrency}"]
        if price is not None:
            lines += [f"[prices.{provider}]", f"input = {price[0]}", f"output = {price[1]}"]
    path = folder / "study.toml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([more, *lines]) + "\n", encoding="utf-8")
    return path


@cache
def short_instrument(n_training: int = 1, n_probes: int = 1) -> Instrument:
    """Return the instrument with only its first problems, under a digest of its own."""
    instrument = load_instrument()
    training = [problem for problem in instrument.problems if problem.phase == "training"][:n_training]
    probes = [problem for problem in instrument.problems if problem.phase != "training"][:n_probes]
    return replace(instrument, problems=(*training, *probes), sha256=f"{n_training:032x}{n_probes:032x}")


def a_run(server: LoopbackServer, folder: Path, needs: Needs, *, study: Path | None = None, **changes: Any) -> LiveRun:
    """Return a run on loopback that does not wait for the disk; two replicates of a short instrument unless told."""
    file = read_study_file(study or a_study_file(folder.parent / f"{folder.name}-study", server.base_urls))
    given: dict[str, Any] = {
        "instrument": short_instrument(),
        "replicates": (0, 1),
        "environ": KEYS,
        "sync": lambda _: None,
        "prices": file.prices,
    } | changes
    given["instrument"] = extend_instrument(given["instrument"], file)
    return LiveRun(folder=folder, needs=needs, study_file=file, **given)


def go(server: LoopbackServer, folder: Path, needs: Needs, **changes: Any) -> LiveOutcome:
    """Return what came of a run."""
    return run_live(a_run(server, folder, needs, **changes))


def child_environ(**more: str) -> dict[str, str]:
    """Return the environment of a child: this one, dummy keys, a wide plain terminal."""
    return {
        **os.environ,
        **KEYS,
        "COLUMNS": "200",
        "TERM": "dumb",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
        **more,
    }


def command(*arguments: str | Path) -> list[str]:
    """Return the command line of `tutoreval`."""
    return [sys.executable, "-m", "pytest_tutoreval", *map(str, arguments)]


def tutoreval(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Return a finished `tutoreval` command, run in a child."""
    return subprocess.run(
        command(*arguments), env=child_environ(**environ), capture_output=True, text=True, timeout=300, check=False
    )


# what is on disk, as bodies that were sent


def body_of(request: ModelRequest) -> str:
    """Return the digest of the body a request travels with."""
    call = wire_format(request.route).build(request, None, "http://127.0.0.1")
    return digest_of(json.loads(call.body))


def asked_bodies(server: LoopbackServer) -> Counter[str]:
    """Return how often each body arrived."""
    return Counter(digest_of(entry.body) for entry in list(server.journal))


class _Bodies:
    """Bodies by request digest: sending one and the same request twice need not be computed twice."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, request: ModelRequest) -> str:
        key = request.digest()
        if key not in self._known:
            self._known[key] = body_of(request)
        return self._known[key]


_bodies = _Bodies()


def bodies_on_disk(folder: Path, instrument: Instrument) -> tuple[Counter[str], Counter[str]]:
    """Return the bodies of every completed call on disk, and those that are due next: one an unfinished session.

    Ratings are due all together, as the engine asks for all that a file lacks at once.
    """
    done: Counter[str] = Counter()
    due: Counter[str] = Counter()
    for path in sorted((folder / "sessions").rglob("*.jsonl")):
        base, condition = path.parts[-3:-1]
        key = SessionKey(base, condition, int(path.stem[1:]))
        lines = whole_lines(path)
        texts = [line["text"] for line in lines[1:] if "end" not in line]
        (job,) = session_jobs(instrument, [key])
        running = episode(job.plan)
        request: ModelRequest | None = next(running)
        for text in texts:
            assert request is not None
            done[_bodies(request)] += 1
            try:
                request = running.send(ModelReply(text))
            except StopIteration:
                request = None
        if request is not None:
            due[_bodies(request)] += 1
    if (folder / "ratings").is_dir():
        _add_ratings(folder, instrument, done, due)
    return done, due


def _add_ratings(folder: Path, instrument: Instrument, done: Counter[str], due: Counter[str]) -> None:
    corpus = open_corpus(folder)
    for path in sorted((folder / "ratings").rglob("*.jsonl")):
        judge, rubric, base, condition = path.parts[-5:-1]
        session = corpus.session(SessionKey(base, condition, int(path.stem[1:])))
        names = ("problem", "turn", "repetition", "request")
        found = Counter(tuple(line[name] for name in names) for line in whole_lines(path)[1:])
        assert all(count == 1 for count in found.values()), f"{path}: a rating stands twice"
        for request, _ in rating_requests(instrument, session, rubric, judge_route(instrument, judge)):
            site = request.site
            there = (site.problem, site.turn, site.repetition, request.digest()) in found
            (done if there else due)[_bodies(request)] += 1


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file that end."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


_VOLATILE = ("started", "seconds", "request_id")


def corpus_facts(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return every data file's lines without clocks and request ids; ratings in an order of their own."""
    facts = {}
    for path in _data_files(folder):
        header, *lines = whole_lines(path)
        kept = [{name: value for name, value in line.items() if name not in _VOLATILE} for line in lines]
        if path.relative_to(folder).parts[0] == "ratings":
            kept.sort(key=lambda line: (line["problem"], line.get("turn"), line.get("repetition")))
        facts[path.relative_to(folder).as_posix()] = [header, *kept]
    return facts


def _data_files(folder: Path) -> Iterator[Path]:
    for part in ("sessions", "ratings"):
        yield from sorted((folder / part).rglob("*.jsonl"))


def seals_hold(folder: Path) -> bool:
    """Whether every data file is sealed, with the digest it has."""
    sealed: dict[str, str] = tomllib.loads((folder / "corpus.toml").read_text(encoding="utf-8")).get("files", {})
    return sealed == {
        path.relative_to(folder).as_posix(): file_digest(path.read_bytes()) for path in _data_files(folder)
    }


def lines_of(text: str, *words: str) -> Sequence[str]:
    """Return the lines that hold all words."""
    return [line for line in text.splitlines() if all(word in line for word in words)]
