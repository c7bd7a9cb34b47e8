"""What a finished run tells JUnit and Allure that none of its items does: which data, and how whole the run is."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from _pytest.junitxml import xml_key

__all__ = ["RunReports"]

Row = Mapping[str, Any]


class RunReports:
    """Adds to the reports of others, in the process that writes them.

    `document` returns the run's document, or None where no item of ours ran.
    """

    def __init__(self, config: pytest.Config, document: Callable[[], Row | None]) -> None:
        self._config = config
        self._document = document

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Add to the JUnit file just before pytest writes it, and to the folder of Allure results."""
        junit = self._config.stash.get(xml_key, None)
        allure_folder = getattr(self._config.option, "allure_report_dir", None)
        if not junit and not allure_folder:
            return
        document = self._document()
        if document is None:
            return
        if junit:
            from pytest_tutoreval.reporting.junit import suite_properties

            for name, value in suite_properties(document):
                junit.add_global_property(name, value)
        if allure_folder:
            from pytest_tutoreval.reporting.allure_results import write_allure_facts

            write_allure_facts(document, Path(allure_folder))
