"""Every hook and fixture, each a few lines that call the library.

pytest loads this module in every project of the environment, so at import it needs only the standard library and
pytest; it opens and writes nothing until a claim is collected.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_tutoreval.running.baseline_keeper import BaselineKeeper
from pytest_tutoreval.running.carried import (
    GATE_ROW,
    REACHED_GATE,
    ROW,
    attached_row,
    carry_row,
    failure_of,
    shown,
)
from pytest_tutoreval.running.gate_items import (
    check_gate_options,
    guard_row,
    is_gate_test,
    parametrize_guards,
    verdict_gate_row,
    withstand,
)
from pytest_tutoreval.running.items import (
    claim_place,
    drop_items_of_no_base,
    item_params,
    parametrize_analysis,
    parametrize_claim,
    parametrize_gates,
    selected_names,
    workbench_of,
)
from pytest_tutoreval.running.live_collector import LiveCollector
from pytest_tutoreval.running.options import add_options
from pytest_tutoreval.running.recorder import DESELECTED, Recorder
from pytest_tutoreval.running.run_reports import RunReports

if TYPE_CHECKING:
    from pytest_tutoreval.claims import DecidedClaim
    from pytest_tutoreval.collecting.preflight import GateReading
    from pytest_tutoreval.records.analysis import AnalysisRow
    from pytest_tutoreval.records.gate import GateRow

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
    "gate: the test holds a guarded measure against the baseline; there under --gate alone",
    "preflight: a gate before a registered run, read with paid calls",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, refuse names the corpus does not hold, and gather rows where reports are written."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    if getattr(config.option, "allure_report_dir", None):
        from pytest_tutoreval.running.allure_emitter import register_allure

        register_allure(config)
    config.stash[DESELECTED] = 0
    if any(config.getoption(f"tutoreval_{name}") for name in ("base", "judge", "corpus", "study", "live")):
        selected_names(config)
    check_gate_options(config)
    if not hasattr(config, "workerinput"):
        recorder = Recorder(config)
        # In this order: at the end of a run, what was registered last comes first.
        config.pluginmanager.register(RunReports(config, lambda: recorder.document), "tutoreval-run-reports")
        config.pluginmanager.register(recorder, "tutoreval-recorder")
        if config.getoption("tutoreval_baseline_update") and not config.getoption("collectonly"):
            config.pluginmanager.register(BaselineKeeper(config, recorder), "tutoreval-baseline")
        if config.getoption("tutoreval_live") and not config.getoption("collectonly"):
            config.pluginmanager.register(LiveCollector(config), "tutoreval-live")


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Refuse a conftest.py of a subfolder that registers something: workers would see it, the controller would not."""
    config = manager.get_plugin("pytestconfig")
    if config is not None and DESELECTED in config.stash:  # pytest_configure is over
        from pytest_tutoreval.extending import carries_hooks

        if carries_hooks(plugin):
            raise pytest.UsageError(
                f"{getattr(plugin, '__file__', plugin)}: it registers something with pytest-tutoreval, and pytest came "
                "to it during the run; put it where pytest starts, or name its folder on the command line"
            )


def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Leave tests of the gate out of runs without --gate: they are not there, neither skipped nor deselected."""
    return [] if is_gate_test(obj) and not collector.config.getoption("tutoreval_gate") else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make items of tests that decide a claim, run an analysis or read a gate. Other tests are left alone."""
    node = metafunc.definition
    try:
        if (marker := node.get_closest_marker("claim")) is not None:
            parametrize_claim(metafunc, marker)
        elif (marker := node.get_closest_marker("analysis")) is not None:
            parametrize_analysis(metafunc, marker)
        elif node.get_closest_marker("gate") and "guarded" in metafunc.fixturenames:
            parametrize_guards(metafunc)
        elif node.get_closest_marker("preflight") and "gate_reading" in metafunc.fixturenames:
            parametrize_gates(metafunc)
    except pytest.UsageError as exc:
        # A study or corpus that no option named is first met here; the reason is enough, without a traceback.
        raise pytest.Collector.CollectError(str(exc)) from exc


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out claims that are about none of the selected bases: like other bases, they are not there to deselect."""
    drop_items_of_no_base(items)


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
        raise failure_of(exc) from None  # the reason once, not again as its own cause
    request.node.stash[ROW] = verdict.model_dump(mode="json")
    if (row := verdict_gate_row(request.config, verdict, place.claim)) is not None:
        request.node.stash[GATE_ROW] = row
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
        pytest.skip(shown(str(exc)))
    except TutorEvalError as exc:
        raise failure_of(exc) from None
    request.node.stash[ROW] = {"analysis": name, "rows": [row.model_dump(mode="json") for row in rows]}
    return rows


@pytest.fixture
def guarded(request: pytest.FixtureRequest) -> "GateRow":
    """A guarded measure held against the baseline. The item fails after its test where the guard fails the run."""
    row = request.node.stash[GATE_ROW] = guard_row(request.node)
    return row


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail an item that regressed, once its test has passed: an ordinary failure, so that all reports agree on it."""
    result = yield
    row = pyfuncitem.stash.get(GATE_ROW, None)
    if row is not None:
        pyfuncitem.stash[REACHED_GATE] = True
        withstand(row)
    return result


@pytest.fixture
def gate_reading(request: pytest.FixtureRequest) -> "GateReading":
    """The reading of this test's gate for its base; a gate that was not read is an error here."""
    from pytest_tutoreval.errors import TutorEvalError

    params = request.node.callspec.params
    try:
        return workbench_of(request.config).gate_reading(params["base"], params["gate"])
    except TutorEvalError as exc:
        raise failure_of(exc) from None  # the reason once, not again as its own cause


# Verdicts travel on reports, as one ASCII string: nothing else survives every worker


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Attach an item's row to its report: what it came to once its test has passed, or why there is nothing."""
    report = yield
    carry_row(item, report)
    return report


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
