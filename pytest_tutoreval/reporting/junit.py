"""What JUnit files say beyond pass and fail: flat properties, in ASCII, of a case and of the suite."""

from collections.abc import Mapping
from typing import Any

from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.plain import console, visible
from pytest_tutoreval.reporting.words import SIMULATED, count_outcomes, run_words

__all__ = ["case_properties", "guard_properties", "suite_properties"]

Row = Mapping[str, Any]
Properties = list[tuple[str, str]]

_GUARD_NUMBERS = ("baseline", "current", "estimate", "margin", "p_regressed", "p_held", "n", "n_dropped", "n_needed")


def case_properties(row: Row) -> Properties:
    """Return the properties of a claim's or an analysis's case; what is not defined is left out, never empty.

    A claim that is not evaluable has no `verdict`, and says what it is about. Numbers are those of the document.
    """
    if "analysis" in row:
        return _flat({"analysis": row["analysis"], "base": row.get("base"), "judge": row.get("judge")})
    place = {"claim": row["claim"], "base": row["base"], "judge": row["judge"]}
    if "verdict" not in row:
        return _flat(place)
    numbers = {name: row.get(name) for name in ("estimate", "p_value", "n", "n_dropped")}
    stated = {"reversed": row["reversed"], "role": row["role"]}
    return _flat({"verdict": say(row["verdict"]), **place, "ci": _interval(row), **numbers, **stated})


def guard_properties(row: Row) -> Properties:
    """Return the properties of a guard's case."""
    names = ("kind", "guard", "base", "judge", "condition", "verdict_before", "verdict_now", *_GUARD_NUMBERS)
    outcome = row["outcome"].replace("_", " ")
    return _flat(
        {"gate": outcome, "failed": row["failed"], **{name: row.get(name) for name in names}, "ci": _interval(row)}
    )


def suite_properties(document: Row) -> Properties:
    """Return the properties of the suite: which data under which instrument, how much of a run, what it came to."""
    corpus, study, run = document["corpus"], document["study"], document["run"]
    facts: dict[str, Any] = {
        "corpus": corpus["name"],
        "corpus_sha256": corpus["sha256"],
        "provenance": corpus["provenance"],
        "study": study["name"],
        "instrument_sha256": study["instrument_sha256"],
        "complete": run["complete"],
        "partial": run["partial"],
        "run": "; ".join(run_words(run)) or "complete",
        **{f"claims_{outcome}": count for outcome, count in count_outcomes(document).items()},
    }
    if corpus["provenance"] == "simulated":
        facts["warning"] = SIMULATED
    if (gate := document.get("gate")) is not None:
        outcomes = [row["outcome"] for row in gate["rows"]]
        facts |= {f"gate_{outcome}": outcomes.count(outcome) for outcome in ("regressed", "not_decided", "held")}
        facts["gate_failed"] = gate["failed"]
    return [(f"tutoreval.{name}", value) for name, value in _flat(facts)]


def _interval(row: Row) -> str | None:
    low, high = row.get("ci_low"), row.get("ci_high")
    return None if low is None or high is None else f"[{low!r}, {high!r}]"


def _flat(facts: Mapping[str, Any]) -> Properties:
    return [(name, _text(value)) for name, value in facts.items() if value is not None]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return console(visible(str(value)), "ascii")
