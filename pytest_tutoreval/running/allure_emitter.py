"""Items in Allure: what `reporting.allure` makes of their rows, told to allure-pytest while its results are open.

Imported only under `--alluredir`, so that nobody else pays for allure.
"""

from collections.abc import Generator
from typing import Any

import allure
import allure_commons
import pytest
from allure_commons.model2 import TestResult

from pytest_tutoreval.errors import TutorEvalError
from pytest_tutoreval.reporting.allure import (
    WITHOUT_RESULT,
    AllureEntry,
    Setting,
    analysis_entry,
    claim_entry,
    gate_entry,
    severity_of,
    stated_message,
)
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.running.carried import attached_row
from pytest_tutoreval.running.items import item_params, workbench_of

__all__ = ["register_allure"]

_told: Any = allure.dynamic  # which has no types
_ROW = pytest.StashKey[dict[str, Any]]()
_ROLES = ("instrument", "preflight")


def register_allure(config: pytest.Config) -> None:
    """Register what tells Allure about items, and what keeps its results writable."""
    config.pluginmanager.register(AllureEmitter(), "tutoreval-allure")
    cleaner = _ResultCleaner()
    allure_commons.plugin_manager.register(cleaner)
    config.add_cleanup(lambda: allure_commons.plugin_manager.unregister(plugin=cleaner))


class AllureEmitter:
    """Tells Allure about an item once its last phase is over: only then is its outcome known, and its result is open.

    The end of setup would be too early, for allure-pytest sets title and description itself after it; so would the
    call be, for a teardown that fails takes a verdict back.
    """

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep an item's row as it arrives, a reason over what went before, and tell all at the end."""
        report = yield
        row = attached_row(report) or {}
        known = item.stash.get(_ROW, {})
        if row and "reason" not in known:
            guard = {"gate": known["gate"]} if "gate" in known else {}  # it was read, whatever broke afterwards
            item.stash[_ROW] = {**guard, **row}
        if report.when == "teardown":
            _tell_item(item, item.stash.get(_ROW, {}))
        return report


def _tell_item(item: pytest.Item, row: dict[str, Any]) -> None:
    if row:
        _tell(_entry_of(item, row), item)
        return
    for role in _ROLES:
        if item.get_closest_marker(role):
            _told.severity(severity_of(role))


def _entry_of(item: pytest.Item, row: dict[str, Any]) -> AllureEntry:
    setting = _setting_of(item.config)
    if "analysis" in row:
        params, analysis = item_params(item), workbench_of(item.config).analyses()[row["analysis"]]
        return analysis_entry(
            row["analysis"],
            params.get("base"),
            params.get("judge"),
            setting,
            title=analysis.title,
            role=analysis.role,
            rows=row.get("rows", ()),
            reason=row.get("reason", ""),
        )
    if "claim" not in row:
        return gate_entry(row["gate"], setting)
    registration = row.pop("registration", None)
    return claim_entry(row, setting, _registered(registration, item.config) if registration else None)


def _registered(registration: dict[str, Any], config: pytest.Config) -> dict[str, Any]:
    from pytest_tutoreval.claims.wording import rule_in_words
    from pytest_tutoreval.records.claim import claim_adapter

    inference = workbench_of(config).measures.instrument.study.inference
    return {**registration, "rule": rule_in_words(claim_adapter.validate_python(registration), inference)}


def _setting_of(config: pytest.Config) -> Setting:
    try:
        manifest = workbench_of(config).measures.corpus.manifest
    except TutorEvalError:  # a live run that never made its corpus still says why
        return Setting("no corpus", "unknown")
    return Setting(manifest.study, manifest.provenance)


def _tell(entry: AllureEntry, item: pytest.Item) -> None:
    """Tell an entry, through nothing that enters a history id. A bare mark becomes a tag by itself."""
    _told.title(entry.title)
    _told.description_html(entry.description)
    _told.severity(entry.severity)
    for name, value in entry.labels.items():
        _told.label(name, value)
    marks = {mark.name for mark in item.iter_markers() if not mark.args and not mark.kwargs}
    _told.tag(*(tag for tag in entry.tags if tag not in marks))
    for name, value in item_params(item).items():
        if not isinstance(value, str | None):
            _told.parameter(name, entry.title.partition(":")[0])  # whose own form is no reading matter
    for attached in entry.attachments:
        allure.attach(attached.text, attached.name, attached.mime, attached.extension)


class _ResultCleaner:
    """Makes a message say which category it is of, and writable: allure-pytest takes it from the exception as it is.

    A lone surrogate in one exception would otherwise end the run.
    """

    @allure_commons.hookimpl(tryfirst=True)
    def report_result(self, result: TestResult) -> None:
        """Clean a result just before it is written."""
        details = result.statusDetails
        if details is None:
            return
        labels = {label.name: label.value for label in result.labels}
        message = visible(details.message or "", lines=True, limit=None)
        if labels.keys() & {"verdict", "gate"}:
            message = message.removeprefix("Failed: ").removeprefix("Skipped: ")
        if labels.get("verdict") in WITHOUT_RESULT:
            message = stated_message(labels["verdict"], message)
        details.message = message
        details.trace = visible(details.trace or "", lines=True, limit=None)
