"""What a run came to, gathered in the process that reports, and written once it is over."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tutoreval.items import selected_names, workbench_of

__all__ = ["DESELECTED", "Recorder", "attached_row"]

DESELECTED = pytest.StashKey[int]()


def attached_row(report: pytest.TestReport) -> dict[str, Any] | None:
    """Return the row an item's report carries, or None where it carries none."""
    text = getattr(report, "tutoreval", None)
    row: dict[str, Any] | None = json.loads(text) if text else None
    return row


class Recorder:
    """Gathers rows in the process that reports, and writes the document once the run is over."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.time()
        self._rows: list[tuple[str, dict[str, Any]]] = []
        self._selected: set[str] = set()
        self._finished: set[str] = set()
        self._interrupted = False
        self._written: tuple[dict[str, Any], Path] | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what is to run, without workers."""
        self._selected.update(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Note what is to run, with workers."""
        self._selected.update(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over a worker's count; a worker that died has none."""
        count = getattr(node, "workeroutput", {}).get("tutoreval_deselected", 0)
        self._config.stash[DESELECTED] = max(self._config.stash[DESELECTED], count)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's row, and that it ran to its end."""
        row = attached_row(report)
        if row is not None:
            self._rows.append((report.nodeid, row))
        if report.when == "teardown":
            self._finished.add(report.nodeid)

    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the user stopped the run."""
        self._interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write verdicts.json where an item of ours ran. Nothing decided, or an item lost, never exits 0."""
        if not self._rows:
            return
        from pytest_tutoreval.reporting import RunRecord, write_document

        run = RunRecord(
            selected=self._selected,
            finished=self._finished,
            deselected=self._config.stash[DESELECTED],
            last_failed=bool(self._config.getoption("lf", default=False)),
            interrupted=self._interrupted,
        )
        for nodeid, row in self._rows:
            run.add_row(nodeid, row)
        bases, judges = selected_names(self._config)
        facts = {"started": round(self._started, 3), "seconds": round(time.time() - self._started, 3)}
        document = workbench_of(self._config).document(run, bases=bases, judges=judges, facts=facts)
        folder = self._config.getoption("tutoreval_report") or _project(self._config) / "reports"
        self._written = document, write_document(document, Path(folder))
        if session.exitstatus == pytest.ExitCode.OK and (not run.complete or not (run.verdicts or run.analysis_rows)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the claims section."""
        if self._written is None:
            return
        from pytest_tutoreval.reporting import claims_section

        document, path = self._written
        terminalreporter.write_sep("=", "claims")
        for text, markup in claims_section(document, path=_shown(path, self._config.invocation_params.dir)):
            terminalreporter.write_line(text, **markup)


def _project(config: pytest.Config) -> Path:
    """Return the rootdir, or where pytest was started: `--corpus DIR` looks like a test path to pytest's search."""
    here = config.invocation_params.dir
    return config.rootpath if config.inipath and here.is_relative_to(config.rootpath) else here


def _shown(path: Path, here: Path) -> str:
    """Return a path as the user would type it."""
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
