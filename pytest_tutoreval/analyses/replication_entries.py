"""The registry: what is held against each value the study printed. An entry without a comparator is an error."""

from collections.abc import Mapping, Sequence

from pytest_tutoreval.analyses.replication_descriptions import ablation, instrument, token
from pytest_tutoreval.analyses.replication_finders import Checks
from pytest_tutoreval.analyses.replication_notes import notes
from pytest_tutoreval.analyses.replication_printed import PublishedEntry
from pytest_tutoreval.analyses.replication_robustness import adjusted, cross_judge, matched, pooled_slopes, two_stage
from pytest_tutoreval.analyses.replication_tables import (
    counts,
    illustrations,
    judged_gaps,
    leakage_and_slopes,
    primary,
    verdicts,
)

__all__ = ["NOTE", "comparators", "comparators_of"]

# The path of what an entry says in words beside its numbers.
NOTE = "note"


def comparators() -> Mapping[str, Checks]:
    """Return the comparators: entry id -> path of a value -> what it is held against."""
    registry: dict[str, Checks] = {}
    parts: Sequence[Mapping[str, Checks]] = (
        *(verdicts(), judged_gaps(), leakage_and_slopes(), counts(), primary(), illustrations()),
        *(matched(), adjusted(), two_stage(), pooled_slopes(), cross_judge()),
        *(ablation(), token(), instrument()),
    )
    for part in parts:
        if shared := registry.keys() & part.keys():
            raise ValueError(f"comparators of {', '.join(sorted(shared))} stand twice.")
        registry |= part
    return {name: {**checks, **_note(name)} for name, checks in registry.items()}


def _note(name: str) -> Checks:
    found = notes().get(name)
    return {} if found is None else {NOTE: found}


def comparators_of(entries: Sequence[PublishedEntry]) -> Mapping[str, Checks]:
    """Return the comparators of these entries.

    Raises
    ------
    ValueError
        An entry or one of its values has none, or a comparator has no value: each is named, since one that vanished
        would look like one that agrees.
    """
    known = comparators()
    problems = [f"{name}: no such entry in the file" for name in known.keys() - {entry.id for entry in entries}]
    for entry in entries:
        if entry.id not in known:
            problems.append(f"{entry.id}: no comparator")
            continue
        paths = [value.path for value in entry.values] + ([NOTE] if entry.note else [])
        problems += [f"{entry.id}: {path}: no comparator" for path in paths if path not in (*known[entry.id], NOTE)]
        problems += [f"{entry.id}: {path}: no such value in the file" for path in known[entry.id] if path not in paths]
    if problems:
        raise ValueError("published.json and its comparators part: " + "; ".join(sorted(problems)))
    return {entry.id: known[entry.id] for entry in entries}
