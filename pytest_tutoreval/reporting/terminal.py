"""The claims section of the terminal: the same at any number of workers, in 80 columns with the study's names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.gate_words import (
    gate_words,
    guard_numbers,
    guard_place,
    guards_by_urgency,
    outcome_words,
)
from pytest_tutoreval.reporting.grid import verdict_grids
from pytest_tutoreval.reporting.numbers import delta, interval, p_value, signed
from pytest_tutoreval.reporting.plain import visible
from pytest_tutoreval.reporting.words import (
    cost_words,
    distinct_notes,
    place_words,
    provenance_words,
    run_words,
)

__all__ = ["MARKUP", "Line", "claims_section"]

Row = Mapping[str, Any]

# How each verdict is shown; none of them is a failure.
MARKUP: Mapping[str, dict[str, bool]] = {
    "supported": {"green": True},
    "not_supported": {"yellow": True},
    "inconclusive": {"cyan": True},
}

# 80 columns with the study's names, room for "not supported (rev)" included; longer names widen the table.
_PLACE_WIDTHS = (5, 6, 5)
_VERDICT = "{:<19}"
_NUMBERS = "{:>6} {:>16} {:>7} {:>5} {:>3}"
_HEADINGS = ("claim", "base", "judge", "verdict", "value", "95% interval", "p", "delta", "n")
_GRID_COLUMN = 15
_ERROR: Mapping[str, bool] = {"red": True}
_GUARD_MARKUP: Mapping[str, Mapping[str, bool]] = {"regressed": _ERROR, "not_decided": {"yellow": True}, "held": {}}


class Line(NamedTuple):
    """A line of the terminal and how it is marked up."""

    text: str
    markup: Mapping[str, bool] = {}


def claims_section(document: Row, *, path: str | None) -> list[Line]:
    """Return the claims table, the grid, the gate, what could not be evaluated, the notes, and where it all stands."""
    claims, run = document["claims"], document["run"]
    lines = [_provenance(document)]
    lines += [Line(f"study: {visible(note)}") for note in document["study"].get("notes", ())]
    if claims:
        lines += [Line(""), *_claim_rows(claims)]
        lines += [Line(""), *_grids(claims)]
    lines += _gate(document)
    lines += _reasons(document["not_evaluable"])
    lines += _reasons(document["not_analysed"], heading="not analysed", markup={})
    lines += _notes(claims)
    lines += [Line(""), *_analyses(document), Line(f"cost: {cost_words(document['cost'])}")]
    lines.append(Line(f"{run['evaluated']} claims decided, {run['not_evaluable']} not evaluable"))
    lines += [Line(words, {"red": True, "bold": True}) for words in run_words(run)]
    if path:
        lines.append(Line(f"verdicts written to {path}"))
    return lines


def _provenance(document: Row) -> Line:
    simulated = document["corpus"]["provenance"] == "simulated"
    return Line(provenance_words(document), {"yellow": True, "bold": True} if simulated else {})


def _claim_rows(claims: Sequence[Row]) -> Iterator[Line]:
    places = [tuple(visible(claim[name] or "-") for name in ("claim", "base", "judge")) for claim in claims]
    widths = [
        max(least, *(map(len, names))) for least, names in zip(_PLACE_WIDTHS, zip(*places, strict=True), strict=True)
    ]
    place = " ".join(f"{{:<{width}}}" for width in widths)
    columns = f"{place} {_VERDICT} {_NUMBERS}"
    before_numbers = len(f"{place} {_VERDICT} ".format(*[""] * 4))
    yield Line(columns.format(*_HEADINGS), {"bold": True})
    for claim, names in zip(claims, places, strict=True):
        word = say(claim["verdict"]) + (" (rev)" if claim["reversed"] else "")
        yield Line(columns.format(*names, word, *_number_cells(claim)).rstrip(), MARKUP[claim["verdict"]])
        for part in claim["components"]:
            if part["verdict"] is None:  # a leg of its own; members of a joint claim have rows already
                held = "holds" if part["holds"] else "reversed" if part["reversed"] else "does not hold"
                text = f"  {visible(part['name'])} {held}".ljust(before_numbers)
                yield Line(f"{text}{_NUMBERS.format(*_number_cells(part))}".rstrip())


def _number_cells(row: Row) -> tuple[str, ...]:
    n = "-" if row["n"] is None else str(row["n"])
    spread = interval(row["ci_low"], row["ci_high"])
    return signed(row["estimate"]), spread, p_value(row["p_value"]), delta(row["cliffs_delta"]), n


def _grids(claims: Sequence[Row]) -> Iterator[Line]:
    for grid in verdict_grids(claims):
        yield Line(_grid_line(grid.heading, *grid.bases), {"bold": True})
        for name, words in grid.rows:
            yield Line(_grid_line(f"  {name}", *words))


def _grid_line(*cells: str) -> str:
    return "".join(f"{visible(cell):<{_GRID_COLUMN}}" for cell in cells).rstrip()


def _gate(document: Row) -> Iterator[Line]:
    """Yield what the gate came to and, for each guard that did not hold, its numbers and the turns to look at."""
    if (said := gate_words(document)) is None:
        return
    gate = document["gate"]
    yield Line("")
    yield Line(said, {**(_ERROR if gate["failed"] else {}), "bold": True})
    baseline = gate["baseline"]
    yield Line(f"  against {visible(baseline['path'])}: corpus {visible(baseline['corpus'])}")
    for row in guards_by_urgency(gate["rows"]):
        if row["outcome"] != "held":
            markup = _GUARD_MARKUP[row["outcome"]]
            yield from (Line(text, markup) for text in _guard_lines(row))


def _guard_lines(row: Row) -> Iterator[str]:
    numbers = guard_numbers(row)
    warned = "" if row["failed"] else " (does not fail the run)"
    sides = "" if (numbers.before, numbers.now) == ("-", "-") else f": {numbers.before} -> {numbers.now}"
    yield f"  {outcome_words(row).upper()} {guard_place(row)}{sides}{warned}"
    if row["estimate"] is not None:
        direction = f", {row['worse']} is worse" if row["worse"] else ""
        yield f"    difference {numbers.difference} {numbers.interval}, margin {numbers.margin}{direction}"
        enough = f"; {row['n_needed']} would decide" if row["n_needed"] is not None else ""
        yield f"    {numbers.n} paired replicates{enough}"
    yield f"    {visible(row['reason'])}"
    yield from (f"    see {visible(turn)}" for turn in row["turns"])


def _reasons(
    rows: Sequence[Row], *, heading: str = "not evaluable", markup: Mapping[str, bool] = _ERROR
) -> Iterator[Line]:
    if rows:
        yield Line("")
        yield Line(heading, {**markup, "bold": True})
    for row in rows:
        yield Line(f"  {place_words(row)}: {visible(row['reason'])}", markup)


def _notes(claims: Sequence[Row]) -> Iterator[Line]:
    noted = list(distinct_notes(claims))
    if noted:
        yield Line("")
        yield Line("notes", {"bold": True})
    for row, note in noted:
        yield Line(f"  {place_words(row)}: {visible(note)}")


def _analyses(document: Row) -> Iterator[Line]:
    run = document["run"]
    if run["analysed"] or run["not_analysed"]:
        rows = len(document["analyses"])
        yield Line(f"{run['analysed']} analyses run ({rows} rows, in no verdict), {run['not_analysed']} not run")
