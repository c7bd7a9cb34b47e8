"""Every command the pages show is run, exits as it is said to, and says what the page shows."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from markdown import markdown

from tests.docs.conftest import TUTORIAL
from tests.docs.pages import PAGES, ROOT, Command, Fence, fences
from tests.docs.session import run_page

LANGUAGES = ("console", "toml", "python", "yaml", "json", "text")

WITH_COMMANDS = [page for page in PAGES if any(fence.language == "console" for fence in fences(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in WITH_COMMANDS if page != TUTORIAL], ids=name_of)
def test_every_command_of_a_page_does_what_it_shows(
    page: Path, tmp_path: Path, package: Path, starts: Callable[[Fence, Path], None]
) -> None:
    run_page(page, tmp_path, package=package, starts=starts)


def test_every_command_of_the_tutorial_does_what_it_shows(tutorial: Path) -> None:
    assert (tutorial / "baseline.json").is_file()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_hides_a_command_where_none_is_run(page: Path) -> None:
    assert [str(fence) for fence in fences(page) if fence.language not in LANGUAGES] == []
    # An indented block has no language, and would be neither run nor parsed.
    html = markdown(page.read_text(encoding="utf-8"), extensions=["fenced_code", "tables"])
    assert "<pre><code>" not in html
    hidden = [str(fence) for fence in fences(page) if fence.language == "text" and fence.text.startswith("$ ")]
    assert hidden == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_shows_of_files_can_be_read(page: Path) -> None:
    readers: dict[str, Callable[[str], object]] = {
        "toml": tomllib.loads,
        "json": json.loads,
        "yaml": yaml.safe_load,
        "python": lambda text: compile(text, name_of(page), "exec"),
    }
    for fence in fences(page):
        if fence.language in readers:
            try:
                readers[fence.language](fence.text)
            except (ValueError, SyntaxError, yaml.YAMLError) as exc:
                pytest.fail(f"{fence}: {exc}")
        if "same" in fence.remarks:
            assert fence.text == (ROOT / fence.remarks["same"]).read_text(encoding="utf-8"), str(fence)


@pytest.mark.parametrize(
    ("shown", "said", "held"),
    [
        pytest.param(["a", "b"], "a\nb\n", True, id="the-same"),
        pytest.param(["a", "b"], "a\nb\nc\n", False, id="more-was-said"),
        pytest.param(["b"], "a\nb\n", False, id="more-was-said-before"),
        pytest.param(["a", "…"], "a\nb\nc\n", True, id="an-ellipsis-for-lines"),
        pytest.param(["…", "a", "…"], "a\n", True, id="an-ellipsis-for-no-line"),
        pytest.param(["a … c"], "a b b c\n", True, id="an-ellipsis-in-a-line"),
        pytest.param(["a … c"], "a b\nb c\n", False, id="an-ellipsis-stays-in-its-line"),
        pytest.param(["n = 1.5"], "n = 1x5\n", False, id="no-pattern-of-the-page's"),
    ],
)
def test_output_that_is_shown_has_to_be_what_was_said(shown: list[str], said: str, held: bool) -> None:
    assert Command("anything", tuple(shown)).shows(said) is held
