"""Every hook and fixture, each a few lines that call the library.

pytest loads this module in every project of the environment, so at import it needs only the standard library and
pytest; it opens and writes nothing until a claim is collected.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.items import (
    claim_place,
    item_params,
    parametrize_analysis,
    parametrize_claim,
    parametrize_gates,
    selected_names,
    workbench_of,
)
from pytest_tutoreval.live_collector import LiveCollector
from pytest_tutoreval.options import add_options
from pytest_tutoreval.recorder import DESELECTED, Recorder, attached_row

if TYPE_CHECKING:
    from pytest_tutoreval.claims import DecidedClaim
    from pytest_tutoreval.collecting.preflight import GateReading
    from pytest_tutoreval.records.analysis import AnalysisRow

_MARKERS = (
    "analysis(name): the test runs this analysis, which is in no verdict",
    "claim(id): the test decides this registered claim, once a base and, where it is judge-bound, a judge",
    "base(name): items of this tutor base",
    "judge(name): items decided by this judge's ratings",
    "confirmatory: a registered claim",
    "sensitivity: a sensitivity analysis, in no verdict",
    "audit: a cross-judge audit, in no verdict",
    "ablation: an ablation, in no verdict",
    "descriptive: a description, in no verdict",
    "instrument: a check of the frozen instrument",
    "preflight: a gate before a registered run, read with paid calls",
)

_ROW = pytest.StashKey[dict[str, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, refuse names the corpus does not hold, and gather rows where reports are written."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.stash[DESELECTED] = 0
    if any(config.getoption(f"tutoreval_{name}") for name in ("base", "judge", "corpus", "study", "live")):
        selected_names(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "tutoreval-recorder")
        if config.getoption("tutoreval_live") and not config.getoption("collectonly"):
            config.pluginmanager.register(LiveCollector(config), "tutoreval-live")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make items of tests that decide a claim, run an analysis or read a gate. Other tests are left alone."""
    node = metafunc.definition
    if (marker := node.get_closest_marker("claim")) is not None:
        parametrize_claim(metafunc, marker)
    elif (marker := node.get_closest_marker("analysis")) is not None:
        parametrize_analysis(metafunc, marker)
    elif node.get_closest_marker("preflight") and "gate_reading" in metafunc.fixturenames:
        parametrize_gates(metafunc)


@pytest.fixture
def decided(request: pytest.FixtureRequest) -> "DecidedClaim":
    """The claim of this test, decided for its base and judge; a claim that is not evaluable is an error here."""
    from pytest_tutoreval.claims import DecidedClaim
    from pytest_tutoreval.errors import TutorEvalError

    marker = request.node.get_closest_marker("claim")
    if marker is None:
        raise pytest.UsageError(f"{request.node.nodeid}: the decided fixture needs a claim marker on its test")
    place = claim_place(request.node, marker)
    try:
        verdict = workbench_of(request.config).decide(place)
    except TutorEvalError as exc:
        # the reason once, not again as its own cause
        raise pytest.fail.Exception(str(exc), pytrace=False) from None
    request.node.stash[_ROW] = verdict.model_dump(mode="json")
    return DecidedClaim(place.claim, verdict)


@pytest.fixture
def analysed(request: pytest.FixtureRequest) -> "list[AnalysisRow]":
    """The rows of this test's analysis: skipped where such a corpus has nothing for it, an error where data miss."""
    from pytest_tutoreval.errors import NotInCorpus, TutorEvalError

    params = item_params(request.node)
    name = request.node.get_closest_marker("analysis").args[0]
    try:
        rows = workbench_of(request.config).analyse(name, params["base"], params["judge"])
    except NotInCorpus as exc:
        pytest.skip(str(exc))
    except TutorEvalError as exc:
        raise pytest.fail.Exception(str(exc), pytrace=False) from None
    request.node.stash[_ROW] = {"analysis": name, "rows": [row.model_dump(mode="json") for row in rows]}
    return rows


@pytest.fixture
def gate_reading(request: pytest.FixtureRequest) -> "GateReading":
    """The reading of this test's gate for its base; a gate that was not read is an error here."""
    from pytest_tutoreval.errors import TutorEvalError

    params = request.node.callspec.params
    try:
        return workbench_of(request.config).gate_reading(params["base"], params["gate"])
    except TutorEvalError as exc:
        # the reason once, not again as its own cause
        raise pytest.fail.Exception(str(exc), pytrace=False) from None


# Verdicts travel on reports, as one ASCII string: nothing else survives every worker


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach an item's row to its report: what it came to once its test has passed, or why there is nothing."""
    report = yield
    marker = item.get_closest_marker("claim") or item.get_closest_marker("analysis")
    if marker is not None:
        row = _row_of(item, marker, report)
        if row is not None:
            report.tutoreval = json.dumps(row, ensure_ascii=True, allow_nan=False)
            # Only now: a test that fails after its claim was decided has no verdict in JUnit either.
            if "verdict" in row:
                stated = ("verdict", row["verdict"].replace("_", " "))
                item.user_properties.append(stated)
                report.user_properties.append(stated)
    return report


def _row_of(item: pytest.Item, marker: pytest.Mark, report: pytest.TestReport) -> dict[str, Any] | None:
    if report.passed:
        return item.stash.get(_ROW, None) if report.when == "call" else None
    params = item_params(item)
    if report.skipped:
        reason = _skip_reason(report)
        if marker.name == "claim":
            reason = f"the test was skipped, and a skip decides nothing: {reason}"
    else:
        reason = _failure_reason(report)
    return {
        marker.name: marker.args[0],
        "base": params.get("base") or ("-" if marker.name == "claim" else None),
        "judge": params.get("judge"),
        "reason": reason or "no reason given",
    }


def _failure_reason(report: pytest.TestReport) -> str:
    """Return why a claim was not evaluable, or, where something else broke, where and the first line of its error."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else f"Failed: {report.longreprtext.strip()}"
    if report.when == "setup" and message.startswith("Failed: "):
        return report.longreprtext.strip()
    return f"the test failed at {report.when}: {message.removeprefix('Failed: ').partition(chr(10))[0]}"


def _skip_reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return reason.removeprefix("Skipped: ")


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Show a verdict as an outcome of its own: S, N or I, never a skip and not a failure."""
    row = attached_row(report)
    if row is None or "verdict" not in row or not report.passed:
        return None
    from pytest_tutoreval.reporting import MARKUP

    words = row["verdict"].replace("_", " ")
    return words, words[0].upper(), (words.upper(), MARKUP[row["verdict"]])


# Deselection is known where items are collected: in this process, or in each worker


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what -m, -k and --lf left out: a run that leaves something out is partial."""
    if items:
        items[0].config.stash[DESELECTED] += len(items)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of deselected items from a worker to the controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tutoreval_deselected"] = session.config.stash[DESELECTED]
