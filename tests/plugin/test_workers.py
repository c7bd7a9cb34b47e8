"""Runs that end badly: lost workers, interrupts, disagreeing workers. Never complete, and never exit 0."""

from pathlib import Path

import pytest

from tests.plugin.runs import document, make_suite, run, verdicts, write_test


@pytest.mark.parametrize("restart", [[], ["--max-worker-restart=0"]], ids=["restarted", "not-restarted"])
def test_a_worker_that_dies_leaves_an_incomplete_document(
    pytester: pytest.Pytester, released: Path, restart: list[str]
) -> None:
    make_suite(pytester)
    write_test(pytester, "def test_dies():\n    import os\n    os._exit(1)\n", name="test_b_dies")
    result = run(pytester, "--corpus", released, "-n2", *restart, fresh=True)
    assert result.ret not in (0, 5)
    written = document(pytester)
    assert written["run"]["complete"] is False
    assert any("test_dies" in nodeid for nodeid in written["run"]["unfinished"])
    assert written["run"]["selected"] == 25
    result.stdout.fnmatch_lines(["INCOMPLETE: * of 25 items did not finish (* died)"])
    if not restart:
        assert len(written["claims"]) == 24, "the other worker takes over what the dead one left"


def test_a_process_that_dies_writes_nothing_that_says_complete(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    write_test(pytester, "def test_dies():\n    import os\n    os._exit(3)\n", name="test_z_dies")
    result = run(pytester, "--corpus", released, "-m", "P1 or not claim", "--base", "gpt", fresh=True)
    assert result.ret == 3
    assert not (pytester.path / "reports").exists()


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])
def test_an_interrupt_leaves_an_incomplete_document(
    pytester: pytest.Pytester, released: Path, workers: list[str]
) -> None:
    make_suite(pytester)
    write_test(pytester, "def test_stops():\n    raise KeyboardInterrupt\n", name="test_z_stops")
    result = run(pytester, "--corpus", released, "--base", "gpt", *workers, fresh=True)
    assert result.ret == 2
    written = document(pytester)
    assert written["run"]["complete"] is False
    assert verdicts(written)["P1", "gpt", None] == "supported"
    result.stdout.fnmatch_lines(["*INCOMPLETE: *"])


def test_workers_that_collect_in_different_orders_decide_nothing(pytester: pytest.Pytester, released: Path) -> None:
    make_suite(pytester)
    pytester.makeconftest(
        """
        import os

        def pytest_collection_modifyitems(items):
            if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
                items.reverse()
        """
    )
    result = run(pytester, "--corpus", released, "-n2", fresh=True)
    assert result.ret not in (0, 5)
    result.stdout.fnmatch_lines(["*Different tests were collected between gw? and gw?.*"])
    assert not (pytester.path / "reports").exists(), "nothing ran, so nothing says complete"


def test_an_old_document_is_not_left_to_stand_for_a_run_that_was_cut_short(
    pytester: pytest.Pytester, released: Path
) -> None:
    make_suite(pytester)
    assert run(pytester, "--corpus", released, "--base", "gpt").ret == 0
    assert document(pytester)["run"]["complete"]
    write_test(pytester, "def test_stops():\n    raise KeyboardInterrupt\n", name="test_z_stops")
    run(pytester, "--corpus", released, "--base", "gpt", fresh=True)
    assert not document(pytester)["run"]["complete"]
