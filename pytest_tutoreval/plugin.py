"""Every hook and fixture, each a few lines that call the library.

pytest loads this module in every project of the environment, so at import it needs only the standard library and
pytest; it opens and writes nothing until a claim is collected.
"""

import json
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_tutoreval.options import add_options, expand_names

if TYPE_CHECKING:
    from pytest_tutoreval.claims import DecidedClaim
    from pytest_tutoreval.collecting.preflight import GateReading
    from pytest_tutoreval.records.analysis import AnalysisRow
    from pytest_tutoreval.records.claim import Claim
    from pytest_tutoreval.workbench import ClaimPlace, Workbench

# In a judge-bound test's id where the corpus holds no ratings: the item is an error with its reason, never missing.
UNJUDGED = "unjudged"

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

_WORKBENCH = pytest.StashKey["Workbench"]()
_ROW = pytest.StashKey[dict[str, Any]]()
_DESELECTED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, refuse names the corpus does not hold, and gather rows where reports are written."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.stash[_DESELECTED] = 0
    if any(config.getoption(f"tutoreval_{name}") for name in ("base", "judge", "corpus", "study", "live")):
        _selected(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "tutoreval-recorder")
        if config.getoption("tutoreval_live") and not config.getoption("collectonly"):
            config.pluginmanager.register(LiveCollector(config), "tutoreval-live")


def _workbench(config: pytest.Config) -> "Workbench":
    """Return the run's corpus, opened once a process. A corpus that cannot be opened is a usage error."""
    if _WORKBENCH not in config.stash:
        from pytest_tutoreval.errors import TutorEvalError
        from pytest_tutoreval.workbench import Workbench

        folder, study_file = config.getoption("tutoreval_corpus"), config.getoption("tutoreval_study")
        try:
            config.stash[_WORKBENCH] = Workbench(
                Path(folder) if folder else None,
                study_file=Path(study_file) if study_file else None,
                live=config.getoption("tutoreval_live"),
            )
        except TutorEvalError as exc:
            raise pytest.UsageError(str(exc)) from exc
    return config.stash[_WORKBENCH]


def _selected(config: pytest.Config) -> tuple[list[str], list[str]]:
    """Return the bases and judges this run is about. What is paid for is named: --live takes nothing for granted."""
    bench = _workbench(config)
    chosen_bases, chosen_judges = config.getoption("tutoreval_base"), config.getoption("tutoreval_judge")
    if config.getoption("tutoreval_live") and not chosen_bases:
        raise pytest.UsageError("--live needs --base: name the tutor bases to pay for")
    bases = expand_names(chosen_bases, bench.bases, "--base", knower=bench.knower)
    judges = expand_names(chosen_judges, bench.judges, "--judge", knower=bench.knower)
    return bases, [] if config.getoption("tutoreval_live") and not chosen_judges else judges


# Claims become items


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a claim's test over bases and, where it is judge-bound, judges. Other tests are left alone."""
    if metafunc.definition.get_closest_marker("preflight") and "gate_reading" in metafunc.fixturenames:
        _parametrize_gates(metafunc)
    if (named := metafunc.definition.get_closest_marker("analysis")) is not None:
        _parametrize_analysis(metafunc, named)
    marker = metafunc.definition.get_closest_marker("claim")
    if marker is None:
        return
    claim, _ = _find_claim(metafunc.definition, marker)
    wanted = {"decided", "base", "judge"} if claim.judge_bound else {"decided", "base"}
    if wanted != wanted & set(metafunc.fixturenames) or ("judge" in metafunc.fixturenames) != claim.judge_bound:
        bound = "judge-bound" if claim.judge_bound else "judge-free"
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.name}: claim {claim.id} is {bound}, so its test takes exactly "
            f"{', '.join(sorted(wanted))} of decided, base and judge"
        )
    bases, judges = _selected(metafunc.config)
    common = [_mark(metafunc.config, name) for name in (claim.id, claim.role)]
    if claim.judge_bound:
        rated: list[str | None] = [*judges] or [None]
        metafunc.parametrize(
            ("base", "judge"),
            [
                pytest.param(base, judge, id=f"{base}-{judge or UNJUDGED}", marks=[*common, *marks])
                for base in bases
                for judge in rated
                for marks in [_place_marks(metafunc.config, base, judge)]
            ],
        )
    else:
        metafunc.parametrize(
            "base",
            [pytest.param(b, id=b, marks=[*common, *_place_marks(metafunc.config, b, None)]) for b in bases],
        )


def _parametrize_gates(metafunc: pytest.Metafunc) -> None:
    from pytest_tutoreval.collecting.preflight import GATES

    bases, _ = _selected(metafunc.config)
    metafunc.parametrize(
        ("base", "gate"),
        [
            pytest.param(base, gate, id=f"{base}-{gate}", marks=_place_marks(metafunc.config, base, None))
            for base in bases
            for gate in GATES
        ],
    )


def _parametrize_analysis(metafunc: pytest.Metafunc, marker: pytest.Mark) -> None:
    """Parametrise an analysis's test over what it is run once for: nothing, a base, or a base and a judge."""
    known = _workbench(metafunc.config).analyses()
    name = str(marker.args[0]) if marker.args else ""
    if name not in known:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.name}: analysis {name!r} is not known. Known: {', '.join(known)}."
        )
    analysis = known[name]
    bases, judges = _selected(metafunc.config)
    role = _mark(metafunc.config, analysis.role)
    places: list[tuple[str | None, str | None]]
    match analysis.scope:
        case "corpus":
            places = [(None, None)]
        case "base":
            places = [(base, None) for base in bases]
        case "base_judge":
            places = [(base, judge) for base in bases for judge in judges]
    # The scope says what an analysis is run once for, so its test need not name both.
    metafunc.fixturenames.extend(name for name in ("base", "judge") if name not in metafunc.fixturenames)
    metafunc.parametrize(
        ("base", "judge"),
        [
            pytest.param(
                base,
                judge,
                id="-".join(filter(None, (base, judge))) or "corpus",
                marks=[role, *(_place_marks(metafunc.config, base, judge) if base else [])],
            )
            for base, judge in places
        ],
    )


@pytest.fixture
def analysed(request: pytest.FixtureRequest) -> "list[AnalysisRow]":
    """The rows of this test's analysis: skipped where such a corpus has nothing for it, an error where data miss."""
    from pytest_tutoreval.errors import NotInCorpus, TutorEvalError

    params = _params(request.node)
    name = request.node.get_closest_marker("analysis").args[0]
    try:
        rows = _workbench(request.config).analyse(name, params["base"], params["judge"])
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
        return _workbench(request.config).gate_reading(params["base"], params["gate"])
    except TutorEvalError as exc:
        # the reason once, not again as its own cause
        raise pytest.fail.Exception(str(exc), pytrace=False) from None


def _find_claim(node: pytest.Item, marker: pytest.Mark) -> "tuple[Claim, Mapping[str, Claim]]":
    from pytest_tutoreval.claims import find_claim
    from pytest_tutoreval.errors import TutorEvalError

    if len(marker.args) != 1 or not isinstance(marker.args[0], str):
        raise pytest.Collector.CollectError(f"{node.name}: the claim marker takes one claim id, as in claim('P1')")
    try:
        return find_claim(marker.args[0], beside=node.path.parent)
    except TutorEvalError as exc:
        raise pytest.Collector.CollectError(str(exc)) from exc


def _mark(config: pytest.Config, name: str) -> pytest.MarkDecorator:
    """Return a bare mark; names come from claim files and corpora, so they are registered as they are met."""
    if not any(line.partition(":")[0] == name for line in config.getini("markers")):
        config.addinivalue_line("markers", f"{name}: a claim or a tutor base")
    mark: pytest.MarkDecorator = getattr(pytest.mark, name)
    return mark


def _place_marks(config: pytest.Config, base: str, judge: str | None) -> list[pytest.MarkDecorator]:
    marks = [_mark(config, base), pytest.mark.base(name=base)]
    return [*marks, pytest.mark.judge(name=judge)] if judge else marks


@pytest.fixture
def decided(request: pytest.FixtureRequest) -> "DecidedClaim":
    """The claim of this test, decided for its base and judge; a claim that is not evaluable is an error here."""
    from pytest_tutoreval.claims import DecidedClaim
    from pytest_tutoreval.errors import TutorEvalError

    marker = request.node.get_closest_marker("claim")
    if marker is None:
        raise pytest.UsageError(f"{request.node.nodeid}: the decided fixture needs a claim marker on its test")
    place = _place(request.node, marker)
    try:
        verdict = _workbench(request.config).decide(place)
    except TutorEvalError as exc:
        # the reason once, not again as its own cause
        raise pytest.fail.Exception(str(exc), pytrace=False) from None
    request.node.stash[_ROW] = verdict.model_dump(mode="json")
    return DecidedClaim(place.claim, verdict)


def _params(item: pytest.Item) -> Mapping[str, Any]:
    """Return what an item is parametrised with."""
    params: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return params


def _place(item: pytest.Item, marker: pytest.Mark) -> "ClaimPlace":
    """Return which claim an item decides, for which base and judge."""
    from pytest_tutoreval.workbench import ClaimPlace

    claim, known = _find_claim(item, marker)
    params = _params(item)
    return ClaimPlace(claim, known, params["base"], params.get("judge"))


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
    params = _params(item)
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
    row = _attached(report)
    if row is None or "verdict" not in row or not report.passed:
        return None
    from pytest_tutoreval.reporting import MARKUP

    words = row["verdict"].replace("_", " ")
    return words, words[0].upper(), (words.upper(), MARKUP[row["verdict"]])


def _attached(report: pytest.TestReport) -> dict[str, Any] | None:
    text = getattr(report, "tutoreval", None)
    row: dict[str, Any] | None = json.loads(text) if text else None
    return row


# Deselection is known where items are collected: in this process, or in each worker


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count what -m, -k and --lf left out: a run that leaves something out is partial."""
    if items:
        items[0].config.stash[_DESELECTED] += len(items)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of deselected items from a worker to the controller."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tutoreval_deselected"] = session.config.stash[_DESELECTED]


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
        self._config.stash[_DESELECTED] = max(self._config.stash[_DESELECTED], count)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's row, and that it ran to its end."""
        row = _attached(report)
        if row is not None:
            self._rows.append((report.nodeid, row))
        if report.when == "teardown":
            self._finished.add(report.nodeid)

    def pytest_keyboard_interrupt(self) -> None:
        """Remember that the user stopped the run."""
        self._interrupted = True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write verdicts.json where a claim ran. Nothing decided, or an item lost, never exits 0."""
        if not self._rows:
            return
        from pytest_tutoreval.reporting import RunRecord, write_document

        run = RunRecord(
            selected=self._selected,
            finished=self._finished,
            deselected=self._config.stash[_DESELECTED],
            last_failed=bool(self._config.getoption("lf", default=False)),
            interrupted=self._interrupted,
        )
        for nodeid, row in self._rows:
            run.add_row(nodeid, row)
        bases, judges = _selected(self._config)
        facts = {"started": round(self._started, 3), "seconds": round(time.time() - self._started, 3)}
        document = _workbench(self._config).document(run, bases=bases, judges=judges, facts=facts)
        folder = self._config.getoption("tutoreval_report") or _project(self._config) / "reports"
        self._written = document, write_document(document, Path(folder))
        if session.exitstatus == pytest.ExitCode.OK and (not run.complete or not run.verdicts):
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
        places = [_place(item, marker) for item, marker in claims if marker is not None]
        gated = [_params(item)["base"] for item in items if "gate_reading" in getattr(item, "fixturenames", ())]
        if not places and not gated:
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
        reporter.ensure_newline()
        bench = _workbench(self._config)
        try:
            if gated:
                _, judges = _selected(self._config)
                bench.preflight(list(dict.fromkeys(gated)), judges, settings, reporter.write_line)
            if not places:
                return
            with show_progress(reporter.write_line, terminal=_terminal_of(reporter)) as progress:
                outcome = bench.collect(places, settings, progress, reporter.write_line)
        except Stopped:
            raise KeyboardInterrupt from None
        except TutorEvalError as exc:
            raise pytest.UsageError(str(exc)) from exc
        for line in outcome.lines():
            reporter.write_line(line)
        if outcome.stopped:
            raise KeyboardInterrupt


def _terminal_of(reporter: pytest.TerminalReporter) -> TextIO | None:
    """Return the terminal a bar may be drawn on, or None where output goes to a file or a pipe."""
    file: TextIO = reporter._tw._file
    return file if file.isatty() else None


def _project(config: pytest.Config) -> Path:
    """Return the rootdir, or where pytest was started: `--corpus DIR` looks like a test path to pytest's search."""
    here = config.invocation_params.dir
    return config.rootpath if config.inipath and here.is_relative_to(config.rootpath) else here


def _shown(path: Path, here: Path) -> str:
    """Return a path as the user would type it."""
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
