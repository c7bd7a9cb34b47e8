"""--live: what the selected items lack is collected and judged in the controller, before any worker exists."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

from pytest_tutoreval.running.items import claim_place, item_params, selected_names, workbench_of

__all__ = ["LiveCollector"]


class LiveCollector:
    """Collects and judges in the controller, once, for exactly the items that were selected."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        """Collect items here before any worker exists, pay for what they lack, and leave no item behind."""
        session: Any = config.pluginmanager.get_plugin("session")
        failed, seen = session.testsfailed, session.testscollected
        session.perform_collect()
        if errors := session.testsfailed - failed:
            if not config.option.continue_on_collection_errors:
                # Interrupted this early, pytest writes no summary of its own.
                reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
                if reporter is not None:
                    reporter.summary_errors()
                raise session.Interrupted(f"{errors} error{'s' if errors > 1 else ''} during collection, nothing paid")
            session.testsfailed = failed
            return
        self._pay_for(session.items)
        session.testscollected, session.items = seen, []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Pay for what the items lack, where there are no workers."""
        if not self._config.pluginmanager.hasplugin("dsession") and not session.testsfailed:
            self._pay_for(session.items)

    def _pay_for(self, items: Sequence[pytest.Item]) -> None:
        claims = [(item, item.get_closest_marker("claim")) for item in items]
        places = [claim_place(item, marker) for item, marker in claims if marker is not None]
        gated = [item_params(item)["base"] for item in items if "gate_reading" in getattr(item, "fixturenames", ())]
        guards = [item_params(item)["guarded"] for item in items if "guarded" in item_params(item)]
        if not places and not guards and not gated:
            return
        from pytest_tutoreval.errors import TutorEvalError
        from pytest_tutoreval.live.display import show_progress
        from pytest_tutoreval.providers.desk import Stopped
        from pytest_tutoreval.workbench import LiveSettings

        option = self._config.getoption
        settings = LiveSettings(
            prices=Path(option("tutoreval_prices")) if option("tutoreval_prices") else None,
            budget=option("tutoreval_budget"),
            max_retries=option("tutoreval_max_retries"),
            at_once=option("tutoreval_jobs"),
        )
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        say: Callable[[str], None] = print if reporter is None else reporter.write_line
        if reporter is not None:
            reporter.ensure_newline()
        bench = workbench_of(self._config)
        bases, judges = selected_names(self._config)
        try:
            if gated:
                bench.preflight(list(dict.fromkeys(gated)), judges, settings, say)
            if not places and not guards:
                return
            with show_progress(say, terminal=_terminal_of(reporter)) as progress:
                outcome = bench.collect(places, settings, progress, say, bases=bases, guards=guards)
        except Stopped:
            raise KeyboardInterrupt from None
        except TutorEvalError as exc:
            raise pytest.UsageError(str(exc)) from exc
        for line in outcome.lines():
            say(line)
        if outcome.stopped:
            raise KeyboardInterrupt


def _terminal_of(reporter: pytest.TerminalReporter | None) -> TextIO | None:
    """Return the terminal a bar may be drawn on, or None where output goes to a file, a pipe, or nowhere."""
    file: TextIO | None = None if reporter is None else reporter._tw._file
    return file if file is not None and file.isatty() else None
