"""--tutoreval-baseline-update: a complete run becomes the baseline, any other leaves the file as it is and says why."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_tutoreval.running.items import selected_names, workbench_of
from pytest_tutoreval.running.recorder import Recorder

__all__ = ["BaselineKeeper"]


class BaselineKeeper:
    """Writes the baseline in the process that reports, after the run's own outputs."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self._config, self._recorder = config, recorder
        self._path = Path(config.getoption("tutoreval_baseline"))
        self._said: tuple[str, Mapping[str, bool]] | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the baseline, or make the run fail with the reason why not."""
        refusal = self._refusal(session) or self._keep()
        if refusal is None:
            self._said = f"baseline written to {self._path}", {"green": True}
            return
        self._said = f"ERROR: baseline {self._path} is left as it was: {refusal}", {"red": True, "bold": True}
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what became of the baseline."""
        if self._said is not None:
            from pytest_tutoreval.reporting.plain import console, visible

            text, markup = self._said
            encoding = getattr(terminalreporter._tw._file, "encoding", None)
            terminalreporter.write_sep("=", "baseline")
            terminalreporter.write_line(console(visible(text), encoding), **markup)

    def _refusal(self, session: pytest.Session) -> str | None:
        run = self._recorder.run
        if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return "the run did not come to its end; run it again"
        if run is None or not run.verdicts:
            return "no claim was decided; run the claims"
        if not run.complete or run.lost_workers:
            return f"the run is incomplete, {len(run.unfinished)} selected items did not finish; run it to its end"
        if run.partial:
            return "the run is partial; run it without -m, -k, --lf, --deselect and single test names"
        if run.not_evaluated:
            first = run.not_evaluated[0]
            place = " ".join(filter(None, (first.claim, first.base, first.judge)))
            return (
                f"{len(run.not_evaluated)} claims are not evaluable ({place}: {first.reason}); complete the data first"
            )
        return None

    def _keep(self) -> str | None:
        """Write the baseline and return None, or why it was not written."""
        from pytest_tutoreval.errors import TutorEvalError
        from pytest_tutoreval.records.baseline import BaselineRun

        run, document, report = self._recorder.run, self._recorder.document, self._recorder.path
        if run is None or document is None or report is None:
            return "the run's own report could not be written"
        bases, judges = selected_names(self._config)
        prices = self._config.getoption("tutoreval_prices")
        try:
            workbench_of(self._config).keep_baseline(
                self._path,
                run.verdicts,
                bases=bases,
                judges=judges,
                prices=Path(prices) if prices else None,
                run=BaselineRun(
                    id=document["run"]["id"],
                    started=datetime.fromtimestamp(document["run"]["started"], UTC).isoformat(timespec="seconds"),
                    document_sha256=hashlib.sha256(report.read_bytes()).hexdigest(),
                    versions=document["run"]["versions"],
                ),
                registered=run.registered,
            )
        except (TutorEvalError, OSError) as exc:
            return str(exc)
        return None
