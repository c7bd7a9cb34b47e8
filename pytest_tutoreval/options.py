"""What the user can say on the command line, parsed once."""

import argparse
from collections.abc import Sequence

import pytest

__all__ = ["add_options", "expand_names"]

ALL = "all"


def add_options(parser: pytest.Parser) -> None:
    """Register the options; their values stay plain enough for xdist to send to workers."""
    group = parser.getgroup("tutoreval", "pre-registered claims about LLM tutors")
    group.addoption(
        "--base",
        dest="tutoreval_base",
        type=_names,
        action="extend",
        metavar="NAMES",
        help="Tutor bases to decide claims for, comma-separated, or 'all' (default: all the corpus holds)",
    )
    group.addoption(
        "--judge",
        dest="tutoreval_judge",
        type=_names,
        action="extend",
        metavar="NAMES",
        help="Judges to decide judge-bound claims for, comma-separated, or 'all' (default: all the corpus holds)",
    )
    group.addoption(
        "--corpus",
        dest="tutoreval_corpus",
        metavar="DIR",
        help="Folder with recorded sessions (default: the bundled, simulated demo)",
    )
    group.addoption(
        "--tutoreval-report",
        dest="tutoreval_report",
        metavar="DIR",
        help="Folder for verdicts.json (default: reports/ under the rootdir)",
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r}: empty name in a comma list")
    return names


def expand_names(chosen: Sequence[str] | None, known: Sequence[str], option: str) -> list[str]:
    """Return the chosen names in the corpus's order, which is the same on every worker.

    Raises
    ------
    pytest.UsageError
        A name the corpus does not hold; the line lists those it does.
    """
    if not chosen or ALL in chosen:
        return list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        holds = ", ".join(known) if known else "none"
        raise pytest.UsageError(f"{option}: unknown {', '.join(unknown)} (the corpus holds: {holds}; or {ALL})")
    return [name for name in known if name in chosen]
