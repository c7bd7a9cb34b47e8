"""The claims section of the terminal: the same at any number of workers, plain ASCII, 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_tutoreval.records.verdict import say
from pytest_tutoreval.reporting.numbers import p_value, signed

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


class Line(NamedTuple):
    """A line of the terminal and how it is marked up."""

    text: str
    markup: Mapping[str, bool] = {}


def claims_section(document: Row, *, path: str | None) -> list[Line]:
    """Return the claims table, the grid, what could not be evaluated, the notes, and where the document is."""
    claims = document["claims"]
    lines = [_provenance(document)]
    if claims:
        lines += [Line(""), *_claim_rows(claims)]
        lines += [Line(""), *_grid(claims)]
    lines += _reasons(document["not_evaluable"])
    lines += _reasons(document["not_analysed"], heading="not analysed", markup={})
    lines += _notes(claims)
    lines += [Line(""), *_analyses(document), _cost(document["cost"]), _counts(document["run"])]
    if path:
        lines.append(Line(f"verdicts written to {path}"))
    return lines


def _provenance(document: Row) -> Line:
    corpus, study = document["corpus"], document["study"]
    text = f"corpus {corpus['name']} {corpus['sha256'][:12]}, instrument {study['instrument_sha256'][:12]}"
    if corpus["provenance"] == "simulated":
        return Line(f"SIMULATED DATA, no real model took part: {text}", {"yellow": True, "bold": True})
    return Line(f"{corpus['provenance']} data: {text}")


def _claim_rows(claims: Sequence[Row]) -> Iterator[Line]:
    places = [(claim["claim"], claim["base"], claim["judge"] or "-") for claim in claims]
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
                text = f"  {part['name']} {held}".ljust(before_numbers)
                yield Line(f"{text}{_NUMBERS.format(*_number_cells(part))}".rstrip())


def _number_cells(row: Row) -> tuple[str, ...]:
    interval = "-" if row["ci_low"] is None else f"[{signed(row['ci_low'])}, {signed(row['ci_high'])}]"
    delta = "-" if row["cliffs_delta"] is None else signed(row["cliffs_delta"], 2).replace("0.", ".", 1)
    n = "-" if row["n"] is None else str(row["n"])
    return signed(row["estimate"]), interval, p_value(row["p_value"]), delta, n


def _grid(claims: Sequence[Row]) -> Iterator[Line]:
    """Yield the study's Table 1, once a judge: claims down, bases across; judge-free claims stand in each."""
    bases = list(dict.fromkeys(claim["base"] for claim in claims))
    judges = list(dict.fromkeys(claim["judge"] for claim in claims if claim["judge"])) or [None]
    names = list(dict.fromkeys(claim["claim"] for claim in claims))
    cells = {(row["claim"], row["base"], row["judge"]): row for row in claims}
    for judge in judges:
        heading = f"judge {judge}" if judge else "verdicts"
        yield Line("".join(f"{name:<{_GRID_COLUMN}}" for name in (heading, *bases)).rstrip(), {"bold": True})
        for name in names:
            found = [cells.get((name, base, judge)) or cells.get((name, base, None)) for base in bases]
            words = [say(row["verdict"]) if row else "-" for row in found]
            yield Line("".join(f"{word:<{_GRID_COLUMN}}" for word in (f"  {name}", *words)).rstrip())


def _reasons(
    rows: Sequence[Row], *, heading: str = "not evaluable", markup: Mapping[str, bool] = _ERROR
) -> Iterator[Line]:
    if rows:
        yield Line("")
        yield Line(heading, {**markup, "bold": True})
    for row in rows:
        yield Line(f"  {_place(row)}: {row['reason']}", markup)


def _notes(claims: Sequence[Row]) -> Iterator[Line]:
    """Yield each note once; a joint claim's are its members'."""
    noted = [row for row in claims if row["notes"] and not _is_joint(row)]
    if noted:
        yield Line("")
        yield Line("notes", {"bold": True})
    for row in noted:
        for note in row["notes"]:
            yield Line(f"  {_place(row)}: {note}")


def _is_joint(row: Row) -> bool:
    return any(part["verdict"] is not None for part in row["components"])


def _place(row: Row) -> str:
    return " ".join(filter(None, (row.get("claim") or row["analysis"], row["base"], row["judge"])))


def _analyses(document: Row) -> Iterator[Line]:
    run = document["run"]
    if run["analysed"] or run["not_analysed"]:
        rows = len(document["analyses"])
        yield Line(f"{run['analysed']} analyses run ({rows} rows, in no verdict), {run['not_analysed']} not run")


def _cost(cost: Row) -> Line:
    if not cost["runs"]:
        return Line("cost: not metered, nothing here was collected live")
    dollars = "price unknown" if cost["dollars"] is None else f"{cost['dollars']:.2f} dollars"
    tokens = f"{cost['input_tokens']} + {cost['output_tokens']} tokens"
    return Line(f"cost: {dollars}, {cost['calls']} calls, {tokens}, {cost['failed_attempts']} failed attempts")


def _counts(run: Row) -> Line:
    counts = f"{run['evaluated']} claims decided, {run['not_evaluable']} not evaluable"
    if run["partial"]:
        left_out = f"{run['deselected']} items deselected" if run["deselected"] else "last failures only"
        counts += f", {left_out} (partial run)"
    if run["complete"]:
        return Line(counts)
    return Line(
        f"{counts}; INCOMPLETE: {len(run['unfinished'])} selected items did not finish", {"red": True, "bold": True}
    )
