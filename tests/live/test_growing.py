"""Files that grow, and the queue of who grows them."""

import asyncio
import threading
from pathlib import Path

import pytest

from pytest_tutoreval.errors import CorpusError
from pytest_tutoreval.providers.money import BudgetSpent, Purse
from pytest_tutoreval.records.study_file import Price
from pytest_tutoreval.store.growing import GrowingFile, HeldElsewhere, JobQueue
from tests.loopback.asking import a_request, a_route


def test_a_line_being_written_is_kept_when_its_task_is_cancelled(tmp_path: Path) -> None:
    slow, reached = threading.Event(), threading.Event()

    def sync(_: int) -> None:
        if reached.is_set():
            slow.wait(5)
        reached.set()

    async def main() -> None:
        with GrowingFile(tmp_path / "a.jsonl", locks=tmp_path / ".locks", header={"a": 0}, sync=sync) as file:
            task = asyncio.create_task(file.keep({"a": 1}))
            await asyncio.sleep(0.05)
            task.cancel()
            asyncio.get_running_loop().call_later(0.05, slow.set)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"a":0}\n{"a":1}\n'


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    first = GrowingFile(tmp_path / "a.jsonl", locks=tmp_path / ".locks", header={"a": 0})
    with first, pytest.raises(HeldElsewhere, match="another process is writing it"):
        GrowingFile(tmp_path / "a.jsonl", locks=tmp_path / ".locks", header={"a": 0})
    with GrowingFile(tmp_path / "a.jsonl", locks=tmp_path / ".locks", header={"a": 0}) as file:
        assert file.lines == []


def test_a_newer_version_finishes_what_an_older_one_began(tmp_path: Path) -> None:
    path, locks = tmp_path / "a.jsonl", tmp_path / ".locks"
    with GrowingFile(path, locks=locks, header={"a": 0, "producer": "pytest-tutoreval 0.1.0"}) as file:
        file.append({"b": 1})
    with GrowingFile(path, locks=locks, header={"a": 0, "producer": "pytest-tutoreval 0.2.0"}) as file:
        assert file.lines == [{"b": 1}]
    with pytest.raises(CorpusError, match=r"other settings \(a\)"):
        GrowingFile(path, locks=locks, header={"a": 1, "producer": "pytest-tutoreval 0.2.0"})


def test_a_held_job_comes_round_after_all_others() -> None:
    async def main() -> list[int]:
        queue, taken = JobQueue([1, 2, 3]), []
        while (job := queue.take()) is not None:
            taken.append(job)
            if taken.count(job) == 1 and job < 3:
                await queue.put_back(job)
        return taken

    assert asyncio.run(main()) == [1, 2, 3, 1, 2]


def test_a_reserve_waits_for_calls_in_flight_and_gives_up_when_they_cannot_help() -> None:
    route = a_route("openai", max_tokens=1_000_000)
    request = a_request(route, system="", said=("x",))
    purse = Purse({"openai": Price(input=0, output=1)}, budget=2.5)
    first, second = purse.reserve(request), purse.reserve(request)
    assert (first, second) == (1.0, 1.0)
    assert purse.reserve(request) is None
    purse.forfeit(request, 1.0, failed_attempts=1, billed=0)
    assert purse.reserve(request) == 1.0
    purse.forfeit(request, 1.0, failed_attempts=1, billed=1)
    purse.forfeit(request, 1.0, failed_attempts=1, billed=1)
    with pytest.raises(BudgetSpent, match=r"the budget of 2\.50 dollars is reached: 2\.0000 spent"):
        purse.reserve(request)
