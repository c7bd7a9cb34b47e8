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
    group.addoption(
        "--live",
        dest="tutoreval_live",
        action="store_true",
        help="Collect and judge what the selected claims lack, with paid calls, before deciding them",
    )
    group.addoption(
        "--tutoreval-study",
        dest="tutoreval_study",
        metavar="FILE",
        help="Study file with bases, policies, problems and judges of your own (default: tutoreval.toml, if there)",
    )
    group.addoption(
        "--tutoreval-prices",
        dest="tutoreval_prices",
        metavar="FILE",
        help="Price file for --live (default: the bundled one)",
    )
    group.addoption(
        "--tutoreval-budget",
        dest="tutoreval_budget",
        type=_dollars,
        metavar="DOLLARS",
        help="Most that --live may spend, over all routes",
    )
    group.addoption(
        "--tutoreval-jobs",
        dest="tutoreval_jobs",
        type=_count,
        metavar="N",
        help="Most sessions that --live has open at once",
    )
    group.addoption(
        "--tutoreval-max-retries",
        dest="tutoreval_max_retries",
        type=_count_or_zero,
        metavar="N",
        help="Attempts after a call's first under --live; 0 tries once",
    )
    group.addoption(
        "--gate",
        dest="tutoreval_gate",
        action="store_true",
        help="Fail where a verdict or a guarded measure regressed against the baseline",
    )
    group.addoption(
        "--tutoreval-baseline",
        dest="tutoreval_baseline",
        metavar="FILE",
        help="Baseline that --gate reads or --tutoreval-baseline-update writes",
    )
    group.addoption(
        "--tutoreval-baseline-update",
        dest="tutoreval_baseline_update",
        action="store_true",
        help="Write the baseline from this run, if it is complete",
    )
    group.addoption(
        "--tutoreval-undecided",
        dest="tutoreval_undecided",
        choices=("fail", "warn", "pass"),
        help="What becomes of a guard that is not decided at this n (default: the study file's policy, or fail)",
    )


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r}: empty name in a comma list")
    return names


def _dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: not an amount of dollars")
    return value


def _count_or_zero(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: not a whole number")
    return int(text)


def _count(text: str) -> int:
    count = _count_or_zero(text)
    if count == 0:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return count


def expand_names(
    chosen: Sequence[str] | None, known: Sequence[str], option: str, *, knower: str = "the corpus holds"
) -> list[str]:
    """Return the chosen names in the order they are known, which is the same on every worker.

    Raises
    ------
    pytest.UsageError
        A name that is not known; the line lists those that are.
    """
    if not chosen or ALL in chosen:
        return list(known)
    unknown = sorted(set(chosen) - set(known))
    if unknown:
        holds = ", ".join(known) if known else "none"
        raise pytest.UsageError(f"{option}: unknown {', '.join(unknown)} ({knower}: {holds}; or {ALL})")
    return [name for name in known if name in chosen]
