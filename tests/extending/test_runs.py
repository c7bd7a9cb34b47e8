"""pytest with packages and conftest.py files that register something, with and without workers."""

import csv
import json
import shutil
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import wilcoxon

from pytest_tutoreval.frozen import load_instrument, text_digest
from pytest_tutoreval.measures import PACKAGE_MEASURES
from tests.extending.packages import PARROT, SOURCE, a_package, the_parrot
from tests.plugin.runs import document, make_suite, run, verdicts, write_test
from tests.store.corpora import DEMO, measures_of

workers = pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["no-workers", "two-workers"])

T1 = '@pytest.mark.claim("T1")\ndef test_t1(decided, base):\n    pass\n'


def decide_t1(pytester: pytest.Pytester, *more: str) -> pytest.RunResult:
    """Run the package's claim and P1, in a process that finds what is installed."""
    write_test(pytester, T1 + T1.replace("T1", "P1").replace("t1", "p1"))
    return run(pytester, "--corpus", DEMO, *more, fresh=True)


def tokens_a_turn(condition: str) -> list[float]:
    """The measure of the documented package, from the turns of the demo's sonnet sessions."""
    cell = measures_of(DEMO).cell("sonnet", condition)
    return [fsum(turn.tutor_tokens for turn in turns) / len(turns) for _, turns in sorted(cell.turns.items())]


@workers
def test_a_packages_claim_on_its_measure_is_decided_and_rendered(
    pytester: pytest.Pytester, child_site: Path, workers: list[str]
) -> None:
    module = the_parrot(child_site)
    result = decide_t1(pytester, "--base", "sonnet", *workers)
    assert result.ret == 0, result.stdout.str()
    written = document(pytester)
    assert verdicts(written)["T1", "sonnet", None] == "supported"
    assert [row["claim"] for row in written["claims"]] == ["P1", "T1"], "the study's own come first"
    row = written["claims"][1]
    differences = [conv - ped for conv, ped in zip(tokens_a_turn("conv"), tokens_a_turn("ped"), strict=True)]
    assert row["estimate"] == pytest.approx(fsum(differences) / 10, abs=1e-9)
    assert row["p_value"] == pytest.approx(wilcoxon(differences, method="exact").pvalue, abs=1e-12)
    digest = text_digest(f"package tutoreval_parrot:terse_turn\n{module.read_text()}")
    assert written["study"]["notes"] == [
        f"{PARROT} registers provider parrot, policy terse (sha256 {digest[:12]}), measure tokens_a_turn (in tokens a "
        "tutor turn), claim T1, renderer claims.csv"
    ]
    assert written["run"]["versions"]["tutoreval-parrot"] == "0.3"
    assert set(written["run"]["outputs"]) >= {"claims.csv", "summary.md", "report.html"}
    rows = list(csv.reader((pytester.path / "reports" / "claims.csv").read_text(encoding="utf-8").splitlines()))
    assert rows == [["claim", "base", "judge", "verdict"]] + [
        [row["claim"], "sonnet", "", row["verdict"]] for row in written["claims"]
    ]
    result.stdout.fnmatch_lines([f"study: {PARROT} registers provider parrot, *"])
    for name in ("summary.md", "report.html"):
        assert "0.3 registers provider parrot" in (pytester.path / "reports" / name).read_text(encoding="utf-8")


def test_what_is_written_is_the_same_with_workers(pytester: pytest.Pytester, child_site: Path) -> None:
    the_parrot(child_site)
    found = []
    for options in ([], ["-n2"]):
        assert decide_t1(pytester, *options).ret == 0
        found.append({name: part for name, part in document(pytester).items() if name != "run"})
    assert json.dumps(found[0]) == json.dumps(found[1])


@workers
def test_a_renderer_of_a_package_that_fails_is_named_and_loses_no_verdict(
    pytester: pytest.Pytester, child_site: Path, workers: list[str]
) -> None:
    a_package(
        child_site,
        "from pytest_tutoreval.reporting import Renderer\n@hookimpl\ndef tutoreval_renderers():\n"
        "    return [Renderer('broken', ('x.csv',), lambda document, folder: 1 / 0)]\n",
    )
    make_suite(pytester)
    result = run(pytester, "--corpus", DEMO, "-m", "P1 and gpt", *workers, fresh=True)
    assert result.ret == 1
    assert document(pytester)["run"]["not_written"] == [
        {"output": "broken", "reason": "ZeroDivisionError: division by zero"}
    ]
    assert document(pytester)["run"]["evaluated"] == 1


@workers
@pytest.mark.parametrize("options", [[], ["--base", "gpt"]], ids=["at-the-first-claim", "at-the-start"])
def test_a_package_that_cannot_be_loaded_ends_the_run_with_its_name(
    pytester: pytest.Pytester, child_site: Path, workers: list[str], options: list[str]
) -> None:
    who = a_package(child_site, "import nowhere_at_all\n")
    result = decide_t1(pytester, *options, *workers)
    assert result.ret not in (0, 3)
    said = result.stdout.str() + result.stderr.str()
    assert f"{who}: loading {who.partition(' ')[0].replace('-', '_')} raised ModuleNotFoundError: No module" in said
    assert "INTERNALERROR" not in said
    assert not (pytester.path / "reports").exists()


def test_a_project_without_claims_loads_no_package(pytester: pytest.Pytester, child_site: Path) -> None:
    a_package(child_site, "raise AssertionError('loaded')\n")
    pytester.makepyfile("def test_mine(): pass")
    assert run(pytester, fresh=True).ret == 0


# conftest.py

CONFTEST = """
from pytest_tutoreval import hookimpl
from pytest_tutoreval.measures import SessionMeasure

@hookimpl
def tutoreval_measures():
    return [SessionMeasure("n_turns", "tutor turns a session", lambda session, turns: len(turns))]
"""


def write_project(folder: Path) -> None:
    """Write a conftest.py with a measure, a claim about it and its test."""
    claim = (SOURCE / "claims" / "T1.toml").read_text(encoding="utf-8")
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "N1.toml").write_text(claim.replace("tokens_a_turn", "n_turns").replace('"T1"', '"N1"'))
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_own.py").write_text("import pytest\n" + T1.replace("T1", "N1"))


@workers
@pytest.mark.parametrize("place", [".", "checks"])
def test_a_conftest_registers_a_measure(pytester: pytest.Pytester, workers: list[str], place: str) -> None:
    write_project(pytester.path / place)
    result = run(pytester, "--corpus", DEMO, "--base", "sonnet", place, *workers, fresh=True)
    assert result.ret == 0, result.stdout.str()
    assert verdicts(document(pytester)) == {("N1", "sonnet", None): "supported"}
    counts = [
        [row.n_tutor_turns for _, row in sorted(measures_of(DEMO).cell("sonnet", arm).sessions.items())]
        for arm in ("conv", "ped")
    ]
    assert document(pytester)["claims"][0]["estimate"] == pytest.approx((sum(counts[0]) - sum(counts[1])) / 10)
    named = f"{(pytester.path / place).resolve().name}/conftest.py"
    version = f"sha256 {text_digest(CONFTEST)[:12]}"
    assert document(pytester)["study"]["notes"] == [
        f"{named} {version} registers measure n_turns (in tutor turns a session)"
    ]
    assert document(pytester)["run"]["versions"][named] == version


@workers
def test_a_conftest_that_comes_too_late_is_refused(pytester: pytest.Pytester, workers: list[str]) -> None:
    write_project(pytester.path / "deep" / "down")
    result = run(pytester, "--corpus", DEMO, *workers, fresh=True)
    assert result.ret not in (0, 3, 5)
    said = result.stdout.str() + result.stderr.str()
    assert (
        "down/conftest.py: it registers something with pytest-tutoreval, and pytest came to it during the run" in said
    )
    assert "INTERNALERROR" not in said


def test_after_a_run_in_this_process_nothing_is_registered(pytester: pytest.Pytester) -> None:
    write_project(pytester.path)
    for _ in range(2):
        assert run(pytester, "--corpus", DEMO, "--base", "sonnet").ret == 0
        assert PACKAGE_MEASURES == {}
    (pytester.path / "conftest.py").unlink()
    result = run(pytester, "--corpus", DEMO, "--base", "sonnet")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*N1.toml: measure = 'n_turns' is not a known measure. Known: *"])


@workers
def test_a_claim_id_of_a_package_is_not_a_users_own(
    pytester: pytest.Pytester, child_site: Path, workers: list[str]
) -> None:
    the_parrot(child_site)
    (pytester.path / "claims").mkdir()
    shutil.copy(SOURCE / "claims" / "T1.toml", pytester.path / "claims")
    result = decide_t1(pytester, *workers)
    assert result.ret != 0
    assert "claims: T1.toml: this id is registered already; choose another" in result.stdout.str()


# the gate


def gate(pytester: pytest.Pytester, *more: str | Path) -> tuple[int, dict[str, Any]]:
    study = '[[guards]]\nmeasure = "tokens_a_turn"\nmargin = 40\nworse = "higher"\nconditions = ["ped"]\n'
    (pytester.path / "tutoreval.toml").write_text(study)
    pytester.makepyfile(
        test_claims='import pytest\n@pytest.mark.claim("T1")\ndef test_t1(decided, base): pass\n'
        "@pytest.mark.gate\ndef test_gate(guarded): pass\n"
    )
    result = run(pytester, "--base", "sonnet", "--tutoreval-baseline=b.json", *more, fresh=True)
    return int(result.ret), document(pytester)


def test_a_packages_measure_is_guarded_against_its_baseline(pytester: pytest.Pytester, child_site: Path) -> None:
    module = the_parrot(child_site)
    assert gate(pytester, "--corpus", DEMO, "--tutoreval-baseline-update")[0] == 0
    series = json.loads((pytester.path / "b.json").read_bytes())["series"]
    mine = {row["condition"]: row for row in series if row["measure"] == "tokens_a_turn"}
    assert [mine["ped"]["values"][str(number)]["session"] for number in range(10)] == pytest.approx(
        tokens_a_turn("ped")
    )
    code, held = gate(pytester, "--corpus", DEMO, "--gate")
    (row,) = (row for row in held["gate"]["rows"] if row["guard"] == "tokens_a_turn")
    assert (code, row["outcome"], row["estimate"], row["unit"], row["n"]) == (0, "held", 0.0, "tokens a tutor turn", 10)
    # The same data, read by a measure that counts 50 tokens more a turn: all ten differences are 50, the margin is 40.
    module.write_text(module.read_text().replace("if turns else None", "+ 50 if turns else None"))
    code, regressed = gate(pytester, "--corpus", DEMO, "--gate")
    (row,) = (row for row in regressed["gate"]["rows"] if row["guard"] == "tokens_a_turn")
    assert (code, row["outcome"], row["estimate"]) == (1, "regressed", 50.0)
    assert load_instrument().sha256 == regressed["study"]["instrument_sha256"]
