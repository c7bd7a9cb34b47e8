"""The replication report as one document, and that document as text or Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import TextWrapper
from typing import Any

from pytest_tutoreval.analyses.replication import (
    DEVIATIONS,
    OUTCOMES,
    REPORTING_RULES,
    ReplicatedEntry,
    ReplicatedValue,
    Replication,
)
from pytest_tutoreval.analyses.replication_causes import TOLERANCES
from pytest_tutoreval.records.study import Family

__all__ = ["FORMAT", "SIMULATED", "render_markdown", "render_text", "replication_document"]

FORMAT = "tutoreval-replication/1"

SIMULATED = (
    "SIMULATED DATA: scripted agents played every part, so nothing here is a replication. The study's numbers stand "
    "beside the simulated ones; that they differ is expected and says nothing."
)

# In reading order: what needs a reader first.
_HEADINGS: Mapping[str, str] = {
    "different": "Different, without a cause that was found true",
    "reproduced_with_cause": "Reproduced with a named cause, computed and found true",
    "not_evaluable": "Not evaluable from this corpus",
    "reproduced": "Reproduced to the printed digits",
    "not_compared": "Simulated numbers beside the study's: not compared",
}
_WIDTH = 120

Document = Mapping[str, Any]


def replication_document(replication: Replication) -> dict[str, Any]:
    """Return the whole report as plain data, which both renderers read. Every number is finite or None."""
    manifest, study = replication.corpus, replication.study
    return {
        "format": FORMAT,
        "simulated": replication.simulated,
        "corpus": {
            "name": manifest.name,
            "provenance": manifest.provenance,
            "content": manifest.content,
            "sha256": replication.corpus_sha256,
        },
        "study": {"name": study.name, "title": study.title, "instrument_sha256": replication.instrument_sha256},
        "counts": {
            "entries": dict(replication.count_entries()),
            "values": dict(replication.count_values()),
        },
        "entries": [_entry(entry) for entry in replication.entries],
        "causes": dict(TOLERANCES),
        "register": [entry.model_dump(mode="json") for entry in replication.register],
        "deviations": list(DEVIATIONS),
        "reporting_rules": list(REPORTING_RULES),
        "families": [_family(family) for family in replication.families],
        "added": {"bases": list(replication.added_bases), "judges": list(replication.added_judges)},
        "versions": replication.versions,
    }


def _entry(entry: ReplicatedEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "where": entry.where,
        "note": entry.note,
        "outcome": entry.outcome,
        "values": [_value(value) for value in entry.values],
    }


def _value(value: ReplicatedValue) -> dict[str, Any]:
    judged = value.judged
    return {
        "path": value.printed.path,
        "printed": value.printed.text,
        "ours": judged.ours,
        "outcome": judged.outcome,
        "cause": judged.cause,
        "said": judged.said or None,
    }


def _family(family: Family) -> dict[str, Any]:
    return {
        "term": family.term,
        "rubric": family.rubric,
        "judges": list(family.judges),
        "bases": list(family.bases),
        "origin": "registered by the study" if family.registered else "added by the user's study file, not registered",
    }


# words


def _corpus_words(document: Document) -> str:
    corpus, study = document["corpus"], document["study"]
    return (
        f"corpus {corpus['name']} {corpus['sha256'][:12]} ({corpus['provenance']} {corpus['content']}), "
        f"instrument {study['instrument_sha256'][:12]}"
    )


def _count_words(document: Document) -> Iterator[str]:
    """Return one line an outcome that there is: entries and values."""
    counts = document["counts"]
    for outcome in OUTCOMES:
        n_entries, n_values = counts["entries"][outcome], counts["values"][outcome]
        if n_entries or n_values or (outcome == "different" and not document["simulated"]):
            yield f"{outcome.replace('_', ' ')}: {n_entries} entries, {n_values} values"


def _totals(document: Document) -> str:
    entries = document["entries"]
    n_values = sum(len(entry["values"]) for entry in entries)
    return f"{len(entries)} entries, {n_values} values; an entry counts as its worst value"


def _show(number: float | str | None) -> str:
    if number is None:
        return "none"
    return f"{number:.6g}" if isinstance(number, float) else str(number)


def _sections(document: Document) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Return heading and entries, each entry once, in the order of the file within a section."""
    for outcome, heading in _HEADINGS.items():
        found = [entry for entry in document["entries"] if entry["outcome"] == outcome]
        if found:
            yield f"{heading} ({len(found)})", found


def _register_words(document: Document) -> Iterator[str]:
    for line in document["register"]:
        yield f"{line['component']}: {line['status']}; visible then: {line['evidence_visible']}; {line['role']}"


def _family_words(document: Document) -> Iterator[str]:
    for family in document["families"]:
        yield (
            f"Holm family {family['term']} of {family['rubric']} by {'-'.join(family['judges'])} over "
            f"{', '.join(family['bases'])}: {family['origin']}"
        )
    for kind, names in document["added"].items():
        yield f"{kind} added by the user's study file: {', '.join(names) or 'none'}"


def _closing(document: Document) -> Iterator[tuple[str, list[str]]]:
    if not document["simulated"]:
        yield "What a cause must show", [f"{name}: {needed}" for name, needed in document["causes"].items()]
    yield "Register: specification status and declared deviations", list(_register_words(document))
    yield "Deviations", document["deviations"]
    yield "Reporting rules", document["reporting_rules"]
    yield "Registered and added", list(_family_words(document))


def _versions(document: Document) -> str:
    return ", ".join(f"{name} {version}" for name, version in document["versions"].items())


# text


def _wrap(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Return the lines of a text; a name is never broken at its hyphens."""
    wrapper = TextWrapper(_WIDTH, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)
    return wrapper.wrap(text)


def render_text(document: Document) -> str:
    """Return the report as plain text, 120 columns."""
    lines = [f"Replication report: {document['study']['title']}", _corpus_words(document)]
    if document["simulated"]:
        lines += ["", *_wrap(SIMULATED)]
    lines += ["", _totals(document), *(f"  {line}" for line in _count_words(document))]
    for heading, entries in _sections(document):
        lines += ["", heading, "-" * len(heading)]
        for entry in entries:
            lines += _entry_lines(entry, simulated=document["simulated"])
    for heading, items in _closing(document):
        lines += ["", heading, "-" * len(heading)]
        for item in items:
            lines += _wrap(f"- {item}", "", "  ")
    return "\n".join([*lines, "", _versions(document)]) + "\n"


def _entry_lines(entry: Mapping[str, Any], *, simulated: bool) -> Iterator[str]:
    printed, ours = ("the study", "simulated") if simulated else ("printed", "ours")
    yield f"{entry['id']} [{entry['where']}]"
    for value in entry["values"]:
        if value["path"] == "note":
            numbers = f"  note: {_show(value['ours'])}"
        else:
            numbers = f"  {value['path']}: {printed} {value['printed']}, {ours} {_show(value['ours'])}"
        mark = "" if value["outcome"] == entry["outcome"] else f" - {value['outcome'].replace('_', ' ')}"
        yield from _wrap(numbers + mark, "", "      ")
        if value["said"]:
            cause = f"{value['cause']}: " if value["cause"] else ""
            yield from _wrap(cause + value["said"], "      ", "      ")


# Markdown


def render_markdown(document: Document) -> str:
    """Return the report as Markdown, a table a section."""
    lines = [f"# Replication report: {_cell(document['study']['title'])}", "", _corpus_words(document)]
    if document["simulated"]:
        lines += ["", f"**{SIMULATED}**"]
    lines += ["", _totals(document), "", *(f"- {line}" for line in _count_words(document))]
    for heading, entries in _sections(document):
        lines += ["", f"## {heading}", "", *_table(entries, simulated=document["simulated"])]
    for heading, items in _closing(document):
        lines += ["", f"## {heading}", "", *(f"- {item}" for item in items)]
    return "\n".join([*lines, "", _versions(document)]) + "\n"


def _table(entries: Sequence[Mapping[str, Any]], *, simulated: bool) -> Iterator[str]:
    names = "the study | simulated" if simulated else "printed | ours"
    yield f"| entry | where | value | {names} | outcome | why |"
    yield "| --- | --- | --- | ---: | ---: | --- | --- |"
    for entry in entries:
        for value in entry["values"]:
            cause = f"{value['cause']}: " if value["cause"] else ""
            cells = (
                *(entry["id"], entry["where"], value["path"], value["printed"], _show(value["ours"])),
                value["outcome"].replace("_", " "),
                cause + (value["said"] or ""),
            )
            yield f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
