"""What a run came to, gathered in the process that reports, and written once it is over."""

import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.running.carried import attached_row
from pytest_tutoreval.running.gate_items import gate_report
from pytest_tutoreval.running.items import selected_names, workbench_of

if TYPE_CHECKING:
    from pytest_tutoreval.reporting import RunRecord

__all__ = ["DESELECTED", "Recorder"]

DESELECTED = pytest.StashKey[int]()


class Recorder:
    """Gathers rows in the process that reports, and writes the outputs once the run is over."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.time()
        self._rows: list[tuple[str, dict[str, Any]]] = []
        self._guards: dict[str, dict[str, Any]] = {}
        self._selected: set[str] = set()
        self._finished: set[str] = set()
        self._stopped: str | None = None
        self._lost_workers = 0
        self._last_failed = _leaves_out_passed(config)
        self._document: Mapping[str, Any] | None = None
        self._path: Path | None = None
        self._run: RunRecord | None = None
        self._failure: str | None = None

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
        self._lost_workers += error not in (None, "keyboard-interrupt")
        count = getattr(node, "workeroutput", {}).get("tutoreval_deselected", 0)
        self._config.stash[DESELECTED] = max(self._config.stash[DESELECTED], count)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's row, and that it ran to its end."""
        row = attached_row(report) or {}
        guard = row.pop("gate", None)
        if guard is not None:
            self._guards[report.nodeid] = guard
        if row:
            self._rows.append((report.nodeid, row))
        if report.when == "teardown":
            self._finished.add(report.nodeid)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember what stopped the run: the user, pytest.exit, or -x among workers."""
        said = str(excinfo.value) or excinfo.typename
        self._stopped = re.sub(r"<WorkerController (\w+)>", r"worker \1", said)

    @property
    def run(self) -> "RunRecord | None":
        """What the run came to once it is over; None where no item of ours ran."""
        return self._run

    @property
    def path(self) -> Path | None:
        """Where verdicts.json is once the run is over; None where it was not written."""
        return self._path

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The run's document once the run is over; None where no item of ours ran."""
        return self._document

    @pytest.hookimpl(tryfirst=True)  # the reports of others, JUnit's for one, are written after it and say what it says
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the outputs where an item of ours ran. Nothing decided, an item or an output lost, never exits 0.

        Nor does a gate that failed or read nothing, whatever its items came to: one that was skipped, or expected to
        fail, is no failure of pytest's.
        """
        if not self._rows and not self._guards and not self._gate_read_nothing(session):
            return
        from pytest_tutoreval.reporting import RunRecord, write_outputs

        run = RunRecord(
            selected=self._selected,
            finished=self._finished,
            deselected=self._config.stash[DESELECTED],
            last_failed=self._last_failed,
            named_tests=_names_tests(self._config),
            interrupted=self._stopped is not None,
            stopped=self._stopped or str(session.shouldfail or session.shouldstop or "") or None,
            lost_workers=self._lost_workers,
        )
        for nodeid, row in self._rows:
            run.add_row(nodeid, row)
        run.gate = gate_report(self._config, self._guards.values(), run)
        self._run = run
        bases, judges = selected_names(self._config)
        facts = {
            "id": uuid.uuid4().hex,
            "started": round(self._started, 3),
            "seconds": round(time.time() - self._started, 3),
        }
        self._document = workbench_of(self._config).document(run, bases=bases, judges=judges, facts=facts)
        folder = Path(self._config.getoption("tutoreval_report") or _project(self._config) / "reports")
        whole = run.complete and bool(run.verdicts or run.analysis_rows or self._guards)
        if run.gate is not None:
            whole = whole and bool(run.gate.rows) and not run.gate.failed and not run.not_evaluated
        try:
            written = write_outputs(self._document, folder, workbench_of(self._config).renderers)
        except OSError as exc:
            self._failure, whole = f"NOT WRITTEN: {_shown(folder, self._here)}: {exc}", False
        else:
            self._document, self._path = written.document, written.path
            whole = whole and written.whole
        self._summarise_step()
        if session.exitstatus == pytest.ExitCode.OK and not whole:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _gate_read_nothing(self, session: pytest.Session) -> bool:
        """Return whether a run under --gate would exit 0 with no item of ours in it."""
        asked = self._config.getoption("tutoreval_gate") and not self._config.getoption("collectonly")
        return bool(asked) and session.exitstatus == pytest.ExitCode.OK

    def _summarise_step(self) -> None:
        """Add the summary to the step's, where GitHub asks for one."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if path and self._document is not None:
            from pytest_tutoreval.reporting.github import append_step_summary
            from pytest_tutoreval.reporting.markdown import render_summary

            try:
                append_step_summary(render_summary(self._document), Path(path))
            except OSError as exc:
                self._failure = self._failure or f"NOT WRITTEN: $GITHUB_STEP_SUMMARY: {exc}"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the claims section and, in a GitHub workflow, its annotations."""
        if self._document is None:
            return
        from pytest_tutoreval.reporting import Line, claims_section
        from pytest_tutoreval.reporting.plain import console, visible

        path = _shown(self._path, self._here) if self._path else None
        lines = claims_section(self._document, path=path)
        if self._failure:
            lines.append(Line(visible(self._failure), {"red": True, "bold": True}))
        encoding = getattr(terminalreporter._tw._file, "encoding", None)
        terminalreporter.write_sep("=", "claims")
        for text, markup in lines:
            terminalreporter.write_line(console(text, encoding), **markup)
        if os.environ.get("GITHUB_ACTIONS") == "true":
            from pytest_tutoreval.reporting.github import annotations

            for command in annotations(self._document):
                terminalreporter.write_line(console(command, encoding))

    @property
    def _here(self) -> Path:
        return self._config.invocation_params.dir


def _names_tests(config: pytest.Config) -> bool:
    """Return whether single tests were named on the command line: others of their files are not collected then."""
    return any("::" in argument for argument in config.args)


def _leaves_out_passed(config: pytest.Config) -> bool:
    """Return whether --lf leaves files out before they are collected; with no failure on record it runs everything."""
    known = getattr(config.pluginmanager.get_plugin("lfplugin"), "lastfailed", True)
    return bool(config.getoption("lf", default=False) and known)


def _project(config: pytest.Config) -> Path:
    """Return the rootdir, or where pytest was started: `--corpus DIR` looks like a test path to pytest's search."""
    here = config.invocation_params.dir
    return config.rootpath if config.inipath and here.is_relative_to(config.rootpath) else here


def _shown(path: Path, here: Path) -> str:
    """Return a path as the user would type it."""
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
