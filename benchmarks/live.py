"""The live engine against a server on loopback that costs it nothing: CPU a call, wall, memory, ledger."""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEYS = {
    "ANTHROPIC_API_KEY": "bench-anthropic",
    "OPENROUTER_API_KEY": "bench-openrouter",
}
AT_ONCE = 64
TINY_SESSIONS = (100, 1_000)


@contextmanager
def _server(*, delay: float = 0.0) -> Iterator[dict[str, str]]:
    """Yield the base URLs of a server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps([{"times": -1, "delay": delay}] if delay else []), encoding="utf-8")
        with subprocess.Popen(
            [sys.executable, "-m", "tests.loopback.server", "--script", str(script)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            yield json.loads(child.stdout.readline())["base_urls"]
            child.stdin.close()


def _child(task: str, **given: Any) -> dict[str, Any]:
    """Return what a task measured in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks.live", task, json.dumps(given)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise SystemExit(finished.stdout + finished.stderr)
    measured: dict[str, Any] = json.loads(finished.stdout)
    return measured


def measure(sizes: Sequence[int] = TINY_SESSIONS) -> str:
    """Return a line for each of the four."""
    with tempfile.TemporaryDirectory() as folder, _server() as urls:
        whole = _child("engine", urls=urls, folder=f"{folder}/corpus")
        bare = _child("bare", urls=urls, folder=f"{folder}/corpus")
        memory = [(n, _child("tiny", urls=urls, folder=f"{folder}/tiny{n}", n_sessions=n)) for n in sizes]
    walls = []
    for delay in (0.005, 0.05):
        with tempfile.TemporaryDirectory() as folder, _server(delay=delay) as urls:
            timed = _child("engine", urls=urls, folder=f"{folder}/corpus")
        walls.append(f"{timed['wall'] / timed['longest']:.2f}x at {delay * 1000:.0f} ms ({timed['wall']:.1f} s)")
    ratio = whole["cpu"] / whole["calls"] / (bare["cpu"] / bare["calls"])
    lines = [
        f"live engine: {whole['cpu'] / whole['calls'] * 1000:.2f} ms CPU a call over {whole['calls']} calls, "
        f"{ratio:.1f}x bare httpx ({bare['cpu'] / bare['calls'] * 1000:.2f} ms); target at most 3 ms, then 1 ms",
        f"  wall against the longest session's own calls: {', '.join(walls)}",
        "  memory: "
        + ", ".join(f"{each['rss'] / 1024:.0f} MB at {n:,} sessions ({each['wall']:.1f} s)" for n, each in memory),
        f"  ledger: {whole['ledger'] / 1000:.1f} kB a session beyond its text, target 20 kB",
    ]
    return "\n".join(lines)


# what the children do


def _run(urls: dict[str, str], folder: str, **changes: Any) -> Any:
    from pytest_tutoreval.frozen import load_instrument
    from pytest_tutoreval.live import LiveRun, Needs
    from pytest_tutoreval.records.study_file import RouteSettings, StudyFile

    routes = {name: RouteSettings(base_url=url, concurrency=AT_ONCE) for name, url in urls.items()}
    given: dict[str, Any] = {
        "instrument": load_instrument(),
        "needs": Needs.crossed(bases=["sonnet"], conditions=["conv", "ped"]),
    } | changes
    return LiveRun(folder=Path(folder), study_file=StudyFile(routes=routes), environ=KEYS, **given)


def _engine(urls: dict[str, str], folder: str) -> dict[str, Any]:
    from pytest_tutoreval.live import run_live

    run = _run(urls, folder)
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = run_live(run)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if not outcome.complete:
        raise SystemExit("\n".join(outcome.lines()))
    longest, ledger = 0.0, 0
    for path in Path(folder, "sessions").rglob("*.jsonl"):
        data = path.read_bytes()
        lines = [json.loads(line) for line in data.splitlines()]
        longest = max(longest, sum(line.get("seconds", 0.0) for line in lines))
        ledger += len(data) - sum(len(line.get("text", "").encode()) for line in lines)
    n_sessions = outcome.collection.finished
    return {
        "calls": outcome.collection.calls,
        "cpu": cpu,
        "wall": wall,
        "longest": longest,
        "ledger": ledger / n_sessions,
    }


def _bare(urls: dict[str, str], folder: str) -> dict[str, Any]:
    """Make the same requests with httpx alone, as many at once."""
    from pytest_tutoreval.collecting import episode
    from pytest_tutoreval.live.jobs import session_jobs
    from pytest_tutoreval.providers.agent import ModelReply
    from pytest_tutoreval.providers.routes import wire_format
    from pytest_tutoreval.store import open_corpus

    run = _run(urls, folder)
    corpus, calls = open_corpus(Path(folder)), []
    for job in session_jobs(run.instrument, run.session_keys()):
        running = episode(job.plan)
        request = next(running)
        for call in corpus.session(job.key).calls:
            base = urls[request.route.provider]
            calls.append(wire_format(request.route).build(request, None, base))
            try:
                request = running.send(ModelReply(call.text))
            except StopIteration:
                break
    return asyncio.run(_post_all(calls))


async def _post_all(calls: Sequence[Any]) -> dict[str, Any]:
    import httpx

    queue = iter(calls)
    headers = {"x-api-key": "bench", "authorization": "Bearer bench"}
    limits = httpx.Limits(max_connections=2 * AT_ONCE, max_keepalive_connections=2 * AT_ONCE)
    async with httpx.AsyncClient(timeout=None, limits=limits) as http:

        async def work() -> None:
            for call in queue:
                answer = await http.post(call.url, content=call.body, headers={**call.headers, **headers})
                answer.raise_for_status()
                answer.json()

        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(20)))
        return {
            "calls": len(calls),
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - wall,
        }


def _tiny(urls: dict[str, str], folder: str, n_sessions: int) -> dict[str, Any]:
    from pytest_tutoreval.frozen import load_instrument
    from pytest_tutoreval.live import Needs, run_live

    instrument = load_instrument()
    probe = next(problem for problem in instrument.problems if problem.phase != "training")
    run = _run(
        urls,
        folder,
        instrument=replace(instrument, problems=(probe,)),
        needs=Needs.crossed(bases=["sonnet"], conditions=["cold"]),
        replicates=tuple(range(n_sessions)),
        sync=lambda _: None,
    )
    wall = time.perf_counter()
    outcome = run_live(run)
    if not outcome.complete:
        raise SystemExit("\n".join(outcome.lines()))
    return {
        "wall": time.perf_counter() - wall,
        "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


_TASKS: dict[str, Callable[..., dict[str, Any]]] = {"engine": _engine, "bare": _bare, "tiny": _tiny}


def main() -> None:
    """Measure, with further numbers of tiny sessions where some are given; or do one task of a child."""
    if sys.argv[1:2] and sys.argv[1] in _TASKS:
        print(json.dumps(_TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))
    else:
        print(measure((*TINY_SESSIONS, *map(int, sys.argv[1:]))))


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
