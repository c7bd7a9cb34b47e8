"""What the user can say, parsed once."""

import argparse
from typing import Any

import pytest

from pytest_tutoreval.errors import ResourceMissing
from pytest_tutoreval.resources import data_folder
from pytest_tutoreval.running.options import add_options, expand_names

KNOWN = ("sonnet", "gpt", "gemini")


class Group:
    """Stands in for pytest's option group: keeps what was registered."""

    def __init__(self) -> None:
        self.parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
        self.helps: dict[str, str] = {}
        self.dests: dict[str, str] = {}

    def addoption(self, name: str, **settings: Any) -> None:
        self.parser.add_argument(name, **settings)
        self.helps[name], self.dests[name] = settings["help"], settings["dest"]


class Parser:
    def __init__(self) -> None:
        self.group = Group()

    def getgroup(self, name: str, description: str) -> Group:
        assert name == "tutoreval"
        return self.group


@pytest.fixture
def group() -> Group:
    parser = Parser()
    add_options(parser)  # type: ignore[arg-type]
    return parser.group


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], None),
        (["--base", "sonnet"], ["sonnet"]),
        (["--base", "sonnet,gpt"], ["sonnet", "gpt"]),
        (["--base", " sonnet , gpt "], ["sonnet", "gpt"]),
        (["--base", "sonnet", "--base", "gpt,gemini"], ["sonnet", "gpt", "gemini"]),
        (["--base", "all"], ["all"]),
    ],
)
def test_names_are_comma_lists_and_repeatable(group: Group, arguments: list[str], names: list[str] | None) -> None:
    assert group.parser.parse_args(arguments).tutoreval_base == names


@pytest.mark.parametrize("text", ["", ",", "sonnet,", "sonnet,,gpt"])
def test_an_empty_name_is_refused(group: Group, text: str) -> None:
    with pytest.raises(argparse.ArgumentError, match="empty name in a comma list"):
        group.parser.parse_args(["--judge", text])


def test_options_never_swallow_the_path_after_them(group: Group) -> None:
    parsed, rest = group.parser.parse_known_args(["--base", "all", "suites"])
    assert (parsed.tutoreval_base, rest) == (["all"], ["suites"])


def test_help_is_one_phrase_with_a_capital_and_no_full_stop(group: Group) -> None:
    assert all(text[0].isupper() and not text.endswith(".") for text in group.helps.values())


def test_only_the_plain_names_of_the_design_are_plain(group: Group) -> None:
    plain = {name for name in group.helps if not name.startswith("--tutoreval-")}
    assert plain <= {"--base", "--judge", "--corpus", "--live", "--gate"}
    assert all(dest.startswith("tutoreval_") for dest in group.dests.values())


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (None, ["sonnet", "gpt", "gemini"]),
        ([], ["sonnet", "gpt", "gemini"]),
        (["all"], ["sonnet", "gpt", "gemini"]),
        (["gemini", "sonnet"], ["sonnet", "gemini"]),
        (["gpt", "gpt"], ["gpt"]),
        (["nobody", "all"], ["sonnet", "gpt", "gemini"]),
    ],
)
def test_chosen_names_stand_in_the_corpus_order(chosen: list[str] | None, names: list[str]) -> None:
    assert expand_names(chosen, KNOWN, "--base") == names


def test_unknown_names_are_one_line_that_lists_the_known() -> None:
    with pytest.raises(pytest.UsageError) as refused:
        expand_names(["zeta", "gpt", "alpha"], KNOWN, "--base")
    assert str(refused.value) == "--base: unknown alpha, zeta (the corpus holds: sonnet, gpt, gemini; or all)"


def test_a_corpus_without_names_says_none() -> None:
    with pytest.raises(pytest.UsageError, match=r"--judge: unknown opus \(the corpus holds: none; or all\)"):
        expand_names(["opus"], (), "--judge")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tutoreval-budget", "much"], "'much': not an amount of dollars"),
        (["--tutoreval-budget", "-1"], "expected one argument|'-1': not an amount of dollars"),
        (["--tutoreval-budget=-1"], "'-1': not an amount of dollars"),
        (["--tutoreval-budget", "nan"], "'nan': not an amount of dollars"),
        (["--tutoreval-budget", "inf"], "'inf': not an amount of dollars"),
        (["--tutoreval-jobs", "0"], "at least 1 is needed"),
        (["--tutoreval-jobs", "two"], "'two': not a whole number"),
        (["--tutoreval-max-retries", "1.5"], "'1.5': not a whole number"),
    ],
)
def test_a_number_that_is_none_is_refused(group: Group, arguments: list[str], message: str) -> None:
    with pytest.raises(argparse.ArgumentError, match=message):
        group.parser.parse_args(arguments)


def test_numbers_are_parsed_once(group: Group) -> None:
    parsed = group.parser.parse_args(
        ["--tutoreval-budget", "2.5", "--tutoreval-jobs", "3", "--tutoreval-max-retries", "0"]
    )
    numbers = (parsed.tutoreval_budget, parsed.tutoreval_jobs, parsed.tutoreval_max_retries)
    assert numbers == (2.5, 3, 0)


def test_a_data_folder_that_is_nowhere_names_both_places() -> None:
    with pytest.raises(ResourceMissing, match=r"nowhere: no such data folder \(looked in .* and .*\); reinstall"):
        data_folder("nowhere")
