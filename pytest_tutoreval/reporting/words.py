"""What every renderer says in the same words: how much of a run there is, what its data are, what it came to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tutoreval.reporting.plain import visible

__all__ = [
    "SIMULATED",
    "cost_words",
    "count_outcomes",
    "distinct_notes",
    "place_words",
    "provenance_words",
    "run_words",
]

Row = Mapping[str, Any]

SIMULATED = "SIMULATED DATA, scripted agents took part"

# In the order they are named; the first three are `claims`, the fourth is `not_evaluable`.
_OUTCOMES = ("supported", "not_supported", "inconclusive", "not_evaluable")


def run_words(run: Row) -> list[str]:
    """Return why a run is not all it could have been, a line each; a whole run has none.

    `run` is the section of the document. A partial run left something out on purpose; an incomplete one lost something
    it had begun; an output that is missing was tried.
    """
    return [*_partial(run), *_incomplete(run), *_not_written(run)]


def _partial(run: Row) -> Iterator[str]:
    if run["partial"]:
        left_out = [f"{_items(run['deselected'])} deselected"] if run["deselected"] else []
        if run.get("last_failed", not left_out):
            left_out.append("last failures only")
        elif not left_out:
            left_out.append("only the tests that were named")
        yield f"PARTIAL: {', '.join(left_out)}"


def _incomplete(run: Row) -> Iterator[str]:
    if run["complete"]:
        return
    n_unfinished, lost = len(run["unfinished"]), run.get("lost_workers", 0)
    causes = [visible(run["stopped"], limit=200)] if run.get("stopped") else []
    if lost:
        causes.append(f"{lost} worker{'s' if lost > 1 else ''} died")
    why = f" ({'; '.join(causes)})" if causes else ""
    what = f"{n_unfinished} of {_items(run['selected'])} did not finish" if n_unfinished else "the run was interrupted"
    yield f"INCOMPLETE: {what}{why}"


def _not_written(run: Row) -> Iterator[str]:
    for output in run.get("not_written", ()):
        yield f"NOT WRITTEN: {visible(output['output'])}: {visible(output['reason'], limit=500)}"


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def provenance_words(document: Row) -> str:
    """Return what the data are, simulated ones first and foremost."""
    corpus, study = document["corpus"], document["study"]
    text = f"corpus {visible(corpus['name'])} {corpus['sha256'][:12]}, instrument {study['instrument_sha256'][:12]}"
    if corpus["provenance"] == "simulated":
        return f"{SIMULATED}: {text}"
    return f"{visible(corpus['provenance'])} data: {text}"


def count_outcomes(document: Row) -> dict[str, int]:
    """Return how many claims came to each verdict and how many could not be evaluated, zeros included."""
    counts = Counter(row["verdict"] for row in document["claims"])
    counts["not_evaluable"] = len(document["not_evaluable"])
    return {outcome: counts[outcome] for outcome in _OUTCOMES}


def cost_words(cost: Row) -> str:
    """Return what the corpus's live runs were billed."""
    if not cost["runs"]:
        return "not metered, nothing here was collected live"
    dollars = "price unknown" if cost["dollars"] is None else f"{cost['dollars']:.2f} dollars"
    tokens = f"{cost['input_tokens']} + {cost['output_tokens']} tokens"
    return f"{dollars}, {cost['calls']} calls, {tokens}, {cost['failed_attempts']} failed attempts"


def distinct_notes(claims: Sequence[Row]) -> Iterator[tuple[Row, str]]:
    """Yield each note of the claims with its row, once: a joint claim's are its members'."""
    for row in claims:
        if all(part["verdict"] is None for part in row["components"]):
            yield from ((row, note) for note in row["notes"])


def place_words(row: Row) -> str:
    """Return what a row is about: claim or analysis, base and judge."""
    return " ".join(visible(name) for name in (row.get("claim") or row["analysis"], row["base"], row["judge"]) if name)
