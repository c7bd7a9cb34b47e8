"""The reference names everything there is: options, commands, exit codes, measures, keys of files."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from pytest_tutoreval.gating import DEFAULT_GUARDS, GUARDED_MEASURES
from pytest_tutoreval.records.claim import CouplingClaim, JointClaim, ManyToOneClaim, PairedClaim
from pytest_tutoreval.records.gate import GateOutcome, GateSettings, Guard, SequentialRule
from pytest_tutoreval.records.study_file import ProtocolChange, RouteSettings, StudyFile
from tests.docs.pages import DOCS, PAGES, ROOT, plain_text
from tests.docs.reference import TABLED, cli_commands, cli_options, pytest_options, with_tables

REFERENCE = DOCS / "reference"


def said(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", TABLED, ids=lambda page: page.name)
def test_the_option_tables_are_the_codes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == with_tables(text), "write them anew: python -m tests.docs.reference"


def test_every_option_of_pytest_is_in_the_reference() -> None:
    assert len(pytest_options()) >= 14
    assert [option for option in pytest_options() if f"| `{option}` |" not in said("options.md")] == []


@pytest.mark.parametrize("name", cli_commands())
def test_every_command_has_a_section_with_all_its_options(name: str) -> None:
    _, heading, section = said("commands.md").partition(f"\n### {name}\n")
    assert heading
    section = section.partition("\n##")[0]
    assert [option for option in cli_options(cli_commands()[name]) if f"| `{option}` |" not in section] == []


def test_no_command_is_documented_that_is_not_there() -> None:
    assert sorted(re.findall(r"^### (tutoreval .*)$", said("commands.md"), re.MULTILINE)) == sorted(cli_commands())


def exit_codes_in_the_code() -> set[int]:
    """Return every number that a command of ours hands to sys.exit."""
    codes: set[int] = set()
    for path in (ROOT / "pytest_tutoreval" / "cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit":
                inside = [found for argument in node.args for found in ast.walk(_results(argument))]
                codes |= {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, int)}
    return codes


def _results(node: ast.expr) -> ast.AST:
    """Return what an expression can come to: of a choice both ends, without its condition."""
    if isinstance(node, ast.IfExp):
        return ast.Tuple([_results(node.body), _results(node.orelse)])  # type: ignore[list-item]
    return node


def test_every_exit_code_is_listed() -> None:
    of_pytest, of_tutoreval = said("exit-codes.md").split("\n## tutoreval\n")
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", of_tutoreval, re.MULTILINE)}
    assert listed == exit_codes_in_the_code() | {2}  # 2 is the parser's, of a wrong command line
    stated = {int(code) for code in re.findall(r"^\| (\d+) \|", of_pytest, re.MULTILINE)}
    assert stated >= set(map(int, pytest.ExitCode))  # an older pytest has fewer


def test_every_command_says_when_it_exits_1() -> None:
    rows = re.findall(r"^\| (`.*?) \|", said("exit-codes.md").partition("| command | exits 1 where |")[2], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    named |= {f"report {name}" for name in named}
    assert [name for name in cli_commands() if name.removeprefix("tutoreval ") not in named] == []


def test_every_guarded_measure_is_listed_with_its_default() -> None:
    for guard in DEFAULT_GUARDS:
        (row,) = re.findall(rf"^\| `{guard.measure}` \|.*$", said("gate.md"), re.MULTILINE)
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert (cells[2], float(cells[3].split()[0])) == (guard.worse, guard.margin)
    assert {guard.measure for guard in DEFAULT_GUARDS} == set(GUARDED_MEASURES)


@pytest.mark.parametrize(
    ("record", "page"),
    [
        pytest.param(Guard, "gate.md", id="guard"),
        pytest.param(GateSettings, "gate.md", id="gate"),
        pytest.param(SequentialRule, "gate.md", id="sequential"),
        pytest.param(StudyFile, "study-file.md", id="study-file"),
        pytest.param(ProtocolChange, "study-file.md", id="protocol"),
        pytest.param(RouteSettings, "study-file.md", id="routes"),
        pytest.param(PairedClaim, "claim-files.md", id="paired"),
        pytest.param(ManyToOneClaim, "claim-files.md", id="many-to-one"),
        pytest.param(CouplingClaim, "claim-files.md", id="coupling"),
        pytest.param(JointClaim, "claim-files.md", id="joint"),
    ],
)
def test_every_key_of_a_file_is_named(record: type, page: str) -> None:
    keys = record.model_fields  # type: ignore[attr-defined]
    assert [key for key in keys if not re.search(rf"\b{key}\b", said(page))] == []


def test_the_gates_three_outcomes_are_explained() -> None:
    for name in ("reference/gate.md", "explanation/gate.md"):
        text = (DOCS / name).read_text(encoding="utf-8").lower()
        assert [word for word in get_args(GateOutcome) if word.replace("_", " ") not in text] == []


# commands in running text


def inline_commands() -> list[tuple[str, str]]:
    """Return every command of ours in running text, with its page."""
    return [
        (str(page.relative_to(ROOT)), code)
        for page in PAGES
        for code in re.findall(r"`((?:tutoreval|pytest) [^`]+)`", " ".join(plain_text(page).split()))
    ]


def test_every_command_in_running_text_could_be_typed() -> None:
    found = inline_commands()
    assert len(found) >= 20
    plain = {option.split()[0] for option in pytest_options()} | {"-m", "-n", "-k", "--pyargs"}
    for page, code in found:
        options = {word.partition("=")[0] for word in code.split() if word.startswith("-")}
        if code.startswith("pytest "):
            assert options <= plain, f"{page}: {code}"
            continue
        name = max((name for name in cli_commands() if f"{code} ".startswith(f"{name} ")), key=len, default=None)
        if name is None:
            assert code in ("tutoreval import", "tutoreval report"), f"{page}: no such command: {code}"
            continue
        assert options <= set(cli_options(cli_commands()[name])), f"{page}: {code}"
